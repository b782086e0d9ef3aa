"""Puts the bodies of `hlo.fusion` operations back in line."""

from __future__ import annotations

from hlo import ir

_FUSION = "hlo.fusion"


def inline_fusions(root: ir.Operation) -> None:
    """Replaces every fusion nested in `root` by the operations of its region, in place."""
    for region in root.regions:
        for block in region:
            # A fusion's operations land in this block: visit what stood here before the move.
            for view in list(block):
                operation = view.operation
                inline_fusions(operation)
                if operation.name == _FUSION:
                    _inline(operation)


def _inline(fusion: ir.Operation) -> None:
    body = fusion.regions[0].blocks[0]
    for argument, operand in zip(body.arguments, fusion.operands, strict=True):
        argument.replace_all_uses_with(operand)
    operations = [view.operation for view in body]
    for operation in operations[:-1]:
        operation.move_before(fusion)
    for result, value in zip(fusion.results, operations[-1].operands, strict=True):
        result.replace_all_uses_with(value)
    fusion.erase()
