"""Element types of the front end and the rule by which operands of different types meet.

The rule (docs/frontend.md) is a lattice: the result type of an operation is the least type that all
operands reach by following the arrows.

    bool -> int* -> uint8 -> {int16, uint16}, uint16 -> {int32, uint32}, uint32 -> {int64, uint64}
            int* -> int8 -> int16 -> int32 -> int64 -> float*
    float* -> {float16, bfloat16} -> float32 -> float64;  float* -> complex* -> complex64
    float32 -> complex64, float64 -> complex128, complex64 -> complex128

`int*`, `float*` and `complex*` stand for Python's own scalars, which are weak: they take the
type of the array they meet. Integers do not widen floats: int32 with float16 is float16. The 8-,
6- and 4-bit floats and the 2- and 4-bit integers meet only Python scalars and themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache, reduce
from typing import Any, Final

import ml_dtypes
import numpy as np

from hlo.frontend.errors import DtypeError

DtypeLike = Any
"""A dtype, a NumPy or ml_dtypes scalar type, its name, or Python's bool, int, float, complex."""

BOOL: Final = np.dtype(np.bool_)
INT32: Final = np.dtype(np.int32)
UINT32: Final = np.dtype(np.uint32)
FLOAT32: Final = np.dtype(np.float32)
COMPLEX64: Final = np.dtype(np.complex64)
BFLOAT16: Final = np.dtype(ml_dtypes.bfloat16)
FLOAT16: Final = np.dtype(np.float16)
FLOAT64: Final = np.dtype(np.float64)
COMPLEX128: Final = np.dtype(np.complex128)

DEFAULT_INT: Final = INT32
DEFAULT_FLOAT: Final = FLOAT32
DEFAULT_COMPLEX: Final = COMPLEX64

_EXTENDED_INTS: Final = ("int2", "int4", "uint2", "uint4")
_EXTENDED_FLOATS: Final = (
    "float4_e2m1fn",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
)
_STANDARD: Final = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)

_BY_NAME: Final[dict[str, np.dtype[Any]]] = {
    **{name: np.dtype(name) for name in _STANDARD},
    "bfloat16": BFLOAT16,
    **{name: np.dtype(getattr(ml_dtypes, name)) for name in _EXTENDED_INTS + _EXTENDED_FLOATS},
}
_SUPPORTED: Final = {dtype: name for name, dtype in _BY_NAME.items()}
_PYTHON_DTYPES: Final[dict[type, np.dtype[Any]]] = {
    bool: BOOL,
    int: DEFAULT_INT,
    float: DEFAULT_FLOAT,
    complex: DEFAULT_COMPLEX,
}
_KINDS: Final = {
    BOOL: "b",
    **{np.dtype(f"int{bits}"): "i" for bits in (8, 16, 32, 64)},
    **{np.dtype(f"uint{bits}"): "u" for bits in (8, 16, 32, 64)},
    **{_BY_NAME[name]: "u" if name.startswith("u") else "i" for name in _EXTENDED_INTS},
    **{np.dtype(f"float{bits}"): "f" for bits in (16, 32, 64)},
    **{_BY_NAME[name]: "f" for name in ("bfloat16", *_EXTENDED_FLOATS)},
    COMPLEX64: "c",
    COMPLEX128: "c",
}

_WEAK: Final = {"int": DEFAULT_INT, "float": DEFAULT_FLOAT, "complex": DEFAULT_COMPLEX}
_EDGES: Final[dict[str, tuple[str, ...]]] = {
    "bool": ("int",),
    "int": ("uint8", "int8", *_EXTENDED_INTS),
    "uint8": ("int16", "uint16"),
    "uint16": ("int32", "uint32"),
    "uint32": ("int64", "uint64"),
    "uint64": ("float",),
    "int8": ("int16",),
    "int16": ("int32",),
    "int32": ("int64",),
    "int64": ("float",),
    "float": ("float16", "bfloat16", "complex", *_EXTENDED_FLOATS),
    "float16": ("float32",),
    "bfloat16": ("float32",),
    "float32": ("float64", "complex64"),
    "float64": ("complex128",),
    "complex": ("complex64",),
    "complex64": ("complex128",),
    **dict.fromkeys(_EXTENDED_INTS + _EXTENDED_FLOATS + ("complex128",), ()),
}


def _upper_bounds(node: str) -> frozenset[str]:
    reached = {node}
    frontier = [node]
    while frontier:
        fresh = [above for above in _EDGES[frontier.pop()] if above not in reached]
        reached.update(fresh)
        frontier.extend(fresh)
    return frozenset(reached)


_ABOVE: Final = {node: _upper_bounds(node) for node in _EDGES}


@cache
def _join(first: str, second: str) -> str | None:
    common = _ABOVE[first] & _ABOVE[second]
    least = [node for node in common if common <= _ABOVE[node]]
    return least[0] if len(least) == 1 else None


def dtype_name(dtype: np.dtype[Any]) -> str:
    """The dtype's full name, such as ``float32`` or ``float8_e4m3fn``."""
    return _SUPPORTED.get(dtype, str(dtype))


@lru_cache(maxsize=512)
def _canonical(dtype: DtypeLike) -> np.dtype[Any]:
    if dtype in _PYTHON_DTYPES:
        return _PYTHON_DTYPES[dtype]
    if isinstance(dtype, str) and dtype in _BY_NAME:
        return _BY_NAME[dtype]
    try:
        found = np.dtype(dtype)
    except TypeError as error:
        raise DtypeError(f"{dtype!r} is not an element type") from error
    found = found.newbyteorder("=")
    if found not in _SUPPORTED:
        raise DtypeError(
            f"arrays of {found} are not supported; expected one of {', '.join(_BY_NAME)}"
        )
    return found


def canonical_dtype(dtype: DtypeLike) -> np.dtype[Any]:
    """The supported dtype that `dtype` names.

    Python's ``int``, ``float`` and ``complex`` are int32, float32 and complex64.

    Raises:
        DtypeError: if there is none (strings, objects, datetimes, float128, ...).
    """
    try:
        return _canonical(dtype)
    except TypeError as error:
        if isinstance(error, DtypeError):
            raise
        return _canonical(np.dtype(dtype))


def kind(dtype: np.dtype[Any]) -> str:
    """``b`` (bool), ``i`` (signed), ``u`` (unsigned), ``f`` (float) or ``c`` (complex)."""
    return _KINDS[dtype]


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether the dtype is a real floating-point type."""
    return kind(dtype) == "f"


def is_integer(dtype: np.dtype[Any]) -> bool:
    """Whether the dtype is a signed or unsigned integer type (bool is not)."""
    return kind(dtype) in "iu"


def is_complex(dtype: np.dtype[Any]) -> bool:
    """Whether the dtype is complex."""
    return kind(dtype) == "c"


def is_inexact(dtype: np.dtype[Any]) -> bool:
    """Whether the dtype is floating-point or complex."""
    return kind(dtype) in "fc"


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of a complex dtype's parts; other dtypes are their own."""
    return {COMPLEX64: FLOAT32, COMPLEX128: FLOAT64}.get(dtype, dtype)


def complex_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The complex dtype that holds `dtype`: complex128 for 64-bit floats, else complex64."""
    return COMPLEX128 if dtype in (FLOAT64, COMPLEX128) else COMPLEX64


def inexact_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype itself where it is floating-point or complex, else float32."""
    return dtype if is_inexact(dtype) else DEFAULT_FLOAT


def bit_width(dtype: np.dtype[Any]) -> int:
    """Bits of one element in the language: 1 for bool, 4 for int4, 128 for complex128."""
    kind_ = kind(dtype)
    if kind_ == "b":
        return 1
    if kind_ in "iu":
        return ml_dtypes.iinfo(dtype).bits
    if kind_ == "f":
        return ml_dtypes.finfo(dtype).bits
    return 8 * dtype.itemsize


def finfo(dtype: DtypeLike) -> Any:
    """Limits of a floating-point dtype (``ml_dtypes.finfo``)."""
    return ml_dtypes.finfo(real_dtype(canonical_dtype(dtype)))


def iinfo(dtype: DtypeLike) -> Any:
    """Limits of an integer dtype (``ml_dtypes.iinfo``)."""
    return ml_dtypes.iinfo(canonical_dtype(dtype))


def lowest(dtype: np.dtype[Any]) -> Any:
    """The least value of a real dtype: -inf where there is one."""
    return _extreme(dtype, sign=-1)


def highest(dtype: np.dtype[Any]) -> Any:
    """The greatest value of a real dtype: inf where there is one."""
    return _extreme(dtype, sign=1)


def _extreme(dtype: np.dtype[Any], *, sign: int) -> Any:
    if kind(dtype) == "b":
        return np.bool_(sign > 0)
    if is_integer(dtype):
        info = iinfo(dtype)
        return dtype.type(info.max if sign > 0 else info.min)
    with np.errstate(over="ignore", invalid="ignore"):
        infinite = dtype.type(sign * np.inf)
    if np.isinf(np.float64(infinite)):
        return infinite
    info = finfo(dtype)
    return dtype.type(info.max if sign > 0 else info.min)


def is_python_scalar(value: object) -> bool:
    """Whether the value is a weakly typed Python number (bool is strongly typed)."""
    return type(value) in (int, float, complex)


def _lattice_name(operand: object) -> str:
    if isinstance(operand, np.dtype):
        return _SUPPORTED[operand]
    for scalar, name in ((bool, "bool"), (int, "int"), (float, "float"), (complex, "complex")):
        if operand is scalar:
            return name
    raise AssertionError(f"not a dtype: {operand!r}")


@lru_cache(maxsize=4096)
def _promote(names: tuple[str, ...]) -> tuple[np.dtype[Any], bool] | None:
    joined = reduce(lambda a, b: None if a is None else _join(a, b), names[1:], names[0])
    if joined is None:
        return None
    if joined not in _WEAK:
        return _BY_NAME[joined], False
    if joined == "float" and joined not in names:  # uint64 with a signed integer
        return FLOAT64, False
    return _WEAK[joined], True


def promote_types(operands: Iterable[np.dtype[Any] | type]) -> np.dtype[Any]:
    """The dtype in which operands of these dtypes meet; Python's scalar types are weak.

    Raises:
        DtypeError: if the lattice has no least common dtype, such as for int4 and float32.
    """
    operands = tuple(operands)
    found = _promote(tuple(_lattice_name(operand) for operand in operands))
    if found is None:
        names = ", ".join(
            dtype_name(operand) if isinstance(operand, np.dtype) else operand.__name__
            for operand in operands
        )
        raise DtypeError(f"no implicit common type of {names}; convert with .astype(dtype) first")
    return found[0]
