"""Looks through a module without a crossing from Python for every operation."""

from __future__ import annotations

from collections.abc import Iterable

from mlir import ir

from hlo_native import _dialect
from hlo_native._graph import GraphReader, operations_in

__all__ = ["GraphReader", "operations_in", "operations_named"]


def operations_named(operation: ir.Operation, names: Iterable[str]) -> list[ir.Operation]:
    """The operations with one of these names, in and including one; outer ones first, in order."""
    return _dialect.operations_named(operation, list(names))
