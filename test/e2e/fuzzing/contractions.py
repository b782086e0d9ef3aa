"""Contractions and linear algebra: products, convolutions, Fourier transforms, factorisations.

Their operands are tame or well conditioned, so that errors are bounded."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from fuzzing.operations import EPSILON
from fuzzing.programs import FLOATS, MOST_ELEMENTS, Grower, Shape, Value, numbers
from hlo.ir.types import to_dtype

SMALL = (1, 2, 3, 4, 5, 7, 8, 16)


def _sum_slack(kind: str, terms: int) -> float:
    return 64.0 * (terms + 1) * EPSILON.get(kind, 0.0)


def _emit_sum(
    g: Grower, op: str, operands: list[Value], shape: Shape, kind: str, terms: int, attributes: str
) -> None:
    if prod(shape) > MOST_ELEMENTS:
        return
    slack = _sum_slack(kind, terms)
    g.emit(op, operands, (shape, kind), attributes=attributes, exact=slack == 0, slack=slack)


def _kind(g: Grower) -> str:
    return g.random.choice([*FLOATS, "f32", "i32", "i8", "ui8"])


def batched_dot(g: Grower) -> None:
    """dot_general with batch dimensions, several contracted ones, and any dimension order."""
    kind, random = _kind(g), g.random
    batch = [random.choice(SMALL[:5]) for _ in range(random.choice([0, 1, 1, 2]))]
    contracted = [random.choice(SMALL) for _ in range(random.choice([0, 1, 1, 1, 2]))]
    free = [[random.choice(SMALL) for _ in range(random.choice([0, 1, 1, 2]))] for _ in range(2)]
    operands: list[Value] = []
    batches: list[list[int]] = []
    contractions: list[list[int]] = []
    frees: list[list[int]] = []
    for side in range(2):
        sizes = {"b": batch, "k": contracted, "f": free[side]}
        roles = [(role, i) for role, numbered in sizes.items() for i in range(len(numbered))]
        random.shuffle(roles)
        operands.append(g.like(Value("", tuple(sizes[r][i] for r, i in roles), kind), tame=True))
        batches.append([roles.index(("b", i)) for i in range(len(batch))])
        contractions.append([roles.index(("k", i)) for i in range(len(contracted))])
        frees.append([sizes[r][i] for r, i in roles if r == "f"])
    attributes = (
        f"dot_dimension_numbers = #hlo.dot<lhs_batching_dimensions = {batches[0]}, "
        f"rhs_batching_dimensions = {batches[1]}, "
        f"lhs_contracting_dimensions = {contractions[0]}, "
        f"rhs_contracting_dimensions = {contractions[1]}>"
    )
    shape = (*batch, *frees[0], *frees[1])
    if max(prod(o.shape) for o in operands) <= MOST_ELEMENTS:
        _emit_sum(g, "dot_general", operands, shape, kind, prod(contracted), attributes)


def plain_dot(g: Grower) -> None:
    kind, k = _kind(g), g.random.choice(SMALL)
    x = g.like(Value("", g.random.choice([(k,), (g.random.choice(SMALL), k)]), kind), tame=True)
    y = g.like(Value("", g.random.choice([(k,), (k, g.random.choice(SMALL))]), kind), tame=True)
    _emit_sum(g, "dot", [x, y], (*x.shape[:-1], *y.shape[1:]), kind, k, "")


def einsum(g: Grower) -> None:
    kind = g.random.choice(["f32", "f64", "i32"])
    size = {letter: g.random.choice(SMALL[:6]) for letter in "abcd"}
    left, right, out = g.random.choice(
        [("ab", "bc", "ac"), ("abc", "acd", "abd"), ("ab", "ab", "a"), ("a", "b", "ba")]
    )
    operands = [
        g.like(Value("", tuple(size[i] for i in s), kind), tame=True) for s in (left, right)
    ]
    terms = prod(size[i] for i in {*left, *right} - {*out})
    config = f'einsum_config = "{left},{right}->{out}"'
    _emit_sum(g, "einsum", operands, tuple(size[i] for i in out), kind, terms, config)


def unary_einsum(g: Grower) -> None:
    x = g.pick(
        lambda v: v.tame and v.exact and v.kind in ("f32", "f64", "i32") and len(v.shape) == 2
    )
    if x is not None:
        out = g.random.choice(["a", "b", "ba"])
        shape = tuple(x.shape["ab".index(i)] for i in out)
        terms = prod(n for i, n in zip("ab", x.shape, strict=True) if i not in out)
        _emit_sum(g, "unary_einsum", [x], shape, x.kind, terms, f'einsum_config = "ab->{out}"')


def ragged_dot(g: Grower) -> None:
    m, k, n, groups = (g.random.choice(SMALL) for _ in range(4))
    kind = g.random.choice(["f32", "f64"])
    x = g.like(Value("", (m, k), kind), tame=True)
    y = g.like(Value("", (groups, k, n), kind), tame=True)
    parts = np.diff(np.sort(g.rng.integers(0, m + 1, groups - 1)), prepend=0, append=m)
    sizes = g.given(parts.astype(np.int64), "i64", tame=False)
    attributes = (
        "ragged_dot_dimension_numbers = #hlo.ragged_dot<lhs_contracting_dimensions = [1], "
        "rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], "
        "rhs_group_dimensions = [0]>"
    )
    _emit_sum(g, "ragged_dot", [x, y, sizes], (m, n), kind, k, attributes)


def convolution(g: Grower) -> None:
    """Any dimension order, groups, strides, dilations, reversal and padding, negative too."""
    random, kind = g.random, _kind(g)
    rank = random.choice([0, 1, 1, 2, 2, 3])
    groups, batch_groups = random.choice([(1, 1), (1, 1), (2, 1), (3, 1), (1, 2)])
    batch = batch_groups * random.choice([1, 2, 3])
    per_group = random.choice([1, 2, 3, 16])
    outputs = groups * batch_groups * random.choice([1, 2, 4, 17])
    spatial = [random.choice([1, 3, 5, 8, 9]) for _ in range(rank)]
    window = [random.choice([1, 2, 3]) for _ in range(rank)]
    strides, lhs_dilation, rhs_dilation = (
        [random.choice([1, 1, 2]) for _ in range(rank)] for _ in range(3)
    )
    pads = [(random.choice([0, 1, 2, -1]), random.choice([0, 1])) for _ in range(rank)]
    reverse = [random.random() < 0.2 for _ in range(rank)]
    out: list[int] = []
    for n, w, s, b, d, (low, high) in zip(
        spatial, window, strides, lhs_dilation, rhs_dilation, pads, strict=True
    ):
        room = (n - 1) * b + 1 + low + high - ((w - 1) * d + 1)
        out.append(room // s + 1 if room >= 0 else 0)
    orders = [random.sample(range(rank + 2), rank + 2) for _ in range(3)]
    sizes = [
        [batch, groups * per_group, *spatial], [per_group, outputs, *window],
        [batch // batch_groups, outputs, *out],
    ]  # fmt: skip
    letters = [["b", "f"], ["i", "o"], ["b", "f"]]
    shapes = [tuple(size[i] for i in order) for size, order in zip(sizes, orders, strict=True)]
    names = [
        ", ".join([*pair, *map(str, range(rank))][i] for i in order)
        for pair, order in zip(letters, orders, strict=True)
    ]
    if max(map(prod, shapes)) > MOST_ELEMENTS or min(out, default=1) < 0:
        return
    listed = ", ".join(f"[{low}, {high}]" for low, high in pads)
    flags = ", ".join("true" if r else "false" for r in reverse)
    attributes = (
        f"dimension_numbers = #hlo.conv<[{names[0]}]x[{names[1]}]->[{names[2]}]>, "
        f"feature_group_count = {groups} : i64, batch_group_count = {batch_groups} : i64"
    )
    if rank:
        attributes += (
            f", window_strides = {numbers(strides)}, lhs_dilation = {numbers(lhs_dilation)}, "
            f"rhs_dilation = {numbers(rhs_dilation)}, "
            f"padding = dense<[{listed}]> : tensor<{rank}x2xi64>, "
            f"window_reversal = array<i1: {flags}>"
        )
    operands = [g.like(Value("", shape, kind), tame=True) for shape in shapes[:2]]
    _emit_sum(g, "convolution", operands, shapes[2], kind, per_group * prod(window), attributes)


def fft(g: Grower) -> None:
    random, wide = g.random, g.random.choice(["f32", "f64"])
    rank = random.choice([1, 1, 2, 3])
    length = [random.choice([1, 2, 3, 4, 5, 7, 8, 12, 16]) for _ in range(rank)]
    batch = [random.choice([1, 2, 3])] if random.random() < 0.5 else []
    way = random.choice(["FFT", "IFFT", "RFFT", "IRFFT"])
    halved = (*batch, *length[:-1], length[-1] // 2 + 1)
    whole, complex_kind = (*batch, *length), f"complex<{wide}>"
    given = (halved, complex_kind) if way == "IRFFT" else (whole, complex_kind)
    result = (halved if way == "RFFT" else whole, wide if way == "IRFFT" else complex_kind)
    if way == "RFFT":
        given = (whole, wide)
    if max(prod(given[0]), prod(result[0])) > MOST_ELEMENTS:
        return
    attributes = f"fft_type = #hlo<fft_type {way}>, fft_length = {numbers(length)}"
    slack = 64.0 * prod(length) * EPSILON[wide]
    x = g.like(Value("", *given), tame=True)
    g.emit("fft", [x], result, attributes=attributes, exact=False, slack=slack)


def _well_conditioned(g: Grower, batch: Shape, n: int, kind: str) -> Value:
    """Symmetric, positive definite, of small numbers."""
    halves = g.rng.integers(-2, 3, (*batch, n, n)) / 2
    array = halves @ np.swapaxes(halves, -1, -2) + 4.0 * n * np.eye(n)
    return g.given(array.astype(to_dtype(kind)), kind, tame=False)


def cholesky(g: Grower) -> None:
    kind, n = g.random.choice(["f32", "f64"]), g.random.choice(SMALL)
    batch = (2,) if g.random.random() < 0.3 else ()
    lower = g.random.choice(["true", "false"])
    x = _well_conditioned(g, batch, n, kind)
    slack = 1024.0 * n * EPSILON[kind]
    g.emit(
        "cholesky", [x], (x.shape, kind), attributes=f"lower = {lower}", exact=False, slack=slack
    )


def triangular_solve(g: Grower) -> None:
    kind, n, m = g.random.choice(["f32", "f64"]), g.random.choice(SMALL), g.random.choice(SMALL)
    a = _well_conditioned(g, (), n, kind)
    left, lower = (g.random.choice(["true", "false"]) for _ in range(2))
    way = g.random.choice(["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
    b = g.like(Value("", (n, m) if left == "true" else (m, n), kind), tame=True)
    attributes = (
        f"left_side = {left}, lower = {lower}, unit_diagonal = false, "
        f"transpose_a = #hlo<transpose {way}>"
    )
    slack = 1024.0 * n * EPSILON[kind]
    g.emit(
        "triangular_solve", [a, b], (b.shape, kind), attributes=attributes, exact=False, slack=slack
    )


MAKERS: tuple[Callable[[Grower], None], ...] = (
    batched_dot, batched_dot, plain_dot, einsum, unary_einsum, ragged_dot, convolution, convolution,
    fft, cholesky, triangular_solve,
)  # fmt: skip
