"""Callbacks of JAX programs: `jax.pure_callback`, `io_callback`, `jax.debug.print` and their kin.

JAX lowers them to custom calls that carry the place of the function in a list, which it keeps
beside the program. Here the functions are registered with the runtime, and the calls name them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hlo import ir
from hlo.diagnostics import UnsupportedError
from hlo.executable.callbacks import (
    TARGET,
    ArrayType,
    PythonCallback,
    found,
    keep_with,
    number_of,
    register,
)

JAX_TARGET = "xla_ffi_python_cpu_callback"


def callbacks_of(lowered: Any) -> list[Callable[..., Any]]:
    """The functions that a lowered JAX function calls back, as its custom calls count them."""
    lowering = getattr(lowered, "_lowering", None)
    return list(getattr(lowering, "compile_args", {}).get("host_callbacks") or ())


def adopt(module: ir.Module, functions: Sequence[Callable[..., Any]]) -> None:
    """Makes the calls of a module calls of registered functions, which live as long as it does.
    Changes `module`.

    Raises:
        UnsupportedError: it calls functions that are not among `functions`.
    """
    for call in _calls(module, JAX_TARGET):
        index = ir.IntegerAttr(ir.DictAttr(call.attributes["mhlo.backend_config"])["index"]).value
        if index >= len(functions):
            raise UnsupportedError(
                f"the program calls Python function {index}, and jax gives {len(functions)} with "
                "it; this version of jax keeps them elsewhere",
                op=call.name,
                location=str(call.location),
            )
        keep_with(module, _replace(call, functions[index]))


def calls_python(module: ir.Module) -> bool:
    """Whether a program calls functions that this process alone has."""
    return bool(_calls(module, TARGET))


def callbacks_in(module: ir.Module) -> tuple[PythonCallback, ...]:
    """The functions that a program calls."""
    numbers = {number_of(call) for call in _calls(module, TARGET)}
    return found(number for number in numbers if number is not None)


def _calls(module: ir.Module, target: str) -> list[ir.Operation]:
    calls = ir.operations_named(module.operation, ["hlo.custom_call"])
    return [c for c in calls if ir.attributes.string(c, "call_target_name") == target]


def _replace(call: ir.Operation, function: Callable[..., Any]) -> PythonCallback:
    operands = tuple(_type_of(value.type) for value in call.operands)
    results = tuple(_type_of(result.type) for result in call.results)
    callback = PythonCallback(function, operands, results)
    number = register(callback)
    with call.context, call.location:
        i64 = ir.IntegerType.get_signless(64)
        config = ir.DictAttr.get({"callback": ir.IntegerAttr.get(i64, number)})
        types = [result.type for result in call.results]
        # What is computed has results: the value of one that nothing reads does not matter.
        none = [ir.RankedTensorType.get([], ir.IntegerType.get_signless(32))]
        new = ir.Operation.create(
            "hlo.custom_call",
            results=types or none,
            operands=list(call.operands),
            attributes={
                "call_target_name": ir.StringAttr.get(TARGET),
                "has_side_effect": call.attributes["has_side_effect"]
                if "has_side_effect" in call.attributes
                else ir.BoolAttr.get(False),
                "mhlo.backend_config": config,
            },
            ip=ir.InsertionPoint(call),
        )
    for old, made in zip(call.results, new.results, strict=False):
        old.replace_all_uses_with(made)
    call.erase()
    return callback


def _type_of(kind: ir.Type) -> ArrayType:
    """The type of an array; a token is passed as the 32-bit integer that it becomes."""
    if not isinstance(kind, ir.RankedTensorType):
        return ArrayType(np.dtype(np.int32), ())
    return ArrayType(ir.types.to_dtype(kind.element_type), tuple(kind.shape))
