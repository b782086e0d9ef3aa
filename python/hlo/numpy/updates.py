"""``x.at[index].set(y)`` and its kin: new arrays that differ from x at an index.

Updates whose traced indices are out of range are dropped; known indices out of range raise.
Where an index occurs more than once, all updates are applied, in an order that is not specified.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hlo import lax
from hlo.frontend.operands import broadcast_to, concrete, shape_error, shape_of
from hlo.frontend.tracer import ArrayLike, Tracer
from hlo.lax.indexed import Combiner
from hlo.numpy.indexing import ParsedIndex, Span, index_vectors, parse_index, take_index, take_spans


@dataclass(frozen=True)
class IndexUpdate:
    """``x.at``: to be indexed."""

    x: Tracer

    def __getitem__(self, index: Any) -> IndexedUpdate:
        return IndexedUpdate(self.x, index)


@dataclass(frozen=True)
class IndexedUpdate:
    """``x.at[index]``: the place; the methods make arrays that differ from x there."""

    x: Tracer
    index: Any

    def get(self) -> Tracer:
        """``x[index]``."""
        return take_index(self.x, self.index)

    def set(self, values: ArrayLike, **promises: bool) -> Tracer:
        """The elements replaced by values, which are broadcast and converted to x's dtype.

        Args:
            values: the new elements.
            **promises: ``indices_are_sorted`` and ``unique_indices``.
        """
        return self._update(values, "set", promises)

    def add(self, values: ArrayLike, **promises: bool) -> Tracer:
        """Values added to the elements."""
        return self._update(values, lax.add, promises)

    def subtract(self, values: ArrayLike, **promises: bool) -> Tracer:
        """Values subtracted from the elements."""
        return self._update(values, lax.sub, promises)

    def multiply(self, values: ArrayLike, **promises: bool) -> Tracer:
        """The elements multiplied by values."""
        return self._update(values, lax.mul, promises)

    mul = multiply

    def divide(self, values: ArrayLike, **promises: bool) -> Tracer:
        """The elements divided by values."""
        ones = lax.full_like(self.x, 1)
        factors = IndexedUpdate(ones, self.index).multiply(values, **promises)
        return lax.div(self.x, factors)

    def power(self, values: ArrayLike, **promises: bool) -> Tracer:
        """The elements raised to the power of values; no index may occur twice."""
        powers = IndexedUpdate(lax.full_like(self.x, 1), self.index).set(values, **promises)
        return lax.pow(self.x, powers)

    def min(self, values: ArrayLike, **promises: bool) -> Tracer:
        """The smaller of the elements and values."""
        return self._update(values, lax.min, promises)

    def max(self, values: ArrayLike, **promises: bool) -> Tracer:
        """The larger of the elements and values."""
        return self._update(values, lax.max, promises)

    def apply(self, function: Any, **promises: bool) -> Tracer:
        """A function applied to the elements; no index may occur twice."""
        return self.set(function(self.get()), **promises)

    def _update(
        self, values: ArrayLike, combine: str | Combiner, promises: dict[str, bool]
    ) -> Tracer:
        parsed = parse_index(self.index, self.x.shape)
        operand = lax.reshape(self.x, parsed.shape)
        known = all(isinstance(entry, (Span, int)) for entry in parsed.entries)
        if known and all(e.step == 1 for e in parsed.entries if isinstance(e, Span)):
            updated = _update_block(operand, parsed, values, combine)
        else:
            updated = _scatter(operand, parsed, values, combine, promises)
        return lax.reshape(updated, self.x.shape)


def _fitted(values: ArrayLike, x: Tracer, shape: Sequence[int]) -> Tracer:
    """Values in x's dtype, broadcast to the shape of the indexed place."""
    target = tuple(shape)
    found = shape_of(
        values if isinstance(values, (Tracer, int, float, complex)) else concrete(values)
    )
    while len(found) > len(target) and found[0] == 1:
        found = found[1:]
    fits = len(found) <= len(target) and all(
        a in (1, b) for a, b in zip(reversed(found), reversed(target), strict=False)
    )
    if not fits:
        raise shape_error("at", f"values of shape {found} do not fit an indexed place {target}")
    if isinstance(values, Tracer):
        values = lax.reshape(values, found)
    return broadcast_to(values, x.dtype, target)


def _update_block(
    x: Tracer, parsed: ParsedIndex, values: ArrayLike, combine: str | Combiner
) -> Tracer:
    spans = [e if isinstance(e, Span) else Span(e, 1, 1) for e in parsed.entries]  # type: ignore[arg-type]
    kept = [e.length for e in parsed.entries if isinstance(e, Span)]
    block_shape = [span.length for span in spans]
    new = lax.reshape(_fitted(values, x, kept), block_shape)
    if 0 in block_shape:
        return x
    if not isinstance(combine, str):
        new = combine(take_spans(x, spans), new)
    if all(span.covers(extent) for span, extent in zip(spans, x.shape, strict=True)):
        return new
    return lax.dynamic_update_slice(x, new, [span.start for span in spans])


def _scatter(
    x: Tracer,
    parsed: ParsedIndex,
    values: ArrayLike,
    combine: str | Combiner,
    promises: dict[str, bool],
) -> Tracer:
    """``hlo.scatter`` whose windows are the whole of the dimensions sliced as a whole.

    Other slices become index arrays of their own, at right angles to the user's.
    """
    arrays = parsed.array_dimensions
    place = parsed.arrays_place if arrays else 0
    users = [np.asarray(e, np.int32) if isinstance(e, int) else e for e in parsed.entries]
    ranks = [len(users[d].shape) for d in arrays]  # type: ignore[union-attr]
    batch = max(ranks, default=0)
    sliced = [
        d
        for d, e in enumerate(parsed.entries)
        if isinstance(e, Span) and not e.covers(parsed.shape[d])
    ]
    windows = [d for d in range(x.ndim) if d not in arrays and d not in sliced]
    components: list[Any] = []
    for d in arrays:
        entry: Any = users[d]
        components.append(entry.reshape(entry.shape + (1,) * len(sliced)))
    for number, d in enumerate(sliced):
        span: Any = parsed.entries[d]
        positions = span.start + span.step * np.arange(span.length, dtype=np.int32)
        components.append(positions.reshape((-1,) + (1,) * (len(sliced) - number - 1)))
    vectors, places = index_vectors(components)
    # The place as the user sees it: index arrays at `place`, slices and windows in order.
    batch_shape = places[:batch]
    kept = [d for d in range(x.ndim) if d not in arrays]
    lengths = [parsed.entries[d].length for d in kept]  # type: ignore[union-attr]
    seen = [*lengths[:place], *batch_shape, *lengths[place:]]
    new = _fitted(values, x, seen)
    # Updates as scatter wants them: index arrays, sliced dimensions, windows.
    position = {d: i if i < place else i + batch for i, d in enumerate(kept)}
    order = [*range(place, place + batch), *(position[d] for d in (*sliced, *windows))]
    new = lax.transpose(new, order)
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=tuple(range(len(places), len(places) + len(windows))),
        inserted_window_dims=tuple(sorted([*arrays, *sliced])),
        scatter_dims_to_operand_dims=(*arrays, *sliced),
    )
    return lax.scatter(x, vectors, new, numbers, combine, **promises)
