"""Which operands contractions compute from other tensors while they read or pack them."""

from __future__ import annotations

import math

from hlo.passes.hlo_to_loops.contraction_tiling import (
    VECTOR_BYTES,
    depth_of,
    fits_register_tiles,
    lanes_of,
    packed_elements,
    tiling_for,
    tiling_of,
)
from hlo.passes.hlo_to_loops.gradient_blocks import gradient_plan
from hlo.passes.hlo_to_loops.graph import Node
from hlo.passes.hlo_to_loops.input_blocks import input_block
from hlo.passes.hlo_to_loops.matrix_multiply import matrix_operands
from hlo.passes.hlo_to_loops.matrix_vector_kernel import matrix_vector_of
from hlo.passes.hlo_to_loops.product_blocking import blocking_of, is_transposed_left, packs
from hlo.passes.hlo_to_loops.product_factors import word_instruction

PACKED_BYTES = 1 << 20  # of a run of columns of a kernel in scratch, at the most


def takes_prologue(node: Node, operand: int) -> bool:
    """Whether a contraction computes an operand where it reads it, few times at the most."""
    if node.operands[0] is node.operands[1]:
        return False
    if node.name == "convolution":
        if (plan := gradient_plan(node)) is not None:
            return operand == 0 and plan.parts > 1
        if operand == 0:
            return input_block(node) is not None
        return fits_register_tiles(node) and _holds_columns(node)
    if (plan := matrix_vector_of(node)) is not None:
        return node.operands[operand] is plan.matrix
    if word_instruction(node, depth_of(node)) is not None:
        return False  # words are loaded as they lie in memory
    if operand == 0:
        return packs(node) or packs_left(node)
    return packs(node, computed=True) or _tiles_hold_all_rows(node)


def packs_left(node: Node) -> bool:
    """Whether a dot that reads its left operand in memory could pack rows of it instead."""
    if packs(node) or not packs(node, computed=True):
        return False
    operands = matrix_operands(node)
    return operands is not None and not is_transposed_left(operands[0])


def left_times(node: Node) -> int:
    """How often such a dot packs each element of its left operand."""
    operands = matrix_operands(node)
    assert operands is not None, "it packs"
    left, right = operands
    m, n, k = left.free.extent, right.free.extent, left.summed.extent
    batch = math.prod(axis.extent for axis in left.batch)
    return blocking_of(m, n, k, lanes_of(node.results[0].type), batch=batch).column_blocks


def _holds_columns(node: Node) -> bool:
    """Whether scratch has room for the columns of a convolution's kernel that tiles share."""
    tiling = tiling_for(node)
    return packed_elements(node, tiling) * (VECTOR_BYTES // tiling.lanes) <= PACKED_BYTES


def _tiles_hold_all_rows(node: Node) -> bool:
    """Whether register tiles read each element of the right operand about once."""
    if not fits_register_tiles(node):
        return False
    return tiling_of(node.results[0].shape, lanes_of(node.results[0].type)).row_blocks <= 2
