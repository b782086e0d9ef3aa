"""`Tracer`: an array that stands for its value while a function is traced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from hlo import ir
from hlo.frontend.dtypes import DtypeLike
from hlo.frontend.errors import ConcretizationError
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.source_location import SourceLine, user_line
from hlo.frontend.trace import Frame

if TYPE_CHECKING:
    from hlo.numpy.updates import IndexUpdate

ArrayLike = Any
"""A traced array, a NumPy array or scalar, or a Python number."""


@lru_cache(maxsize=1)
def _numpy() -> Any:
    # hlo.numpy is written in terms of tracers, so it can only be imported once they exist.
    import hlo.numpy

    return hlo.numpy


class Tracer:
    """An array inside a function being traced: a shape, a dtype, and the operation that makes it.

    It supports NumPy's operators, indexing and array methods, as `hlo.numpy` defines them. Its
    value is not known yet, so it cannot be turned into a Python number or a NumPy array.
    """

    __slots__ = ("aval", "frame", "line", "value")

    def __init__(self, value: ir.Value, aval: ShapeDtype, frame: Frame, line: SourceLine) -> None:
        self.value = value
        self.aval = aval
        self.frame = frame
        self.line = line

    __hash__ = None  # type: ignore[assignment]  # == is elementwise

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, one a dimension."""
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.aval.size

    @property
    def T(self) -> Tracer:  # noqa: N802
        """The array with its dimensions reversed."""
        return _numpy().transpose(self)

    @property
    def mT(self) -> Tracer:  # noqa: N802
        """The array with its last two dimensions swapped."""
        return _numpy().matrix_transpose(self)

    @property
    def real(self) -> Tracer:
        """Real parts."""
        return _numpy().real(self)

    @property
    def imag(self) -> Tracer:
        """Imaginary parts."""
        return _numpy().imag(self)

    @property
    def at(self) -> IndexUpdate:
        """Updates of a part of the array: ``x.at[index].set(y)`` is a new array."""
        from hlo.numpy.updates import IndexUpdate

        return IndexUpdate(self)

    def __repr__(self) -> str:
        return f"Tracer<{self.aval}>"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tracer]:
        if not self.shape:
            raise TypeError("iteration over an array without dimensions")
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self, item: ArrayLike) -> bool:
        self._concrete("the `in` operator")

    def __copy__(self) -> Tracer:
        return self

    def __deepcopy__(self, memo: object) -> Tracer:
        return self

    # Conversions that need a value.
    def _concrete(self, what: str, instead: str = "") -> NoReturn:
        advice = instead or "compute with hlo.numpy, or pass the argument as static"
        raise ConcretizationError(
            f"{what} needs the value of a traced array {self.aval}, made at {self.line}, which is "
            f"not known while the function is traced; {advice}",
            location=str(user_line()),
        )

    def __bool__(self) -> bool:  # noqa: PLE0304
        self._concrete(
            "bool(), as in `if` and `while`,",
            "use hlo.lax.cond, hlo.lax.while_loop or hlo.numpy.where, and & | ~ for and, or, not",
        )

    def __int__(self) -> int:
        self._concrete("int()", "use .astype(int)")

    def __float__(self) -> float:
        self._concrete("float()", "use .astype(float)")

    def __complex__(self) -> complex:
        self._concrete("complex()", "use .astype(complex)")

    def __index__(self) -> int:  # noqa: PLE0305
        self._concrete("an index, a range or a shape")

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        self._concrete("conversion to a NumPy array", "use hlo.numpy in place of numpy")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        operator = _OPERATORS.get(ufunc.__name__)
        if operator is None or method != "__call__" or options:
            self._concrete(f"numpy.{ufunc.__name__}", f"use hlo.numpy.{ufunc.__name__}")
        return getattr(_numpy(), operator)(*inputs)

    def item(self) -> NoReturn:
        """Raises `ConcretizationError`: a traced array has no value yet."""
        self._concrete("item()")

    def tolist(self) -> NoReturn:
        """Raises `ConcretizationError`: a traced array has no value yet."""
        self._concrete("tolist()")

    # Operators.
    def __getitem__(self, index: Any) -> Tracer:
        from hlo.numpy.indexing import take_index

        return take_index(self, index)

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise ConcretizationError(
            "traced arrays are immutable; write x = x.at[index].set(value)",
            location=str(user_line()),
        )

    def __add__(self, other: ArrayLike) -> Tracer:
        return _numpy().add(self, other)

    def __radd__(self, other: ArrayLike) -> Tracer:
        return _numpy().add(other, self)

    def __sub__(self, other: ArrayLike) -> Tracer:
        return _numpy().subtract(self, other)

    def __rsub__(self, other: ArrayLike) -> Tracer:
        return _numpy().subtract(other, self)

    def __mul__(self, other: ArrayLike) -> Tracer:
        return _numpy().multiply(self, other)

    def __rmul__(self, other: ArrayLike) -> Tracer:
        return _numpy().multiply(other, self)

    def __truediv__(self, other: ArrayLike) -> Tracer:
        return _numpy().true_divide(self, other)

    def __rtruediv__(self, other: ArrayLike) -> Tracer:
        return _numpy().true_divide(other, self)

    def __floordiv__(self, other: ArrayLike) -> Tracer:
        return _numpy().floor_divide(self, other)

    def __rfloordiv__(self, other: ArrayLike) -> Tracer:
        return _numpy().floor_divide(other, self)

    def __mod__(self, other: ArrayLike) -> Tracer:
        return _numpy().remainder(self, other)

    def __rmod__(self, other: ArrayLike) -> Tracer:
        return _numpy().remainder(other, self)

    def __divmod__(self, other: ArrayLike) -> tuple[Tracer, Tracer]:
        return _numpy().divmod(self, other)

    def __rdivmod__(self, other: ArrayLike) -> tuple[Tracer, Tracer]:
        return _numpy().divmod(other, self)

    def __pow__(self, other: ArrayLike) -> Tracer:
        return _numpy().power(self, other)

    def __rpow__(self, other: ArrayLike) -> Tracer:
        return _numpy().power(other, self)

    def __matmul__(self, other: ArrayLike) -> Tracer:
        return _numpy().matmul(self, other)

    def __rmatmul__(self, other: ArrayLike) -> Tracer:
        return _numpy().matmul(other, self)

    def __and__(self, other: ArrayLike) -> Tracer:
        return _numpy().bitwise_and(self, other)

    def __rand__(self, other: ArrayLike) -> Tracer:
        return _numpy().bitwise_and(other, self)

    def __or__(self, other: ArrayLike) -> Tracer:
        return _numpy().bitwise_or(self, other)

    def __ror__(self, other: ArrayLike) -> Tracer:
        return _numpy().bitwise_or(other, self)

    def __xor__(self, other: ArrayLike) -> Tracer:
        return _numpy().bitwise_xor(self, other)

    def __rxor__(self, other: ArrayLike) -> Tracer:
        return _numpy().bitwise_xor(other, self)

    def __lshift__(self, other: ArrayLike) -> Tracer:
        return _numpy().left_shift(self, other)

    def __rlshift__(self, other: ArrayLike) -> Tracer:
        return _numpy().left_shift(other, self)

    def __rshift__(self, other: ArrayLike) -> Tracer:
        return _numpy().right_shift(self, other)

    def __rrshift__(self, other: ArrayLike) -> Tracer:
        return _numpy().right_shift(other, self)

    def __eq__(self, other: object) -> Tracer:  # type: ignore[override]
        return _numpy().equal(self, other)

    def __ne__(self, other: object) -> Tracer:  # type: ignore[override]
        return _numpy().not_equal(self, other)

    def __lt__(self, other: ArrayLike) -> Tracer:
        return _numpy().less(self, other)

    def __le__(self, other: ArrayLike) -> Tracer:
        return _numpy().less_equal(self, other)

    def __gt__(self, other: ArrayLike) -> Tracer:
        return _numpy().greater(self, other)

    def __ge__(self, other: ArrayLike) -> Tracer:
        return _numpy().greater_equal(self, other)

    def __neg__(self) -> Tracer:
        return _numpy().negative(self)

    def __pos__(self) -> Tracer:
        return _numpy().positive(self)

    def __abs__(self) -> Tracer:
        return _numpy().absolute(self)

    def __invert__(self) -> Tracer:
        return _numpy().bitwise_not(self)

    def __round__(self, ndigits: int | None = None) -> Tracer:
        return _numpy().round(self, ndigits or 0)

    # Methods that are functions of hlo.numpy.
    def astype(self, dtype: DtypeLike) -> Tracer:
        """The elements converted to another type."""
        return _numpy().astype(self, dtype)

    def view(self, dtype: DtypeLike) -> Tracer:
        """The bits read as another type."""
        return _numpy().view(self, dtype)

    def copy(self) -> Tracer:
        """The array itself: traced arrays are immutable."""
        return self

    def reshape(self, *shape: int | Sequence[int]) -> Tracer:
        """The elements in row-major order in another shape; one extent may be -1."""
        return _numpy().reshape(self, *_unpacked(shape))

    def transpose(self, *axes: int | Sequence[int]) -> Tracer:
        """The dimensions permuted; reversed without arguments."""
        return _numpy().transpose(self, _unpacked(axes)[0] if axes else None)

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS:
            function = getattr(_numpy(), name)
            return lambda *args, **options: function(self, *args, **options)  # pyright: ignore
        raise AttributeError(f"a traced array has no attribute {name!r}")


def _unpacked(arguments: tuple[int | Sequence[int], ...]) -> tuple[Any]:
    if len(arguments) == 1 and not isinstance(arguments[0], int):
        return (arguments[0],)
    return (arguments,)


_METHODS = frozenset(
    [
        "all",
        "any",
        "argmax",
        "argmin",
        "argsort",
        "clip",
        "conj",
        "conjugate",
        "cumprod",
        "cumsum",
        "diagonal",
        "dot",
        "flatten",
        "max",
        "mean",
        "min",
        "prod",
        "ptp",
        "ravel",
        "repeat",
        "round",
        "searchsorted",
        "sort",
        "squeeze",
        "std",
        "sum",
        "swapaxes",
        "take",
        "trace",
        "var",
    ]
)

_OPERATORS = {
    "add": "add",
    "subtract": "subtract",
    "multiply": "multiply",
    "divide": "true_divide",
    "floor_divide": "floor_divide",
    "remainder": "remainder",
    "divmod": "divmod",
    "power": "power",
    "matmul": "matmul",
    "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
    "left_shift": "left_shift",
    "right_shift": "right_shift",
    "equal": "equal",
    "not_equal": "not_equal",
    "less": "less",
    "less_equal": "less_equal",
    "greater": "greater",
    "greater_equal": "greater_equal",
}
