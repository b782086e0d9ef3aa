"""Loop carries that never change, or that nothing needs, are no carries."""

from __future__ import annotations

from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.rewrite.signature import keep_branch_results, keep_carries
from hlo.passes.rewrite.walk import (
    CONTROL_FLOW,
    ValuesRead,
    body_of,
    operations_named,
    terminator_of,
)
from hlo.passes.simplify.dead_code import erase_dead_ops, has_effects


@dataclass(frozen=True)
class ForwardCarries(Pass):
    """Removes a loop's carries that the body returns as it got them (the initial value is used
    instead), that start equal to another and get the same values, and that only feed themselves;
    and results of branches that nothing uses, or that all branches take from around them.

        %1:2 = hlo.while(%i = %0, %w = %x) cond {...} do { ... hlo.return %next, %w }
      ==>
        %1 = hlo.while(%i = %0) cond {...} do { ... %x ... hlo.return %next }
    """

    def run(self, module: ir.Module) -> bool:
        """Outer loops first: what they forward is invariant for inner ones."""
        changed = False
        reads = ValuesRead()
        for op in operations_named(module, CONTROL_FLOW):
            changed |= _forward(op) if op.name == "hlo.while" else _forward_results(op)
        for op in reversed(operations_named(module, CONTROL_FLOW)):
            is_loop = op.name == "hlo.while"
            if _drop_dead_carries(op, reads) if is_loop else _drop_unused_results(op):
                reads.forget_all()
                changed = True
        return changed


def _forward(loop: ir.Operation) -> bool:
    """Replaces uses of unchanging carries; they are dead afterwards."""
    condition, body = body_of(loop, 0), body_of(loop, 1)
    returned = list(terminator_of(body).operands)
    changed = False
    for index, (argument, value) in enumerate(zip(list(body.arguments), returned, strict=True)):
        if value != argument:
            continue
        initial = loop.operands[index]
        for old in (condition.arguments[index], loop.results[index]):
            changed |= _replace(old, initial)
        # The terminator's own use goes with the carry.
        if sum(1 for _ in argument.uses) > 1:
            argument.replace_all_uses_with(initial)
            terminator_of(body).operands[index] = argument
            changed = True
    return changed


def _forward_results(branch: ir.Operation) -> bool:
    """Replaces results that all branches take from around them; nothing uses those afterwards."""
    changed = False
    returned = [list(terminator_of(region.blocks[0]).operands) for region in branch.regions]
    for i, result in enumerate(branch.results):
        value = returned[0][i]
        if any(values[i] != value for values in returned) or _is_inside(value, branch):
            continue
        changed |= _replace(result, value)
    return changed


def _is_inside(value: ir.Value, branch: ir.Operation) -> bool:
    owner = value.owner
    block = owner if isinstance(owner, ir.Block) else owner.operation.block
    return any(block == region.blocks[0] for region in branch.regions)


def _replace(old: ir.Value, new: ir.Value) -> bool:
    if next(iter(old.uses), None) is None:
        return False
    old.replace_all_uses_with(new)
    return True


def _drop_dead_carries(loop: ir.Operation, reads: ValuesRead) -> bool:
    live = _live_carries(loop, reads)
    if len(live) == len(loop.results):
        return False
    body = body_of(loop, 1)
    returned = list(terminator_of(body).operands)
    # A dead carry gets itself, so that what computed it dies.
    for index in range(len(returned)):
        if index not in live:
            terminator_of(body).operands[index] = body.arguments[index]
    erase_dead_ops_in(body)
    keep_carries(loop, sorted(live))
    return True


def erase_dead_ops_in(block: ir.Block) -> None:
    """Erases the dead ops of a block."""
    for view in reversed(list(block.operations)):
        op = view.operation
        is_used = any(next(iter(result.uses), None) is not None for result in op.results)
        if not is_used and not has_effects(op):
            op.erase()
        elif len(op.regions):
            for region in op.regions:
                erase_dead_ops_in(region.blocks[0])


def _live_carries(loop: ir.Operation, reads: ValuesRead) -> set[int]:
    """The carries that results, the condition, or effects of the body need, through any number of
    iterations."""
    condition, body = body_of(loop, 0), body_of(loop, 1)
    returned = list(terminator_of(body).operands)
    argument_index = {argument: i for i, argument in enumerate(body.arguments)}
    live = {
        i
        for i, result in enumerate(loop.results)
        if next(iter(result.uses), None) is not None
        or next(iter(condition.arguments[i].uses), None) is not None
    }
    ops = [view.operation for view in body.operations][:-1]
    reads_of_ops = [reads.of(op) for op in ops]
    while True:
        needed = {returned[i] for i in live}
        for op, read in zip(reversed(ops), reversed(reads_of_ops), strict=True):
            if has_effects(op) or any(result in needed for result in op.results):
                needed |= read
        grown = live | {argument_index[value] for value in needed if value in argument_index}
        if grown == live:
            return live
        live = grown


def _drop_unused_results(branch: ir.Operation) -> bool:
    used = [
        index
        for index, result in enumerate(branch.results)
        if next(iter(result.uses), None) is not None
    ]
    if len(used) == len(branch.results) or not used:
        return False
    erase_dead_ops(keep_branch_results(branch, used))
    return True
