"""Contexts: where the types, attributes and operations of a program live."""

from __future__ import annotations

from mlir import ir

from hlo_native import _dialect


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


def make_lowering_context() -> ir.Context:
    """A context of upstream dialects alone, for the code that kernels become."""
    context = ir.Context()
    context.enable_multithreading(False)
    return context
