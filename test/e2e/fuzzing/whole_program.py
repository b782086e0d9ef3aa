"""Dynamic shapes that constants resolve, quantised values, and collectives of one replica."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from fuzzing.programs import INTEGERS, MOST_ELEMENTS, SIZES, Grower, Step, Value, numbers, tensor

GROUPS = "replica_groups = dense<0> : tensor<1x1xi64>"


def _constant(g: Grower, values: Sequence[int]) -> Value:
    kind, shape = g.random.choice(["i64", "i32"]), (len(values),)
    listed = f"dense<{list(values)}> : {tensor(shape, kind)}"
    g.emit("constant", [], (shape, kind), attributes=f"value = {listed}")
    return g.pool[-1]


def _move(g: Grower, op: str, operands: list[Value], shape: Sequence[int], attributes: str) -> None:
    x = operands[0]
    if prod(shape) <= MOST_ELEMENTS:
        g.emit(
            op, operands, (tuple(shape), x.kind), attributes=attributes, exact=x.exact, tame=x.tame,
            slack=x.slack,
        )  # fmt: skip


def dynamic_reshape(g: Grower) -> None:
    x = g.pick(lambda v: prod(v.shape) > 0)
    if x is not None:
        shape = (1, prod(x.shape))
        _move(g, "dynamic_reshape", [x, _constant(g, shape)], shape, "")


def dynamic_broadcast(g: Grower) -> None:
    x = g.pick(lambda v: len(v.shape) < 3)
    if x is not None:
        shape = (g.random.choice(SIZES), *x.shape)
        dims = numbers(range(1, len(shape)))
        attributes = f"broadcast_dimensions = {dims}"
        if prod(shape) <= MOST_ELEMENTS:
            operands = [x, _constant(g, shape)]
            _move(g, "dynamic_broadcast_in_dim", operands, shape, attributes)


def old_broadcast(g: Grower) -> None:
    x = g.pick(lambda v: len(v.shape) < 3)
    if x is not None:
        sizes = [g.random.choice([1, 2, 3])]
        _move(g, "broadcast", [x], (*sizes, *x.shape), f"broadcast_sizes = {numbers(sizes)}")


def dynamic_iota(g: Grower) -> None:
    shape = (g.random.choice(SIZES), g.random.choice(SIZES))
    at = g.random.randrange(2)
    operand = _constant(g, shape)
    g.emit("dynamic_iota", [operand], (shape, "i32"), attributes=f"iota_dimension = {at} : i64")


def dynamic_pad(g: Grower) -> None:
    x = g.pick(lambda v: v.exact and len(v.shape) == 2 and prod(v.shape) > 0 and v.kind != "i1")
    if x is not None:
        low, high, inner = ([g.random.choice([0, 1, 2]) for _ in range(2)] for _ in range(3))
        shape = [
            a + n + (n - 1) * k + b for a, n, k, b in zip(low, x.shape, inner, high, strict=True)
        ]
        kind = g.random.choice(["i64", "i32"])
        amounts: list[Value] = []
        for values in (low, high, inner):
            listed = f"dense<{values}> : {tensor((2,), kind)}"
            g.emit("constant", [], ((2,), kind), attributes=f"value = {listed}")
            amounts.append(g.pool[-1])
        filler = g.like(Value("", (), x.kind), tame=x.tame)
        _move(g, "dynamic_pad", [x, filler, *amounts], shape, "")


def real_dynamic_slice(g: Grower) -> None:
    x = g.pick(lambda v: len(v.shape) == 2 and min(v.shape) > 1)
    if x is not None:
        starts = [g.random.randrange(n) for n in x.shape]
        steps = [g.random.choice([1, 2]) for _ in x.shape]
        shape = [-(-(n - s) // k) for n, s, k in zip(x.shape, starts, steps, strict=True)]
        bounds: list[Value] = []
        for values in (starts, list(x.shape), steps):
            listed = f"dense<{values}> : {tensor((2,), 'i64')}"
            g.emit("constant", [], ((2,), "i64"), attributes=f"value = {listed}")
            bounds.append(g.pool[-1])
        _move(g, "real_dynamic_slice", [x, *bounds], shape, "")


def dynamic_conv(g: Grower) -> None:
    x = g.like(Value("", (2, 7, 3), "f32"), tame=True)
    w = g.like(Value("", (3, 3, 4), "f32"), tame=True)
    low, high = g.random.choice([0, 1, 2]), g.random.choice([0, 1])
    listed = f"dense<[[{low}, {high}]]> : tensor<1x2xi64>"
    g.emit("constant", [], ((1, 2), "i64"), attributes=f"value = {listed}")
    attributes = (
        "dimension_numbers = #hlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, "
        "feature_group_count = 1 : i64, batch_group_count = 1 : i64"
    )
    g.emit(
        "dynamic_conv", [x, w, g.pool[-1]], ((2, 5 + low + high, 4), "f32"), attributes=attributes,
        exact=False, slack=1e-4,
    )  # fmt: skip


def dimension_size(g: Grower) -> None:
    x = g.pick(lambda v: bool(v.shape))
    if x is not None:
        at = g.random.randrange(len(x.shape))
        g.emit("get_dimension_size", [x], ((), "i32"), attributes=f"dimension = {at} : i64")


def quantized(g: Grower) -> None:
    """Quantised, and back: exact, scales are powers of two."""
    x = g.pick(lambda v: v.exact and v.kind == "f32")
    if x is None:
        return
    result, name = g.value(x.shape, "f32"), f"%t{g.count()}"
    storage = g.random.choice(["i8", "u8", "i16", "i4"])
    q = tensor(x.shape, f"!quant.uniform<{storage}:f32, {g.random.choice([0.5, 0.125])}:3>")
    text = (
        f'{name} = "hlo.uniform_quantize"({x.name}) : ({x.type}) -> {q} '
        f'{result.name} = "hlo.uniform_dequantize"({name}) : ({q}) -> {x.type}'
    )
    g.append(Step(text, (result,)))


def collective(g: Grower) -> None:
    """Of one replica, every collective gives its operand."""
    x = g.pick(lambda v: v.exact and v.kind in INTEGERS and bool(v.shape))
    if x is None:
        return
    t = tensor((), x.kind)
    body = f'{{^bb0(%a: {t}, %b: {t}): %c = hlo.add %a, %b : {t} "hlo.return"(%c) : ({t}) -> () }}'
    name, attributes, regions = g.random.choice(
        [
            ("all_reduce", GROUPS, body),
            ("collective_reduce", GROUPS, body),
            ("all_gather", f"all_gather_dim = 0 : i64, {GROUPS}", ""),
            ("reduce_scatter", f"scatter_dimension = 0 : i64, {GROUPS}", body),
            ("all_to_all", "split_dimension = 0 : i64, concat_dimension = 0 : i64, "
             f"split_count = 1 : i64, {GROUPS}", ""),
            ("collective_broadcast", GROUPS, ""),
            ("collective_permute", "source_target_pairs = dense<0> : tensor<1x2xi64>", ""),
            ("cross-replica-sum", GROUPS, ""),
        ]
    )  # fmt: skip
    g.emit(name, [x], (x.shape, x.kind), attributes=attributes, regions=regions)


def identity_of_replica(g: Grower) -> None:
    g.emit(g.random.choice(["replica_id", "partition_id"]), [], ((), "ui32"))


MAKERS: tuple[Callable[[Grower], None], ...] = (
    dynamic_reshape, dynamic_broadcast, old_broadcast, dynamic_iota, dynamic_pad,
    real_dynamic_slice, dynamic_conv, dimension_size, quantized, collective, identity_of_replica,
)  # fmt: skip
