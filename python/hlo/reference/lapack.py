"""The LAPACK custom calls that JAX emits for the CPU, by SciPy's LAPACK, which is also what XLA
calls.

Decompositions are unique only up to signs and order, so each runs the routine its target names, in
the operand's precision. Results come in the order of XLA's handlers: matrices overwritten in place
first, `info` last.
"""

from __future__ import annotations

import functools
import importlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from hlo.diagnostics import MissingExtraError
from hlo.reference.element_types import Array, DType, is_complex
from hlo.reference.linear_algebra import triangular_solve

Config = Mapping[str, int]
_TARGET = re.compile(r"^lapack_([sdcz])(\w+?)_ffi$")


@functools.cache
def _scipy_lapack() -> ModuleType:
    try:
        return importlib.import_module("scipy.linalg.lapack")
    except ImportError as error:
        raise MissingExtraError(
            "the reference evaluator computes LAPACK custom calls with SciPy, which is not "
            "installed; run `pip install 'hlo[test]'`"
        ) from error


@dataclass(frozen=True)
class _Routine:
    """A routine on unbatched operands; `operand_ranks` tells batch dimensions from theirs."""

    operand_ranks: tuple[int, ...]
    compute: Callable[[str, Config, Sequence[Array]], Sequence[Any]]


def _flag(config: Config, name: str, letter: str) -> bool:
    return config[name] == ord(letter)


def _call(prefix: str, routine: str, *arguments: Any, **keywords: Any) -> Any:
    return getattr(_scipy_lapack(), prefix + routine)(*arguments, **keywords)


def _potrf(prefix: str, config: Config, operands: Sequence[Array]) -> Sequence[Any]:
    factor, info = _call(
        prefix, "potrf", operands[0], lower=_flag(config, "uplo", "L"), clean=False
    )
    return factor, info


def _getrf(prefix: str, config: Config, operands: Sequence[Array]) -> Sequence[Any]:
    del config
    factors, pivots, info = _call(prefix, "getrf", operands[0])
    return factors, pivots + 1, info


def _geqrf(prefix: str, config: Config, operands: Sequence[Array]) -> Sequence[Any]:
    del config
    factors, tau, _, _ = _call(prefix, "geqrf", operands[0])
    return factors, tau


def _geqp3(prefix: str, config: Config, operands: Sequence[Array]) -> Sequence[Any]:
    del config
    factors, pivots, tau, _, _ = _call(prefix, "geqp3", operands[0])
    return factors, pivots, tau


def _orgqr(prefix: str, config: Config, operands: Sequence[Array]) -> Sequence[Any]:
    del config
    routine = "ungqr" if is_complex(operands[0].dtype) else "orgqr"
    q, _, _ = _call(prefix, routine, operands[0], operands[1])
    return (q,)


def _ormqr(prefix: str, config: Config, operands: Sequence[Array]) -> Sequence[Any]:
    complex_ = is_complex(operands[0].dtype)
    routine = "unmqr" if complex_ else "ormqr"
    side = "L" if config["left"] else "R"
    transposed = "N" if not config["transpose"] else "C" if complex_ else "T"
    work = max(operands[2].shape) * 64
    product, _, _ = _call(prefix, routine, side, transposed, *operands, lwork=work)
    return (product,)


def _svd(routine: str) -> Callable[[str, Config, Sequence[Array]], Sequence[Any]]:
    def compute(prefix: str, config: Config, operands: Sequence[Array]) -> Sequence[Any]:
        u, s, vt, info = _call(
            prefix,
            routine,
            operands[0],
            compute_uv=not _flag(config, "mode", "N"),
            full_matrices=_flag(config, "mode", "A"),
        )
        return operands[0], s, u, vt, info

    return compute


def _unpack_pairs(imaginary: Array, packed: Array) -> Array:
    """Complex eigenvectors from LAPACK's real and imaginary columns of each conjugate pair."""
    vectors = packed.astype(np.result_type(packed.dtype, np.complex64))
    for column in np.flatnonzero(imaginary > 0):
        real, imag = packed[:, column], packed[:, column + 1]
        vectors[:, column], vectors[:, column + 1] = real + 1j * imag, real - 1j * imag
    return vectors


def _geev(prefix: str, config: Config, operands: Sequence[Array]) -> Sequence[Any]:
    flags = {
        "compute_vl": _flag(config, "compute_left", "V"),
        "compute_vr": _flag(config, "compute_right", "V"),
    }
    if is_complex(operands[0].dtype):
        w, left, right, info = _call(prefix, "geev", operands[0], **flags)
        return w, left, right, info
    real, imaginary, left, right, info = _call(prefix, "geev", operands[0], **flags)
    left = _unpack_pairs(imaginary, left) if flags["compute_vl"] else left
    right = _unpack_pairs(imaginary, right) if flags["compute_vr"] else right
    return real, imaginary, left, right, info


def _syevd(prefix: str, config: Config, operands: Sequence[Array]) -> Sequence[Any]:
    routine = "heevd" if is_complex(operands[0].dtype) else "syevd"
    w, v, info = _call(prefix, routine, operands[0], lower=_flag(config, "uplo", "L"))
    return v, w, info


def _gehrd(prefix: str, config: Config, operands: Sequence[Array]) -> Sequence[Any]:
    return _call(prefix, "gehrd", operands[0], lo=config["low"] - 1, hi=config["high"] - 1)


def _sytrd(prefix: str, config: Config, operands: Sequence[Array]) -> Sequence[Any]:
    routine = "hetrd" if is_complex(operands[0].dtype) else "sytrd"
    return _call(prefix, routine, operands[0], lower=_flag(config, "uplo", "L"))


def _gees(prefix: str, config: Config, operands: Sequence[Array]) -> Sequence[Any]:
    vectors = _flag(config, "mode", "V")
    t, selected, *eigenvalues, vs, _, info = _call(
        prefix, "gees", lambda *_: False, operands[0], compute_v=vectors, sort_t=0
    )
    return t, vs, *eigenvalues, selected, info


def _gtsv(prefix: str, config: Config, operands: Sequence[Array]) -> Sequence[Any]:
    del config
    # JAX stores three diagonals of full length; the lower one starts with an unused element, the
    # upper one ends with it.
    lower, diagonal, upper, b = operands
    du2, d, du, x, info = _call(prefix, "gtsv", lower[1:], diagonal, upper[:-1], b)
    full_lower, full_upper = lower.copy(), upper.copy()
    full_lower[: du2.shape[0]] = du2
    full_upper[:-1] = du
    return full_lower, d, full_upper, x, info


def _trsm(prefix: str, config: Config, operands: Sequence[Array]) -> Sequence[Any]:
    del prefix
    transposes = {ord("N"): "NO_TRANSPOSE", ord("T"): "TRANSPOSE", ord("C"): "ADJOINT"}
    solution = triangular_solve(
        operands[0],
        operands[1],
        left_side=_flag(config, "side", "L"),
        lower=_flag(config, "uplo", "L"),
        unit_diagonal=_flag(config, "diag", "U"),
        transpose_a=transposes[config["trans_x"]],
    )
    return (solution,)


_ROUTINES: dict[str, _Routine] = {
    "gees": _Routine((2,), _gees),
    "geev": _Routine((2,), _geev),
    "gehrd": _Routine((2,), _gehrd),
    "geqp3": _Routine((2, 1), _geqp3),
    "geqrf": _Routine((2,), _geqrf),
    "gesdd": _Routine((2,), _svd("gesdd")),
    "gesvd": _Routine((2,), _svd("gesvd")),
    "getrf": _Routine((2,), _getrf),
    "gtsv": _Routine((1, 1, 1, 2), _gtsv),
    "heevd": _Routine((2,), _syevd),
    "hetrd": _Routine((2,), _sytrd),
    "orgqr": _Routine((2, 1), _orgqr),
    "ormqr": _Routine((2, 1, 2), _ormqr),
    "potrf": _Routine((2,), _potrf),
    "syevd": _Routine((2,), _syevd),
    "sytrd": _Routine((2,), _sytrd),
    "trsm": _Routine((2, 2), _trsm),
    "ungqr": _Routine((2, 1), _orgqr),
    "unmqr": _Routine((2, 1, 2), _ormqr),
}


def _fit(value: Any, shape: Sequence[int], dtype: DType) -> Array:
    """A result as its type has it; one that was not asked for, and so not computed, is zeros."""
    array = np.asarray(value)
    if array.shape != tuple(shape):
        return np.zeros(shape, dtype)
    return array.astype(dtype)


def is_lapack_target(target: str) -> bool:
    """Whether a custom call's target is a LAPACK routine that is known here."""
    match = _TARGET.match(target)
    return match is not None and match.group(2) in _ROUTINES


def lapack_call(
    operands: Sequence[Array],
    *,
    target: str,
    config: Config,
    result_shapes: Sequence[Sequence[int]],
    result_dtypes: Sequence[DType],
) -> tuple[Array, ...]:
    """Results of the routine `target` (such as lapack_sgetrf_ffi) for each matrix of a batch.

    `config` holds the call's flags as JAX passes them: characters of LAPACK's arguments as numbers.
    """
    match = _TARGET.match(target)
    assert match is not None
    prefix, routine = match.group(1), _ROUTINES[match.group(2)]
    batch_rank = operands[0].ndim - routine.operand_ranks[0]
    batch = operands[0].shape[:batch_rank]
    results = [
        np.zeros(shape, dtype) for shape, dtype in zip(result_shapes, result_dtypes, strict=True)
    ]
    if math.prod(operands[0].shape) == 0:
        return tuple(results)
    for position in np.ndindex(*batch):
        values = routine.compute(prefix, config, [x[position] for x in operands])
        for result, value in zip(results, values, strict=True):
            result[position] = _fit(value, result.shape[batch_rank:], result.dtype)
    return tuple(results)
