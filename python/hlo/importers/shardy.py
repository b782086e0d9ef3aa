"""Takes Shardy's annotations out: they say how to split a program over devices, and `hlo` compiles
for one.

Attributes (`sdy.sharding`, `sdy.sharding_rule`, ...) and meshes are dropped; sharding constraints
and propagation barriers forward their operand."""

from __future__ import annotations

from typing import Any

from hlo.diagnostics import UnsupportedError

_PREFIX = "sdy."
_FORWARDING = frozenset({"sdy.sharding_constraint", "sdy.reshard", "sdy.propagation_barrier"})
_ERASED = frozenset({"sdy.mesh", "sdy.sharding_group"})


def remove_annotations(module_operation: Any, mlir_ir: Any) -> None:
    """Rewrites a StableHLO module of jaxlib's MLIR in place.

    Raises:
        UnsupportedError: an operation of Shardy that computes on several devices, such as
            `sdy.manual_computation`.
    """
    unneeded: list[Any] = []
    _visit(module_operation, mlir_ir, unneeded)
    for operation in unneeded:
        operation.erase()


def _visit(operation: Any, mlir_ir: Any, unneeded: list[Any]) -> None:
    _drop_attributes(operation, mlir_ir)
    for region in operation.regions:
        for block in region:
            for nested in block:
                inner = nested.operation
                _visit(inner, mlir_ir, unneeded)
                if inner.name.startswith(_PREFIX):
                    _bypass(inner)
                    unneeded.append(inner)


def _bypass(operation: Any) -> None:
    if operation.name in _FORWARDING:
        operation.results[0].replace_all_uses_with(operation.operands[0])
    elif operation.name not in _ERASED:
        raise UnsupportedError(
            "this operation runs on several devices, and hlo compiles for one; lower the program "
            "without a mesh",
            op=operation.name,
            location=str(operation.location),
        )


def _drop_attributes(operation: Any, mlir_ir: Any) -> None:
    attributes = operation.attributes
    if operation.name.startswith(_PREFIX):
        return
    for name in [entry for entry in attributes if entry.startswith(_PREFIX)]:
        del attributes[name]
    for name in ("arg_attrs", "res_attrs"):
        if name in attributes:
            kept = [
                _kept(dictionary, operation.context, mlir_ir) for dictionary in attributes[name]
            ]
            attributes[name] = mlir_ir.ArrayAttr.get(kept, operation.context)


def _kept(dictionary: Any, context: Any, mlir_ir: Any) -> Any:
    entries = {entry.name: entry.attr for entry in dictionary if not entry.name.startswith(_PREFIX)}
    return mlir_ir.DictAttr.get(entries, context)
