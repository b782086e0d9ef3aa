"""Keys and values of a head, packed in the order in which register tiles read them.

Where the rows of a head are those of a larger tensor, as heads side by side are, rows lie a power
of two, or nearly, apart: they share few sets of the caches, and each is on a page of its own. A
panel has, for each tile, a line for each step of its sum, and in it one factor for each row of
accumulators: tiles read it from one end to the other, as factors of the type they multiply. It is
packed once for all blocks of rows of a head that a work unit takes one after another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.attention_emission import AttentionEmission, at
from hlo.passes.hlo_to_loops.attention_parts import Operand
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Builder
from hlo.passes.hlo_to_loops.raised_probabilities import LEAST_OVERFLOW
from hlo.passes.hlo_to_loops.register_transpose import transpose_square
from hlo.passes.hlo_to_loops.stack import KERNEL_STACK_BYTES

FEWEST_BLOCKS = 3  # of rows that read a panel: packing takes about a third of a block's products
MOST_BYTES = KERNEL_STACK_BYTES * 3 // 4  # of a kernel's panels: they are to stay in a cache
SUMS = 4  # that look for values that are no numbers, side by side


@dataclass(frozen=True)
class Panel:
    """One operand's factors.

    Attributes:
        operand: where they come from.
        across: its variable of which a tile takes `count` of `extent` values.
        along: its variable that lines count, `lines` of them.
        buffer: `tiles` times `lines` times `count` factors.
    """

    operand: Operand
    across: str
    extent: int
    count: int
    along: str
    lines: int
    buffer: Buffer

    @property
    def tiles(self) -> int:
        return -(-self.extent // self.count)

    @property
    def size(self) -> int:
        return self.tiles * self.lines * self.count

    def place(self, tile: Affine, line: Affine, r: int) -> Affine:
        """Where a factor is.

        Args:
            tile: the number of the tile times `count`.
        """
        return tile * self.lines + line * self.count + r


class Panels:
    """The panels of a kernel, in memory of the thread's own."""

    def __init__(self, emission: AttentionEmission) -> None:
        self.emission = emission
        self.made: list[Panel] = []

    def of(
        self, operand: Operand, across: tuple[str, int], along: tuple[str, int], count: int
    ) -> Panel | None:
        """A panel for tiles of `count`, or None if there is no room for it."""
        b, kind = self.emission.b, self.emission.kind
        (name, extent), (line, lines) = across, along
        elements = -(-extent // count) * lines * count
        taken = sum(p.buffer.elements for p in self.made) + elements
        if taken * kind.bits // 8 > MOST_BYTES or not b.has_stack(elements, kind.memory):
            return None
        buffer = Buffer(b.stack_buffer(elements, kind.memory), elements, kind)
        panel = Panel(operand, name, extent, count, line, lines, buffer)
        self.made.append(panel)
        return panel

    def pack(self, where: Mapping[str, Affine]) -> None:
        """Packs all of them, for the head that `where` names by its row variables."""
        for panel in self.made:
            offset = panel.operand.offset
            turned = offset.coefficient(panel.along) == 1 and offset.coefficient(panel.across) != 1
            pack = self._pack_squares if turned else self._pack_lines
            pack(panel, where)

    def _tiles(self, panel: Panel) -> tuple[str, str, str]:
        b = self.emission.b
        return b.index(0), b.index(panel.tiles * panel.count), b.index(panel.count)

    def _start(self, panel: Panel, tile: str) -> tuple[Affine, Affine]:
        """A tile by its number times the count, and the first of what it holds."""
        em, b = self.emission.em, self.emission.b
        last = b.index(panel.extent - panel.count)
        start = b.load(f"arith.minsi {tile}, {last} : index")
        number = em.variable(tile, panel.tiles * panel.count)
        return number, em.name_index(start, panel.extent - panel.count + 1)

    def _pack_lines(self, panel: Panel, where: Mapping[str, Affine]) -> None:
        """Lanes are neighbours in a line."""
        em, b, lanes = self.emission.em, self.emission.b, self.emission.lanes
        with b.loop(b.index(0), b.index(panel.lines), b.index(1)) as rows:
            line = em.variable(rows.iv, panel.lines)
            with b.loop(*self._tiles(panel)) as loop:
                tile, start = self._start(panel, loop.iv)
                for first in range(0, panel.count, lanes):
                    lane = b.load(f"arith.addi {em.index(start)}, {b.index(first)} : index")
                    across = em.variable(lane, panel.extent)
                    with em.vector(lane, lanes, self._mask(panel, first)):
                        em.hoist_from_here()
                        place = at(
                            panel.operand.offset,
                            {**where, panel.across: across, panel.along: line},
                        )
                        value = em.load(self.emission.inputs[panel.operand.tensor], place)
                        held = elementwise.convert(b, value, self.emission.kind).name
                    self._store(panel, tile, line, first, held)

    def _pack_squares(self, panel: Panel, where: Mapping[str, Affine]) -> None:
        """Lanes are lines: squares of them are turned in registers."""
        em, b, lanes = self.emission.em, self.emission.b, self.emission.lanes
        width = min(panel.lines, lanes)
        mask = b.first_lanes(width, lanes) if width < lanes else None
        with b.loop(*self._tiles(panel)) as loop:
            tile, start = self._start(panel, loop.iv)
            with b.loop(b.index(0), b.index(panel.lines), b.index(width)) as steps:
                name = b.load(f"arith.minsi {steps.iv}, {b.index(panel.lines - width)} : index")
                line = em.variable(name, panel.lines)
                for first in range(0, panel.count, lanes):
                    rows: list[str] = []
                    for r in range(first, first + lanes):
                        with em.vector(name, lanes, mask):
                            em.hoist_from_here()
                            across = start + min(r, panel.count - 1)
                            place = at(
                                panel.operand.offset,
                                {**where, panel.across: across, panel.along: line},
                            )
                            value = em.load(self.emission.inputs[panel.operand.tensor], place)
                            rows.append(elementwise.convert(b, value, self.emission.kind).name)
                    turned = transpose_square(b, rows, self.emission.kind.register)
                    for i in range(width):
                        self._store(panel, tile, line + i, first, turned[i])

    def _mask(self, panel: Panel, first: int) -> str | None:
        """Of the lanes of a line from `first` on, those that the line has."""
        lanes = self.emission.lanes
        left = panel.count - first
        return self.emission.b.first_lanes(left, lanes) if left < lanes else None

    def _store(self, panel: Panel, tile: Affine, line: Affine, first: int, held: str) -> None:
        em, b = self.emission.em, self.emission.b
        base = f"{panel.buffer.name}[{em.index(panel.place(tile, line, first))}]"
        vector, memref = self.emission.vector, panel.buffer.memref
        mask = self._mask(panel, first)
        if mask is None:
            b.effect(f"vector.store {held}, {base} : {memref}, {vector}")
            return
        bits = f"vector<{self.emission.lanes}xi1>"
        b.effect(f"vector.maskedstore {base}, {mask}, {held} : {memref}, {bits}, {vector}")

    def splatted(self, panel: Panel, tile: Affine, line: Affine, r: int) -> str:
        """A factor in every lane."""
        em = self.emission.em
        with em.scalar():
            value = em.load(panel.buffer, panel.place(tile, line, r))
        return em.splat(value, self.emission.lanes).name

    def holds_large(self, panel: Panel, bits: int) -> str:
        """Whether a factor may be NaN, or at least 2**bits: an i1."""
        em, b, lanes, vector = (
            self.emission.em, self.emission.b, self.emission.lanes, self.emission.vector,
        )  # fmt: skip
        zero, memref = self.emission.zero(), panel.buffer.memref
        kind = self.emission.kind
        with b.width(lanes):  # by which those overflow
            grown = b.constant(2.0 ** (LEAST_OVERFLOW[kind.name] - bits), kind.register)
        step = SUMS * lanes
        if panel.size < step:
            return b.constant(True, "i1")
        end = -(-panel.size // step) * step
        with b.loop(b.index(0), b.index(end), b.index(step), [(zero, vector)] * SUMS) as loop:
            start = b.load(f"arith.minsi {loop.iv}, {b.index(panel.size - step)} : index")
            first = em.name_index(start, panel.size - step + 1)
            for i, old in enumerate(loop.carried):
                place = f"{panel.buffer.name}[{em.index(first + i * lanes)}]"
                value = b.load(f"vector.load {place} : {memref}, {vector}")
                value = b.op(f"arith.mulf {value}, {grown} : {vector}")
                loop.yielded.append(self.emission.fma(zero, value, old))
        total = loop.results[0]
        for other in loop.results[1:]:
            total = b.op(f"arith.addf {total}, {other} : {vector}")
        return is_any_nan(b, total, lanes, kind.register)


def is_any_nan(b: Builder, name: str, lanes: int, scalar: str) -> str:
    """Whether a lane of a vector, or a number, is NaN: an i1."""
    with b.width(lanes):
        odd = b.op(f"arith.cmpf uno, {name}, {name} : {b.type_of(scalar)}")
        if not lanes:
            return odd
        return b.op(f"vector.reduction <or>, {odd} : {b.type_of('i1')} into i1")
