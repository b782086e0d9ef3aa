"""Look-ups and updates at indices. Negative indices count from the end; others out of bounds are
undefined in PyTorch's compiled kernels, and here they are clamped (reads) or dropped (writes)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hlo import lax
from hlo import numpy as hnp
from hlo.diagnostics import UnsupportedError
from hlo.frontend.dtypes import BOOL
from hlo.frontend.operands import convert
from hlo.frontend.tracer import Tracer
from hlo.model_ops import INT64, tensor
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


_MODES: dict[str, str] = {
    "sum": "add",
    "add": "add",
    "prod": "multiply",
    "multiply": "multiply",
    "amax": "max",
    "amin": "min",
}


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
    update = self.at[_coordinates(self, place, index)]
    apply: Callable[[Any], Tracer] = getattr(update, method)
    return apply(source)


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
    if reduce not in _MODES or not include_self:
        raise UnsupportedError(
            "scatter_reduce is supported for sum, prod, amax and amin with include_self=True, "
            f"found {reduce!r} with include_self={include_self}",
            op="aten.scatter_reduce",
        )
    return _scattered(self, dim, index, src if src is not None else value, _MODES[reduce])


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


@aten("masked_scatter", "masked_select", "nonzero", "nonzero_static", "unique2", "_unique2")
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
