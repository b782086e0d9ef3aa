"""Contexts: where the types, attributes and operations of a program live."""

from __future__ import annotations

import threading

from mlir import ir
from mlir._mlir_libs import get_dialect_registry

from hlo_native import _dialect

# The bindings' own class. `ir.Context` is a subclass that loads every dialect there is.
_BaseContext: type[ir.Context] = ir.Context.__mro__[1]


def make_context() -> ir.Context:
    """A context with the `hlo` dialect loaded and all upstream dialects at hand.

    It does not use threads: programs are compiled on threads of ours, one context each. Attributes
    of unknown dialects (``mhlo.num_replicas``, ``jax.buffer_donor``) are kept; operations of
    unknown dialects parse too, and `parse_module` and `verify` reject them.
    """
    context = ir.Context()
    context.enable_multithreading(False)
    context.allow_unregistered_dialects = True
    _dialect.register_dialect(context)
    return context


# A context keeps every type and attribute that its modules ever had: bounded by this many bytes.
_SHARED_BYTES = 4_000_000
_MODULE_BYTES = 10_000  # what a small module leaves in it, roughly


class _Shared(threading.local):
    context: ir.Context | None = None
    used = 0


_shared = _Shared()


def shared_context() -> ir.Context:
    """A context as `make_context` gives it, which later modules of this thread may be in as well.

    Making one takes 4 ms and destroying it as long. It is given up for a new one before the
    attributes of modules that are gone amount to much.
    """
    if _shared.context is None:
        _shared.context, _shared.used = make_context(), 0
    context = _shared.context
    note_bytes(_MODULE_BYTES)
    return context


def note_bytes(count: int) -> None:
    """Counts bytes that were given to attributes of this thread's shared context."""
    _shared.used += count
    if _shared.used > _SHARED_BYTES:
        _shared.context = None


def make_lowering_context() -> ir.Context:
    """A context of upstream dialects alone, for the code that kernels become.

    Dialects are loaded when a module first mentions them: then conversions collect the patterns of
    those that matter, and making a context takes no time.
    """
    context = _BaseContext()
    context.append_dialect_registry(get_dialect_registry())
    context.enable_multithreading(False)
    return context


def make_gpu_context() -> ir.Context:
    """A context as `make_lowering_context` gives it that also translates to LLVM's own IR."""
    context = ir.Context()
    context.enable_multithreading(False)
    return context
