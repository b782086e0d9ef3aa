# ruff: noqa: E501 (ops are easier to read on one line)
"""Programs before and after simplification, compared by the reference evaluator on special values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.simplify import PIPELINE
from hlo.reference.evaluate import evaluate

Array = np.ndarray[Any, Any]

DTYPES: dict[str, Any] = {
    "i1": np.bool_,
    "i8": np.int8,
    "i32": np.int32,
    "i64": np.int64,
    "ui8": np.uint8,
    "ui32": np.uint32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "complex<f32>": np.complex64,
}


def special_values(element: str) -> Array:
    """Eight values at which identities fail: NaN, infinities, signed zeros, subnormals, limits."""
    dtype = DTYPES[element]
    if element == "i1":
        return np.asarray([False, True] * 4)
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        return np.asarray(
            [limits.min, limits.max, 0, 1, 2, 3, limits.max - 1, limits.min + 1], dtype
        )
    tiny = {"f16": 6e-8, "bf16": 1e-39, "f32": 1e-44, "complex<f32>": 1e-44, "f64": 5e-324}[element]
    values = [np.nan, np.inf, -np.inf, 0.0, -0.0, tiny, -1.5, 3.0]
    with np.errstate(all="ignore"):
        return np.asarray(values, np.float64).astype(dtype)


def simplify(text: str, passes: Sequence[Pass] = PIPELINE) -> ir.Module:
    """The program after the passes, verified after each."""
    module = ir.parse_module(text)
    for element in passes:
        element.run(module)
        ir.verify(module)
    return module


def assert_same(text: str, *arguments: Array, passes: Sequence[Pass] = PIPELINE) -> ir.Module:
    """Simplification keeps every bit of the results; one NaN is as good as another."""
    before = evaluate(ir.parse_module(text), arguments)
    module = simplify(text, passes)
    after = evaluate(module, arguments)
    assert len(before) == len(after)
    for expected, found in zip(before, after, strict=True):
        assert expected.dtype == found.dtype
        assert expected.shape == found.shape
        assert _bits(expected) == _bits(found), (expected, found)
    return module


def _bits(array: Array) -> bytes:
    if array.dtype.kind == "c":
        return _bits(array.real) + _bits(array.imag)
    if array.dtype.kind == "f" or "float" in array.dtype.name:
        array = np.where(np.isnan(array), np.asarray(np.nan, array.dtype), array)
    return np.ascontiguousarray(array).tobytes()


def op_names(module: ir.Module) -> list[str]:
    """Names of all ops but module, function and terminators, without prefix, in order."""
    names: list[str] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        names.append(op.name)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    outer = {"builtin.module", "func.func", "func.return", "hlo.return"}
    return [name.removeprefix("hlo.") for name in names if name not in outer]


def function(arguments: str, results: str, body: str) -> str:
    """A module of one function."""
    return f"func.func @main({arguments}) -> {results} {{\n{body}\n}}"
