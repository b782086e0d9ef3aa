"""Errors a user of the front end can meet while a function is traced or called."""

from __future__ import annotations

from hlo.diagnostics import CompileError


class TracerError(CompileError, TypeError):
    """A traced array used in a way that tracing cannot follow."""


class LeakedTracerError(TracerError):
    """A traced array used after the function or loop body that made it has been traced."""


class ConcretizationError(TracerError):
    """A traced array where Python or NumPy needs a number now."""


class ShapeError(CompileError, ValueError):
    """Operands whose shapes, ranks or dimension numbers do not fit the operation."""


class DtypeError(CompileError, TypeError):
    """Operands whose element types do not fit the operation."""


class TreeError(CompileError, TypeError):
    """A pytree that cannot be flattened, or that differs in structure from the expected one."""


class IndexRangeError(CompileError, IndexError):
    """A known index that is outside of the array."""
