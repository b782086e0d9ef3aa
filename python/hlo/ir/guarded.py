"""Passes that may end the process: LLVM reports code that it cannot make as a fatal error."""

from __future__ import annotations

from mlir import ir

from hlo.diagnostics import CompileError
from hlo_native import _runtime

# What crashed passes were working on may hold locks, and is in no state to be destroyed.
_abandoned: list[tuple[ir.Module, ir.Context]] = []


class PassCrashError(CompileError):
    """Passes that came to a fatal error, a failed assertion or a bad access.

    The module and its context cannot be used any more; they are never freed.
    """


def run_guarded(module: ir.Module, passes: str, *, verify: bool = True) -> None:
    """Runs passes on a module of a context of its own, such that a crash of theirs is an error.

    Args:
        passes: what stands between `builtin.module(` and `)` in a pipeline.
        verify: check the module after each pass.

    Raises:
        PassCrashError: the process would have ended.
        CompileError: the passes are not known, or fail.
    """
    status, message = _runtime.run_guarded(module.operation, f"builtin.module({passes})", verify)
    if status == "crashed":
        _abandoned.append((module, module.context))
        raise PassCrashError(message or "a pass has crashed")
    if status == "failed":
        raise CompileError(message or f"passes fail: {passes}")
