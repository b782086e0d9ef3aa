"""A launch plan that is called with NumPy arrays: checked, copied to a device, run, copied back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic

import numpy as np

from hlo.diagnostics import ArgumentError
from hlo.gpu.device import Device, Loaded
from hlo.gpu.plan import LaunchPlan, TensorType
from hlo.gpu.run_plan import dtype_of, load_plan, run_on_host_arrays


class PlanProgram(Generic[Loaded]):
    """Call it with one array for each argument; not from several threads at once."""

    def __init__(self, plan: LaunchPlan, device: Device[Loaded]) -> None:
        self.device = device
        self._loaded = load_plan(plan, device)

    def __call__(self, *arguments: object) -> tuple[np.ndarray[Any, Any], ...]:
        """Runs the program.

        Raises:
            ArgumentError: a count, shape or dtype differs from the signature.
            ExecutionError: a kernel fails.
        """
        plan = self._loaded.plan
        return run_on_host_arrays(self._loaded, as_arrays(arguments, plan.arguments))


def as_arrays(
    arguments: Sequence[object], types: Sequence[TensorType]
) -> list[np.ndarray[Any, Any]]:
    """Arguments as row-major arrays of a program's types; Python numbers and lists are converted.

    Raises:
        ArgumentError: a count, shape or dtype differs.
    """
    if len(arguments) != len(types):
        raise ArgumentError(f"expected {len(types)} arguments, found {len(arguments)}")
    return [as_array(a, kind, i) for i, (a, kind) in enumerate(zip(arguments, types, strict=True))]


def as_array(argument: object, kind: TensorType, position: int) -> np.ndarray[Any, Any]:
    """An argument as a row-major array of its type.

    Raises:
        ArgumentError: shape or dtype differs.
    """
    dtype = dtype_of(kind)
    array = (
        np.asarray(argument)
        if hasattr(argument, "dtype") or hasattr(argument, "__array__")
        else np.asarray(argument, dtype)
    )
    if array.shape != tuple(kind.shape) or array.dtype.newbyteorder("=") != dtype:
        raise ArgumentError(
            f"argument {position}: expected an array of shape {tuple(kind.shape)} and dtype "
            f"{dtype}, found shape {array.shape} and dtype {array.dtype}"
        )
    return np.ascontiguousarray(array, dtype).reshape(kind.shape)
