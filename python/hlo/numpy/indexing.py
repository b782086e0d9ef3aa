"""NumPy's indexing: what an index means, and how elements are taken.

An index is parsed into one entry a dimension. Slices and numbers known when tracing become
``hlo.slice``, traced numbers ``hlo.dynamic_slice``, arrays ``hlo.gather``. Traced indices out of
range are clamped, as JAX does; known ones raise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hlo import lax
from hlo.frontend.dtypes import BOOL, INT32, is_integer, kind
from hlo.frontend.errors import ConcretizationError, IndexRangeError
from hlo.frontend.operands import broadcast_shapes, concrete, convert, shape_error, to_tracer
from hlo.frontend.source_location import user_line
from hlo.frontend.tracer import ArrayLike, Tracer

_INT64 = np.dtype(np.int64)


@dataclass(frozen=True)
class Span:
    """A slice of one dimension: `length` elements from `start` by `step`."""

    start: int
    step: int
    length: int

    def covers(self, extent: int) -> bool:
        """Whether the slice is the whole dimension in order."""
        return (self.start, self.step, self.length) == (0, 1, extent)


Entry = Span | int | Tracer | np.ndarray[Any, Any]
"""A slice, a known number counted from the front, or an integer array."""


@dataclass(frozen=True)
class ParsedIndex:
    """An index against an array.

    Attributes:
        entries: one for each dimension. A None of the index is the whole of a dimension of
        extent 1. shape: the array's shape with these dimensions.
    """

    entries: tuple[Entry, ...]
    shape: tuple[int, ...]

    @property
    def array_dimensions(self) -> list[int]:
        """Dimensions indexed by numbers or arrays."""
        return [i for i, entry in enumerate(self.entries) if not isinstance(entry, Span)]

    @property
    def has_array(self) -> bool:
        """Whether an array of rank 1 or more takes part."""
        return any(
            isinstance(entry, (Tracer, np.ndarray)) and len(entry.shape) > 0
            for entry in self.entries
        )

    @property
    def arrays_place(self) -> int:
        """Where in the result the dimensions of the index arrays come.

        NumPy puts them where the arrays are if these are adjacent, else first.
        """
        dimensions = self.array_dimensions
        adjacent = dimensions == list(range(dimensions[0], dimensions[-1] + 1))
        return dimensions[0] if adjacent else 0


def parse_index(index: Any, shape: Sequence[int]) -> ParsedIndex:
    """What an index means for an array of this shape.

    Raises:
        ShapeError: if it has too many entries, or entries that are not indices.
        IndexRangeError: if a known number is out of range.
        ConcretizationError: if a traced bool array or a traced slice bound is in it.
    """
    items = list(index) if isinstance(index, tuple) else [index]
    items = [part for item in items for part in _mask_as_arrays(item)]
    given = sum(item is not None and item is not Ellipsis for item in items)
    dots = [i for i, item in enumerate(items) if item is Ellipsis]
    if given > len(shape) or len(dots) > 1:
        raise shape_error("index", f"{given} indices for an array of shape {tuple(shape)}")
    place = dots[0] if dots else len(items)
    items[place : place + 1] = [slice(None)] * (len(shape) - given)
    extents = iter(shape)
    expanded = [1 if item is None else next(extents) for item in items]
    entries = [
        Span(0, 1, 1) if item is None else _entry(item, extent)
        for item, extent in zip(items, expanded, strict=True)
    ]
    return ParsedIndex(tuple(entries), tuple(expanded))


def _mask_as_arrays(item: Any) -> list[Any]:
    """A known bool array as the integer arrays of its true elements."""
    if isinstance(item, (bool, np.bool_)):
        raise shape_error("index", "bool scalars cannot index; use hlo.numpy.where")
    if isinstance(item, list):
        item = np.asarray(item) if item else np.zeros(0, np.int32)
    if isinstance(item, Tracer) and item.dtype == BOOL:
        raise ConcretizationError(
            f"indexing with a traced bool array {item.aval} gives a result of unknown shape; use "
            "hlo.numpy.where(mask, x, y), or x.at[...].set with where",
            location=str(user_line()),
        )
    if isinstance(item, np.ndarray) and item.dtype == np.bool_:
        return list(np.nonzero(item))
    return [item]


def _entry(item: Any, extent: int) -> Entry:
    if isinstance(item, slice):
        start, stop, step = item.indices(extent)
        return Span(start, step, len(range(start, stop, step)))
    if isinstance(item, (int, np.integer)):
        _check_range(np.asarray(item), extent)
        return int(item) % extent
    if isinstance(item, Tracer):
        if not is_integer(item.dtype):
            raise shape_error("index", f"expected integer indices, found {item.aval}")
        return _counted_from_front(item, extent)
    known = concrete(item)
    if known.dtype.kind not in "iu":
        raise shape_error("index", f"expected integer indices, found {known.dtype}")
    _check_range(known, extent)
    return np.where(known < 0, known + extent, known).astype(_index_dtype(known.dtype, extent))


def _check_range(known: np.ndarray[Any, Any], extent: int) -> None:
    wrong = known[(known < -extent) | (known >= extent)]
    if wrong.size:
        raise IndexRangeError(
            f"index {wrong.flat[0]} is out of range for an extent of {extent}",
            location=str(user_line()),
        )


def _index_dtype(dtype: np.dtype[Any], extent: int) -> np.dtype[Any]:
    wide = extent > np.iinfo(np.int32).max
    return _INT64 if wide or dtype in (_INT64, np.dtype(np.uint64)) else INT32


def _counted_from_front(index: Tracer, extent: int) -> Tracer:
    if kind(index.dtype) == "u":
        # Large unsigned indices must stay large.
        top = min(extent, int(np.iinfo(index.dtype).max))
        return convert(lax.min(index, top), _index_dtype(index.dtype, extent))
    wide = convert(index, _index_dtype(index.dtype, extent))
    return lax.select(lax.lt(wide, 0), lax.add(wide, extent), wide)


def take_index(x: Tracer, index: Any) -> Tracer:
    """``x[index]``."""
    parsed = parse_index(index, x.shape)
    x = lax.reshape(x, parsed.shape)
    return _take_arrays(x, parsed) if parsed.has_array else _take_basic(x, parsed)


def take_spans(x: Tracer, spans: Sequence[Span]) -> Tracer:
    """The block of a slice in each dimension."""
    starts: list[int] = []
    limits: list[int] = []
    backwards: list[int] = []
    for axis, span in enumerate(spans):
        first, last = span.start, span.start + span.step * (span.length - 1)
        if not span.length:
            first, last = 0, -1
        elif span.step < 0:
            first, last = last, first
            backwards.append(axis)
        starts.append(first)
        limits.append(last + 1)
    block = lax.slice(x, starts, limits, [abs(span.step) for span in spans])
    return lax.rev(block, backwards)


def _no_element(x: Tracer) -> IndexRangeError:
    return IndexRangeError(
        f"no element along an empty dimension of {x.aval}", location=str(user_line())
    )


def _take_basic(x: Tracer, parsed: ParsedIndex) -> Tracer:
    traced = [isinstance(entry, (Tracer, np.ndarray)) for entry in parsed.entries]
    if any(traced):
        if any(t and not extent for t, extent in zip(traced, x.shape, strict=True)):
            raise _no_element(x)
        pairs = list(zip(traced, parsed.entries, strict=True))
        starts = _one_dtype([entry if t else 0 for t, entry in pairs])
        sizes = [1 if t else extent for t, extent in zip(traced, x.shape, strict=True)]
        x = lax.dynamic_slice(x, starts, sizes, allow_negative_indices=False)
    block = take_spans(x, [_as_span(entry) for entry in parsed.entries])
    kept = [
        length
        for length, entry in zip(block.shape, parsed.entries, strict=True)
        if isinstance(entry, Span)
    ]
    return lax.reshape(block, kept)


def _one_dtype(starts: Sequence[ArrayLike]) -> list[Tracer]:
    arrays = [to_tracer(start, INT32) for start in starts]
    dtype = _INT64 if any(array.dtype == _INT64 for array in arrays) else INT32
    return [convert(array, dtype) for array in arrays]


def _as_span(entry: Entry) -> Span:
    if isinstance(entry, Span):
        return entry
    return Span(entry if isinstance(entry, int) else 0, 1, 1)


def index_vectors(entries: Sequence[ArrayLike]) -> tuple[Tracer, tuple[int, ...]]:
    """Indices of several dimensions broadcast together, one vector a place along a last dimension.

    Returns:
        The vectors and the places' shape.
    """
    arrays = [np.asarray(e, np.int32) if isinstance(e, int) else e for e in entries]
    shape = broadcast_shapes("index", [array.shape for array in arrays])
    wide = any(array.dtype == _INT64 for array in arrays)
    dtype = _INT64 if wide else INT32
    if all(isinstance(array, np.ndarray) for array in arrays):
        columns = [np.broadcast_to(a, shape).astype(dtype) for a in arrays]
        return to_tracer(np.stack(columns, -1)), shape
    parts: list[Tracer] = []
    for array in arrays:
        whole = convert(to_tracer(array), dtype)
        offset = len(shape) - whole.ndim
        spread = lax.broadcast_in_dim(whole, shape, range(offset, len(shape)))
        parts.append(lax.reshape(spread, (*shape, 1)))
    return lax.concatenate(parts, len(shape)), shape


def _take_arrays(x: Tracer, parsed: ParsedIndex) -> Tracer:
    whole = [
        entry if isinstance(entry, Span) else Span(0, 1, extent)
        for entry, extent in zip(parsed.entries, x.shape, strict=True)
    ]
    block = take_spans(x, whole)
    dimensions = parsed.array_dimensions
    vectors, places = index_vectors([parsed.entries[d] for d in dimensions])
    sizes = [1 if d in dimensions else extent for d, extent in enumerate(block.shape)]
    place = parsed.arrays_place
    rank = len(places) + block.ndim - len(dimensions)
    offsets = [d for d in range(rank) if not place <= d < place + len(places)]
    if not all(block.shape[d] for d in dimensions):
        if 0 not in places:
            raise _no_element(x)
        kept = [block.shape[d] for d in range(block.ndim) if d not in dimensions]
        return lax.full((*kept[:place], *places, *kept[place:]), 0, x.dtype)
    numbers = lax.GatherDimensionNumbers(tuple(offsets), tuple(dimensions), tuple(dimensions))
    return lax.gather(block, vectors, numbers, sizes)
