"""How close a result is to the expected one: exact by the suite's own rule, loose, or wrong.

The strict tolerances are JAX's defaults for its own tests; the loose ones are what is left after
another order of summation. An absolute error up to the tolerance is accepted, as
`numpy.testing.assert_allclose` does with `atol=rtol`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from conformance_suite.case_files import Check

STRICT = {
    "float64": 1e-15, "complex128": 1e-15, "float32": 1e-6, "complex64": 1e-6,
    "float16": 1e-3, "bfloat16": 1e-2,
}  # fmt: skip
LOOSE = {
    "float64": 1e-9, "complex128": 1e-9, "float32": 1e-4, "complex64": 1e-4,
    "float16": 1e-2, "bfloat16": 4e-2,
}  # fmt: skip
NARROW_STRICT, NARROW_LOOSE = 1e-1, 2e-1
Array = np.ndarray[Any, Any]


def verdict(found: Array, expected: Array, check: Check | None) -> tuple[str, str]:
    """Compares one result.

    Returns:
        `pass`, `loose` or `mismatch`, and what differs.
    """
    if found.shape != expected.shape or found.dtype != expected.dtype:
        found_type, expected_type = _type_of(found), _type_of(expected)
        return "mismatch", f"expected {expected_type}, found {found_type}"
    if expected.size == 0:
        return "pass", ""
    if _is_integer(expected.dtype):
        wrong = int(np.count_nonzero(found != expected))
        return (
            ("mismatch", f"{wrong} of {expected.size} integers differ") if wrong else ("pass", "")
        )
    with np.errstate(all="ignore"):
        if _strictly_equal(found, expected, check):
            return "pass", ""
        loose = _close(found, expected, LOOSE.get(expected.dtype.name, NARROW_LOOSE))
        return ("loose" if loose else "mismatch"), _difference(found, expected)


def _strictly_equal(found: Array, expected: Array, check: Check | None) -> bool:
    if check is None:
        return _close(found, expected, STRICT.get(expected.dtype.name, NARROW_STRICT))
    kind, *bounds = check
    if kind == "eq":
        return bool(np.all((found == expected) | (np.isnan(found) & np.isnan(expected))))
    if kind == "almost":
        return _close(found, expected, bounds[0])
    return all(_within_ulps(f, e, bounds[1]) for f, e in _parts(found, expected))


def _close(found: Array, expected: Array, tolerance: float) -> bool:
    return all(
        np.allclose(
            f.astype(np.float64),
            e.astype(np.float64),
            rtol=tolerance,
            atol=tolerance,
            equal_nan=True,
        )
        for f, e in _parts(found, expected)
    )


def _within_ulps(found: Array, expected: Array, most: int) -> bool:
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    finite = np.isfinite(found.astype(np.float64)) & np.isfinite(expected.astype(np.float64))
    steps = np.abs(_ordinal(found) - _ordinal(expected))
    return bool(np.all(same | (finite & (steps <= most))))


def _ordinal(array: Array) -> Array:
    """The position of each value in the order of its format, an integer: both zeros are 0."""
    signed = np.ascontiguousarray(array).view(f"i{array.dtype.itemsize}").astype(object)
    top = 1 << (8 * array.dtype.itemsize - 1)
    return np.where(signed < 0, -(signed + top), signed)


def _parts(found: Array, expected: Array) -> list[tuple[Array, Array]]:
    if expected.dtype.kind != "c":
        return [(found, expected)]
    return [(found.real, expected.real), (found.imag, expected.imag)]


def _difference(found: Array, expected: Array) -> str:
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    f, e = found.astype(wide), expected.astype(wide)
    finite = np.isfinite(f) & np.isfinite(e)
    error = np.max(np.abs(f[finite] - e[finite]) / (1 + np.abs(e[finite])), initial=0.0)
    one_sided = int(np.count_nonzero(np.isfinite(f) != np.isfinite(e)))
    return f"error {error:.2e}, finite on one side only: {one_sided} of {expected.size}"


def _is_integer(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "biu" or dtype.name.startswith(("int", "uint"))


def _type_of(array: Array) -> str:
    return f"{array.dtype}{list(array.shape)}"
