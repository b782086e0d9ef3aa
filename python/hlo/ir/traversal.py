"""Looks through a module without a crossing from Python for every operation."""

from __future__ import annotations

from collections.abc import Iterable

from mlir import ir

from hlo_native import _graph
from hlo_native._graph import (
    GraphReader,
    dead_operations,
    has_effects,
    is_used,
    operations_in,
    producer_of,
    users_of,
)

__all__ = [
    "GraphReader",
    "dead_operations",
    "has_effects",
    "is_used",
    "operations_in",
    "operations_named",
    "operations_of",
    "producer_of",
    "users_of",
]


def operations_named(operation: ir.Operation, names: Iterable[str]) -> list[ir.Operation]:
    """The operations with one of these names, in and including one; outer ones first, in order."""
    return _graph.operations_named(operation, list(names))


def operations_of(block: ir.Block) -> list[ir.Operation]:
    """The operations directly in a block.

    Who iterates over the block has MLIR's Python classes of all dialects in it loaded: those of
    `arith` and `memref` take 8 ms.
    """
    inside = operations_in(block.owner.operation)[1:]
    return [operation for operation in inside if operation.block == block]
