"""Which operands contractions compute from other tensors while they read or pack them."""

from __future__ import annotations

from hlo.passes.hlo_to_loops.contraction_tiling import (
    VECTOR_BYTES,
    depth_of,
    fits_register_tiles,
    lanes_of,
    packed_elements,
    tiling_for,
    tiling_of,
)
from hlo.passes.hlo_to_loops.graph import Node
from hlo.passes.hlo_to_loops.input_blocks import input_block
from hlo.passes.hlo_to_loops.matrix_vector_kernel import matrix_vector_of
from hlo.passes.hlo_to_loops.product_blocking import packs
from hlo.passes.hlo_to_loops.product_factors import word_instruction

PACKED_BYTES = 1 << 20  # of a run of columns of a kernel in scratch, at the most


def takes_prologue(node: Node, operand: int) -> bool:
    """Whether a contraction computes an operand where it reads it, few times at the most."""
    if node.operands[0] is node.operands[1]:
        return False
    if node.name == "convolution":
        if operand == 0:
            return input_block(node) is not None
        return fits_register_tiles(node) and _holds_columns(node)
    if (plan := matrix_vector_of(node)) is not None:
        return node.operands[operand] is plan.matrix
    if word_instruction(node, depth_of(node)) is not None:
        return False  # words are loaded as they lie in memory
    if operand == 0:
        return packs(node)
    return packs(node, computed=True) or _tiles_hold_all_rows(node)


def _holds_columns(node: Node) -> bool:
    """Whether scratch has room for the columns of a convolution's kernel that tiles share."""
    tiling = tiling_for(node)
    return packed_elements(node, tiling) * (VECTOR_BYTES // tiling.lanes) <= PACKED_BYTES


def _tiles_hold_all_rows(node: Node) -> bool:
    """Whether register tiles read each element of the right operand about once."""
    if not fits_register_tiles(node):
        return False
    return tiling_of(node.results[0].shape, lanes_of(node.results[0].type)).row_blocks <= 2
