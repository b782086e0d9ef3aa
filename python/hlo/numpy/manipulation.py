"""Functions that rearrange, join and repeat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from hlo import lax
from hlo.frontend.dtypes import DtypeLike, bit_width, canonical_dtype, promote_types
from hlo.frontend.operands import broadcast_shapes as _broadcast_shapes
from hlo.frontend.operands import broadcast_to as _broadcast_to
from hlo.frontend.operands import (
    convert,
    dtype_of,
    normalized_axes,
    normalized_axis,
    shape_error,
    shape_of,
    to_tracer,
)
from hlo.frontend.operation import operation
from hlo.frontend.tracer import ArrayLike, Tracer
from hlo.numpy.creation import Shape, as_shape

Axes = int | Sequence[int]


@operation
def astype(x: ArrayLike, dtype: DtypeLike) -> Tracer:
    """The elements converted to a dtype: bool is != 0, complex to real keeps the real part."""
    return convert(to_tracer(x), canonical_dtype(dtype))


@operation
def view(x: ArrayLike, dtype: DtypeLike) -> Tracer:
    """The bits as another dtype; the last dimension grows or shrinks with the width."""
    operand, target = to_tracer(x), canonical_dtype(dtype)
    old, new = bit_width(operand.dtype), bit_width(target)
    if old == new:
        return lax.bitcast_convert_type(operand, target)
    if not operand.ndim:
        raise shape_error("view", f"cannot view {operand.aval} as a type of another width")
    shape = operand.shape
    if old > new:
        parts = lax.bitcast_convert_type(operand, target)
        return lax.reshape(parts, (*shape[:-1], shape[-1] * (old // new)))
    ratio = new // old
    if shape[-1] % ratio:
        raise shape_error(
            "view", f"the last dimension of {operand.aval} is not a multiple of {ratio}"
        )
    grouped = lax.reshape(operand, (*shape[:-1], shape[-1] // ratio, ratio))
    return lax.bitcast_convert_type(grouped, target)


@operation
def reshape(x: ArrayLike, shape: Shape) -> Tracer:
    """The elements in row-major order in another shape; one extent may be -1."""
    operand = to_tracer(x)
    if isinstance(shape, Tracer):
        shape.__index__()
    extents = [shape] if isinstance(shape, (int, np.integer)) else list(shape)
    sizes = [extent.__index__() for extent in extents]
    if sizes.count(-1) == 1:
        known = prod(size for size in sizes if size != -1)
        if known == 0 or operand.size % known:
            raise shape_error("hlo.reshape", f"cannot reshape {operand.aval} to {tuple(sizes)}")
        sizes[sizes.index(-1)] = operand.size // known
    return lax.reshape(operand, sizes)


@operation
def ravel(x: ArrayLike) -> Tracer:
    """The elements in row-major order as a vector."""
    operand = to_tracer(x)
    return lax.reshape(operand, (operand.size,))


flatten = ravel


@operation
def transpose(x: ArrayLike, axes: Sequence[int] | None = None) -> Tracer:
    """The dimensions permuted; reversed by default."""
    operand = to_tracer(x)
    if axes is None:
        return lax.transpose(operand, range(operand.ndim)[::-1])
    return lax.transpose(operand, [normalized_axis("hlo.transpose", a, operand.ndim) for a in axes])


permute_dims = transpose


@operation
def matrix_transpose(x: ArrayLike) -> Tracer:
    """The last two dimensions swapped."""
    operand = to_tracer(x)
    if operand.ndim < 2:
        raise shape_error(
            "hlo.transpose", f"expected at least two dimensions, found {operand.aval}"
        )
    return swapaxes(operand, -1, -2)


@operation
def swapaxes(x: ArrayLike, axis1: int, axis2: int) -> Tracer:
    """Two dimensions swapped."""
    operand = to_tracer(x)
    first, second = (normalized_axis("hlo.transpose", a, operand.ndim) for a in (axis1, axis2))
    order = list(range(operand.ndim))
    order[first], order[second] = second, first
    return lax.transpose(operand, order)


@operation
def moveaxis(x: ArrayLike, source: Axes, destination: Axes) -> Tracer:
    """Dimensions moved to other places; the others keep their order."""
    operand = to_tracer(x)
    sources = normalized_axes("hlo.transpose", source, operand.ndim)
    places = normalized_axes("hlo.transpose", destination, operand.ndim)
    if len(sources) != len(places):
        raise shape_error("hlo.transpose", f"cannot move axes {source} to {destination}")
    order = [axis for axis in range(operand.ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return lax.transpose(operand, order)


@operation
def expand_dims(x: ArrayLike, axis: Axes) -> Tracer:
    """Dimensions of extent 1 added at these places of the result."""
    return lax.expand_dims(x, (axis,) if isinstance(axis, int) else axis)


@operation
def squeeze(x: ArrayLike, axis: Axes | None = None) -> Tracer:
    """Dimensions of extent 1 removed: these, or all."""
    operand = to_tracer(x)
    if axis is None:
        axis = [i for i, extent in enumerate(operand.shape) if extent == 1]
    return lax.squeeze(operand, (axis,) if isinstance(axis, int) else axis)


@operation
def broadcast_to(x: ArrayLike, shape: Shape) -> Tracer:
    """The array repeated to a shape as NumPy broadcasts."""
    operand, target = to_tracer(x), as_shape(shape)
    if _broadcast_shapes("hlo.broadcast_in_dim", (operand.shape, target)) != target:
        raise shape_error("hlo.broadcast_in_dim", f"cannot broadcast {operand.aval} to {target}")
    return _broadcast_to(operand, operand.dtype, target)


@operation
def broadcast_arrays(*xs: ArrayLike) -> list[Tracer]:
    """The arrays broadcast to their common shape."""
    shape = _broadcast_shapes("hlo.broadcast_in_dim", map(shape_of, xs))
    return [broadcast_to(x, shape) for x in xs]


def broadcast_shapes(*shapes: Shape) -> tuple[int, ...]:
    """The common shape of NumPy's broadcasting."""
    return _broadcast_shapes("broadcast_shapes", map(as_shape, shapes))


def _promoted_parts(xs: Sequence[ArrayLike] | Tracer) -> list[Tracer]:
    if isinstance(xs, Tracer):
        return list(xs)
    if not len(xs):
        raise shape_error("hlo.concatenate", "expected at least one array, found none")
    dtype = promote_types(map(dtype_of, xs))
    return [convert(to_tracer(x, dtype), dtype) for x in xs]


@operation
def concatenate(arrays: Sequence[ArrayLike] | Tracer, axis: int | None = 0) -> Tracer:
    """Arrays, promoted to one dtype, joined along a dimension; flattened ones for None."""
    parts = _promoted_parts(arrays)
    if axis is None:
        return lax.concatenate([ravel(part) for part in parts], 0)
    return lax.concatenate(parts, axis)


concat = concatenate


@operation
def stack(arrays: Sequence[ArrayLike] | Tracer, axis: int = 0) -> Tracer:
    """Arrays of one shape joined along a new dimension."""
    parts = _promoted_parts(arrays)
    if any(part.shape != parts[0].shape for part in parts):
        found = ", ".join(str(part.shape) for part in parts)
        raise shape_error("stack", f"expected arrays of one shape, found {found}")
    place = normalized_axis("stack", axis, parts[0].ndim + 1)
    return lax.concatenate([lax.expand_dims(part, (place,)) for part in parts], place)


@operation
def vstack(arrays: Sequence[ArrayLike] | Tracer) -> Tracer:
    """Arrays joined as rows."""
    return concatenate([atleast_2d(x) for x in arrays], 0)


@operation
def hstack(arrays: Sequence[ArrayLike] | Tracer) -> Tracer:
    """Arrays joined along the second dimension; vectors along their only one."""
    parts = [atleast_1d(x) for x in arrays]
    return concatenate(parts, 0 if parts[0].ndim == 1 else 1)


@operation
def column_stack(arrays: Sequence[ArrayLike] | Tracer) -> Tracer:
    """Vectors joined as columns."""
    parts = [to_tracer(x) for x in arrays]
    return concatenate([p if p.ndim > 1 else reshape(p, (-1, 1)) for p in parts], 1)


@operation
def dstack(arrays: Sequence[ArrayLike] | Tracer) -> Tracer:
    """Arrays joined along the third dimension."""
    return concatenate([atleast_3d(x) for x in arrays], 2)


@operation
def atleast_1d(x: ArrayLike) -> Tracer:
    """The array with at least one dimension."""
    operand = to_tracer(x)
    return operand if operand.ndim else lax.reshape(operand, (1,))


@operation
def atleast_2d(x: ArrayLike) -> Tracer:
    """The array with at least two dimensions, new ones first."""
    operand = to_tracer(x)
    return operand if operand.ndim > 1 else lax.reshape(operand, (1, operand.size))


@operation
def atleast_3d(x: ArrayLike) -> Tracer:
    """The array with at least three dimensions."""
    operand = to_tracer(x)
    if operand.ndim > 2:
        return operand
    return lax.expand_dims(atleast_2d(operand), (2,))


@operation
def array_split(
    x: ArrayLike, indices_or_sections: int | Sequence[int], axis: int = 0
) -> list[Tracer]:
    """Parts along a dimension: before each index, or so many of nearly one extent."""
    operand = to_tracer(x)
    axis = normalized_axis("split", axis, operand.ndim)
    extent = operand.shape[axis]
    if isinstance(indices_or_sections, int):
        small, longer = divmod(extent, indices_or_sections)
        sizes = [small + 1] * longer + [small] * (indices_or_sections - longer)
        bounds = [0, *np.cumsum(sizes).tolist()]
    else:
        bounds = [0, *(slice(i).indices(extent)[1] for i in indices_or_sections), extent]
    return [
        lax.slice_in_dim(operand, low, max(low, high), 1, axis) for low, high in pairwise(bounds)
    ]


@operation
def split(x: ArrayLike, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Tracer]:
    """Parts along a dimension: before each index, or so many of one extent."""
    operand = to_tracer(x)
    extent = operand.shape[normalized_axis("split", axis, operand.ndim)]
    sections = indices_or_sections
    if isinstance(sections, int) and (sections < 1 or extent % sections):
        raise shape_error("split", f"{sections} parts do not divide an extent of {extent}")
    return array_split(operand, sections, axis)


@operation
def hsplit(x: ArrayLike, indices_or_sections: int | Sequence[int]) -> list[Tracer]:
    """`split` along the second dimension; of vectors along their only one."""
    operand = to_tracer(x)
    return split(operand, indices_or_sections, 0 if operand.ndim == 1 else 1)


@operation
def vsplit(x: ArrayLike, indices_or_sections: int | Sequence[int]) -> list[Tracer]:
    """`split` along the first dimension."""
    return split(x, indices_or_sections, 0)


@operation
def dsplit(x: ArrayLike, indices_or_sections: int | Sequence[int]) -> list[Tracer]:
    """`split` along the third dimension."""
    return split(x, indices_or_sections, 2)


@operation
def unstack(x: ArrayLike, axis: int = 0) -> tuple[Tracer, ...]:
    """The slices along a dimension."""
    operand = moveaxis(x, axis, 0)
    return tuple(operand[i] for i in range(operand.shape[0]))


@operation
def tile(x: ArrayLike, reps: Shape) -> Tracer:
    """The array repeated so often along each dimension."""
    operand, times = to_tracer(x), as_shape(reps)
    rank = max(operand.ndim, len(times))
    shape = (1,) * (rank - operand.ndim) + operand.shape
    times = (1,) * (rank - len(times)) + times
    pairs = [extent for pair in zip(times, shape, strict=True) for extent in pair]
    spread = lax.broadcast_in_dim(lax.reshape(operand, shape), pairs, range(1, 2 * rank, 2))
    return lax.reshape(spread, [t * e for t, e in zip(times, shape, strict=True)])


@operation
def repeat(x: ArrayLike, repeats: int | Sequence[int], axis: int | None = None) -> Tracer:
    """Each element repeated: all so often, or each along a dimension by its own known count."""
    operand = to_tracer(x)
    if axis is None:
        operand, axis = ravel(operand), 0
    axis = normalized_axis("repeat", axis, operand.ndim)
    extent = operand.shape[axis]
    if not isinstance(repeats, (int, np.integer)):
        counts = np.asarray(repeats)
        return take(operand, np.repeat(np.arange(extent, dtype=np.int32), counts), axis)
    before, after = operand.shape[:axis], operand.shape[axis + 1 :]
    dims = [d for d in range(operand.ndim + 1) if d != axis + 1]
    spread = lax.broadcast_in_dim(operand, (*before, extent, int(repeats), *after), dims)
    return lax.reshape(spread, (*before, extent * int(repeats), *after))


@operation
def take(x: ArrayLike, indices: ArrayLike, axis: int | None = None) -> Tracer:
    """Elements along a dimension (of the flat array for None) at indices, which are clamped."""
    operand = to_tracer(x)
    if axis is None:
        operand, axis = ravel(operand), 0
    axis = normalized_axis("take", axis, operand.ndim)
    return operand[(slice(None),) * axis + (indices,)]


@operation
def take_along_axis(x: ArrayLike, indices: ArrayLike, axis: int | None) -> Tracer:
    """For each place along the other dimensions, elements at its own indices along one."""
    operand, places = to_tracer(x), to_tracer(indices)
    if axis is None:
        operand, axis = ravel(operand), 0
    axis = normalized_axis("take_along_axis", axis, operand.ndim)
    if operand.ndim != places.ndim:
        raise shape_error(
            "take_along_axis", f"expected indices of rank {operand.ndim}, found {places.aval}"
        )
    index: list[Any] = []
    for dimension, extent in enumerate(operand.shape):
        if dimension == axis:
            index.append(places)
        else:
            column = [1] * operand.ndim
            column[dimension] = extent
            index.append(np.arange(extent, dtype=np.int32).reshape(column))
    return operand[tuple(index)]


@operation
def flip(x: ArrayLike, axis: Axes | None = None) -> Tracer:
    """The order reversed along dimensions, all by default."""
    operand = to_tracer(x)
    return lax.rev(operand, normalized_axes("hlo.reverse", axis, operand.ndim))


@operation
def fliplr(x: ArrayLike) -> Tracer:
    """The order reversed along the second dimension."""
    return flip(x, 1)


@operation
def flipud(x: ArrayLike) -> Tracer:
    """The order reversed along the first dimension."""
    return flip(x, 0)


@operation
def rot90(x: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Tracer:
    """The plane of two dimensions turned by k right angles, from the first to the second."""
    operand = to_tracer(x)
    first, second = normalized_axes("rot90", axes, operand.ndim)
    if k % 4 == 0:
        return operand
    if k % 4 == 2:
        return flip(operand, (first, second))
    if k % 4 == 1:
        return swapaxes(flip(operand, second), first, second)
    return flip(swapaxes(operand, first, second), second)


@operation
def roll(x: ArrayLike, shift: Axes, axis: Axes | None = None) -> Tracer:
    """Elements moved along dimensions, those beyond the end to the front."""
    operand = to_tracer(x)
    if axis is None:
        return reshape(roll(ravel(operand), shift, 0), operand.shape)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    shifts = (shift,) * len(axes) if isinstance(shift, int) else tuple(shift)
    if len(axes) != len(shifts):
        raise shape_error("roll", f"expected one shift for each axis, found {shift} and {axis}")
    for amount, one in zip(shifts, axes, strict=True):
        place = normalized_axis("roll", one, operand.ndim)
        extent = operand.shape[place]
        cut = -amount % extent if extent else 0
        if cut:
            low = lax.slice_in_dim(operand, 0, cut, 1, place)
            high = lax.slice_in_dim(operand, cut, extent, 1, place)
            operand = lax.concatenate([high, low], place)
    return operand


def _pad_widths(pad_width: Any, rank: int) -> list[tuple[int, int]]:
    try:
        return [(int(a), int(b)) for a, b in np.broadcast_to(np.asarray(pad_width), (rank, 2))]
    except ValueError:
        raise shape_error(
            "pad", f"expected (before, after) for {rank} dimensions, found {pad_width}"
        ) from None


@operation
def pad(
    x: ArrayLike, pad_width: Any, mode: str = "constant", constant_values: ArrayLike = 0
) -> Tracer:
    """The array with a border: ``constant``, ``edge``, ``reflect``, ``symmetric`` or ``wrap``."""
    operand = to_tracer(x)
    widths = _pad_widths(pad_width, operand.ndim)
    if any(width < 0 for pair in widths for width in pair):
        raise shape_error("pad", f"expected widths >= 0, found {widths}")
    if mode == "constant":
        value = _broadcast_to(constant_values, operand.dtype, ())
        return lax.pad(operand, value, [(low, high, 0) for low, high in widths])
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise shape_error(
            "pad", f"expected a mode constant, edge, reflect, symmetric or wrap, found {mode!r}"
        )
    for axis, (low, high) in enumerate(widths):
        if low or high:
            source = np.pad(np.arange(operand.shape[axis], dtype=np.int32), (low, high), mode)  # pyright: ignore
            operand = take(operand, source, axis)
    return operand


@operation
def tril(x: ArrayLike, k: int = 0) -> Tracer:
    """Matrices with zeros above a diagonal."""
    return _triangle(x, k, lax.ge)


@operation
def triu(x: ArrayLike, k: int = 0) -> Tracer:
    """Matrices with zeros below a diagonal."""
    return _triangle(x, k, lax.le)


def _triangle(x: ArrayLike, k: int, keep: Any) -> Tracer:
    operand = to_tracer(x)
    if operand.ndim < 2:
        raise shape_error("tril/triu", f"expected matrices, found {operand.aval}")
    rows = lax.broadcasted_iota(np.int32, operand.shape, operand.ndim - 2)
    columns = lax.broadcasted_iota(np.int32, operand.shape, operand.ndim - 1)
    mask = keep(lax.add(rows, k), columns)
    return lax.select(mask, operand, lax.full_like(operand, 0))


@operation
def diagonal(x: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tracer:
    """The diagonals of the matrices in two dimensions, as the last dimension."""
    operand = moveaxis(x, (axis1, axis2), (-2, -1))
    rows, columns = operand.shape[-2:]
    first_row, first_column = max(-offset, 0), max(offset, 0)
    count = max(0, min(rows - first_row, columns - first_column))
    places = np.arange(count, dtype=np.int32)
    return operand[..., places + first_row, places + first_column]


@operation
def diag(x: ArrayLike, k: int = 0) -> Tracer:
    """A matrix with a vector on a diagonal; or that diagonal of a matrix."""
    operand = to_tracer(x)
    if operand.ndim == 2:
        return diagonal(operand, k)
    if operand.ndim != 1:
        raise shape_error("diag", f"expected a vector or a matrix, found {operand.aval}")
    low, high = max(k, 0), max(-k, 0)
    extent = operand.shape[0] + low + high
    column = lax.pad(operand, _broadcast_to(0, operand.dtype, ()), [(low, high, 0)])
    spread = lax.broadcast_in_dim(column, (extent, extent), (1,))
    rows = lax.broadcasted_iota(np.int32, (extent, extent), 0)
    columns = lax.broadcasted_iota(np.int32, (extent, extent), 1)
    on_diagonal = lax.eq(lax.add(rows, k), columns)
    return lax.select(on_diagonal, spread, lax.full_like(spread, 0))


@operation
def delete(x: ArrayLike, obj: Any, axis: int | None = None) -> Tracer:
    """The array without the slices at known indices along an axis."""
    operand = to_tracer(x)
    if axis is None:
        operand, axis = ravel(operand), 0
    place = normalized_axis("delete", axis, operand.ndim)
    kept = np.delete(np.arange(operand.shape[place], dtype=np.int32), obj)
    return take(operand, kept, place)


@operation
def unravel_index(indices: ArrayLike, shape: Shape) -> tuple[Tracer, ...]:
    """Indices into a flat array as one index a dimension."""
    remaining = to_tracer(indices)
    found: list[Tracer] = []
    for extent in reversed(as_shape(shape)):
        found.append(lax.rem(remaining, extent))
        remaining = lax.div(remaining, extent)
    return tuple(reversed(found))


@operation
def append(x: ArrayLike, values: ArrayLike, axis: int | None = None) -> Tracer:
    """Values joined at the end."""
    return concatenate([x, values], axis)
