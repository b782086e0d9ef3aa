"""Cases whose result is not the suite's on purpose, by name, each with the reason.

A case is not excused from running: it must give an answer, and if it starts to agree with the suite
the entry is out of date, which is an error too.
"""

from __future__ import annotations

_EXP_OF_MINUS_INFINITY = (
    "exp(-inf +- inf i) is 0 as in C99 (G.6.3.1), NumPy and C++; the suite expects NaN"
)

STABLEHLO: dict[str, str] = {
    "exponential_complex64": _EXP_OF_MINUS_INFINITY,
    "exponential_complex128": _EXP_OF_MINUS_INFINITY,
}
JAX: dict[str, str] = {}
