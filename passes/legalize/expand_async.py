"""Asynchronous ops are done where they start."""

from __future__ import annotations

from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.rewrite.inlining import move_block_before
from hlo.passes.rewrite.walk import body_of, malformed, operations_named, replace


@dataclass(frozen=True)
class ExpandAsync(Pass):
    """Replaces `hlo.async_start` and `hlo.async_done` by what the former's region computes.

      %0 = "hlo.async_start"(%x) ({ ^bb0(%a: tensor<f32>): ... hlo.return %r }) : ...
      %1 = "hlo.async_done"(%0) : (!hlo.future<tensor<f32>>) -> tensor<f32>
    ==>
      the region's ops with %x for %a, and %r for %1
    """

    def run(self, module: ir.Module) -> bool:
        """Takes each start with its dones."""
        starts = operations_named(module, {"hlo.async_start"})
        for start in starts:
            values = move_block_before(body_of(start), list(start.operands), start)
            for done in [use.owner.operation for use in start.results[0].uses]:
                if done.name != "hlo.async_done":
                    raise malformed(done, "expected hlo.async_done to take the future")
                replace(done, values)
            start.erase()
        return bool(starts)
