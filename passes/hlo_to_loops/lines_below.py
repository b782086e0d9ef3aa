"""Fetches the lines of an image that the tiles of a convolution come to next.

Tiles walk the positions of a line, then those of the line below. What a tile reads of the input is
spread over the lines of its window, 14 places of each, which no processor looks ahead for; all but
the last of those lines the tiles above have read. Each tile fetches what the one below it reads
beyond that, which has as long to arrive as the tiles of a line take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.contraction_tiling import Tiling, groups_of
from hlo.passes.hlo_to_loops.elemental.contractions import windows_of
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.graph import Node

LARGE_INPUT = 512 << 10  # bytes of an input that is not in a core's own cache


@dataclass(frozen=True)
class LinesBelow:
    """Of a convolution whose rows walk the last spatial dimension of an input with features last.

    Attributes:
        below: the first line that the tile below reads and this one does not, from the line that
            the window would begin at without padding.
        steps: by how many lines windows are apart.
        places: of a line that a tile reads, without what windows reach beyond it.
    """

    em: Emitter
    node: Node
    tiling: Tiling
    buffer: Buffer
    below: int
    steps: int
    places: int

    @staticmethod
    def of(em: Emitter, node: Node, tiling: Tiling) -> LinesBelow | None:
        """None where the input is small, or lies otherwise."""
        if node.name != "convolution" or node.operands[0] not in em.buffers:
            return None
        labels, data = node.attributes["dimension_numbers"], node.operands[0]
        rank = data.rank - 2
        line, across = str(rank - 2), str(rank - 1)
        if rank < 2 or groups_of(node) > 1 or tiling.row_dim < 0:
            return None
        if tuple(labels["input"][-3:]) != (line, across, "f") or labels["output"][0] != "b":
            return None
        if labels["output"][tiling.row_dim] != across:
            return None
        if data.size * data.type.memory_bytes < LARGE_INPUT:
            return None
        strides = node.attributes.get("window_strides") or (1,) * rank
        windows = windows_of(em, node, [ZERO] * node.results[0].rank)
        last = windows.at(rank - 2, ZERO + (windows.taps[rank - 2] - 1)).constant
        return LinesBelow(
            em, node, tiling, em.buffers[data], last + 1, strides[-2], tiling.rows * strides[-1]
        )

    def fetch(self, outer: Sequence[Affine], row_block: Affine) -> None:
        """For the tile at some indices of the result, but for that along its rows."""
        em, b, tiling = self.em, self.em.b, self.tiling
        labels, data = self.node.attributes["dimension_numbers"], self.node.operands[0]
        at = {labels["output"][d]: index for d, index in zip(tiling.outer, outer, strict=True)}
        line, across = labels["input"][-3:-1]
        strides = self.node.attributes.get("window_strides") or (1,) * (data.rank - 2)
        place = {d: i if d == "b" else i * strides[int(d)] for d, i in at.items()}
        place |= {across: row_block * self.places, "f": ZERO}
        for step in range(self.steps):
            there = {**place, line: place[line] + (self.below + step)}
            start = Position.of_dims([there[label] for label in labels["input"]])
            first, count = em.index(start.linear(data.shape)), self.places * data.shape[-1]
            with b.loop(b.index(0), b.index(count), b.index(tiling.lanes)) as loop:
                ahead = b.op(f"arith.addi {first}, {loop.iv} : index")
                b.effect(
                    f"memref.prefetch {self.buffer.name}[{ahead}], read, locality<2>, data : "
                    f"{self.buffer.memref}"
                )
