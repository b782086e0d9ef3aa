"""Dots that compute an operand as they read it: dequantised, converted, masked, activated."""

from __future__ import annotations

import pytest
from core_programs import Program, Value
from test_contractions import dot
from test_matrix_vectors import bias_and_residual

import hlo
from hlo.passes.hlo_to_loops import kernels
from hlo.passes.hlo_to_loops.emitter import NotVectorizableError
from hlo.passes.hlo_to_loops.graph import Region

ROWS = ([1], [0])  # [m, k] x [k, n]
TURNED = ([1], [1])  # [m, k] x [n, k]
LEFT = ([0], [0])  # [k, m] x [k, n]


def spread(p: Program, value: Value, shape: tuple[int, ...], dim: int) -> Value:
    dims = f"broadcast_dimensions = array<i64: {dim}>"
    return p.op("broadcast_in_dim", [value], shape, attributes=dims)


def dequantised(p: Program, shape: tuple[int, ...], stored: str, dim: int) -> Value:
    """(stored - zero point) * scale, both per channel of a dimension."""
    wide = p.op("convert", [p.sample(shape, stored)], shape, "f32")
    zero = p.op("convert", [p.sample((shape[dim],), "i8")], (shape[dim],), "f32")
    shifted = p.op("subtract", [wide, spread(p, zero, shape, dim)], shape)
    return p.op("multiply", [shifted, spread(p, p.sample((shape[dim],), "f32"), shape, dim)], shape)


def kernels_of(p: Program) -> list[str]:
    return [cost.name for cost in hlo.compile(p.text).cost_analysis().kernels]


# Whole tiles and cut ones, parts of the depth, few rows (vectors), one row.
@pytest.mark.parametrize(
    ("m", "k", "n"), [(32, 64, 48), (65, 130, 33), (30, 500, 300), (3, 700, 400), (1, 513, 520)]
)
@pytest.mark.parametrize("stored", ["i8", "ui8", "i4", "f8E4M3FN", "bf16", "f16"])
def test_dequantised_weights(m: int, k: int, n: int, stored: str) -> None:
    p = Program()
    x = p.sample((m, k), "f32")
    for shape, dims in (((k, n), ROWS), ((n, k), TURNED)):
        for channel in (0, 1):
            product = dot(p, x, dequantised(p, shape, stored, channel), dims)
            p.result(product, bias_and_residual(p, product, "f32"))
    p.check(ulps=256)


def test_dequantised_weights_are_never_in_memory() -> None:
    for shape, dims in (((256, 512), ROWS), ((512, 256), TURNED)):
        for rows in (64, 1):
            p = Program()
            p.result(dot(p, p.sample((rows, 256), "f32"), dequantised(p, shape, "i8", 1), dims))
            read = sum(cost.bytes for cost in hlo.compile(p.text).cost_analysis().kernels)
            assert read < 256 * 512 * 4


def grouped(p: Program, shape: tuple[int, int], group: int) -> Value:
    """Weights with a scale for each `group` of a row, one after the other."""
    rows, length = shape
    wide = p.op("convert", [p.sample(shape, "i8")], shape, "f32")
    scales = p.op(
        "broadcast_in_dim", [p.sample((rows, length // group), "f32")],
        (rows, length // group, group), attributes="broadcast_dimensions = array<i64: 0, 1>",
    )  # fmt: skip
    return p.op("multiply", [wide, p.op("reshape", [scales], shape)], shape)


@pytest.mark.parametrize("rows", [1, 3, 40])
@pytest.mark.parametrize("group", [2, 5, 16, 24, 64, 240])
def test_scales_of_groups_within_a_row(rows: int, group: int) -> None:
    """Groups of whole vectors, and such as end inside one; rows of the weights either way."""
    p = Program()
    for k, n, dims in ((300, 960, ROWS), (960, 300, TURNED)):
        shape = (n, k) if dims is TURNED else (k, n)
        x = p.sample((rows, k), "f32")
        p.result(dot(p, x, grouped(p, shape, group), dims))
        turned = p.sample((n, rows), "f32") if dims is ROWS else p.sample((k, rows), "f32")
        p.result(dot(p, grouped(p, shape, group), turned, ROWS))
    p.check(ulps=512)


@pytest.mark.parametrize("dims", [ROWS, TURNED])
def test_one_row_reads_weights_and_scales_of_groups_alone(
    dims: tuple[list[int], list[int]],
) -> None:
    p = Program()
    p.result(dot(p, p.sample((1, 1024), "f32"), grouped(p, (1024, 1024), 64), dims))
    read = sum(cost.bytes for cost in hlo.compile(p.text).cost_analysis().kernels)
    assert read < 1.2 * 1024 * 1024


def test_a_kernel_whose_lanes_leave_a_row_is_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a product's kernel finds that it cannot be emitted, another one computes it."""

    def leaves(region: Region) -> None:
        raise NotVectorizableError("a lane crosses a row boundary")

    for name in ("emit_matrix_vector", "emit_packed_product", "emit_contraction"):
        monkeypatch.setattr(kernels, name, leaves)
    p = Program()
    x = p.sample((3, 50), "f32")
    p.result(dot(p, x, dequantised(p, (50, 40), "i8", 1), ROWS))
    p.check(ulps=64)


def test_conversions_of_both_operands() -> None:
    p = Program()
    x, w = (p.sample(shape, "bf16") for shape in ((70, 90), (90, 40)))
    left, right = (p.op("convert", [v], v.shape, "f32") for v in (x, w))
    p.result(dot(p, left, right, ROWS), dot(p, left, left, TURNED))
    p.check(ulps=64)


@pytest.mark.parametrize("dims", [ROWS, TURNED, LEFT])
def test_activations_and_masks_of_the_left_operand(dims: tuple[list[int], list[int]]) -> None:
    p = Program()
    shape = (700, 40) if dims is LEFT else (40, 700)
    x, mask = p.sample(shape, "f32"), p.sample(shape, "i1")
    zero = p.constant("0.0", shape, "f32")
    w = p.sample((300, 700) if dims is TURNED else (700, 300), "f32")
    active = p.op("maximum", [x, zero], shape)
    hidden = p.op("select", [mask, x, zero], shape, "f32")
    p.result(dot(p, active, w, dims), dot(p, hidden, w, dims))
    p.check(ulps=64)


def test_batches_and_reshapes() -> None:
    p = Program()
    x = p.sample((3, 40, 96), "f32")
    heads = dequantised(p, (3, 96, 6, 8), "i8", 2)
    w = p.op("reshape", [heads], (3, 96, 48))
    p.result(dot(p, x, w, ([2], [1]), ([0], [0])))
    merged = p.op("reshape", [dequantised(p, (96, 6, 8), "i8", 0)], (96, 48))
    p.result(dot(p, p.sample((40, 96), "f32"), merged, ROWS))
    p.check(ulps=256)


def test_an_operand_of_one_vector_and_an_iota() -> None:
    p = Program()
    column = spread(p, p.sample((64,), "f32"), (64, 48), 0)
    p.result(dot(p, p.sample((40, 64), "f32"), column, ROWS))
    place = p.op("iota", [], (64, 48), "f32", "iota_dimension = 1 : i64")
    p.result(dot(p, p.sample((40, 64), "f32"), place, ROWS))
    p.check(ulps=64)


def test_what_follows_the_dot_may_read_its_operand() -> None:
    """The activated rows are read by the dot and added to its result: they are in memory."""
    p = Program()
    x = p.sample((64, 64), "f32")
    active = p.op("maximum", [x, p.constant("0.0", (64, 64), "f32")], (64, 64))
    product = dot(p, active, p.sample((64, 64), "f32"), TURNED)
    p.result(p.op("add", [product, active], (64, 64)))
    p.check(ulps=64)


def test_dear_functions_are_computed_once() -> None:
    p = Program()
    raised = p.op("exponential", [p.sample((256, 256), "f32")], (256, 256))
    p.result(dot(p, p.sample((64, 256), "f32"), raised, ROWS))
    assert len(kernels_of(p)) == 2
    p.check(ulps=64)
