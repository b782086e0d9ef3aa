"""Which part of a convolution's input a work unit packs where the input is computed from others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from hlo.passes.cost.caches import ALIASING_BYTES
from hlo.passes.hlo_to_loops.contraction_tiling import (
    VECTOR_BYTES,
    WORD_BOX_BYTES,
    Tiling,
    fits_register_tiles,
    groups_of,
    tiling_for,
    walks_features,
    word_of,
)
from hlo.passes.hlo_to_loops.elemental.reductions import padding_pairs
from hlo.passes.hlo_to_loops.graph import Node

BLOCK_BYTES = 256 << 10  # of a packed block: beside a run of columns in the second-level cache
WANTED_UNITS = 8  # that threads share, if blocks stay whole tiles


@dataclass(frozen=True)
class InputBlock:
    """A box of the input, with the zeros around it: all that a block of positions reads.

    Attributes:
        positions: of a block along each dimension of the result that is walked: the tiling's outer
            ones, then that of its rows, in which blocks are whole tiles.
        blocks: how many there are along each of them.
        extents: of the box along each dimension of the input, as labelled.
        order: labels of the input as the box is laid out, outermost first.
        pitches: elements from one index to the next along each label.
        by_lane: whether the tiles' lanes are input features: those of a run of columns.
        size: elements of the box.
        times: how often an element of the input is packed, on average.
    """

    positions: tuple[int, ...]
    blocks: tuple[int, ...]
    extents: Mapping[str, int]
    order: tuple[str, ...]
    pitches: Mapping[str, int]
    by_lane: bool
    size: int
    times: float


def packs_input(node: Node) -> bool:
    """Whether tiles are faster with the zeros around the input in memory, though it is there.

    Where each product takes a load of its own, or many taps are outside, it costs more to look at
    what is inside than to copy it.
    """
    if not any(pair != (0, 0) for pair in padding_of(node)):
        return False
    rank = node.operands[0].rank - 2
    if any(stride != 1 for stride in node.attributes.get("window_strides") or (1,) * rank):
        return False
    return walks_features(node)


def input_block(node: Node) -> InputBlock | None:
    """The blocks in which register tiles of a convolution pack its input; None if they cannot."""
    if node.attributes["batch_group_count"] > 1 or not fits_register_tiles(node):
        return None
    if node.operands[0].size == 0 or node.operands[1].size == 0:
        return None
    return _Planner(node, tiling_for(node)).plan()


class _Planner:
    def __init__(self, node: Node, tiling: Tiling) -> None:
        self.node, self.tiling = node, tiling
        numbers = node.attributes["dimension_numbers"]
        self.output, self.input = numbers["output"], numbers["input"]
        rank = len(self.input) - 2
        self.strides = node.attributes.get("window_strides") or (1,) * rank
        self.spread = node.attributes.get("rhs_dilation") or (1,) * rank
        kernel = dict(zip(numbers["kernel"], node.operands[1].shape, strict=True))
        self.taps = [kernel[str(k)] for k in range(rank)]
        groups = groups_of(node)
        word = word_of(node)
        self.bytes_each = VECTOR_BYTES // tiling.lanes  # of the type of the sums
        if word is not None:
            self.bytes_each = node.operands[0].type.memory_bytes
        self.most_bytes = BLOCK_BYTES if word is None else WORD_BOX_BYTES
        self.by_word = word is not None
        self.by_lane = walks_features(node)
        self.features = min(tiling.width, groups * kernel["i"]) if self.by_lane else kernel["i"]

    def plan(self) -> InputBlock | None:
        tiling = self.tiling
        walked = [*tiling.outer, *([tiling.row_dim] if tiling.row_dim >= 0 else [])]
        if self.by_lane and self.input[-1] != "f":
            return None  # what lanes walk must be side by side
        smallest = {d: tiling.rows if d == tiling.row_dim else 1 for d in walked}
        if self._bytes(smallest) > self.most_bytes:
            return None
        sizes = dict(smallest)
        for d in sorted(walked, key=lambda d: (self.output[d] == "b", d != tiling.row_dim, -d)):
            sizes[d] = self._grown(sizes, d)
        extents, pitches = self._extents(sizes), self._pitches(sizes)
        blocks = self._blocks(sizes)
        size = extents[self.order[0]] * pitches[self.order[0]]
        packed = math.prod(extents.values()) * math.prod(blocks.values()) * tiling.runs
        return InputBlock(
            tuple(sizes[d] for d in walked),
            tuple(blocks[d] for d in walked),
            extents,
            self.order,
            pitches,
            self.by_lane,
            size,
            packed / self.node.operands[0].size,
        )

    @property
    def order(self) -> tuple[str, ...]:
        """Features last, unless they are few or far apart: then the contiguous dimension."""
        spatial = [label for label in self.input if label not in "bf"]
        fills = 2 * self.features * self.bytes_each >= VECTOR_BYTES
        fills |= self.by_lane or self.by_word
        if not spatial or (self.input[-1] == "f" and fills):
            return ("b", *spatial, "f")
        return ("b", "f", *spatial)

    def _grown(self, sizes: Mapping[int, int], d: int) -> int:
        """The most positions along a dimension that fit, such that there are enough units."""
        step, extent = sizes[d], self.tiling.shape[d]
        best = step
        for count in range(1, -(-extent // step) + 1):
            larger = {**sizes, d: min(count * step, -(-extent // step) * step)}
            units = math.prod(self._blocks(larger).values()) * self.tiling.runs
            if self._bytes(larger) > BLOCK_BYTES or (count > 1 and units < WANTED_UNITS):
                break
            best = larger[d]
        parts = -(-extent // best)
        return -(-extent // (parts * step)) * step

    def _blocks(self, sizes: Mapping[int, int]) -> dict[int, int]:
        return {d: -(-self.tiling.shape[d] // size) for d, size in sizes.items()}

    def _extents(self, sizes: Mapping[int, int]) -> dict[str, int]:
        found = {"f": self.features}
        for d, label in enumerate(self.output[:-1]):
            count = min(sizes.get(d, 1), self.tiling.shape[d])
            if label != "b":
                k = int(label)
                count = (count - 1) * self.strides[k] + (self.taps[k] - 1) * self.spread[k] + 1
            found[label] = count
        return found

    def _pitches(self, sizes: Mapping[int, int]) -> dict[str, int]:
        extents, pitch = self._extents(sizes), 1
        found: dict[str, int] = {}
        for label in reversed(self.order):
            found[label] = pitch
            pitch *= extents[label]
            if label == self.order[-1] == "f":
                pitch = self._apart(pitch)
        return found

    def _apart(self, features: int) -> int:
        """Elements from one position to the next: whole vectors, not all in one set of a cache."""
        lanes = VECTOR_BYTES // self.bytes_each
        if self.by_word and features < lanes:
            return features
        pitch = -(-features // lanes) * lanes
        return pitch + lanes if pitch * self.bytes_each % ALIASING_BYTES == 0 else pitch

    def _bytes(self, sizes: Mapping[int, int]) -> int:
        outer = self.order[0]
        return self._extents(sizes)[outer] * self._pitches(sizes)[outer] * self.bytes_each


def padding_of(node: Node) -> list[tuple[int, int]]:
    """Zeros ahead of and behind a convolution's input, for each spatial dimension."""
    return padding_pairs(node.attributes.get("padding"), node.operands[0].rank - 2)
