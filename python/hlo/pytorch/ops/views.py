"""Shapes: views, slices, joins and copies. Every tensor is a value, so a view is a new one."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from hlo import lax
from hlo import numpy as hnp
from hlo.diagnostics import UnsupportedError
from hlo.frontend.tracer import Tracer
from hlo.model_ops import tensor
from hlo.pytorch.ops.registry import aten
from hlo.pytorch.types import result_type

_LAST = 2**63 - 1


def normalized(dim: int, rank: int) -> int:
    """A dimension counted from the front; a scalar counts as having one."""
    return dim % max(rank, 1)


def dims_of(dim: Any, rank: int) -> tuple[int, ...]:
    """Dimensions counted from the front: one, several, or all for None and for an empty list."""
    if dim is None or dim == []:
        return tuple(range(rank))
    listed: Sequence[int] = [dim] if isinstance(dim, int) else dim
    return tuple(normalized(d, rank) for d in listed) if rank else ()


@aten(
    "alias",
    "alias_copy",
    "clone",
    "contiguous",
    "detach",
    "detach_copy",
    "detach_",  # changes what gradients see, no value
    "lift",
    "lift_fresh",
    "lift_fresh_copy",
)
def identity(self: Tracer, **_: Any) -> Tracer:
    """The same values."""
    return self


@aten("view", "reshape", "_unsafe_view", "view_copy", "_reshape_alias", "_reshape_copy")
def view(
    self: Tracer, size: Sequence[int] = (), shape: Sequence[int] = (), stride: Any = None
) -> Tracer:
    """The elements in row-major order in another shape; one extent may be -1."""
    return hnp.reshape(self, tuple(size or shape))


@aten("view_as", "reshape_as")
def view_as(self: Tracer, other: Tracer) -> Tracer:
    """The elements in the shape of another tensor."""
    return lax.reshape(self, other.shape)


@aten("flatten.using_ints")
def flatten(self: Tracer, start_dim: int = 0, end_dim: int = -1) -> Tracer:
    """A run of dimensions as one."""
    first, last = normalized(start_dim, self.ndim), normalized(end_dim, self.ndim)
    shape = self.shape
    return lax.reshape(self, (*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :]))


@aten("unflatten.int")
def unflatten(self: Tracer, dim: int, sizes: Sequence[int]) -> Tracer:
    """One dimension as several."""
    place = normalized(dim, self.ndim)
    return hnp.reshape(self, (*self.shape[:place], *sizes, *self.shape[place + 1 :]))


@aten("permute", "permute_copy")
def permute(self: Tracer, dims: Sequence[int]) -> Tracer:
    """The dimensions in another order."""
    return lax.transpose(self, [normalized(d, self.ndim) for d in dims]) if dims else self


@aten("transpose.int", "transpose_copy.int", "swapaxes")
def transpose(self: Tracer, dim0: int = 0, dim1: int = 0, axis0: int = 0, axis1: int = 0) -> Tracer:
    """Two dimensions swapped."""
    if self.ndim == 0:
        return self
    return hnp.swapaxes(self, dim0 or axis0, dim1 or axis1)


@aten("t", "t_copy", "numpy_T", "matrix_H", "mT", "adjoint")
def matrix_transpose(self: Tracer) -> Tracer:
    """The last two dimensions swapped; vectors and scalars as they are."""
    return self if self.ndim < 2 else hnp.swapaxes(self, -1, -2)


@aten("movedim.int", "movedim.intlist", "moveaxis.int", "moveaxis.intlist")
def movedim(self: Tracer, source: Any, destination: Any) -> Tracer:
    """Dimensions moved to other places."""
    return hnp.moveaxis(self, source, destination)


@aten("unsqueeze", "unsqueeze_copy")
def unsqueeze(self: Tracer, dim: int) -> Tracer:
    """A new dimension of extent 1."""
    return lax.expand_dims(self, (dim % (self.ndim + 1),))


@aten("squeeze", "squeeze.dim", "squeeze.dims", "squeeze_copy.dim", "squeeze_copy.dims")
def squeeze(self: Tracer, dim: Any = None) -> Tracer:
    """Dimensions of extent 1 removed: these, where they are, or all."""
    dims = () if dim == [] else dims_of(dim, self.ndim)
    chosen = [d for d in dims if self.shape[d] == 1]
    return lax.squeeze(self, chosen)


@aten("expand", "expand_copy")
def expand(self: Tracer, size: Sequence[int], implicit: bool = False) -> Tracer:
    """The tensor repeated to a shape; -1 keeps an extent."""
    offset = len(size) - self.ndim
    shape = [self.shape[i - offset] if e == -1 else e for i, e in enumerate(size)]
    return hnp.broadcast_to(self, shape)


@aten("expand_as")
def expand_as(self: Tracer, other: Tracer) -> Tracer:
    """The tensor repeated to another's shape."""
    return hnp.broadcast_to(self, other.shape)


@aten("broadcast_tensors")
def broadcast_tensors(tensors: Sequence[Tracer]) -> list[Tracer]:
    """The tensors repeated to their common shape."""
    return hnp.broadcast_arrays(*tensors)


@aten("broadcast_to")
def broadcast_to(self: Tracer, size: Sequence[int]) -> Tracer:
    """The tensor repeated to a shape."""
    return expand(self, size)


def _bounds(start: int | None, end: int | None, extent: int) -> tuple[int, int]:
    first = 0 if start is None else start
    last = extent if end is None else end
    first = min(max(first + extent if first < 0 else first, 0), extent)
    last = min(max(last + extent if last < 0 else last, first), extent)
    return first, last


@aten("slice.Tensor", "slice_copy.Tensor")
def slice_(
    self: Tracer,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tracer:
    """Part of a dimension."""
    place = normalized(dim, self.ndim)
    first, last = _bounds(start, end, self.shape[place])
    return lax.slice_in_dim(self, first, last, step, axis=place)


@aten("narrow", "narrow_copy")
def narrow(self: Tracer, dim: int, start: int, length: int) -> Tracer:
    """So many elements of a dimension."""
    place = normalized(dim, self.ndim)
    start += self.shape[place] if start < 0 else 0
    return slice_(self, dim, start, start + length)


@aten("select.int", "select_copy.int")
def select(self: Tracer, dim: int, index: int) -> Tracer:
    """One element of a dimension, which goes."""
    place = normalized(dim, self.ndim)
    if isinstance(index, Tracer):
        return lax.dynamic_index_in_dim(self, index, place, keepdims=False)
    index += self.shape[place] if index < 0 else 0
    return lax.squeeze(lax.slice_in_dim(self, index, index + 1, axis=place), (place,))


@aten("split.Tensor", "split_copy.Tensor", "unsafe_split.Tensor")
def split(self: Tracer, split_size: int, dim: int = 0) -> list[Tracer]:
    """Parts of one extent; the last may be shorter."""
    extent = self.shape[normalized(dim, self.ndim)]
    starts = range(0, extent, split_size) if split_size else [0]
    return [slice_(self, dim, start, start + split_size) for start in starts or [0]]


@aten(
    "split_with_sizes",
    "split_with_sizes_copy",
    "split.sizes",
    "unsafe_split_with_sizes",
)
def split_with_sizes(
    self: Tracer, split_sizes: Sequence[int] = (), dim: int = 0, split_size: Sequence[int] = ()
) -> list[Tracer]:
    """Parts of these extents."""
    parts, start = [], 0
    for size in split_sizes or split_size:
        parts.append(slice_(self, dim, start, start + size))
        start += size
    return parts


@aten("chunk", "unsafe_chunk")
def chunk(self: Tracer, chunks: int, dim: int = 0) -> list[Tracer]:
    """So many parts of nearly one extent."""
    extent = self.shape[normalized(dim, self.ndim)]
    return split(self, max(-(-extent // chunks), 1), dim)


@aten("tensor_split.sections")
def tensor_split(self: Tracer, sections: int, dim: int = 0) -> list[Tracer]:
    """So many parts, the first ones longer by one where they must be."""
    return hnp.array_split(self, sections, axis=dim)


@aten("unbind.int", "unbind_copy.int")
def unbind(self: Tracer, dim: int = 0) -> list[Tracer]:
    """The slices along a dimension."""
    return [select(self, dim, i) for i in range(self.shape[normalized(dim, self.ndim)])]


@aten("cat", "concat", "concatenate")
def cat(tensors: Sequence[Tracer], dim: int = 0) -> Tracer:
    """Tensors joined along a dimension; empty vectors are left out, as PyTorch has it."""
    dtype = result_type(*tensors)
    kept = [t for t in tensors if t.shape != (0,)] or list(tensors[:1])
    return lax.concatenate([tensor(t, dtype) for t in kept], normalized(dim, kept[0].ndim))


@aten("stack")
def stack(tensors: Sequence[Tracer], dim: int = 0) -> Tracer:
    """Tensors of one shape joined along a new dimension."""
    dtype = result_type(*tensors)
    return hnp.stack([tensor(t, dtype) for t in tensors], axis=dim)


@aten("hstack")
def hstack(tensors: Sequence[Tracer]) -> Tracer:
    """Tensors joined along the second dimension; vectors along their only one."""
    return hnp.hstack(list(tensors))


@aten("vstack")
def vstack(tensors: Sequence[Tracer]) -> Tracer:
    """Tensors joined as rows."""
    return hnp.vstack(list(tensors))


@aten("flip")
def flip(self: Tracer, dims: Sequence[int]) -> Tracer:
    """The order reversed along dimensions."""
    return lax.rev(self, dims_of(list(dims), self.ndim)) if dims else self


@aten("roll")
def roll(self: Tracer, shifts: Sequence[int], dims: Sequence[int] = ()) -> Tracer:
    """Elements moved along dimensions, those at the end to the front."""
    if not self.size:
        return self
    shifts = [shifts] if isinstance(shifts, int) else list(shifts)
    return hnp.roll(self, shifts if dims else shifts[0], axis=list(dims) or None)


@aten("repeat")
def repeat(self: Tracer, repeats: Sequence[int]) -> Tracer:
    """The tensor repeated so often along each dimension."""
    return hnp.tile(self, tuple(repeats))


@aten("tile")
def tile(self: Tracer, dims: Sequence[int]) -> Tracer:
    """The tensor repeated so often along each dimension."""
    return hnp.tile(self, tuple(dims))


@aten("repeat_interleave.self_int")
def repeat_interleave(
    self: Tracer, repeats: int, dim: int | None = None, output_size: int | None = None
) -> Tracer:
    """Each element repeated."""
    return hnp.repeat(self, repeats, axis=dim)


@aten("diagonal", "diagonal_copy")
def diagonal(self: Tracer, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tracer:
    """Diagonals of the planes of two dimensions, as a last dimension."""
    return hnp.diagonal(self, offset, dim1, dim2)


@aten("diag_embed")
def diag_embed(self: Tracer, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tracer:
    """Planes with the last dimension on a diagonal, zero elsewhere."""
    size = self.shape[-1] + abs(offset)
    rows = lax.broadcasted_iota(np.int32, (size, size), 0)
    columns = lax.broadcasted_iota(np.int32, (size, size), 1)
    low, high = max(-offset, 0), max(offset, 0)
    lines = lax.pad(
        self,
        tensor(0, self.dtype),
        [(0, 0, 0)] * (self.ndim - 1) + [(low, size - low - self.shape[-1], 0)],
    )
    spread = hnp.broadcast_to(lax.expand_dims(lines, (self.ndim,)), (*lines.shape, size))
    on = hnp.equal(hnp.add(rows, high - low), columns)
    plane = hnp.where(on, spread, tensor(0, self.dtype))
    rank = plane.ndim
    return hnp.moveaxis(plane, (rank - 2, rank - 1), (dim1 % rank, dim2 % rank))


@aten("tril")
def tril(self: Tracer, diagonal: int = 0) -> Tracer:
    """Zero above a diagonal."""
    return hnp.tril(self, diagonal)


@aten("triu")
def triu(self: Tracer, diagonal: int = 0) -> Tracer:
    """Zero below a diagonal."""
    return hnp.triu(self, diagonal)


@aten("unfold", "unfold_copy")
def unfold(self: Tracer, dimension: int, size: int, step: int) -> Tracer:
    """Windows of a dimension, as a new last one."""
    if self.ndim == 0:
        return lax.slice_in_dim(lax.reshape(self, (1,)), 0, size, axis=0)
    place = normalized(dimension, self.ndim)
    count = (self.shape[place] - size) // step + 1
    starts = np.arange(count)[:, None] * step + np.arange(size)[None, :]
    windows = hnp.take(self, starts, axis=place)
    return hnp.moveaxis(windows, place + 1, -1)


def _strided_places(
    self: Tracer, size: Sequence[int], stride: Sequence[int], storage_offset: int | None, op: str
) -> np.ndarray:
    """Row-major places of strided elements in `self`, which is taken as contiguous."""
    places = np.zeros((), np.int64) + (storage_offset or 0)
    for extent, step in zip(size, stride, strict=True):
        places = places[..., None] + np.arange(extent) * step
    if places.size and places.max() >= self.size:
        raise UnsupportedError(
            f"{op} goes past the elements of its tensor, whose memory is not known here",
            op=f"aten.{op}",
        )
    return places


def _are_first(places: np.ndarray) -> bool:
    return places.size > 0 and np.array_equal(places.ravel(), np.arange(places.size))


@aten("as_strided", "as_strided_copy")
def as_strided(
    self: Tracer, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tracer:
    """Elements at strides of the row-major order of `self`, which is taken as contiguous."""
    places = _strided_places(self, size, stride, storage_offset, "as_strided")
    flat = lax.reshape(self, (self.size,))
    if _are_first(places):
        return lax.reshape(lax.slice_in_dim(flat, 0, places.size, axis=0), tuple(size))
    return hnp.take(flat, places, axis=0)


@aten("as_strided_scatter")
def as_strided_scatter(
    self: Tracer,
    src: Tracer,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Tracer:
    """The tensor with the elements that `as_strided` reads replaced."""
    places = _strided_places(self, size, stride, storage_offset, "as_strided_scatter")
    flat = lax.reshape(self, (self.size,))
    new = lax.reshape(tensor(src, self.dtype), (src.size,))
    if _are_first(places):
        rest = lax.slice_in_dim(flat, places.size, self.size, axis=0)
        found = hnp.concatenate([new, rest]) if rest.size else new
    else:
        found = flat.at[places.ravel()].set(new)
    return lax.reshape(found, self.shape)


@aten("constant_pad_nd")
def constant_pad_nd(self: Tracer, pad: Sequence[int], value: Any = 0) -> Tracer:
    """Padding by a value, (low, high) from the last dimension on; negative pads cut."""
    pairs = [(low, high, 0) for low, high in zip(pad[::2], pad[1::2], strict=True)]
    config = [(0, 0, 0)] * (self.ndim - len(pairs)) + pairs[::-1]
    return lax.pad(self, tensor(value, self.dtype), config)


def _edge_padded(self: Tracer, padding: Sequence[int], mode: str) -> Tracer:
    pairs = list(zip(padding[::2], padding[1::2], strict=True))[::-1]
    start = self.ndim - len(pairs)
    for i, (low, high) in enumerate(pairs):
        extent = self.shape[start + i]
        places = np.arange(-low, extent + high)
        if mode == "reflect" and extent > 1:
            period = 2 * (extent - 1)
            places = np.abs((places + extent - 1) % period - (extent - 1))
        elif mode == "circular":
            places = places % extent
        else:
            places = np.clip(places, 0, extent - 1)
        self = hnp.take(self, places, axis=start + i)
    return self


@aten("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def reflection_pad(self: Tracer, padding: Sequence[int]) -> Tracer:
    """Padding by the mirrored inside, the edge itself left out."""
    return _edge_padded(self, padding, "reflect")


@aten("replication_pad1d", "replication_pad2d", "replication_pad3d")
def replication_pad(self: Tracer, padding: Sequence[int]) -> Tracer:
    """Padding by the edge."""
    return _edge_padded(self, padding, "replicate")


@aten("pad")
def pad(
    self: Tracer, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tracer:
    """Padding by a value, or by what is inside."""
    if mode == "constant":
        return constant_pad_nd(self, pad, value or 0)
    return _edge_padded(self, pad, mode)


@aten("pixel_shuffle")
def pixel_shuffle(self: Tracer, upscale_factor: int) -> Tracer:
    """(..., C r r, H, W) as (..., C, H r, W r)."""
    r = upscale_factor
    *batch, c, h, w = self.shape
    n = len(batch)
    split_ = lax.reshape(self, (*batch, c // (r * r), r, r, h, w))
    moved = lax.transpose(split_, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return lax.reshape(moved, (*batch, c // (r * r), h * r, w * r))


@aten("pixel_unshuffle")
def pixel_unshuffle(self: Tracer, downscale_factor: int) -> Tracer:
    """(..., C, H r, W r) as (..., C r r, H, W)."""
    r = downscale_factor
    *batch, c, h, w = self.shape
    n = len(batch)
    split_ = lax.reshape(self, (*batch, c, h // r, r, w // r, r))
    moved = lax.transpose(split_, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return lax.reshape(moved, (*batch, c * r * r, h // r, w // r))


@aten("channel_shuffle", "native_channel_shuffle")
def channel_shuffle(self: Tracer, groups: int) -> Tracer:
    """Channels dealt out over groups."""
    n, c, *rest = self.shape
    parts = lax.reshape(self, (n, groups, c // groups, *rest))
    return lax.reshape(hnp.swapaxes(parts, 1, 2), self.shape)


@aten("meshgrid", "meshgrid.indexing")
def meshgrid(tensors: Sequence[Tracer], indexing: str = "ij") -> list[Tracer]:
    """Coordinates of a grid."""
    return list(hnp.meshgrid(*tensors, indexing=indexing))


@aten("slice_scatter")
def slice_scatter(
    self: Tracer,
    src: Tracer,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tracer:
    """The tensor with part of a dimension replaced."""
    place = normalized(dim, self.ndim)
    first, last = _bounds(start, end, self.shape[place])
    index = (slice(None),) * place + (slice(first, last, step),)
    return self.at[index].set(src)


@aten("select_scatter")
def select_scatter(self: Tracer, src: Tracer, dim: int, index: int) -> Tracer:
    """The tensor with one element of a dimension replaced."""
    place = normalized(dim, self.ndim)
    index += self.shape[place] if index < 0 else 0
    return self.at[(slice(None),) * place + (index,)].set(src)


@aten("diagonal_scatter")
def diagonal_scatter(
    self: Tracer, src: Tracer, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tracer:
    """The tensor with diagonals of the planes of two dimensions replaced."""
    first, second = normalized(dim1, self.ndim), normalized(dim2, self.ndim)
    rows, columns = self.shape[first], self.shape[second]
    count = src.shape[-1]
    moved = hnp.moveaxis(self, (first, second), (-2, -1))
    places = np.arange(count)
    at = moved.at[..., places + max(-offset, 0), places + max(offset, 0)]
    assert count <= min(rows, columns)
    return hnp.moveaxis(at.set(src), (-2, -1), (first, second))


@aten("sym_size.int")
def sym_size(self: Tracer, dim: int) -> int:
    """An extent."""
    return self.shape[normalized(dim, self.ndim)]


@aten("sym_numel")
def sym_numel(self: Tracer) -> int:
    """The number of elements."""
    return self.size


@aten("copy")
def copy(self: Tracer, src: Tracer, non_blocking: bool = False) -> Tracer:
    """`src` in the type and shape of `self`."""
    return hnp.broadcast_to(tensor(src, self.dtype), self.shape)
