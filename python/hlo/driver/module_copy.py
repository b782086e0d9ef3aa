"""A copy of a module, so that passes leave the caller's alone."""

from __future__ import annotations

from hlo import ir


def copy_of(module: ir.Module) -> ir.Module:
    """A copy in the same context, with the module's attributes."""
    copy = ir.Module.create(ir.Location.unknown(module.context))
    for name, attribute in module.operation.attributes.items():
        copy.operation.attributes[name] = attribute
    with ir.InsertionPoint(copy.body):
        for op in module.body.operations:
            op.operation.clone()
    return copy
