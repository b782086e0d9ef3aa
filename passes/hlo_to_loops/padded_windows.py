"""Register tiles of a convolution whose windows reach into padding, which is not in memory.

Along a dimension where all positions of a tile have the same index, a tap is in the padding for all
of them or for none: one branch. Along the dimension that the rows of the tile walk, it is so for
rows at the ends of the input alone, which are few: their factors come from a row of zeros, chosen
once for each tap (`zero_rows.py`), or, where features are not side by side, are loaded from a place
inside and replaced by 0. The products of the kernel and the padding are added up all the same, so
that an element of the kernel that is not finite shows as it would with the padding in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.accumulators import Accumulators, Step
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.conditions import Condition, in_range
from hlo.passes.hlo_to_loops.contraction_tiling import (
    features_near,
    groups_of,
    inputs_lead,
    walks_small_groups,
)
from hlo.passes.hlo_to_loops.elemental.contractions import Windows, windows_of
from hlo.passes.hlo_to_loops.elemental.reductions import padding_pairs
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.graph import Node
from hlo.passes.hlo_to_loops.sums_in_parts import Inputs
from hlo.passes.hlo_to_loops.zero_rows import row_or_zeros


def takes_padded_tiles(node: Node) -> bool:
    """Whether windows of a convolution meet elements that are not in its input, or small groups."""
    if node.name != "convolution":
        return False
    if walks_small_groups(node):
        return True
    pairs = padding_pairs(node.attributes.get("padding"), node.operands[0].rank - 2)
    return any(p != (0, 0) for p in pairs)


@dataclass(frozen=True)
class _Row:
    """What the taps so far mean for one row of a tile.

    Attributes:
        places: the index in each spatial dimension of the input, always inside.
        outside: SSA i1, whether the tap is in the padding instead; None if it never is.
        features: memory of the input's features there, or of zeros; None if they are not chosen.
    """

    places: tuple[Affine, ...] = ()
    outside: str | None = None
    features: Buffer | None = None


class PaddedTile:
    """The sums of products of one tile.

    Args:
        row_dim: dimension of the result that the rows walk; -1 if there is one row.
        places: the index in the result of each row and vector.
        names, masks: the lane variable and the mask of each vector of features.
    """

    def __init__(
        self, sums: Accumulators, node: Node, row_dim: int,
        places: Sequence[Sequence[Sequence[Affine]]],
        names: Sequence[str], masks: Sequence[str | None],
    ) -> None:  # fmt: skip
        self.sums, self.node = sums, node
        self.small_groups = walks_small_groups(node)
        self.per_group = node.results[0].shape[-1] // groups_of(node)
        self.features_last = node.attributes["dimension_numbers"]["input"][-1] == "f"
        self.vectors = list(zip(names, masks, strict=True))
        label = node.attributes["dimension_numbers"]["output"][row_dim] if row_dim >= 0 else "b"
        self.row_spatial = None if label == "b" else int(label)
        self.windows = [
            [self._windows(at, v) for at, v in zip(row, self.vectors, strict=True)]
            for row in places
        ]
        near = self.windows[0][0].inputs if self.small_groups else features_near(node)
        self.inputs = Inputs(ZERO, near)

    def _windows(self, place: Sequence[Affine], vector: tuple[str, str | None]) -> Windows:
        name, mask = vector
        with self.em.vector(name, self.sums.lanes, mask):
            return windows_of(self.em, self.node, place, small_groups=self.small_groups)

    @property
    def em(self) -> Emitter:
        return self.sums.em

    def total(
        self, ahead: Callable[[Sequence[Affine]], None], sums: list[Value], inputs: Inputs
    ) -> list[Value]:
        """`sums`, row by row, and the products; `ahead` is called with the indices at each step.

        Args:
            inputs: the input features whose products are added, where those lead.
        """
        rows = [_Row()] * len(self.windows)
        if not inputs_lead(self.node):
            count = self.inputs.count

            def of_part(index: Affine, acc: list[Value]) -> list[Value]:
                self.inputs = Inputs(index * count, count)
                return self._taps(rows, [], acc, ahead)

            return self.sums.loop(self.windows[0][0].inputs // count, sums, of_part)

        def of_input(index: Affine, acc: list[Value]) -> list[Value]:
            return self._taps(rows, [], acc, ahead, inputs.first + index)

        return self.sums.loop(inputs.count, sums, of_input)

    def _taps(
        self, rows: Sequence[_Row], taps: list[Affine], acc: list[Value],
        ahead: Callable[[Sequence[Affine]], None], channel: Affine | None = None,
    ) -> list[Value]:  # fmt: skip
        """Loops over the taps that are left, then over input features but where one is given."""
        windows, k = self.windows[0][0], len(taps)
        if k == windows.rank:
            rows = [self._with_features(row, r) for r, row in enumerate(rows)]

            def step(indices: Sequence[Affine], acc: list[Value]) -> list[Value]:
                ahead(indices)
                return self._step(rows, indices, acc)

            if channel is not None:
                return step([*taps, channel], acc)
            if windows.turn != -1:
                return self._over_inputs([], acc, step, taps)
            for feature in range(windows.inputs):  # known where lanes change places by it
                acc = step([*taps, ZERO + feature], acc)
            return acc

        def body(tap: Affine, acc: list[Value]) -> list[Value]:
            met = [*taps, tap]
            if k == self.row_spatial:
                ends = [self._at_ends(row, r, k, tap) for r, row in enumerate(rows)]
                return self._taps(ends, met, acc, ahead, channel)
            place = windows.at(k, tap)
            inside = in_range(self.em, place, windows.sizes[k])

            def within() -> list[Value]:
                index = self.em.bounded(place, windows.sizes[k])
                further = [_Row((*row.places, index), row.outside) for row in rows]
                return self._taps(further, met, acc, ahead, channel)

            return self._where(inside, within, lambda: self._padding(met, acc, channel), len(acc))

        return self.sums.loop(windows.taps[k], acc, body)

    def _over_inputs(
        self, taps: Sequence[int], acc: list[Value], step: Step, outer: Sequence[Affine]
    ) -> list[Value]:
        """Takes a step at each of some taps and of the input features that are met now."""
        first, count = self.inputs.first, self.inputs.count

        def at(indices: Sequence[Affine], acc: list[Value]) -> list[Value]:
            return step([*indices[:-1], first + indices[-1]], acc)

        return self.sums.nest([*taps, count], acc, at, outer)

    def _where(
        self, inside: Condition, then: Callable[[], list[Value]], other: Callable[[], list[Value]],
        count: int,
    ) -> list[Value]:  # fmt: skip
        if inside.never:
            return other()
        if inside.uniform is None:
            return then()
        return self.sums.either(inside.uniform, then, other, count)

    def _at_ends(self, row: _Row, r: int, k: int, tap: Affine) -> _Row:
        """Where a tap is along the dimension of the rows: inside, in the padding, or either."""
        em, b, windows = self.em, self.em.b, self.windows[r][0]
        place, size = windows.at(k, tap), windows.sizes[k]
        inside = in_range(em, place, size)
        if inside.always:
            return _Row((*row.places, place), row.outside)
        if inside.never:
            return _Row((*row.places, ZERO), b.constant(True, "i1"))
        text = f"arith.select {inside.uniform}, {em.index(place)}, {b.index(0)} : index"
        outside = b.op(f"arith.xori {inside.uniform}, {b.constant(True, 'i1')} : i1")
        return _Row((*row.places, em.name_index(b.op(text), size)), outside)

    def _step(
        self, rows: Sequence[_Row], indices: Sequence[Affine], acc: list[Value]
    ) -> list[Value]:
        """Adds the products of one tap and input feature to every sum."""
        result: list[Value] = []
        for r, row in enumerate(rows):
            for v, (name, mask) in enumerate(self.vectors):
                windows = self.windows[r][v]
                with self.em.vector(name, self.sums.lanes, mask):
                    left = self._left(windows.left_at(row.places, indices[-1]), row)
                    if windows.turn is not None:
                        left = self._turned(left, windows.turn, indices[-1])
                    right = self.em.element(self.node.operands[1], windows.right_at(indices))
                old = acc[r * len(self.vectors) + v]
                result.append(self.sums.multiply_add(left, right, old))
        return result

    def _with_features(self, row: _Row, r: int) -> _Row:
        """The row, once its taps are known: where its features are."""
        buffer = self.em.buffers.get(self.node.operands[0])
        if row.outside is None or buffer is None or not self.features_last:
            return row
        dims = self.windows[r][0].left_at(row.places, ZERO)
        features = row_or_zeros(self.em, self.node.operands[0], buffer, dims[:-1], row.outside)
        return replace(row, features=features)

    def _left(self, dims: Sequence[Affine], row: _Row) -> Value:
        """The factor from the input, 0 if it is in the padding."""
        em, lhs, position = self.em, self.node.operands[0], Position.of_dims(tuple(dims))
        outside, features = row.outside, row.features
        if outside is None:
            return em.element(lhs, position)

        def value() -> Value:
            if features is not None:
                return em.load(features, dims[-1])
            return self._or_zero(em.element(lhs, position), outside)

        if not all(em.is_uniform(index) for index in dims):
            return value()
        with em.scalar():
            scalar = value()
        return em.splat(scalar, self.sums.lanes)

    def _turned(self, value: Value, turn: int, channel: Affine) -> Value:
        """In each lane the value of one feature of its group."""
        b, lanes, size = self.em.b, self.sums.lanes, self.per_group
        number = channel.constant if turn < 0 else turn
        places = [lane // size * size + number for lane in range(lanes)]
        kind = b.type_of(value.type.register)
        text = f"vector.shuffle {value.name}, {value.name} {places} : {kind}, {kind}"
        return Value(value.type, (b.op(text),), lanes)

    def _or_zero(self, value: Value, outside: str) -> Value:
        b = self.em.b
        zero = elementwise.constant(b, value.type, 0)
        condition = b.splat(outside, "i1")
        kind = b.type_of(value.type.register)
        types = f"{b.type_of('i1')}, {kind}" if b.lanes else kind
        text = f"arith.select {condition}, {zero.name}, {value.name} : {types}"
        return Value(value.type, (b.op(text),), b.lanes)

    def _padding(
        self, taps: Sequence[Affine], acc: list[Value], channel: Affine | None
    ) -> list[Value]:
        """Adds the products of the padding and what is left of the kernel behind these taps."""
        windows, lanes = self.windows[0], self.sums.lanes

        def step(indices: Sequence[Affine], products: list[Value]) -> list[Value]:
            result: list[Value] = []
            indices = indices if channel is None else [*indices, channel]
            for v, (name, mask) in enumerate(self.vectors):
                with self.em.vector(name, lanes, mask):
                    right = self.em.element(self.node.operands[1], windows[v].right_at(indices))
                zero = self.sums.zeros(1)[0]
                result.append(self.sums.multiply_add(zero, right, products[v]))
            return result

        rest, none = windows[0].taps[len(taps) :], self.sums.zeros(len(self.vectors))
        if channel is None:
            products = self._over_inputs(rest, none, step, taps)
        else:
            products = self.sums.nest(rest, none, step, taps)
        b, kind = self.em.b, self.sums.vector_type
        added = [products[i % len(self.vectors)] for i in range(len(acc))]
        names = [
            b.op(f"arith.addf {old.name}, {new.name} : {kind}")
            for old, new in zip(acc, added, strict=True)
        ]
        return [Value(self.sums.kind, (name,), lanes) for name in names]
