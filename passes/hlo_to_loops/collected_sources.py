"""select_and_scatter from the side of the result: elements collect the sources of their windows.

A row of windows (an index along the outermost dimension that windows walk) is looked at once: which
tap each window chooses, and its source, wait in scratch until the rows of the result that it covers
are computed. Each element is written once: the initial value, combined with the sources of those of
its windows that chose it, in row-major order. Which windows cover it depends on where it lies
between two of them (its phase) alone, so that they are known where the code is made. A scatter
would load and store elements again for each tap, and wait for stores of the window before.

Lanes are channels where windows do not walk the minor dimension, else neighbouring windows; then
the elements between two windows are as many vectors, which are woven together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cached_property

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.conditions import ALWAYS, Condition, both, in_range, less_than
from hlo.passes.hlo_to_loops.element_types import element_type
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.graph import Node
from hlo.passes.hlo_to_loops.interleaved_kernel import woven
from hlo.passes.hlo_to_loops.scalar_regions import apply
from hlo.passes.hlo_to_loops.window_choice import (
    FEWEST_UNITS,
    NONE,
    WindowChoice,
    Windows,
)
from hlo.passes.hlo_to_loops.window_groups import Along, Scratch, vectors_of

# Rows of windows that a work unit needs from the one before are at most this part of its own.
LARGEST_SHARE = 8


def emit_collection(
    em: Emitter, node: Node, windows: Windows, padding: Node | None, out: Buffer
) -> int:
    """Emits the loop over work units; how many there are.

    Args:
        padding: the `pad` that makes what windows choose from, if that is in the kernel.
        out: the result, or the part of it that is asked for.
    """
    return _Collection(em, node, windows, padding, out).emit()


class _Collection(WindowChoice):
    """The emission of one op whose results collect their sources."""

    def __init__(
        self, em: Emitter, node: Node, windows: Windows, padding: Node | None, out: Buffer
    ) -> None:
        super().__init__(
            em, node, windows, by_tap=True, neighbours=not windows.lanes, padding=padding
        )
        self.out, self.lanes = out, windows.lanes or windows.widest
        self.along = {d: Along.of(windows, d) for d in windows.walked}
        self.outer = self.walked[0] if self.walked else None
        self.inner = self.walked[1:]
        self.extents = Scratch.of(node, windows).extents
        elements = math.prod(self.extents)
        self.names, self.held = (
            Buffer(em.b.stack_buffer(elements, kind.memory), elements, kind)
            for kind in (self.name, self.source.type)
        )
        self.block_start = ZERO  # the first channel of a work unit
        # The group of elements that is computed, by dimension.
        self.group: dict[int, Affine] = {}

    # -- work units --------------------------------------------------------------------------------
    @cached_property
    def blocks(self) -> int:
        return -(-self.w.vectors * self.w.lanes // self.extents[-1]) if self.w.lanes else 1

    @cached_property
    def groups_of_unit(self) -> int:
        """Along the outermost dimension that windows walk."""
        if self.outer is None:
            return 1
        along = self.along[self.outer]
        others = math.prod(self.w.sizes[d] for d in self.w.still) * self.blocks
        least = max(1, (along.kept - 1) * LARGEST_SHARE)
        return min(along.groups, max(least, -(-along.groups * others // FEWEST_UNITS)))

    def emit(self) -> int:
        em, b, w = self.em, self.em.b, self.w
        groups = 1 if self.outer is None else self.along[self.outer].groups
        bands = -(-groups // self.groups_of_unit)
        sizes = [*(w.sizes[d] for d in w.still), bands, self.blocks]
        units = math.prod(sizes)
        with b.loop("%begin", "%end", b.index(1)) as loop:
            unit = em.variable(loop.iv, units) if units > 1 else ZERO
            *still, band, block = em.dims(Position.of_offset(unit), sizes)
            for d, index in zip(w.still, still, strict=True):
                self.at[d] = index
            self.block_start = block * self.extents[-1]
            with b.loop(b.index(0), b.index(self.names.elements), b.index(self.lanes)) as fill:
                self._forget(em.variable(fill.iv, self.names.elements), fill.iv)
            if self.outer is None:
                self._choose(ZERO)
                self._collect(ZERO)
            else:
                self._rows(self.outer, band)
        return units

    def _rows(self, outer: int, band: Affine) -> None:
        """The rows of windows of a work unit, and of the result as soon as all of theirs are."""
        em, b, along = self.em, self.em.b, self.along[outer]
        before = along.kept - 1
        first = em.index(band * self.groups_of_unit)
        end = b.op(f"arith.addi {first}, {b.index(self.groups_of_unit)} : index")
        end = b.op(f"arith.minui {end}, {b.index(along.groups)} : index")
        end = b.op(f"arith.addi {end}, {b.index(before)} : index")
        with b.loop(first, end, b.index(1)) as loop:
            row = em.variable(loop.iv, along.windows)
            self.at[outer] = row + along.first
            self._either(
                in_range(em, self.at[outer], along.sources),
                lambda: self._choose(row),
                lambda: self._forget_row(row),
            )
            ready = b.op(f"arith.addi {first}, {b.index(before)} : index")
            ready = b.op(f"arith.cmpi uge, {loop.iv}, {ready} : index")
            with b.when(ready):
                name = b.load(f"arith.subi {loop.iv}, {b.index(before)} : index")
                self.group[outer] = em.name_index(name, along.groups)
                self._collect(self.group[outer])

    def _either(
        self, condition: Condition, then: Callable[[], None], otherwise: Callable[[], None]
    ) -> None:
        """One or the other, by a condition that all lanes share."""
        b = self.em.b
        if condition.always or condition.never:
            (then if condition.always else otherwise)()
            return
        assert condition.uniform is not None
        with b.when(condition.uniform):
            then()
        with b.width(0):
            inverse = b.op(f"arith.xori {condition.uniform}, {b.constant(True, 'i1')} : i1")
        with b.when(inverse):
            otherwise()

    # -- scratch -----------------------------------------------------------------------------------
    def _slot(self, row: Affine, inner: Sequence[Affine]) -> Affine:
        """Where the windows of a row (counted from the first), at inner indices, are in scratch."""
        _, kept = self.em.divmod(row, self.extents[0]) if self.extents[0] > 1 else (ZERO, ZERO)
        return Position.of_dims((kept, *inner, ZERO)).linear(self.extents)

    def _forget(self, at: Affine, lane: str) -> None:
        with self.em.vector(lane, self.lanes):
            nothing = elementwise.constant(self.em.b, self.name, NONE)
            self.em.store(nothing, self.names, at)

    def _forget_row(self, row: Affine) -> None:
        b, em = self.em.b, self.em
        elements = self.names.elements // self.extents[0]
        start = self._slot(row, [ZERO] * (len(self.extents) - 2))
        with b.loop(b.index(0), b.index(elements), b.index(self.lanes)) as loop:
            self._forget(start + em.variable(loop.iv, elements), loop.iv)

    # -- a row of windows --------------------------------------------------------------------------
    def _choose(self, row: Affine) -> None:
        """What the windows of a row choose goes to scratch, with their sources."""
        em, b = self.em, self.em.b

        def windows(dims: Sequence[int], inner: list[Affine]) -> None:
            if not dims:
                start = self._slot(row, inner)
                (self._windows_along if self.neighbours else self._windows_of_channels)(start)
                return
            along = self.along[dims[0]]
            with b.loop(
                b.index(0), b.index(min(along.sources, along.groups + along.last)), b.index(1)
            ) as loop:
                self.at[dims[0]] = em.variable(loop.iv, along.sources)
                windows(dims[1:], [*inner, self.at[dims[0]] + -along.first])

        windows(self.inner, [])

    def _windows_of_channels(self, start: Affine) -> None:
        self._channels(lambda channel: self._keep(start + channel, lanes_inside=True))

    def _channels(self, body: Callable[[Affine], None]) -> None:
        """The vectors of a block of channels, of which the last may be cut."""
        em, b, extent, step = self.em, self.em.b, self.w.sizes[-1], self.extents[-1]
        whole = extent // self.lanes * self.lanes
        end = b.index(whole)
        if self.blocks > 1:
            end = b.op(f"arith.subi {end}, {em.index(self.block_start)} : index")
            end = b.op(f"arith.minsi {end}, {b.index(step)} : index")
        with b.loop(b.index(0), end, b.index(self.lanes)) as loop:
            channel = em.variable(loop.iv, step)
            self.at[-1] = self.block_start + channel
            with em.vector(loop.iv, self.lanes):
                body(channel)
        if whole == extent:
            return
        before = (self.blocks - 1) * step
        is_last = b.op(f"arith.cmpi eq, {em.index(self.block_start)}, {b.index(before)} : index")
        with b.when(is_last):
            name = b.load(f"arith.addi {b.index(whole - before)}, {b.index(0)} : index")
            channel = em.variable(name, step)
            self.at[-1] = self.block_start + channel
            with em.vector(name, self.lanes, b.first_lanes(extent - whole, self.lanes)):
                em.hoist_from_here()
                body(channel)

    def _windows_along(self, start: Affine) -> None:
        """Neighbouring windows: some vectors at the ends have lanes without an element, or in the
        padding.
        """
        em, b, w, lanes = self.em, self.em.b, self.w, self.lanes
        along = self.along[len(w.sizes) - 1]
        vectors, first, end = vectors_of(w, along)

        def at_vector(name: str, *, inside: bool) -> None:
            self.at[-1] = em.variable(name, vectors * lanes)
            with em.vector(name, lanes):
                if not inside:
                    em.hoist_from_here()
                self._keep(start + self.at[-1] + -along.first, lanes_inside=inside)

        def at_ends(begin: int, beyond: int) -> None:
            for vector in range(begin, beyond):  # masks of known lanes
                name = b.load(f"arith.addi {b.index(vector * lanes)}, {b.index(0)} : index")
                at_vector(name, inside=False)

        at_ends(0, first)
        if first < end:
            with b.loop(b.index(first * lanes), b.index(end * lanes), b.index(lanes)) as loop:
                at_vector(loop.iv, inside=True)
        at_ends(end, vectors)

    def _keep(self, at: Affine, *, lanes_inside: bool) -> None:
        """Stores what the windows at `at` choose, and their sources, at a place of scratch."""
        em = self.em

        def store(*, inside: bool) -> None:
            name = self.chosen(inside=inside, lanes_inside=lanes_inside)
            with self._all_lanes():
                em.store(name, self.names, at)

        masked = None
        if not lanes_inside:
            masked = less_than(em, self.at[-1], self.w.sources[-1]).varying
        position = Position.of_dims(tuple(self.at))
        if masked is None:
            source = em.element(self.source, position)
        else:
            with em.masked(masked):
                source = em.element(self.source, position)
        with self._all_lanes():
            em.store(source, self.held, at)
        self._either(self.inside(), lambda: store(inside=True), lambda: store(inside=False))

    @contextmanager
    def _all_lanes(self) -> Generator[None]:
        """Scratch has room for whole vectors."""
        em = self.em
        saved, em.mask = em.mask, None
        try:
            yield
        finally:
            em.mask = saved

    # -- rows of the result ------------------------------------------------------------------------
    def _collect(self, row: Affine) -> None:
        """The rows of the result in a group, whose windows begin at a row of scratch."""
        em, b = self.em, self.em.b

        def groups(dims: Sequence[int]) -> None:
            if not dims:
                (self._line if self.neighbours else self._pixels)(row)
                return
            along = self.along[dims[0]]
            with b.loop(b.index(0), b.index(along.groups), b.index(1)) as loop:
                self.group[dims[0]] = em.variable(loop.iv, along.groups)
                groups(dims[1:])

        groups(self.inner)

    def _pixels(self, row: Affine) -> None:
        def store(phases: Sequence[int], channel: Affine) -> None:
            value = self._value(row, phases, channel)
            at = Position.of_dims(self._element(phases)).linear(self.w.results)
            self.em.store(value, self.out, at)

        def pixels(channel: Affine) -> None:
            for phases in self._phases():
                self._either(self._exists(phases), lambda p=phases: store(p, channel), _nothing)

        self._channels(pixels)

    def _phases(self) -> list[tuple[int, ...]]:
        """Of the elements of a group, but for those along lanes."""
        return list(itertools.product(*(range(self.w.strides[d]) for d in self.walked)))

    def _exists(self, phases: Sequence[int]) -> Condition:
        held = ALWAYS
        for d, phase in zip(self.walked, phases, strict=True):
            index = self.group[d] * self.w.strides[d] + phase
            held = both(self.em, held, less_than(self.em, index, self.w.results[d]))
        return held

    def _element(self, phases: Sequence[int]) -> list[Affine]:
        """The index of an element of the group."""
        place = list(self.at)
        for d, phase in zip(self.walked, phases, strict=True):
            index = self.group[d] * self.w.strides[d] + phase
            place[d] = self.em.bounded(index, self.w.results[d])
        return place

    def _value(self, row: Affine, phases: Sequence[int], lane: Affine) -> Value:
        """An element of the result: all of its windows' sources combined.

        Args:
            row: of scratch, from which on its windows are.
            phases: where it lies in its group.
            lane: of scratch, along the minor dimension.
        """
        em, b, w = self.em, self.em.b, self.w
        with em.scalar():
            initial = em.element(self.initial, Position.of_dims(()))
        value = em.splat(initial, b.lanes)
        covering = [self.along[d].phases[phase] for d, phase in zip(w.walked, phases, strict=True)]
        for windows in itertools.product(*covering):
            tap = Position.of_dims(tuple(ZERO + t for _, t in windows)).linear(
                [w.window[d] for d in w.walked]
            )
            name, source = self._window(row, [distance for distance, _ in windows], lane)
            number = elementwise.constant(b, self.name, tap.constant)
            here = b.op(
                f"arith.cmpi eq, {name.name}, {number.name} : {b.type_of(self.name.register)}"
            )
            new = apply(em, self.node.regions[1], [value, source])[0]
            value = elementwise.select(b, Value(element_type("i1"), (here,), b.lanes), new, value)
        return value

    def _window(self, row: Affine, distances: Sequence[int], lane: Affine) -> tuple[Value, Value]:
        """What a window chose, and its source, by how far it lies beyond its group."""
        em = self.em
        key = ("window", *distances)
        if (known := em.b.recall(key)) is not None:
            return known
        beyond = dict(zip(self.w.walked, distances, strict=True))
        inner = [self.group[d] + (beyond[d] - self.along[d].first) for d in self.inner]
        if self.outer is not None:
            row = row + (beyond[self.outer] - self.along[self.outer].first)
        minor = len(self.w.sizes) - 1
        at = self._slot(row, inner) + lane
        if self.neighbours:
            at = at + (beyond[minor] - self.along[minor].first)
        with self._all_lanes():
            found = em.load(self.names, at), em.load(self.held, at)
        em.b.remember(key, found)
        return found

    def _line(self, row: Affine) -> None:
        """Elements along lanes: a vector for each phase, woven together."""
        em, b, lanes = self.em, self.em.b, self.lanes
        along = self.along[len(self.w.sizes) - 1]
        step = lanes * along.stride
        whole = along.size // step * lanes
        with b.loop(b.index(0), b.index(whole), b.index(lanes)) as loop:
            lane = em.variable(loop.iv, along.groups + lanes)
            with em.vector(loop.iv, lanes):
                self._store_line(row, lane, along, step)
        if rest := along.size % step:
            name = b.load(f"arith.addi {b.index(whole)}, {b.index(0)} : index")
            lane = em.variable(name, along.groups + lanes)
            with em.vector(name, lanes):
                em.hoist_from_here()
                self._store_line(row, lane, along, rest)

    def _store_line(self, row: Affine, lane: Affine, along: Along, count: int) -> None:
        """The elements of a vector of groups, of which `count` exist."""
        em, b, lanes = self.em, self.em.b, self.lanes
        start = lane * along.stride

        def store(phases: tuple[int, ...]) -> None:
            values = [self._value(row, (*phases, phase), lane) for phase in range(along.stride)]
            kind = b.type_of(values[0].type.register)
            for k, name in enumerate(woven(b, [v.name for v in values], kind)):
                if (left := min(count - k * lanes, lanes)) <= 0:
                    break
                at = b.load(f"arith.addi {em.index(start)}, {b.index(k * lanes)} : index")
                place = [*self._element(phases)[:-1], em.variable(at, along.size)]
                mask = b.first_lanes(left, lanes) if left < lanes else None
                with em.vector(at, lanes, mask):
                    value = Value(values[0].type, (name,), lanes)
                    em.store(value, self.out, Position.of_dims(place).linear(self.w.results))

        for phases in self._phases():
            self._either(self._exists(phases), lambda p=phases: store(p), _nothing)


def _nothing() -> None:
    """Elements beyond the end."""
