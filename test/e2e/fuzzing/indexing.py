"""Gathers and scatters of every form: windows, batching dimensions, any index vector dimension."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from fuzzing.operations import EPSILON
from fuzzing.programs import FLOATS, INTEGERS, MOST_ELEMENTS, Grower, Shape, Value, numbers, tensor


@dataclass(frozen=True)
class Indexing:
    """Which slices of an operand an index vector names.

    Attributes:
        slices: sizes of the slice.
        dropped: dimensions of the slice that the result leaves out.
        batching: pairs of batching dimensions, of operand and indices.
        named: operand dimensions that index vectors name, in their order.
        shape: of the indices.
        at: the dimension of an index vector.
        windows: positions of the slice's dimensions in the result.
        result: its shape.
    """

    slices: Shape
    dropped: list[int]
    batching: list[tuple[int, int]]
    named: list[int]
    shape: Shape
    at: int
    windows: list[int]
    result: Shape


def _indexing(g: Grower, shape: Shape) -> Indexing:
    random, rank = g.random, len(shape)
    roles = [random.choice("nnnwb") for _ in shape]
    paired = [d for d in range(rank) if roles[d] == "b"][:1]
    named = random.sample(range(rank), random.randint(0 if rank == 0 else 1, rank))
    named = [d for d in named if d not in paired]
    slices = [
        1 if d in paired else random.randint(min(1, n), n if random.random() < 0.5 else min(2, n))
        for d, n in enumerate(shape)
    ]
    dropped = [
        d for d, n in enumerate(slices) if d not in paired and n == 1 and random.random() < 0.6
    ]
    batch = [random.choice([1, 2, 3, 5]) for _ in range(random.choice([0, 1, 1, 2]))]
    batching: list[tuple[int, int]] = []
    places: list[int] = []
    for d in paired:
        place = random.randint(0, len(batch))
        batch.insert(place, shape[d])
        places.append(place)
    at = random.randint(0, len(batch))
    indices = (*batch[:at], len(named), *batch[at:])
    batching = [(d, p + (p >= at)) for d, p in zip(paired, places, strict=True)]
    window = [n for d, n in enumerate(slices) if d not in paired and d not in dropped]
    total = len(window) + len(batch)
    windows = sorted(random.sample(range(total), len(window)))
    left, right = iter(window), iter(batch)
    result = tuple(next(left) if i in windows else next(right) for i in range(total))
    return Indexing(tuple(slices), dropped, batching, named, indices, at, windows, result)


def _kind_of_indices(g: Grower) -> str:
    return g.random.choice(["i32", "i64", "ui8", "i8", "ui32"])


def _indices(g: Grower, form: Indexing, limit: int) -> Value:
    kind = _kind_of_indices(g)
    if g.random.random() < 0.3:
        return g.like(Value("", form.shape, kind))
    array = g.rng.integers(-1 if kind[0] == "i" else 0, limit + 1, form.shape)
    return g.given(array.astype({"u": f"uint{kind[2:]}", "i": f"int{kind[1:]}"}[kind[0]]), kind,
                   tame=False)  # fmt: skip


def any_gather(g: Grower) -> None:
    x = g.pick(lambda v: prod(v.shape) > 0 and len(v.shape) > 0)
    if x is None:
        return
    form = _indexing(g, x.shape)
    if prod(form.result) > MOST_ELEMENTS or prod(form.shape) > MOST_ELEMENTS:
        return
    numbering = (
        f"#hlo.gather<offset_dims = {form.windows}, collapsed_slice_dims = {form.dropped}, "
        f"operand_batching_dims = {[a for a, _ in form.batching]}, "
        f"start_indices_batching_dims = {[b for _, b in form.batching]}, "
        f"start_index_map = {form.named}, index_vector_dim = {form.at}>"
    )
    operands = [x, _indices(g, form, max(x.shape))]
    attributes = f"dimension_numbers = {numbering}"
    name, functions = "gather", f", slice_sizes = {numbers(form.slices)}"
    if g.random.random() < 0.15:
        sizes = f"dense<{list(form.slices)}> : tensor<{len(form.slices)}xi64>"
        g.emit("constant", [], ((len(form.slices),), "i64"), attributes=f"value = {sizes}")
        operands.append(g.pool[-1])
        name, functions = "dynamic_gather", ""
    g.emit(
        name, operands, (form.result, x.kind), attributes=attributes + functions, exact=x.exact,
        tame=x.tame, slack=x.slack,
    )  # fmt: skip


def any_scatter(g: Grower) -> None:
    """Sums of floats too, of tame ones. The order of updates is an implementation's own, so only a
    single one replaces what it meets."""
    x = g.pick(lambda v: v.exact and prod(v.shape) > 0 and len(v.shape) > 0
               and (v.kind in INTEGERS or v.kind in FLOATS))  # fmt: skip
    if x is None:
        return
    form = _indexing(g, x.shape)
    if prod(form.result) > MOST_ELEMENTS or prod(form.shape) > MOST_ELEMENTS:
        return
    ops = ["maximum", "minimum"]
    if prod(form.shape[: form.at] + form.shape[form.at + 1 :]) == 1:
        ops += ["second"]
    if x.kind in INTEGERS:
        ops += ["add", "multiply"]
    elif x.tame:
        ops += ["add", "add"]
    op, t = g.random.choice(ops), tensor((), x.kind)
    update = g.like(Value("", form.result, x.kind), tame=x.tame)
    numbering = (
        f"#hlo.scatter<update_window_dims = {form.windows}, "
        f"inserted_window_dims = {form.dropped}, "
        f"input_batching_dims = {[a for a, _ in form.batching]}, "
        f"scatter_indices_batching_dims = {[b for _, b in form.batching]}, "
        f"scatter_dims_to_operand_dims = {form.named}, index_vector_dim = {form.at}>"
    )
    combined = f"%c = hlo.{op} %a, %b : {t} " if op != "second" else ""
    kept = "%c" if combined else "%b"
    body = f'{{^bb0(%a: {t}, %b: {t}): {combined}"hlo.return"({kept}) : ({t}) -> () }}'
    terms = prod(form.result)
    slack = 8.0 * terms * terms * EPSILON[x.kind] if op == "add" and x.kind in FLOATS else 0.0
    g.emit(
        "scatter", [x, _indices(g, form, max(x.shape)), update], (x.shape, x.kind),
        attributes=f"scatter_dimension_numbers = {numbering}", regions=body, exact=slack == 0,
        slack=slack,
    )  # fmt: skip


def torch_index_select(g: Grower) -> None:
    x = g.pick(lambda v: bool(v.shape) and prod(v.shape) > 0)
    if x is None:
        return
    at, count = g.random.randrange(len(x.shape)), g.random.choice([1, 2, 5])
    shape = (*x.shape[:at], count, *x.shape[at + 1 :])
    if prod(shape) > MOST_ELEMENTS:
        return
    array = g.rng.integers(0, x.shape[at], (count,)).astype("int32")
    attributes = f"dim = {at} : i64, batch_dims = 0 : i64"
    g.emit(
        "torch_index_select", [x, g.given(array, "i32", tame=False)], (shape, x.kind),
        attributes=attributes, exact=x.exact, tame=x.tame, slack=x.slack,
    )  # fmt: skip


MAKERS: tuple[Callable[[Grower], None], ...] = (
    any_gather, any_gather, any_scatter, any_scatter, torch_index_select,
)  # fmt: skip
