"""Makes Shardy's annotations harmless: they say how to split a program over devices, and `hlo`
compiles for one.

The attributes (`sdy.sharding`, `sdy.sharding_rule`, ...) become string attributes of the same name,
which export turns back. Sharding constraints and propagation barriers forward their operand, and
meshes are dropped."""

from __future__ import annotations

from typing import Any

from hlo.diagnostics import UnsupportedError

_PREFIX = "sdy."
_FORWARDING = frozenset(
    {"sdy.sharding_constraint", "sdy.reshard", "sdy.propagation_barrier", "sdy.sharding_group"}
)
_ERASED = frozenset({"sdy.mesh"})


def neutralise(module_operation: Any, mlir_ir: Any) -> None:
    """Rewrites a StableHLO module of jaxlib's MLIR in place.

    Raises:
        UnsupportedError: an operation of Shardy that computes on several devices, such as
            `sdy.manual_computation`.
    """
    unneeded: list[Any] = []
    _visit(module_operation, mlir_ir, unneeded)
    for operation in unneeded:
        operation.erase()


def restore(module_operation: Any, mlir_ir: Any) -> None:
    """Turns the string attributes that `neutralise` left back into Shardy's."""
    for region in module_operation.regions:
        for block in region:
            for operation in block:
                _restore_attributes(operation.operation, mlir_ir)
                restore(operation.operation, mlir_ir)


def _visit(operation: Any, mlir_ir: Any, unneeded: list[Any]) -> None:
    for region in operation.regions:
        for block in region:
            for nested in block:
                inner = nested.operation
                _visit(inner, mlir_ir, unneeded)
                if inner.name.startswith(_PREFIX):
                    _remove(inner, unneeded)
                else:
                    _stringify_attributes(inner, mlir_ir)


def _remove(operation: Any, unneeded: list[Any]) -> None:
    if operation.name in _FORWARDING:
        for result in operation.results:
            result.replace_all_uses_with(operation.operands[0])
    elif operation.name not in _ERASED:
        raise UnsupportedError(
            "this operation runs on several devices, and hlo compiles for one; lower the program "
            "without a mesh",
            op=operation.name,
            location=str(operation.location),
        )
    unneeded.append(operation)


def _stringify_attributes(operation: Any, mlir_ir: Any) -> None:
    def text(value: Any) -> Any:
        return mlir_ir.StringAttr.get(str(value), operation.context)

    _map_attributes(operation, mlir_ir, text)


def _restore_attributes(operation: Any, mlir_ir: Any) -> None:
    def parsed(value: Any) -> Any:
        if not isinstance(value, mlir_ir.StringAttr):
            return value
        return mlir_ir.Attribute.parse(value.value, operation.context)

    _map_attributes(operation, mlir_ir, parsed)


def _map_attributes(operation: Any, mlir_ir: Any, change: Any) -> None:
    attributes = operation.attributes
    for name in [attribute.name for attribute in attributes if attribute.name.startswith(_PREFIX)]:
        attributes[name] = change(attributes[name])
    for name in ("arg_attrs", "res_attrs"):
        if name in attributes:
            attributes[name] = _map_dictionaries(
                attributes[name], operation.context, mlir_ir, change
            )


def _map_dictionaries(dictionaries: Any, context: Any, mlir_ir: Any, change: Any) -> Any:
    changed: list[Any] = []
    for dictionary in dictionaries:
        entries = {entry.name: entry.attr for entry in dictionary}
        for key in [key for key in entries if key.startswith(_PREFIX)]:
            entries[key] = change(entries[key])
        changed.append(mlir_ir.DictAttr.get(entries, context))
    return mlir_ir.ArrayAttr.get(changed, context)
