"""A convolution's input, computed into scratch for the register tiles of a block of positions.

The input may come from other tensors element by element: a normalisation and an activation ahead of
the convolution, a dequantisation, a conversion. Each work unit packs what its block of positions
reads, in the type of the sums, with the zeros around the input in place: tiles then have no
padding, and what makes the input is never applied to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.contraction_tiling import VECTOR_BYTES, Tiling
from hlo.passes.hlo_to_loops.element_types import ElementType
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.graph import Attributes, Node, Tensor
from hlo.passes.hlo_to_loops.input_blocks import InputBlock, padding_of


class InputPacking:
    """The packed input of the block of positions that is emitted.

    Args:
        kind: element type that it is packed in: that of the sums, or the input's own for words.
        flips: the upper bit of each packed byte, turned.

    Attributes:
        node: the convolution as tiles compute it: without padding, of a tensor that is packed.
    """

    def __init__(
        self, em: Emitter, node: Node, tiling: Tiling, kind: ElementType, block: InputBlock,
        *, flips: bool = False,
    ) -> None:  # fmt: skip
        self.em, self.tiling, self.block, self.tensor = em, tiling, block, node.operands[0]
        self.labels: Sequence[str] = node.attributes["dimension_numbers"]["input"]
        self.output: Sequence[str] = node.attributes["dimension_numbers"]["output"]
        rank = len(self.labels) - 2
        self.strides = node.attributes.get("window_strides") or (1,) * rank
        self.pads = padding_of(node)
        self.flips = flips
        widest = VECTOR_BYTES // kind.memory_bytes
        self.lanes = widest if block.extents["f"] >= widest else tiling.lanes
        size = block.size + self.lanes  # the last vector may end beyond
        self.buffer = Buffer(em.b.stack_buffer(size, kind.memory), size, kind)
        self.sizes = dict(zip(self.labels, self.tensor.shape, strict=True))
        self.node = self._without_padding(node, kind)
        # Where the box begins: in the input along `b` and `f`, else in the input with its zeros.
        self.starts: dict[str, Affine] = {}

    def _without_padding(self, node: Node, kind: ElementType) -> Node:
        padded = dict(self.sizes)
        for k, (low, high) in enumerate(self.pads):
            padded[str(k)] += low + high
        packed = Tensor(tuple(padded[label] for label in self.labels), kind)
        found = Node(node.name, (packed, node.operands[1]), node.source, node.results)
        found.attributes = Attributes({**node.attributes, "padding": None})
        self.em.provide(packed, self._packed)
        return found

    def _packed(self, position: Position) -> Value:
        assert position.dims is not None, "convolutions ask for their input by dimensions"
        return self.em.load(self.buffer, self.place(position.dims))

    def place(self, dims: Sequence[Affine]) -> Affine:
        """Where in the buffer an element of the input is, the zeros around that counted."""
        at = ZERO
        for label, index in zip(self.labels, dims, strict=True):
            at = at + (index + self.starts[label] * -1) * self.block.pitches[label]
        return at

    def pack(self, first: Mapping[int, Affine], group: Affine, column: Affine) -> None:
        """Packs what a block reads.

        Args:
            first: the block's first position along each dimension of the result that is walked.
            group: of the convolution, if its tiles have one.
            column: the first one of the tiles.
        """
        self.starts = {"f": column if self.block.by_lane else group * self.block.extents["f"]}
        for d, label in enumerate(self.output[:-1]):
            index = first.get(d, ZERO)
            self.starts[label] = index if label == "b" else index * self.strides[int(label)]
        self.pack_box(self.starts)

    def pack_box(self, starts: Mapping[str, Affine]) -> None:
        """Packs the box that begins at an index of each dimension, as `starts` has them."""
        self.starts = dict(starts)
        gathers, self.em.gathers = self.em.gathers, True
        self._along(0, {}, ZERO)
        self.em.gathers = gathers

    def _along(self, depth: int, at: dict[str, Affine], place: Affine) -> None:
        """The part of the box at some indices of its outer dimensions."""
        label = self.block.order[depth]
        first, size, count = self._first_of(label), self.sizes[label], self.block.extents[label]
        low, high = self._inside(first, count, size)
        pitch = self.block.pitches[label]
        b = self.em.b
        self._zeros(place, b.index(0), low, pitch)
        if depth == len(self.block.order) - 1:
            self._lanes(label, first, (low, high), at, place)
        else:
            with b.loop(low, high, b.index(1)) as loop:
                index = self.em.variable(loop.iv, count)
                inside = self.em.bounded(first + index, size)
                self._along(depth + 1, {**at, label: inside}, place + index * pitch)
        self._zeros(place, high, b.index(count), pitch)

    def _first_of(self, label: str) -> Affine:
        """The index in the input that the box begins at, negative in the zeros ahead of it."""
        return self.starts[label] + (0 if label in "bf" else -self.pads[int(label)][0])

    def _inside(self, first: Affine, count: int, size: int) -> tuple[str, str]:
        """The range of `count` indices from the first on that lie in [0, size)."""
        b, (least, most) = self.em.b, first.bounds(self.em.extents)
        low, high = b.index(0), b.index(count)
        if least < 0:
            ahead = b.op(f"arith.subi {b.index(0)}, {self.em.index(first)} : index")
            low = b.op(f"arith.maxsi {ahead}, {b.index(0)} : index")
            low = b.op(f"arith.minsi {low}, {b.index(count)} : index")
        if most + count > size:
            left = b.op(f"arith.subi {b.index(size)}, {self.em.index(first)} : index")
            high = b.op(f"arith.minsi {left}, {b.index(count)} : index")
            high = b.op(f"arith.maxsi {high}, {low} : index")
        return low, high

    def _zeros(self, place: Affine, start: str, end: str, pitch: int) -> None:
        """Zeros at indices of a dimension; what is behind them is stored after them."""
        b, lanes = self.em.b, self.lanes
        if start == end:
            return
        start, end = (b.op(f"arith.muli {x}, {b.index(pitch)} : index") for x in (start, end))
        with b.loop(start, end, b.index(lanes)) as loop:
            at = place + self.em.variable(loop.iv, self.buffer.elements)
            with b.width(lanes):
                self._put(elementwise.constant(b, self.buffer.type, 0), at)

    def _lanes(
        self, label: str, first: Affine, ends: tuple[str, str], at: dict[str, Affine], place: Affine
    ) -> None:
        """Vectors along the innermost dimension of the box."""
        b, em, lanes = self.em.b, self.em, self.lanes
        low, high = ends
        count = self.block.extents[label]
        fixed = (low, high) == (b.index(0), b.index(count))

        def vectors(start: str, end: str, mask_of: Callable[[str], str | None]) -> None:
            with b.loop(start, end, b.index(lanes)) as loop:
                name = b.load(f"arith.addi {em.index(first)}, {loop.iv} : index")
                em.variable(name, self.sizes[label])
                index = em.variable(loop.iv, count)
                with em.vector(name, lanes, mask_of(loop.iv)):
                    self._element({**at, label: Affine.variable(name)}, place + index)

        def of_the_rest(index: str) -> str:
            left = b.op(f"arith.subi {high}, {index} : index")
            return b.lanes_below(left, lanes)

        whole = count // lanes * lanes if fixed else 0
        if whole:
            vectors(low, b.index(whole), lambda _: None)
        if whole < count:
            vectors(b.index(whole) if whole else low, high, of_the_rest)

    def _element(self, at: Mapping[str, Affine], place: Affine) -> None:
        position = Position.of_dims(tuple(at[label] for label in self.labels))
        value = self.em.element(self.tensor, position)
        self._put(elementwise.convert(self.em.b, value, self.buffer.type), place)

    def _put(self, value: Value, place: Affine) -> None:
        b, buffer = self.em.b, self.buffer
        vector = b.type_of(buffer.type.memory)
        (raw,) = elementwise.pack(b, value)
        if self.flips:
            bit = b.constant(-128, buffer.type.memory)
            raw = b.op(f"arith.xori {raw}, {bit} : {vector}")
        at = f"{buffer.name}[{self.em.index(place)}]"
        b.effect(f"vector.store {raw}, {at} : {buffer.memref}, {vector}")
