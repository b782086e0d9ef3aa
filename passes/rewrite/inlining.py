"""Moves and copies the contents of blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hlo import ir
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.walk import body_of, terminator_of


def move_block_before(
    block: ir.Block, arguments: Sequence[ir.Value], anchor: ir.Operation
) -> list[ir.Value]:
    """Moves a block's ops in front of `anchor`, its arguments replaced.

    The block keeps only its terminator, whose operands are returned; the op that holds the block is
    to be erased.
    """
    for old, new in zip(block.arguments, arguments, strict=True):
        old.replace_all_uses_with(new)
    terminator = terminator_of(block)
    for op in list(block.operations)[:-1]:
        op.operation.move_before(anchor)
    return list(terminator.operands)


def move_block_to(
    builder: Builder, block: ir.Block, arguments: Sequence[ir.Value]
) -> list[ir.Value]:
    """As `move_block_before`, to where a builder builds."""
    anchor = ir.Operation.create("hlo.return", loc=builder.location, ip=builder.point)
    values = move_block_before(block, arguments, anchor)
    anchor.erase()
    return values


def copy_block_before(
    op: ir.Operation, region: int, arguments: Sequence[ir.Value], anchor: ir.Operation
) -> list[ir.Value]:
    """Copies the ops of a region's block in front of `anchor`, its arguments replaced.

    Returns the values that stand for the operands of the block's terminator.
    """
    clone = op.clone(ip=ir.InsertionPoint(anchor))
    values = move_block_before(body_of(clone, region), arguments, anchor)
    clone.erase()
    return values


def relocate(op: ir.Operation, change: Callable[[ir.Location], ir.Location]) -> None:
    """Changes the location of an op and of every op in it."""

    def visit(inner: ir.Operation) -> ir.WalkResult:
        inner.location = change(inner.location)
        return ir.WalkResult.ADVANCE

    op.walk(visit, ir.WalkOrder.PRE_ORDER)
