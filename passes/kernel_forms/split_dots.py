"""split-dots: a deep dot with few vectors, or with a result of few tiles, becomes partial dots and
their sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.ir.attributes import DotDimensionNumbers
from hlo.passes.base import Pass
from hlo.passes.hlo_to_loops.contraction_tiling import depth_of
from hlo.passes.hlo_to_loops.elemental.contractions import product_type
from hlo.passes.hlo_to_loops.graph import Node, node_of
from hlo.passes.hlo_to_loops.matrix_vector_kernel import (
    WIDEST_SUMS,
    MatrixVector,
    matrix_vector_of,
)
from hlo.passes.hlo_to_loops.product_blocking import repacks
from hlo.passes.hlo_to_loops.product_factors import word_instruction
from hlo.passes.hlo_to_loops.two_products import product_by_columns
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import element_of, shape_of
from hlo.passes.rewrite.walk import operations_named, replace

# Of a matrix that meets two vectors: rows of a piece, which has sums of its own, and columns of
# rows that stay in the first-level cache.
ROWS_OF_PIECE, COLUMNS_OF_TWO = 128, 512
# Elements of a result that is one block of tiles; steps and multiply-adds of a part of its depth.
RESULTS_OF_BLOCK, STEPS_OF_PART, WORK_OF_PART = 1 << 14, 512, 1 << 20


@dataclass(frozen=True)
class SplitDots(Pass):
    """Splits the contracted dimension of dots whose matrix is contiguous along the result.

    Such a matrix is read fastest in whole rows, a run of rows for each thread: the runs' sums are
    added up afterwards, where the elementwise ops that follow fuse. A matrix whose rows another dot
    multiplies is read once for both (two_products.py); its parts may be smaller. Partial sums of
    narrow floats are f32. Dots of matrices contiguous along the contracted dimension need no split.
    Nor do products of matrices, unless the result is so small that threads would have blocks of few
    tiles, and each would pack all of an operand for them.

    Requires: the core op set, static shapes, dots with merged dimensions (prepare-dots).
    Guarantees: sums are rounded in another order, as the specification allows.

        %0 = hlo.dot_general %x, %w, contracting_dims = [1] x [0]
            : (tensor<1x768xf32>, tensor<768x3072xf32>) -> tensor<1x3072xf32>
      ==>
        %a = hlo.reshape %x : tensor<1x8x96xf32>
        %b = hlo.reshape %w : tensor<8x96x3072xf32>
        %p = hlo.dot_general %a, %b, batching_dims = [1] x [0], contracting_dims = [2] x [1]
            : tensor<8x1x3072xf32>
        %0 = hlo.reduce(%p) add, dimensions = [0] : tensor<1x3072xf32>

    Attributes:
        pieces: the most parts of a dot.
        smallest: elements of the matrix that a part has at the least.
        smallest_of_two: the same where its rows meet a vector too.
        blocks: whether products with a result of few tiles are split.
    """

    pieces: int = 8
    smallest: int = 1 << 16
    smallest_of_two: int = 1 << 13
    blocks: bool = True

    def run(self, module: ir.Module) -> bool:
        split = [self._split(op) for op in operations_named(module, ("hlo.dot_general",))]
        return any(split)

    def _split(self, op: ir.Operation) -> bool:
        node = node_of(op)
        by_vectors = matrix_vector_of(node)
        numbers = op.attributes["dot_dimension_numbers"]
        assert isinstance(numbers, DotDimensionNumbers)
        if list(numbers.lhs_batching_dimensions):
            return False
        summed = (
            list(numbers.lhs_contracting_dimensions),
            list(numbers.rhs_contracting_dimensions),
        )
        plan = None if by_vectors is None or by_vectors.by_rows else by_vectors
        pieces = 1
        if len(summed[0]) == 1 and plan is not None:
            pieces = self._pieces(plan)
        if len(summed[0]) == 1 and by_vectors is None and self.blocks:
            pieces = self._pieces_of_block(node)
        if len(summed[0]) == 1 and _is_second_of_two(op, node):
            pieces = max(pieces, self._pieces_of_two(node))
        narrow = product_type(node.results[0].type) != node.results[0].type
        if pieces == 1 and (plan is None or not narrow):
            return False
        _rewrite(op, node, (summed[0], summed[1]), pieces)
        return True

    def _pieces(self, plan: MatrixVector) -> int:
        """The largest divisor of the depth that leaves each part work, and blocks of columns."""
        blocks = -(-plan.outputs // WIDEST_SUMS)
        most = min(self.pieces // blocks, plan.outputs * plan.depth // self.smallest)
        return _divisor(plan.depth, most)

    def _pieces_of_block(self, node: Node) -> int:
        """Parts of a packed product: each is packed once, by a work unit for all of the result."""
        depth, result = depth_of(node), node.results[0]
        if result.size > RESULTS_OF_BLOCK or not result.type.is_float:
            return 1
        if word_instruction(node, depth) is not None or not repacks(node):
            return 1
        return _divisor(
            depth, min(self.pieces, depth // STEPS_OF_PART, result.size * depth // WORK_OF_PART)
        )

    def _pieces_of_two(self, node: Node) -> int:
        columns = node.results[0].size
        if columns > COLUMNS_OF_TWO:
            return 1
        depth = max(operand.size for operand in node.operands) // columns
        most = min(self.pieces, depth // ROWS_OF_PIECE, depth * columns // self.smallest_of_two)
        return _divisor(depth, most)


def _divisor(count: int, most: int) -> int:
    """The largest divisor of `count` of at most `most`; 1 if there is none."""
    return max((p for p in range(1, most + 1) if count % p == 0), default=1)


def _is_second_of_two(op: ir.Operation, node: Node) -> bool:
    """Whether a dot multiplies the columns of a matrix whose rows another dot multiplies."""
    if (found := product_by_columns(node)) is None:
        return False
    matrix = op.operands[node.operands.index(found[0])]
    while True:
        if any(_multiplies_rows(use.owner, matrix) for use in matrix.uses if use.owner != op):
            return True
        made = matrix.owner
        if isinstance(made, ir.Block) or made.name != "hlo.reshape":
            return False
        matrix = made.operands[0]


def _multiplies_rows(op: ir.Operation | ir.OpView, matrix: ir.Value) -> bool:
    operation = op.operation
    if operation.name != "hlo.dot_general":
        return False
    plan = matrix_vector_of(node_of(operation))
    if plan is None or not plan.by_rows or plan.count != 1:
        return False
    return operation.operands[0 if plan.matrix_left else 1] == matrix


def _rewrite(
    op: ir.Operation, node: Node, summed: tuple[Sequence[int], Sequence[int]], pieces: int
) -> None:
    b = Builder.before(op)
    operands = list(op.operands)
    batching: tuple[list[int], list[int]] = ([], [])
    contracting = (list(summed[0]), list(summed[1]))
    if pieces > 1:
        for side, (dim,) in enumerate(summed):
            shape = shape_of(operands[side])
            split = [*shape[:dim], pieces, shape[dim] // pieces, *shape[dim + 1 :]]
            operands[side] = b.reshape(operands[side], split)
            batching[side].append(dim)
            contracting[side][0] = dim + 1
    kept = {k: op.attributes[k] for k in op.attributes if k != "dot_dimension_numbers"}
    element = b.parse_type(product_type(node.results[0].type).name)
    value = b.dot_general(
        operands[0], operands[1], batching=batching, contracting=contracting, element=element,
        attributes=kept,
    )  # fmt: skip
    if pieces > 1:
        value = b.sum(value, [0])
    result = op.results[0]
    if element_of(result) != element:
        value = b.convert(value, element_of(result))
    replace(op, [value])
