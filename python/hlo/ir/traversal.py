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
    "producer_of",
    "users_of",
]


def operations_named(operation: ir.Operation, names: Iterable[str]) -> list[ir.Operation]:
    """The operations with one of these names, in and including one; outer ones first, in order."""
    return _graph.operations_named(operation, list(names))
