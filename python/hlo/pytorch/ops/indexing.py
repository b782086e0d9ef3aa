"""Look-ups and updates at indices. Negative indices count from the end; others out of bounds are
undefined in PyTorch's compiled kernels, and here they are clamped (reads) or dropped (writes)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hlo import lax
from hlo import numpy as hnp
from hlo.diagnostics import UnsupportedError
from hlo.frontend.dtypes import BOOL, highest, is_complex, is_float, lowest
from hlo.frontend.operands import convert
from hlo.frontend.tracer import Tracer
from hlo.model_ops import INT64, tensor, widened
from hlo.pytorch.ops.registry import aten
from hlo.pytorch.ops.views import normalized


def _subscript(indices: Sequence[Tracer | None], op: str) -> tuple[Any, ...]:
    for index in indices:
        if index is not None and index.dtype in (BOOL, "uint8"):
            raise UnsupportedError(
                "the shape of what a mask selects is not known when compiling; use torch.where, "
                "or multiply by the mask",
                op=op,
            )
    return tuple(slice(None) if index is None else index for index in indices)


@aten("index.Tensor", "_unsafe_index.Tensor")
def index(self: Tracer, indices: Sequence[Tracer | None]) -> Tracer:
    """NumPy's advanced indexing."""
    return self[_subscript(indices, "aten.index")]


@aten("index_put", "_unsafe_index_put")
def index_put(
    self: Tracer,
    indices: Sequence[Tracer | None],
    values: Tracer,
    accumulate: bool = False,
    unsafe: bool = False,
) -> Tracer:
    """The tensor with elements replaced, or added to."""
    mask = indices[0] if len(indices) == 1 else None
    if mask is not None and mask.dtype == BOOL and values.size == 1 and not accumulate:
        held = lax.reshape(mask, (*mask.shape, *((1,) * (self.ndim - mask.ndim))))
        return hnp.where(held, lax.reshape(values, ()), self)
    place = self.at[_subscript(indices, "aten.index_put")]
    return place.add(values) if accumulate else place.set(values)


@aten("index_select")
def index_select(self: Tracer, dim: int, index: Tracer) -> Tracer:
    """Elements of a dimension."""
    if self.ndim == 0:
        return self
    flat = lax.reshape(index, (1,)) if index.ndim == 0 else index
    return hnp.take(self, flat, axis=normalized(dim, self.ndim))


@aten("take")
def take(self: Tracer, index: Tracer) -> Tracer:
    """Elements of the row-major order."""
    return hnp.take(lax.reshape(self, (self.size,)), index, axis=0)


@aten("embedding")
def embedding(
    weight: Tracer,
    indices: Tracer,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tracer:
    """Rows of a table."""
    return hnp.take(weight, indices, axis=0)


@aten("gather", "take_along_dim")
def gather(
    self: Tracer, dim: int | None = None, index: Any = None, indices: Any = None, **_: Any
) -> Tracer:
    """For each place of the index, the element at it along a dimension."""
    places = index if index is not None else indices
    if self.ndim == 0:
        return hnp.broadcast_to(self, places.shape)
    if dim is None:
        return take(self, lax.reshape(places, (places.size,)))
    place = normalized(dim, self.ndim)
    if places.ndim == 0:
        return lax.reshape(hnp.take(self, places, axis=0), ())
    return self[_coordinates(self, place, places)]


def _coordinates(self: Tracer, place: int, index: Tracer) -> tuple[Tracer, ...]:
    """Where `index` points: its own coordinates, but for those along one dimension."""
    shape = index.shape
    found: list[Tracer] = []
    for d in range(self.ndim):
        if d == place:
            found.append(index)
        else:
            line = [1] * self.ndim
            line[d] = shape[d]
            found.append(lax.reshape(lax.iota(INT64, shape[d]), line))
    return tuple(found)


def _scattered(self: Tracer, dim: int, index: Tracer, src: Any, method: str) -> Tracer:
    if not index.size:
        return self
    if self.ndim == 0:
        lifted = lax.reshape(self, (1,))
        source = lax.reshape(src, (1,)) if isinstance(src, Tracer) else src
        found = _scattered(lifted, 0, lax.reshape(index, (1,)), source, method)
        return lax.reshape(found, ())
    place = normalized(dim, self.ndim)
    if isinstance(src, Tracer):
        index = index if index.ndim else lax.reshape(index, (1,))
        source: Any = convert(lax.slice(src, (0,) * src.ndim, index.shape), self.dtype)
    else:
        source = tensor(src, self.dtype)
    return _combined(self, _coordinates(self, place, index), source, method)


_COMBINED: dict[str, str] = {"sum": "add", "prod": "multiply", "amax": "max", "amin": "min"}
_NEUTRAL: dict[str, Callable[[np.dtype[Any]], Any]] = {
    "sum": lambda dtype: 0,
    "mean": lambda dtype: 0,
    "prod": lambda dtype: 1,
    "amax": lowest,
    "amin": highest,
}


def _combined(self: Tracer, place: tuple[Any, ...], source: Any, method: str) -> Tracer:
    apply: Callable[[Any], Tracer] = getattr(self.at[place], _COMBINED.get(method, method))
    return apply(source)


def _reduced(
    self: Tracer,
    reduce: str,
    include_self: bool,
    combine: Callable[[Tracer, Any, str], Tracer],
    source: Any,
) -> Tracer:
    """Elements combined with those of a source.

    Args:
        self: the tensor.
        reduce: ``sum``, ``prod``, ``mean``, ``amax`` or ``amin``.
        include_self: whether what is in the tensor counts where something is combined with it.
        combine: puts a source into a tensor by one of these, or by ``set``.
        source: a tensor or a number.
    """
    reduce = {"add": "sum", "multiply": "prod"}.get(reduce, reduce)
    if reduce not in _NEUTRAL:
        raise UnsupportedError(f"expected one of {', '.join(_NEUTRAL)}, found reduce={reduce!r}")
    ones = convert(hnp.ones_like(source), self.dtype) if isinstance(source, Tracer) else 1
    start = self
    if not include_self:
        touched = combine(hnp.zeros(self.shape, BOOL), hnp.ones_like(source, dtype=BOOL), "set")
        start = hnp.where(touched, tensor(_NEUTRAL[reduce](self.dtype), self.dtype), self)
    if reduce != "mean":
        return combine(start, source, reduce)
    total = combine(widened(start), source, "sum")
    counts = hnp.broadcast_to(tensor(int(include_self), total.dtype), self.shape)
    counts = hnp.maximum(combine(counts, ones, "sum"), 1)
    divide = hnp.divide if is_float(self.dtype) or is_complex(self.dtype) else hnp.floor_divide
    return convert(divide(total, counts), self.dtype)


@aten("scatter.src", "scatter.value")
def scatter(self: Tracer, dim: int, index: Tracer, src: Any = None, value: Any = None) -> Tracer:
    """Elements replaced at an index along a dimension."""
    return _scattered(self, dim, index, src if src is not None else value, "set")


@aten("scatter_add")
def scatter_add(self: Tracer, dim: int, index: Tracer, src: Tracer) -> Tracer:
    """Elements added at an index along a dimension."""
    return _scattered(self, dim, index, src, "add")


@aten("scatter.reduce", "scatter.value_reduce", "scatter_reduce.two")
def scatter_reduce(
    self: Tracer,
    dim: int,
    index: Tracer,
    src: Any = None,
    reduce: str = "sum",
    include_self: bool = True,
    value: Any = None,
) -> Tracer:
    """Elements combined at an index along a dimension."""

    def combine(into: Tracer, source: Any, method: str) -> Tracer:
        return _scattered(into, dim, index, source, method)

    return _reduced(self, reduce, include_self, combine, src if src is not None else value)


@aten("index_reduce")
def index_reduce(
    self: Tracer, dim: int, index: Tracer, source: Tracer, reduce: str, include_self: bool = True
) -> Tracer:
    """Slices combined at places of a dimension."""
    if self.ndim == 0:
        lifted = index_reduce(*_lifted(self, dim, index, source), reduce, include_self)
        return lax.reshape(lifted, ())
    place = (slice(None),) * normalized(dim, self.ndim) + (index,)

    def combine(into: Tracer, values: Any, method: str) -> Tracer:
        return _combined(into, place, convert(values, into.dtype), method)

    return _reduced(self, reduce, include_self, combine, source)


def _lifted(
    self: Tracer, dim: int, index: Tracer, source: Tracer
) -> tuple[Tracer, int, Tracer, Tracer]:
    """The operands of an update of a scalar, which counts as having one dimension."""
    vector = lax.reshape(index, (index.size,))
    return lax.reshape(self, (1,)), 0, vector, lax.reshape(source, (vector.size,))


@aten("index_add")
def index_add(self: Tracer, dim: int, index: Tracer, source: Tracer, alpha: Any = 1) -> Tracer:
    """Slices added at places of a dimension."""
    if self.ndim == 0:
        return lax.reshape(index_add(*_lifted(self, dim, index, source), alpha), ())
    place = normalized(dim, self.ndim)
    added = source if alpha == 1 else hnp.multiply(source, alpha)
    return self.at[(slice(None),) * place + (index,)].add(added)


@aten("index_copy")
def index_copy(self: Tracer, dim: int, index: Tracer, source: Tracer) -> Tracer:
    """Slices replaced at places of a dimension."""
    if self.ndim == 0:
        return lax.reshape(index_copy(*_lifted(self, dim, index, source)), ())
    place = normalized(dim, self.ndim)
    return self.at[(slice(None),) * place + (index,)].set(source)


@aten("index_fill.int_Scalar", "index_fill.int_Tensor")
def index_fill(self: Tracer, dim: int, index: Tracer, value: Any) -> Tracer:
    """Slices filled at places of a dimension."""
    if self.ndim == 0:
        return lax.reshape(index_fill(lax.reshape(self, (1,)), 0, index, value), ())
    place = normalized(dim, self.ndim)
    return self.at[(slice(None),) * place + (index,)].set(tensor(value, self.dtype))


@aten("put")
def put(self: Tracer, index: Tracer, source: Tracer, accumulate: bool = False) -> Tracer:
    """Elements of the row-major order replaced, or added to."""
    place = lax.reshape(self, (self.size,)).at[lax.reshape(index, (index.size,))]
    values = lax.reshape(source, (source.size,))
    found = place.add(values) if accumulate else place.set(values)
    return lax.reshape(found, self.shape)


@aten("masked_scatter")
def masked_scatter(self: Tracer, mask: Tracer, source: Tracer) -> Tracer:
    """The elements of a source, in row-major order, where a mask holds."""
    held, into = hnp.broadcast_arrays(mask, self)
    number = hnp.cumsum(convert(lax.reshape(held, (held.size,)), INT64))
    at = lax.reshape(hnp.subtract(number, 1), held.shape)
    return hnp.where(held, hnp.take(lax.reshape(source, (source.size,)), at, axis=0), into)


@aten("nonzero_static")
def nonzero_static(self: Tracer, size: int, fill_value: int = -1) -> Tracer:
    """The coordinates of the first elements that are not zero, (size, rank); at the end a fill."""
    if self.ndim == 0:
        return hnp.zeros((size, 0), INT64)
    flat = hnp.not_equal(lax.reshape(self, (self.size,)), tensor(0, self.dtype))
    number = hnp.cumsum(convert(flat, INT64))
    # Element k of the result is where the count first reaches k + 1.
    places = hnp.searchsorted(number, lax.add(lax.iota(INT64, size), tensor(1, INT64)))
    found = hnp.stack(hnp.unravel_index(convert(places, INT64), self.shape), axis=1)
    inside = hnp.less(places, self.size)
    return convert(hnp.where(lax.expand_dims(inside, (1,)), found, fill_value), INT64)


@aten("masked_select", "nonzero", "unique2", "_unique2", "unique_dim", "unique_consecutive")
def data_dependent(self: Tracer, *_: Any, **__: Any) -> Tracer:
    """Operators whose result has a shape that depends on values."""
    raise UnsupportedError(
        "the shape of its result depends on the values of its operands, which are not known when "
        "compiling; give it a fixed size with torch.where or a mask"
    )


@aten("one_hot")
def one_hot(self: Tracer, num_classes: int = -1) -> Tracer:
    """1 at each class, 0 elsewhere."""
    if num_classes < 0:
        raise UnsupportedError("one_hot needs num_classes when compiling", op="aten.one_hot")
    classes = lax.broadcasted_iota(self.dtype, (*self.shape, num_classes), self.ndim)
    return convert(hnp.equal(lax.expand_dims(self, (self.ndim,)), classes), INT64)
