"""Programs before and after legalization, compared by the reference evaluator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hlo import ir
from hlo.passes.legalize import PIPELINE
from hlo.reference.evaluate import evaluate

Array = np.ndarray[Any, Any]


def legalize(text: str) -> ir.Module:
    """The program after every pass of legalization, verified after each."""
    module = ir.parse_module(text)
    for element in PIPELINE:
        element.run(module)
        ir.verify(module)
    return module


def run_both(text: str, *arguments: Array) -> tuple[list[Array], list[Array]]:
    """Results of the program as it is, and after legalization."""
    before = evaluate(ir.parse_module(text), arguments)
    after = evaluate(legalize(text), arguments)
    return before, after


def assert_same(text: str, *arguments: Array, ulps: int = 0) -> None:
    """Legalization keeps results: bit for bit, or within `ulps` of the result type."""
    before, after = run_both(text, *arguments)
    assert len(before) == len(after)
    for expected, found in zip(before, after, strict=True):
        assert expected.dtype == found.dtype
        assert expected.shape == found.shape
        if ulps == 0:
            assert _bits(expected) == _bits(found), (expected, found)
        else:
            assert_within(expected, found, ulps)


def _bits(array: Array) -> bytes:
    # One NaN is as good as another.
    if array.dtype.kind in "fc":
        array = np.where(np.isnan(array), np.asarray(np.nan, array.dtype), array)
    return np.ascontiguousarray(array).tobytes()


def assert_within(expected: Array, found: Array, ulps: int) -> None:
    """Equal up to `ulps` units of the last place of the largest element."""
    wide = expected.astype(np.complex128 if expected.dtype.kind == "c" else np.float64)
    other = found.astype(wide.dtype)
    assert np.array_equal(np.isnan(wide), np.isnan(other))
    finite = np.isfinite(wide)
    assert np.array_equal(wide[~finite & ~np.isnan(wide)], other[~finite & ~np.isnan(other)])
    if not finite.any():
        return
    scale = max(float(np.abs(wide[finite]).max()), 1e-30)
    epsilon = _EPSILON[
        expected.dtype.itemsize if expected.dtype.kind != "c" else expected.dtype.itemsize // 2
    ]
    assert np.abs(wide - other)[finite].max() <= ulps * epsilon * scale


_EPSILON = {1: 2.0**-3, 2: 2.0**-7, 4: 2.0**-23, 8: 2.0**-52}


def op_names(module: ir.Module) -> set[str]:
    """Names of all ops."""
    names: set[str] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        names.add(op.name)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return names


def normal(seed: int, shape: Sequence[int], dtype: Any = np.float32) -> Array:
    """Normal numbers; complex ones for complex dtypes."""
    generator = np.random.default_rng(seed)
    values = generator.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * generator.normal(size=shape)
    return values.astype(dtype)
