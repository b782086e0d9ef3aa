"""join-reduction-steps: partial results and what is made of them are one launch."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.cost.launch_time import LaunchChoice, tail_choice
from hlo.passes.fusion.composites import compose, is_composite, wrap
from hlo.passes.fusion.op_traits import FUSIBLE
from hlo.passes.hlo_to_loops.graph import node_of
from hlo.passes.kernel_forms.split_reductions import PARTIAL
from hlo.passes.rewrite.walk import CONTROL_FLOW, operations_named

KIND = "steps"
LARGEST_STEP = 1 << 16  # elements that wait in scratch until all partial results are there
LEAST_SHARE = 0.1  # of the time of all, that a launch more must save
_UNTOUCHED = frozenset({"hlo.dot_general", "hlo.convolution", "hlo.dynamic_update_slice"})


@dataclass(frozen=True)
class JoinReductionSteps(Pass):
    """Makes the kernels of a split reduction, or of several, one `hlo.fusion` of kind `steps`.

    Its members are fusions. Those that read what other members make run when all others are done,
    on one thread, in order: results do not depend on the number of threads. Partial results stay
    in the kernel's scratch.

    Launches of their own are left to the others where the cost model says that this saves a tenth
    of the time, because one thread would take long.

    Requires: `split-reductions` marked the partial reductions; `fuse` ran.
    Guarantees: only kernels whose partial results small kernels alone read are joined with them,
    and none that would have to wait for them while what they read takes up memory. What a kernel
    stores besides, element by element, leaves the new one.

        %p = hlo.fusion(%x) kind "reduce" {...}           %0 = hlo.fusion(%x) kind "steps" {
        %0 = hlo.fusion(%p) kind "reduce" {...}     ==>     %p = hlo.fusion ...
                                                            hlo.fusion(%p) ...
                                                          }
    """

    largest_step: int = LARGEST_STEP

    def run(self, module: ir.Module) -> bool:
        blocks = [
            block
            for op in operations_named(module, CONTROL_FLOW | {"func.func"})
            for region in op.regions
            for block in region.blocks
        ]
        joined = [self._block(block) for block in blocks]
        return any(joined)

    def _block(self, block: ir.Block) -> bool:
        ops = [op.operation for op in block.operations]
        partial = [op for op in ops if _partial_results(op)]
        if not partial:
            return False
        position: dict[ir.Value, int] = {}
        position.update((op.results[0], i) for i, op in enumerate(ops) if len(op.results))
        joined = [self._join(op, position) for op in reversed(partial)]
        return any(joined)

    def _join(self, op: ir.Operation, position: dict[ir.Value, int]) -> bool:
        partial = _partial_results(op)
        uses = [use.owner.operation for result in partial for use in result.uses]
        found = {use.results[0]: use for use in uses if len(use.results)}
        if not found or not all(len(use.results) for use in uses):
            return False
        readers = [found[key] for key in sorted(found, key=lambda v: position.get(v, -1))]
        if not all(r.block == op.block and self._is_small_step(r) for r in readers):
            return False
        choice = tail_choice(node_of(op), [node_of(reader) for reader in readers])
        if is_worth_apart(choice):
            return False
        made_at = {
            _key(value): position.get(_key(value), -1)
            for reader in readers
            for value in reader.operands
            if _key(value) not in found
        }
        latest = max(made_at, key=made_at.__getitem__)
        if len(readers) > 1 and made_at[latest] > position.get(readers[0].results[0], -1):
            return False  # what one of them reads may come of another
        at = max(made_at[latest], position[op.results[0]])
        others = [use.owner.operation for r in op.results if r not in partial for use in r.uses]
        if any(len(o.results) and position.get(o.results[0], -1) <= at for o in others):
            return False  # it would have to wait
        if at > position[op.results[0]] and not all(
            _lives_until(value, at, position) for value in op.operands
        ):
            return False
        if made_at[latest] >= 0:
            for reader in reversed(readers):
                reader.move_after(latest.owner.operation)
        members = [m if m.name == "hlo.fusion" else wrap(m) for m in (op, *readers)]
        reason = "partial results of a reduction are reduced when all are there"
        fused = compose(members, KIND, f"{reason}: {choice.reason}")
        position[fused.results[0]] = at
        return True

    def _is_small_step(self, op: ir.Operation) -> bool:
        if op.name == "hlo.fusion":
            inner = [o.operation.name for o in op.regions[0].blocks[0].operations]
            if not is_composite(op) and not _UNTOUCHED.isdisjoint(inner):
                return False
        elif op.name.removeprefix("hlo.") not in FUSIBLE or op.name in _UNTOUCHED:
            return False
        return sum(_size(v) for v in (*op.operands, *op.results)) <= self.largest_step


def is_worth_apart(choice: LaunchChoice) -> bool:
    """Whether what is made of partial results is better divided over threads: a launch more, and
    buffers for what is scratch otherwise, must save some of the time.
    """
    return choice.apart < (1 - LEAST_SHARE) * choice.joined


def _partial_results(op: ir.Operation) -> list[ir.Value]:
    """The results of an op that are a reduction's partial results."""
    if op.name == "hlo.reduce":
        return list(op.results) if PARTIAL in op.attributes else []
    if op.name != "hlo.fusion":
        return []
    *_, last = op.regions[0].blocks[0].operations
    roots = zip(op.results, (value.owner for value in last.operation.operands), strict=True)
    return [
        result
        for result, root in roots
        if not isinstance(root, ir.Block) and PARTIAL in root.operation.attributes
    ]


def _lives_until(value: ir.Value, at: int, position: dict[ir.Value, int]) -> bool:
    """Whether a value is there at a position anyway."""
    if isinstance(value.owner, ir.Block) or value.owner.operation.name == "hlo.constant":
        return True
    readers = [use.owner.operation for use in value.uses]
    return any(len(r.results) and position.get(r.results[0], -1) >= at for r in readers)


def _key(value: ir.Value) -> ir.Value:
    """A value that stands for the op that makes it: its first result; the value if none does."""
    owner = value.owner
    return value if isinstance(owner, ir.Block) else owner.operation.results[0]


def _size(value: ir.Value) -> int:
    return math.prod(ir.RankedTensorType(value.type).shape)
