"""prepare-dots: dimensions of a dot that are one in memory become one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.ir.attributes import DotDimensionNumbers
from hlo.passes.base import Pass
from hlo.passes.hlo_to_loops.contraction_tiling import (
    depth_of,
    fits_register_tiles,
    minor_is_free,
)
from hlo.passes.hlo_to_loops.graph import Node, node_of
from hlo.passes.hlo_to_loops.matrix_multiply import matrix_operands
from hlo.passes.hlo_to_loops.matrix_vector_kernel import (
    MOST_VECTORS,
    MOST_VECTORS_BY_ROWS,
    matrix_vector_of,
)
from hlo.passes.hlo_to_loops.product_factors import FLUSHES, word_instruction
from hlo.passes.kernel_forms.building import create, reshaped, transposed
from hlo.passes.kernel_forms.constants import constant_behind, elements_of
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import element_of

SMALLEST_TRANSPOSED = 8192  # multiply-adds below which loops are as fast as a transpose
# Columns on both sides of what is summed: 224 x 120 by 100 x 120 x 3 takes 58 us with the right
# operand turned, not 245, with 12 behind 182, not 265; with 16, a whole vector, 440, not 290.
FULL_ROW = 16
ROWS_THAT_PAY = 32  # with 16 rows it takes as long either way
# Left operands that meet few columns faster as rows: 512 x 512 by 4 takes 10 us, not 40, with 12
# 29, not 41. With 64 rows there is no work for a second thread, with less than 128 steps sums of
# lanes take as long as products, but for up to 6 columns: 256 x 64 by 4 takes a Xeon 1.6 us, not
# 2.5, by 8 and 12 no less.
FEWEST_ROWS, FEWEST_STEPS, SMALLEST_LEFT = 128, 128, 1 << 16
FEW, STEPS_OF_FEW, SMALLEST_OF_FEW = 6, 64, 1 << 14
# Columns of a transposed left operand that fill lanes in the place of few of a right one: 64 x 64
# by 8 takes a Xeon 0.57 us, not 0.80, 4096 x 33 by 8 26, not 61.
FEWEST_COLUMNS, FEWEST_OF_COLUMNS = 64, 32


@dataclass(frozen=True)
class PrepareDots(Pass):
    """Merges adjacent free dimensions, and adjacent contracted ones, of every dot_general.

    A matrix product then has one row dimension, one column dimension and one contracted dimension:
    what register tiles and the vendor library work on. The reshapes around it move nothing. A large
    dot whose right operand has its columns apart in memory, or in runs shorter than a vector, where
    the library cannot help, gets a transposed copy of that operand; a constant one is stored in
    that order, where kernels would turn it around each time they run. A dot of a large matrix with
    a few rows of a right operand is that of the operands exchanged, which kernels read at memory's
    speed, and its small result is transposed; so is a right operand of few columns, and a
    transposed left one that meets few: its columns fill lanes.

    Requires: the core op set, static shapes.
    Guarantees: free (contracted) dimensions that follow one another in an operand are one.

        %0 = hlo.dot_general %x, %w, contracting_dims = [2] x [0]
            : (tensor<1x128x768xf32>, tensor<768x12x64xf32>) -> tensor<1x128x12x64xf32>
      ==>
        %a = hlo.reshape %x : tensor<128x768xf32>
        %b = hlo.reshape %w : tensor<768x768xf32>
        %d = hlo.dot_general %a, %b, contracting_dims = [1] x [0] : tensor<128x768xf32>
        %0 = hlo.reshape %d : tensor<1x128x12x64xf32>

    Attributes:
        fast: mark products of bf16 with `hlo.flushes_subnormals`: kernels may use instructions
            that take subnormal factors and sums for zero.
        constants: store constant right operands with their columns minor.
        columns: transpose right operands of few columns that a large matrix meets.
    """

    fast: bool = False
    constants: bool = True
    columns: bool = True

    def run(self, module: ir.Module) -> bool:
        found: list[ir.Operation] = []

        def visit(op: ir.Operation) -> ir.WalkResult:
            if op.name == "hlo.dot_general":
                found.append(op)
            return ir.WalkResult.ADVANCE

        module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
        changed = False
        for op in found:
            turned = self.constants and _turn_constant(op)
            ready = _with_columns_minor(op)
            changed |= turned or ready is not op
            changed |= self.fast and _mark(ready)
            merged = _merge(ready)
            changed |= merged is not ready
            changed |= _exchange(merged, self.columns)
        return changed


def _mark(op: ir.Operation) -> bool:
    """Allows kernels to flush subnormals, where it helps and is not allowed already."""
    if FLUSHES in op.attributes or any(
        str(ir.RankedTensorType(v.type).element_type) != "bf16" for v in op.operands
    ):
        return False
    with op.context:
        op.attributes[FLUSHES] = ir.UnitAttr.get()
    return True


@dataclass(frozen=True)
class _Side:
    """One operand with runs of dimensions merged."""

    shape: tuple[int, ...]
    position: dict[int, int]

    @staticmethod
    def of(shape: Sequence[int], runs: Sequence[Sequence[int]]) -> _Side:
        into = {d: run[0] for run in runs for d in run[1:]}
        merged, position = list[int](), dict[int, int]()
        for d, size in enumerate(shape):
            if d in into:
                position[d] = position[into[d]]
                merged[position[d]] *= size
            else:
                position[d] = len(merged)
                merged.append(size)
        return _Side(tuple(merged), position)

    def dims(self, dims: Sequence[int]) -> list[int]:
        return list(dict.fromkeys(self.position[d] for d in dims))


def _numbers(op: ir.Operation) -> DotDimensionNumbers:
    numbers = op.attributes["dot_dimension_numbers"]
    assert isinstance(numbers, DotDimensionNumbers)
    return numbers


def _with_columns_minor(op: ir.Operation) -> ir.Operation:
    """Transposes the right operand of a large dot if neither tiles nor the library can read it."""
    node = node_of(op)
    if depth_of(node) * node.results[0].size < SMALLEST_TRANSPOSED or node.operands[1].size == 0:
        return op
    if matrix_operands(node) is not None or (minor_is_free(node) and not _has_short_runs(node)):
        return op
    numbers = _numbers(op)
    batch, summed = (
        list(numbers.rhs_batching_dimensions),
        list(numbers.rhs_contracting_dimensions),
    )
    taken = [*batch, *summed]
    free = [d for d in range(node.operands[1].rank) if d not in taken]
    if not free:
        return op
    result = ir.RankedTensorType(op.results[0].type)
    with op.location, ir.InsertionPoint(op):
        right = transposed(op.operands[1], [*taken, *free])
        kept = {key: op.attributes[key] for key in op.attributes}
        kept["dot_dimension_numbers"] = DotDimensionNumbers.get(
            list(numbers.lhs_batching_dimensions),
            list(range(len(batch))),
            list(numbers.lhs_contracting_dimensions),
            list(range(len(batch), len(taken))),
        )
        operands = [op.operands[0], right]
        new = create("hlo.dot_general", operands, result.shape, result.element_type, kept)
    op.results[0].replace_all_uses_with(new.results[0])
    op.erase()
    return new


def _has_short_runs(node: Node) -> bool:
    """Whether many rows meet columns of a right operand that lie in runs too short for vectors."""
    right, numbers = node.operands[1], node.attributes["dot_dimension_numbers"]
    batch = numbers.get("rhs_batching_dimensions", ())
    summed = numbers.get("rhs_contracting_dimensions", ())
    columns = math.prod(s for d, s in enumerate(right.shape) if d not in (*batch, *summed))
    run = math.prod(right.shape[max((*batch, *summed), default=-1) + 1 :])
    rows = node.results[0].size // max(math.prod(right.shape[d] for d in batch) * columns, 1)
    return run < FULL_ROW and columns >= 2 * max(run, FULL_ROW) and rows >= ROWS_THAT_PAY


def _turn_constant(op: ir.Operation) -> bool:
    """Stores a constant right operand, a matrix that this op alone reads, with its columns minor.

    A matrix that meets few vectors is read faster in rows, and words are neighbours along the
    depth: those stay.
    """
    node, right = node_of(op), op.operands[1]
    numbers = _numbers(op)
    if node.operands[1].rank != 2 or list(numbers.rhs_contracting_dimensions) != [1]:
        return False
    if list(numbers.rhs_batching_dimensions):
        return False
    if not node.results[0].type.is_float or word_instruction(node, depth_of(node)) is not None:
        return False
    if _few_vectors(node) or min(node.operands[1].shape) < 2:
        return False
    source = constant_behind(right)
    if source is None or right.owner != source or len(list(right.uses)) != 1:
        return False
    b = Builder.before(op)
    op.operands[1] = b.constant_array(elements_of(right).transpose(), element_of(right))
    op.attributes["dot_dimension_numbers"] = DotDimensionNumbers.get(
        [], [], list(numbers.lhs_contracting_dimensions), [0], context=op.context
    )
    source.erase()
    return True


def _few_vectors(node: Node) -> bool:
    """Whether the left operand of a dot without batches has few rows."""
    rows = node.operands[0].size // max(depth_of(node), 1)
    return rows <= MOST_VECTORS_BY_ROWS


def _exchange(op: ir.Operation, turns: bool) -> bool:
    """Exchanges the operands of a dot without batches if only then a matrix meets few vectors.

    Args:
        turns: whether these may be columns of the right operand, which is then transposed.
    """
    left, right = (ir.RankedTensorType(v.type) for v in op.operands)
    numbers, result = _numbers(op), ir.RankedTensorType(op.results[0].type)
    if left.rank != 2 or right.rank != 2 or result.rank != 2:
        return False
    if not 1 < result.shape[1] <= MOST_VECTORS_BY_ROWS < result.shape[0]:
        return False
    kept = {key: op.attributes[key] for key in op.attributes}
    if "algorithm" in kept:
        return False
    with op.location, ir.InsertionPoint(op):
        if "precision_config" in kept:
            kept["precision_config"] = ir.ArrayAttr.get(
                list(ir.ArrayAttr(kept["precision_config"]))[::-1]
            )
        kept["dot_dimension_numbers"] = DotDimensionNumbers.get(
            [], [],
            list(numbers.rhs_contracting_dimensions), list(numbers.lhs_contracting_dimensions),
        )  # fmt: skip
        shape = [result.shape[1], result.shape[0]]
        operands = [op.operands[1], op.operands[0]]
        if turns and _reads_faster_turned(node_of(op)):
            operands[0] = _turned(Builder.before(op), operands[0])
            kept["dot_dimension_numbers"] = DotDimensionNumbers.get([], [], [1], [1])
        new = create("hlo.dot_general", operands, shape, result.element_type, kept)
        node = node_of(new)
        if matrix_vector_of(node) is None and not (turns and _fills_lanes(node)):
            new.erase()
            if operands[0] != op.operands[1]:
                operands[0].owner.erase()
            return False
        op.results[0].replace_all_uses_with(transposed(new.results[0], [1, 0]))
    op.erase()
    return True


def _reads_faster_turned(node: Node) -> bool:
    """Whether columns of a right operand, few of a large product, are to be rows of it."""
    numbers = node.attributes["dot_dimension_numbers"]
    if (*numbers["lhs_contracting_dimensions"], *numbers["rhs_contracting_dimensions"]) != (1, 0):
        return False
    (rows, depth), columns = node.operands[0].shape, node.operands[1].shape[1]
    few = columns <= FEW
    steps, smallest = (STEPS_OF_FEW, SMALLEST_OF_FEW) if few else (FEWEST_STEPS, SMALLEST_LEFT)
    return rows >= FEWEST_ROWS and depth >= steps and rows * depth >= smallest


def _fills_lanes(node: Node) -> bool:
    """Whether few rows of a dot meet a matrix whose columns fill the lanes of register tiles."""
    rows, columns = node.results[0].shape
    long = columns >= FEWEST_COLUMNS and depth_of(node) >= FEWEST_OF_COLUMNS
    return long and rows <= MOST_VECTORS and minor_is_free(node) and fits_register_tiles(node)


def _turned(b: Builder, value: ir.Value) -> ir.Value:
    """A matrix transposed; a constant one is another constant."""
    source = constant_behind(value)
    if source is None or value.owner != source:
        return transposed(value, [1, 0])
    return b.constant_array(elements_of(value).transpose(), element_of(value))


def _merge(op: ir.Operation) -> ir.Operation:
    """The dot with runs of dimensions merged; the same one if there are none."""
    numbers = _numbers(op)
    batch = [list(numbers.lhs_batching_dimensions), list(numbers.rhs_batching_dimensions)]
    summed = [list(numbers.lhs_contracting_dimensions), list(numbers.rhs_contracting_dimensions)]
    shapes = [tuple(ir.RankedTensorType(v.type).shape) for v in op.operands]
    free = [
        [d for d in range(len(shape)) if d not in b and d not in s]
        for shape, b, s in zip(shapes, batch, summed, strict=True)
    ]
    runs = [[run for run in _runs(f) if len(run) > 1] for f in free]
    if len(summed[0]) > 1 and all(_consecutive(s) for s in summed):
        for side, dims in zip(runs, summed, strict=True):
            side.append(dims)
    if not any(runs):
        return op
    result = ir.RankedTensorType(op.results[0].type)
    sides = [_Side.of(shape, side) for shape, side in zip(shapes, runs, strict=True)]
    shape = [shapes[0][d] for d in batch[0]]
    for side, dims in zip(sides, free, strict=True):
        shape += [side.shape[d] for d in side.dims(dims)]
    assert math.prod(shape) == math.prod(result.shape)
    with op.location, ir.InsertionPoint(op):
        operands = [
            reshaped(value, side.shape) if side.shape != old else value
            for value, side, old in zip(op.operands, sides, shapes, strict=True)
        ]
        kept = {key: op.attributes[key] for key in op.attributes}
        kept["dot_dimension_numbers"] = DotDimensionNumbers.get(
            sides[0].dims(batch[0]),
            sides[1].dims(batch[1]),
            sides[0].dims(summed[0]),
            sides[1].dims(summed[1]),
        )
        new = create("hlo.dot_general", operands, shape, result.element_type, kept)
        value = new.results[0]
        if list(result.shape) != shape:
            value = reshaped(value, result.shape)
    op.results[0].replace_all_uses_with(value)
    op.erase()
    return new


def _runs(dims: Sequence[int]) -> list[list[int]]:
    """Dimensions in groups that follow one another."""
    groups: list[list[int]] = []
    for d in dims:
        if groups and d == groups[-1][-1] + 1:
            groups[-1].append(d)
        else:
            groups.append([d])
    return groups


def _consecutive(dims: Sequence[int]) -> bool:
    return all(b == a + 1 for a, b in itertools.pairwise(dims))
