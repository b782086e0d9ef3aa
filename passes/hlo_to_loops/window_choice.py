"""What the windows of a `select_and_scatter` choose: one element each, lane by lane."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position, suffix_products
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.conditions import (
    ALWAYS,
    Condition,
    at_least,
    both,
    in_range,
    less_than,
)
from hlo.passes.hlo_to_loops.element_types import element_type
from hlo.passes.hlo_to_loops.elemental.reductions import padding_pairs
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.graph import Node
from hlo.passes.hlo_to_loops.index_values import index_value
from hlo.passes.hlo_to_loops.loop_kernel import VECTOR_BITS
from hlo.passes.hlo_to_loops.scalar_regions import apply

FEWEST_UNITS = 8  # for the sake of threads, if there are as many vectors
MOST_UNROLLED = 25  # taps of a window that are not a loop
FEWEST_LANES = 4
NONE = -1  # the tap that a window has chosen before the first


@dataclass(frozen=True)
class Windows:
    """The windows of a `select_and_scatter`; extents by dimension.

    Attributes:
        sizes, low: of what windows choose from, and how far the first begin ahead of it.
        core_sizes, core_low: the same without the padding that the kernel puts around it.
        results, result_low: the same of the part of the result that is asked for.
        widest: lanes of a register of the widest type.
    """

    sizes: tuple[int, ...]
    sources: tuple[int, ...]
    window: tuple[int, ...]
    strides: tuple[int, ...]
    low: tuple[int, ...]
    core_sizes: tuple[int, ...]
    core_low: tuple[int, ...]
    results: tuple[int, ...]
    result_low: tuple[int, ...]
    walked: tuple[int, ...]
    widest: int

    @staticmethod
    def of(node: Node, padding: Node | None = None, part: Node | None = None) -> Windows:
        """Of a `select_and_scatter`, the `pad` ahead of it and the `slice` behind it."""
        operand, source, _ = node.operands
        rank, attributes = operand.rank, node.attributes
        window = tuple(attributes.get("window_dimensions") or (1,) * rank)
        strides = tuple(attributes.get("window_strides") or (1,) * rank)
        pads = padding_pairs(attributes.get("padding"), rank)
        walked = tuple(d for d in range(rank) if (window[d], strides[d], *pads[d]) != (1, 1, 0, 0))
        bits = max(32, *(t.type.part_type.bits for t in node.operands))
        low = tuple(low for low, _ in pads)
        core, core_low, results, result_low = operand.shape, low, operand.shape, low
        if padding is not None:
            core = padding.operands[0].shape
            ahead = padding.attributes["edge_padding_low"]
            core_low = tuple(a + b for a, b in zip(low, ahead, strict=True))
        if part is not None:
            results = part.results[0].shape
            starts = part.attributes["start_indices"]
            result_low = tuple(a + b for a, b in zip(low, starts, strict=True))
        return Windows(
            operand.shape, source.shape, window, strides, low, core, core_low, results, result_low,
            walked, VECTOR_BITS // bits,
        )  # fmt: skip

    def in_order(self, permutation: Sequence[int]) -> Windows:
        """The same windows over tensors whose dimensions have another order."""

        def arranged(extents: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(extents[d] for d in permutation)

        return Windows(
            arranged(self.sizes), arranged(self.sources), arranged(self.window),
            arranged(self.strides), arranged(self.low), arranged(self.core_sizes),
            arranged(self.core_low), arranged(self.results), arranged(self.result_low),
            tuple(i for i, d in enumerate(permutation) if d in self.walked), self.widest,
        )  # fmt: skip

    @property
    def taps(self) -> int:
        return math.prod(self.window)

    @cached_property
    def lanes(self) -> int:
        """Of a vector along the minor dimension; 0 if windows walk that, or it is too short."""
        rank, lanes = len(self.sizes), self.widest
        if not rank or rank - 1 in self.walked:
            return 0
        while lanes > self.sizes[-1]:
            lanes //= 2
        return lanes if lanes >= FEWEST_LANES else 0

    @cached_property
    def still(self) -> tuple[int, ...]:
        """Dimensions that windows do not walk, but for that of the lanes."""
        rank = len(self.sizes) - (1 if self.lanes else 0)
        return tuple(d for d in range(rank) if d not in self.walked)

    def moves(self, d: int) -> bool:
        """Whether elements have another index in the core, or in the result, along a dimension."""
        same = (self.low[d], self.sizes[d])
        return same != (self.core_low[d], self.core_sizes[d]) or same != (
            self.result_low[d], self.results[d],
        )  # fmt: skip

    @property
    def vectors(self) -> int:
        return -(-self.sizes[-1] // self.lanes) if self.lanes else 1


class WindowChoice:
    """Emits which tap, or which element, the window at `at` chooses.

    Attributes:
        name: the type of what names a chosen element: with `by_tap` the number of its tap, else its
            offset; `NONE` if a window holds no element.
        neighbours: whether the lanes are neighbouring windows along the minor dimension.
    """

    def __init__(
        self, em: Emitter, node: Node, windows: Windows, *, by_tap: bool, neighbours: bool = False,
        padding: Node | None = None,
    ) -> None:  # fmt: skip
        self.em, self.node, self.w = em, node, windows
        self.operand, self.source, self.initial = node.operands
        self.core = self.operand if padding is None else padding.operands[0]
        self.filler = None if padding is None else padding.operands[1]
        self.by_tap, self.neighbours = by_tap, neighbours
        self.name = element_type("i32" if by_tap else "i64")
        self.at = [ZERO] * len(windows.sizes)
        self.walked = windows.walked[:-1] if neighbours else windows.walked

    def inside(self) -> Condition:
        """Whether all taps of the window at `at` are in the core, but for those along lanes."""
        em, w, held = self.em, self.w, ALWAYS
        with em.b.width(0):
            for d in self.walked:
                start = self.at[d] * w.strides[d] + -w.core_low[d]
                held = both(em, held, at_least(em, start, 0))
                held = both(em, held, less_than(em, start, w.core_sizes[d] - w.window[d] + 1))
        return held

    def place(self, tap: Sequence[Affine]) -> list[Affine]:
        """The index of a tap in the operand, which is inside."""
        return self._place_in(tap, self.w.low, self.w.sizes)

    def _place_in(
        self, tap: Sequence[Affine], low: Sequence[int], sizes: Sequence[int]
    ) -> list[Affine]:
        w, place = self.w, list(self.at)
        for d, index in zip(w.walked, tap, strict=True):
            at = self.at[d] * w.strides[d] + index + -low[d]
            place[d] = self.em.bounded(at, sizes[d])
        return place

    def named(self, tap: Sequence[Affine]) -> Value:
        """What names the element at a tap."""
        w = self.w
        if not self.by_tap:
            number = Position.of_dims(tuple(self.place(tap))).linear(w.sizes)
            return index_value(self.em, number, self.name)
        strides = suffix_products([w.window[d] for d in w.walked])
        number = sum((i * s for i, s in zip(tap, strides, strict=True)), ZERO)
        return index_value(self.em, number, self.name)

    def taps_of(self, dims: Sequence[int]) -> list[list[Affine]]:
        """All taps along some dimensions, in order."""
        ranges = (range(self.w.window[d]) for d in dims)
        return [[ZERO + i for i in tap] for tap in itertools.product(*ranges)]

    def chosen(self, *, inside: bool, lanes_inside: bool = True) -> Value:
        """The name of the element that the window chooses.

        Args:
            inside: whether its taps are known to be inside.
            lanes_inside: the same along the minor dimension, where lanes are neighbours.
        """
        b, kind = self.em.b, self.operand.type
        zero = elementwise.constant(b, kind, False if kind.register == "i1" else 0)
        state = zero, elementwise.constant(b, self.name, NONE)
        last = self.w.walked[len(self.walked) :]
        if inside:
            for number, tap in enumerate(self.taps_of(self.w.walked)):
                known = number if lanes_inside else None
                state = self._prefer(*state, tap, known, self._inner(tap, lanes_inside))
            return state[1]
        types = [*(b.type_of(kind.register) for _ in zero.parts), b.type_of(self.name.register)]

        def loops(tap: list[Affine], parts: list[str]) -> list[str]:
            if len(tap) == len(self.walked):
                held = Value(kind, tuple(parts[:-1]), b.lanes)
                name = Value(self.name, (parts[-1],), b.lanes)
                for rest in self.taps_of(last):
                    every = [*tap, *rest]
                    held, name = self._prefer(held, name, every, None, self._any(every))
                return [*held.parts, *name.parts]
            low, high = self.range_of(len(tap))
            carried = list(zip(parts, types, strict=True))
            with b.loop(low, high, b.index(1), carried) as loop:
                index = self.em.variable(loop.iv, self.w.window[self.w.walked[len(tap)]])
                loop.yielded = loops([*tap, index], loop.carried)
            return loop.results

        parts = [*state[0].parts, *state[1].parts]
        return Value(self.name, (loops([], parts)[-1],), b.lanes)

    def _inner(self, tap: Sequence[Affine], lanes_inside: bool) -> tuple[Value, str | None]:
        """The element at a tap that is in the core but for the lanes' dimension, and where it is.

        The lanes that are windows and have an element, None for all of them, are the second part.
        """
        em, b, w = self.em, self.em.b, self.w
        at = Position.of_dims(tuple(self._place_in(tap, w.core_low, w.core_sizes)))
        if lanes_inside:
            return em.element(self.core, at), None
        place = self.at[-1] * w.strides[-1] + tap[-1]
        valid = self._lanes(place + -w.low[-1], w.sizes[-1])
        held = self._lanes(place + -w.core_low[-1], w.core_sizes[-1])
        with em.masked(held or b.constant(True, "i1")):
            value = em.element(self.core, at)
        if self.filler is not None and held is not None:
            filler = em.element(self.filler, Position.of_dims(()))
            value = elementwise.select(
                b, Value(element_type("i1"), (held,), b.lanes), value, filler
            )
        return value, valid

    def _any(self, tap: Sequence[Affine]) -> tuple[Value, str | None]:
        """The element at any tap inside along all dimensions but the lanes', and where it is."""
        em, w, place = self.em, self.w, self.place(tap)
        if not self.neighbours:
            return em.element(self.operand, Position.of_dims(tuple(place))), None
        valid = self._lanes(place[-1], w.sizes[-1])
        with em.masked(valid or em.b.constant(True, "i1")):
            return em.element(self.operand, Position.of_dims(tuple(place))), valid

    def _lanes(self, place: Affine, size: int) -> str | None:
        """The lanes that are windows and lie at a place inside along the minor dimension."""
        em = self.em
        held = both(em, in_range(em, place, size), less_than(em, self.at[-1], self.w.sources[-1]))
        return em.b.constant(False, "i1") if held.never else held.varying

    def _prefer(
        self, held: Value, name: Value, tap: Sequence[Affine], number: int | None,
        found: tuple[Value, str | None],
    ) -> tuple[Value, Value]:  # fmt: skip
        """The chosen element and its name once a tap is looked at.

        Args:
            number: how many taps were looked at, where all lanes have an element of each.
            found: the element at the tap, and the lanes that have one, None for all of them.
        """
        em, b = self.em, self.em.b
        value, valid = found
        named = self.named(tap)
        if number == 0:
            return value, named
        keep, bits = apply(em, self.node.regions[0], [held, value])[0].name, b.type_of("i1")
        if number is None:
            zero = elementwise.constant(b, self.name, 0).name
            kind = b.type_of(self.name.register)
            some = b.op(f"arith.cmpi sge, {name.name}, {zero} : {kind}")
            keep = b.op(f"arith.andi {some}, {keep} : {bits}")
        if valid is not None:
            without = b.op(f"arith.xori {valid}, {b.constant(True, 'i1')} : {bits}")
            keep = b.op(f"arith.ori {without}, {keep} : {bits}")
        kept = Value(element_type("i1"), (keep,), b.lanes)
        return (
            elementwise.select(b, kept, held, value),
            elementwise.select(b, kept, name, named),
        )

    def range_of(self, k: int) -> tuple[str, str]:
        """The taps along a walked dimension that are inside."""
        b, w, d = self.em.b, self.w, self.w.walked[k]
        start = self.at[d] * w.strides[d] + -w.low[d]
        with b.width(0):
            before = b.op(f"arith.maxsi {self.em.index(start * -1)}, {b.index(0)} : index")
            beyond = self.em.index(start * -1 + w.sizes[d])
            return before, b.op(f"arith.minsi {beyond}, {b.index(w.window[d])} : index")
