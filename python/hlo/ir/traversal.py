"""Looks through a module without making a Python object of every operation."""

from __future__ import annotations

from collections.abc import Iterable

from mlir import ir

from hlo_native import _dialect


def operations_named(operation: ir.Operation, names: Iterable[str]) -> list[ir.Operation]:
    """The operations with one of these names, in and including one; outer ones first, in order."""
    return _dialect.operations_named(operation, list(names))
