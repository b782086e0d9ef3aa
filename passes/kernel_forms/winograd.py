"""winograd: convolutions of 3 x 3 windows with fewer multiplications, where floats may round so."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.hlo_to_loops.elemental.reductions import padding_pairs
from hlo.passes.kernel_forms.constants import constant_behind, elements_of
from hlo.passes.kernel_forms.convolutions_to_dots import PlainConvolution
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import element_of, shape_of
from hlo.passes.rewrite.walk import operations_named, replace
from hlo.passes.simplify.dead_code import erase_dead_ops

Transform = Callable[[Sequence[ir.Value]], list[ir.Value]]  # of a line of values
WINDOW, OUT = 3, 2  # of a kernel, and of the results that a tile of the input gives
TILE = WINDOW + OUT - 1
# Cycles for a vector, measured on Zen 5: a multiply-add, a direct one and one of a product; a
# transformed element of the input, the result, and a kernel that is no constant; the least that
# reading a transformed kernel takes.
DIRECT, MULTIPLIED, FROM_INPUT, TO_RESULT, OF_KERNEL, KERNEL_READ = 0.28, 0.5, 15, 8, 10, 10
GAIN = 1.25  # that is worth it
MOST_BYTES = 64 << 20  # of a transformed input or result


@dataclass(frozen=True)
class Winograd(Pass):
    """Computes 2 x 2 results of a convolution by 16 multiplications of each feature, not 36.

    Tiles of 4 x 4 elements of the input, 2 apart, and the kernel are transformed; their products,
    element by element, are summed over features by one product of matrices for each of the 16
    places, and transformed back (Lavin and Gray, "Fast Algorithms for Convolutional Neural
    Networks", 2016: F(2 x 2, 3 x 3)). Errors relative to the largest result are no larger than
    those of the sums they replace (64 to 512 features: 0.3 to 0.5 of them), but elements of a
    neighbourhood are added and subtracted, so that one that is not finite makes its neighbours NaN.
    F(4 x 4, 3 x 3) would be 0.7 to 1.6 times as fast, with errors 5 to 8 times those of the sums.

    Transformed, an input takes 4 times its memory while the product is made, and a constant kernel
    16 / 9 of its own; one that something else reads is transformed when the program runs.

    Requires: the core op set, static shapes, prepared convolutions (prepare-convolutions), leave to
    change how floats round and to take them for finite.

        %0 = hlo.convolution(%x, %k)
            : (tensor<1x28x28x128xf32>, tensor<3x3x128x128xf32>) -> tensor<1x28x28x128xf32>
      ==>
        %v = hlo.concatenate ... : tensor<16x196x128xf32>
        %u = hlo.concatenate ... : tensor<16x128x128xf32>
        %p = hlo.dot_general %v, %u, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    """

    def run(self, module: ir.Module) -> bool:
        changed = [_rewrite(op) for op in operations_named(module, ("hlo.convolution",))]
        if any(changed):
            erase_dead_ops(module)  # constants as they were
        return any(changed)


def _rewrite(op: ir.Operation) -> bool:
    conv = PlainConvolution.of(op)
    if conv is None or not _fits(op, conv):
        return False
    batch, *results, features = shape_of(op.results[0])
    tiles = [-(-size // OUT) for size in results]
    constant = _alone(op.operands[1])
    if not _pays(op, math.prod(tiles) * batch, constant):
        return False
    b = Builder.before(op)
    left = _transformed_input(b, op.operands[0], padding_of(conv), tiles)
    right = _transformed_constant(b, op) if constant else _transformed_kernel(b, op.operands[1])
    kept = {k: op.attributes[k] for k in op.attributes if k == "precision_config"}
    products = b.dot_general(
        left, right, batching=([0], [0]), contracting=([2], [1]),
        element=element_of(op.results[0]), attributes=kept,
    )  # fmt: skip
    replace(op, [_transformed_back(b, products, (batch, *tiles, features), results)])
    return True


def padding_of(conv: PlainConvolution) -> list[tuple[int, int]]:
    """Zeros ahead of and behind the input in both dimensions."""
    return padding_pairs(conv.attributes.get("padding"), len(conv.window))


def _fits(op: ir.Operation, conv: PlainConvolution) -> bool:
    values = (*op.operands, op.results[0])
    if any(str(element_of(value)) != "f32" for value in values):
        return False
    if conv.window != (WINDOW, WINDOW) or {*conv.strides, *conv.spread} != {1}:
        return False
    if list(conv.input) != ["b", "0", "1", "f"] or list(conv.output) != ["b", "0", "1", "f"]:
        return False
    if list(conv.kernel) != ["0", "1", "i", "o"] or min(min(p) for p in padding_of(conv)) < 0:
        return False
    return all(size > 0 for value in values for size in shape_of(value))


def _pays(op: ir.Operation, tiles: int, constant: bool) -> bool:
    """Whether transforms take less than what they save."""
    *_, inputs, outputs = shape_of(op.operands[1])
    positions = math.prod(shape_of(op.results[0])[:-1])
    if 4 * TILE**2 * tiles * max(inputs, outputs) > MOST_BYTES:
        return False
    cycles = max(MULTIPLIED * tiles, KERNEL_READ) * inputs * outputs
    cycles += tiles * (FROM_INPUT * inputs + TO_RESULT * outputs)
    cycles += 0 if constant else OF_KERNEL * inputs * outputs
    return DIRECT * positions * inputs * outputs > GAIN * cycles


def _alone(kernel: ir.Value) -> bool:
    """Whether a kernel is a constant that nothing else reads."""
    if constant_behind(kernel) is None:
        return False
    value = kernel
    while len(list(value.uses)) == 1:
        made = value.owner
        if made.name == "hlo.constant":
            return True
        value = made.operands[0]
    return False


def _transformed_input(
    b: Builder, value: ir.Value, padding: Sequence[tuple[int, int]], tiles: Sequence[int]
) -> ir.Value:
    """`[16, tiles, features]`: the elements of tiles 2 apart, transformed in both dimensions."""
    batch, *sizes, features = shape_of(value)
    low = [0, *(before for before, _ in padding), 0]
    ends = [OUT * count + WINDOW - 1 for count in tiles]
    high = [e - size - before for e, size, before in zip(ends, sizes, low[1:-1], strict=True)]
    zero = b.constant(0, element_of(value))
    padded = b.pad(value, zero, low, [0, *high, 0], [0] * 4)

    def at(*place: int) -> ir.Value:
        limits = [p + OUT * (count - 1) + 1 for p, count in zip(place, tiles, strict=True)]
        return b.slice(padded, [0, *place, 0], [batch, *limits, features], [1, OUT, OUT, 1])

    def transform(d: Sequence[ir.Value]) -> list[ir.Value]:
        return [
            b.subtract(d[0], d[2]), b.add(d[1], d[2]), b.subtract(d[2], d[1]),
            b.subtract(d[1], d[3]),
        ]  # fmt: skip

    rows = [[at(i, j) for j in range(TILE)] for i in range(TILE)]
    flat = [1, batch * math.prod(tiles), features]
    found = itertools.chain(*_both_ways(rows, transform))
    return b.concatenate([b.reshape(value, flat) for value in found], 0)


def _both_ways(rows: Sequence[Sequence[ir.Value]], transform: Transform) -> list[list[ir.Value]]:
    """A transform of the columns of a square, then of its rows."""
    columns = [transform(column) for column in zip(*rows, strict=True)]
    return [transform(row) for row in zip(*columns, strict=True)]


def _transformed_kernel(b: Builder, kernel: ir.Value) -> ir.Value:
    """`[16, i, o]`."""
    *_, inputs, outputs = shape_of(kernel)
    half = b.constant(0.5, element_of(kernel), [1, inputs, outputs])

    def at(i: int, j: int) -> ir.Value:
        taps = b.slice(kernel, [i, j, 0, 0], [i + 1, j + 1, inputs, outputs])
        return b.reshape(taps, [1, inputs, outputs])

    def transform(g: Sequence[ir.Value]) -> list[ir.Value]:
        ends = b.add(g[0], g[2])
        middle = [b.add(ends, g[1]), b.subtract(ends, g[1])]
        return [g[0], *(b.multiply(value, half) for value in middle), g[2]]

    rows = [[at(i, j) for j in range(WINDOW)] for i in range(WINDOW)]
    return b.concatenate(list(itertools.chain(*_both_ways(rows, transform))), 0)


def _transformed_constant(b: Builder, op: ir.Operation) -> ir.Value:
    """The same of a constant, in f64 and rounded once."""
    kernel = op.operands[1]
    *_, inputs, outputs = shape_of(kernel)
    g = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
    found = np.einsum("ai,bj,ijck->abck", g, g, elements_of(kernel).astype(np.float64))
    array = found.reshape(TILE**2, inputs, outputs).astype(np.float32)
    return b.constant_array(array, element_of(kernel))


def _transformed_back(
    b: Builder, products: ir.Value, shape: Sequence[int], results: Sequence[int]
) -> ir.Value:
    """The result, of `results` positions, from products of tiles of `shape`."""
    batch, high, wide, features = shape
    tiles = batch * high * wide

    def at(number: int) -> ir.Value:
        part = b.slice(products, [number, 0, 0], [number + 1, tiles, features])
        return b.reshape(part, [batch, high, 1, wide, 1, features])

    def transform(p: Sequence[ir.Value]) -> list[ir.Value]:
        return [b.add(b.add(p[0], p[1]), p[2]), b.subtract(b.subtract(p[1], p[2]), p[3])]

    rows = [[at(i * TILE + j) for j in range(TILE)] for i in range(TILE)]
    lines = [b.concatenate(row, 4) for row in _both_ways(rows, transform)]
    whole = b.reshape(b.concatenate(lines, 2), [batch, OUT * high, OUT * wide, features])
    return b.slice(whole, [0] * 4, [batch, *results, features])
