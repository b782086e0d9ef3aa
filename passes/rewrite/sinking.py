"""Copies of an op in the loops and branches whose ops read it."""

from __future__ import annotations

from collections.abc import Callable

from hlo import ir
from hlo.passes.rewrite.walk import CONTROL_FLOW


def sink(op: ir.Operation, takes: Callable[[ir.Operation], bool]) -> bool:
    """Copies an op of one result into each block of loops and branches, at any depth, that holds a
    reader which `takes` it; erases one that nothing reads any more. Returns whether it was copied.
    """
    (result,) = op.results
    copies: list[tuple[ir.Block, ir.Value]] = []
    for use in list(result.uses):
        reader = use.owner.operation
        if not takes(reader) or not _is_nested(reader, op.block):
            continue
        here = next((copy for block, copy in copies if block == reader.block), None)
        if here is None:
            with ir.InsertionPoint.at_block_begin(reader.block):
                here = op.clone().results[0]
            copies.append((reader.block, here))
        reader.operands[use.operand_number] = here
    if not list(result.uses):
        op.erase()
    return bool(copies)


def _is_nested(op: ir.Operation, block: ir.Block) -> bool:
    """Whether an op is in a loop's body or a branch, at any depth, of an op of `block`."""
    if op.block == block:
        return False
    while op.block != block:
        parent = op.parent
        if parent is None or parent.name not in CONTROL_FLOW:
            return False
        op = parent.operation
    return True
