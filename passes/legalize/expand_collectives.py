"""Collective ops of a program of one process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.walk import expand, unsupported

_GROUPED = (
    "all_gather",
    "all_reduce",
    "all_to_all",
    "collective_broadcast",
    "collective_reduce",
    "cross-replica-sum",
    "reduce_scatter",
)


@dataclass(frozen=True)
class ExpandCollectives(Pass):
    """Replaces collectives by what they give with one process, number 0: their operands.

    `hlo.collective_permute` gives zeros unless the process sends to itself; `hlo.replica_id` and
    `hlo.partition_id` are 0. A group of several processes is an error.

        %1 = "hlo.all_reduce"(%0) ({...}) {replica_groups = dense<0> : tensor<1x1xi64>}
      ==>
        %0
    """

    def run(self, module: ir.Module) -> bool:
        """Replaces each collective."""
        table = {f"hlo.{name}": _grouped for name in _GROUPED}
        table |= {
            "hlo.collective_permute": _permute,
            "hlo.replica_id": _process_number,
            "hlo.partition_id": _process_number,
        }
        return expand(module, table)


def _grouped(op: ir.Operation, builder: Builder) -> Sequence[ir.Value]:
    del builder
    groups = op.attributes["replica_groups"]
    if not isinstance(groups, ir.DenseElementsAttr):
        raise unsupported(op, "groups along the axes of a mesh need several processes")
    processes = ir.attributes.ints(op, "replica_groups")
    if any(processes):
        raise unsupported(
            op, f"expected process 0 alone, found the groups {groups}: there is one process"
        )
    operands = list(op.operands)[: len(op.results)]
    for operand, result in zip(operands, op.results, strict=True):
        if operand.type != result.type:
            raise unsupported(
                op, f"expected {operand.type}, as one process gives, found the type {result.type}"
            )
    return operands


def _permute(op: ir.Operation, builder: Builder) -> Sequence[ir.Value]:
    pairs = ir.attributes.pairs(op, "source_target_pairs")
    if any(process for pair in pairs for process in pair):
        raise unsupported(
            op, f"expected process 0 alone, found the pairs {list(pairs)}: there is one process"
        )
    return [op.operands[0] if pairs else builder.constant_like(0, op.operands[0])]


def _process_number(op: ir.Operation, builder: Builder) -> Sequence[ir.Value]:
    return [builder.constant_like(0, op.results[0])]
