"""Register tiles of a convolution whose factors are words: neighbouring input features of 8 or 16
bits, which one instruction multiplies pair by pair and adds to a sum of 32 bits (product_factors).

Both factors are packed: the input with its zeros in place, a block of positions at a time, and the
kernel in panels of words. Instructions that want one factor with a sign and one without get the
input's with its upper bit turned; what sums miss for that depends on the kernel alone, and is what
they start from.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.passes.hlo_to_loops.accumulators import Accumulators
from hlo.passes.hlo_to_loops.affine import Affine, Position
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.element_types import element_type
from hlo.passes.hlo_to_loops.elemental.contractions import Windows, windows_of
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.graph import Node
from hlo.passes.hlo_to_loops.input_packing import InputPacking
from hlo.passes.hlo_to_loops.kernel_panels import KernelPanels
from hlo.passes.hlo_to_loops.product_factors import WordFactors, WordInstruction


class WordTiles:
    """What the tiles of a kernel share: its factors, and the sums they start from.

    Args:
        node: the convolution as tiles compute it, without padding.
    """

    def __init__(
        self, sums: Accumulators, node: Node, instruction: WordInstruction, packing: InputPacking,
        panels: KernelPanels,
    ) -> None:  # fmt: skip
        self.sums, self.node, self.packing, self.panels = sums, node, packing, panels
        self.factors = WordFactors(sums.em, node, instruction)
        self.start: Buffer | None = None
        if self.factors.biased:
            name = self.em.b.stack_buffer(panels.width, "i32")
            self.start = Buffer(name, panels.width, element_type("i32"))

    @property
    def em(self) -> Emitter:
        return self.sums.em

    def take(self, column_block: Affine) -> None:
        """Turns to the panel of a run of columns."""
        self.panels.take(column_block)
        if self.start is None:
            return
        b, lanes, span = self.em.b, self.sums.lanes, self.factors.span
        for column in range(0, self.panels.width, lanes):

            def add(index: Affine, totals: list[Value], column: int = column) -> list[Value]:
                words = self._kernel_words(index * span, column)
                with b.width(lanes):
                    name = self.factors.add_row(words, totals[0].name)
                return [Value(self.sums.kind, (name,), lanes)]

            total = self.sums.loop(self.panels.depth // span, self.sums.zeros(1), add)[0]
            with b.width(lanes):
                missing = self.factors.missing(total.name)
            place = f"{self.start.name}[{b.index(column)}]"
            b.effect(
                f"vector.store {missing}, {place} : {self.start.memref}, {self.sums.vector_type}"
            )

    def total(self, places: Sequence[Sequence[Affine]], vectors: int) -> list[Value]:
        """The sums of a tile, row by row.

        Args:
            places: the index in each dimension of the result of each row's first column.
        """
        windows = [windows_of(self.em, self.node, place) for place in places]
        span, first = self.factors.span, windows[0]
        starts = [self._start(v * self.sums.lanes) for v in range(vectors)]

        def step(indices: Sequence[Affine], acc: list[Value]) -> list[Value]:
            *taps, word = indices
            channel = word * span
            dims = first.right_at([*taps, channel]).dims
            assert dims is not None, "a kernel is asked for by dimensions"
            row = Position.of_dims(dims[:-1]).linear(self.node.operands[1].shape[:-1])
            right = [self._kernel_words(row, v * self.sums.lanes) for v in range(vectors)]
            result: list[Value] = []
            for r, window in enumerate(windows):
                left = self._input_word(window, taps, channel)
                for v in range(vectors):
                    old = acc[r * vectors + v].name
                    with self.em.b.width(self.sums.lanes):
                        name = self.factors.multiply_add(right[v], left, old)
                    result.append(Value(self.sums.kind, (name,), self.sums.lanes))
            return result

        return self.sums.nest([*first.taps, first.inputs // span], starts * len(windows), step)

    def _start(self, column: int) -> Value:
        if self.start is None:
            return self.sums.zeros(1)[0]
        b, kind = self.em.b, self.sums.vector_type
        text = f"vector.load {self.start.name}[{b.index(column)}] : {self.start.memref}, {kind}"
        return Value(self.sums.kind, (b.load(text),), self.sums.lanes)

    def _kernel_words(self, row: Affine, column: int) -> str:
        """A vector of words of the panel: the rows of a word begin at `row`."""
        at = self.panels.row(row) * self.panels.width + column * self.factors.span
        return self._words(self.panels.buffer, at, self.sums.lanes)

    def _input_word(self, window: Windows, taps: Sequence[Affine], channel: Affine) -> str:
        """A word of the input in all lanes."""
        b = self.em.b
        places = [window.at(k, tap) for k, tap in enumerate(taps)]
        at = self.packing.place(window.left_at(places, channel))
        word = self._words(self.packing.buffer, at, 1)
        word = b.op(f"vector.extract {word}[0] : i32 from vector<1xi32>")
        with b.width(self.sums.lanes):
            return b.splat(word, "i32")

    def _words(self, buffer: Buffer, at: Affine, count: int) -> str:
        self.em.note_load(buffer, at)
        b, kind = self.em.b, f"vector<{count * self.factors.span}x{buffer.type.memory}>"
        raw = b.load(f"vector.load {buffer.name}[{self.em.index(at)}] : {buffer.memref}, {kind}")
        return b.op(f"vector.bitcast {raw} : {kind} to vector<{count}xi32>")
