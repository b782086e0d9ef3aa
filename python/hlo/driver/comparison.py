"""Comparing results with a peer's, with a tolerance for each dtype.

Integers and booleans must be equal. For floating point the relative error of an element is `|found
- expected| / max(|expected|, min(1, largest |expected| of the array))`, so elements that cancel to
nearly zero are measured against the size of their array, never more leniently than against 1. NaN
equals NaN, and an infinity equals one of the same sign. Complex numbers are compared by part,
against their magnitude.

Some elements have no digits to agree on: an optimizer that divides a gradient by its own size turns
one that is zero but for rounding into a step of full length. The peer itself tells which: where its
own result moves when its arguments change in the last bits (its spread), a difference of a few
spreads is a match, and the element is counted as ill-conditioned.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np

_RELATIVE_TOLERANCE = {
    "float64": 1e-9,
    "complex128": 1e-9,
    "float32": 1e-4,
    "complex64": 1e-4,
    "float16": 1e-2,
    "bfloat16": 4e-2,
}
# The 8-bit types and below have 1 to 3 bits of mantissa: one step of the widest.
_NARROW_TOLERANCE = 0.125


_SPREADS = 8.0
# More than this part of all elements is no accident of conditioning.
_MOST_ILL_CONDITIONED = 0.1
_FEW_ELEMENTS = 2


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """What difference is still a match. None stands for the dtype's default.

    Attributes:
        relative: the largest relative error.
        absolute: an absolute error that is always accepted.
    """

    relative: float | None = None
    absolute: float = 0.0

    def relative_for(self, dtype: np.dtype) -> float:
        return default_tolerance(dtype) if self.relative is None else self.relative


@dataclasses.dataclass(frozen=True)
class Comparison:
    """How one result differs from its peer.

    Attributes:
        max_absolute_error, max_relative_error: the largest over the elements; infinite where only
            one is NaN.
        mismatches: elements out of tolerance; every element when the shape or dtype differs.
        elements: elements compared.
        complaint: what is wrong with the shape or dtype, or the worst element; empty when all
            match.
    """

    max_absolute_error: float
    max_relative_error: float
    mismatches: int
    elements: int
    complaint: str = ""
    ill_conditioned: int = 0

    @property
    def matches(self) -> bool:
        return self.mismatches == 0 and not self.complaint


def default_tolerance(dtype: np.dtype) -> float:
    """The relative tolerance of a dtype: 0 for integers and booleans."""
    if dtype.kind in "biu" or dtype.name.startswith(("int", "uint")):
        return 0.0
    return _RELATIVE_TOLERANCE.get(dtype.name, _NARROW_TOLERANCE)


def compare(
    found: np.ndarray,
    expected: np.ndarray,
    tolerance: Tolerance,
    spread: np.ndarray | None = None,
) -> Comparison:
    """Compares one result with the expected array.

    Args:
        spread: how far the peer's own elements move when its arguments change in the last bits.
    """
    if found.shape != expected.shape or found.dtype != expected.dtype:
        complaint = (
            f"expected {expected.dtype}{list(expected.shape)}, "
            f"found {found.dtype}{list(found.shape)}"
        )
        return Comparison(math.inf, math.inf, max(expected.size, 1), expected.size, complaint)
    if expected.size == 0:
        return Comparison(0.0, 0.0, 0, 0)
    absolute, relative = _errors(found, expected)
    limit = tolerance.relative_for(expected.dtype)
    # Written so that a NaN error is a mismatch.
    wrong = ~((relative <= limit) | (absolute <= tolerance.absolute))
    out_of_tolerance = int(np.count_nonzero(wrong))
    if spread is not None and limit > 0:
        # Few samples may miss an element of a noisy array: the level of the array is the least.
        level = math.sqrt(float(np.mean(np.square(spread))))
        wrong &= ~(absolute <= _SPREADS * np.maximum(spread, level))
    mismatches = int(np.count_nonzero(wrong))
    complaint = _worst(found, expected, np.where(wrong, relative, -1.0)) if mismatches else ""
    return Comparison(
        float(absolute.max()),
        float(relative.max()),
        mismatches,
        int(expected.size),
        complaint,
        out_of_tolerance - mismatches,
    )


def compare_all(
    found: Sequence[np.ndarray],
    expected: Sequence[np.ndarray],
    tolerance: Tolerance,
    spreads: Callable[[], Sequence[np.ndarray]] | None = None,
) -> list[Comparison]:
    """Compares results pairwise; a different number of results is one mismatch of its own.

    Args:
        spreads: the peer's spread of each result; asked for only when a few elements do not match.
    """
    if len(found) != len(expected):
        complaint = f"expected {len(expected)} results, found {len(found)}"
        return [Comparison(math.inf, math.inf, 1, 0, complaint)]
    comparisons = [compare(f, e, tolerance) for f, e in zip(found, expected, strict=True)]
    mismatches = sum(comparison.mismatches for comparison in comparisons)
    elements = sum(comparison.elements for comparison in comparisons)
    if spreads is None or not 0 < mismatches <= max(
        _FEW_ELEMENTS, _MOST_ILL_CONDITIONED * elements
    ):
        return comparisons
    return [compare(f, e, tolerance, s) for f, e, s in zip(found, expected, spreads(), strict=True)]


def _errors(found: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Absolute and relative error of each element, as float64; infinite where they disagree on
    NaN or infinity.
    """
    if expected.dtype.kind in "biu" or expected.dtype.name.startswith(("int", "uint")):
        difference = (found != expected).astype(np.float64)
        with np.errstate(all="ignore"):
            size = np.abs(found.astype(np.float64) - expected.astype(np.float64))
        # Integers past 2**53 may differ and still round to the same float64.
        return np.maximum(size, difference), np.where(difference == 0, 0.0, np.maximum(size, 1.0))
    if expected.dtype.kind == "c":
        real = _part_error(np.real(found), np.real(expected))
        imaginary = _part_error(np.imag(found), np.imag(expected))
        absolute = np.maximum(real, imaginary)
        magnitude = np.abs(expected.astype(np.complex128))
    else:
        absolute = _part_error(found, expected)
        magnitude = np.abs(expected.astype(np.float64))
    finite = magnitude[np.isfinite(magnitude)]
    scale = min(1.0, float(finite.max())) if finite.size else 1.0
    with np.errstate(all="ignore"):
        measure = np.maximum(np.where(np.isfinite(magnitude), magnitude, 1.0), scale)
        relative = np.where(
            absolute == 0, 0.0, absolute / np.maximum(measure, np.finfo(np.float64).tiny)
        )
    return absolute, relative


def _part_error(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    a, b = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(all="ignore"):
        error = np.abs(a - b)
    return np.where(same, 0.0, np.where(np.isfinite(error), error, np.inf))


def _worst(found: np.ndarray, expected: np.ndarray, relative: np.ndarray) -> str:
    index = np.unravel_index(int(np.argmax(relative)), expected.shape)
    place = ", ".join(str(int(i)) for i in index)
    return f"at [{place}] expected {expected[index]}, found {found[index]}"
