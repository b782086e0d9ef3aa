"""Sorts tiles of lines in the shared memory of a block.

A bitonic network (Batcher, "Sorting networks and their applications", 1968) whose comparisons all
put the lesser element first: the first step of each merge compares an element with its mirror
image. So elements past a tile's end, were they there, would never move, and need not be. Only what
the comparator reads is moved, and each element's position, by which equal ones are told apart; the
rest is looked up by position when the tile is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hlo.passes.hlo_to_gpu.gpu_kernel import LARGEST_STATIC_SHARED, Stage, stage
from hlo.passes.hlo_to_gpu.sorted_lines import SortedLines
from hlo.passes.hlo_to_gpu.thread_builder import WARP, ThreadBuilder
from hlo.passes.hlo_to_gpu.thread_emitter import ThreadEmitter
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import Affine, Position
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.element_types import ElementType, element_type
from hlo.passes.hlo_to_loops.kernel_function import argument_buffers

TILE = 2048  # elements of a line too long for a block: two for each of its threads
LARGEST_ALONE = 4096  # elements of a line that a block sorts even if few blocks have work then
ENOUGH_LINES = 16  # of longer ones, to have a block sort each
BLOCK_ELEMENTS = 1024  # of short lines together
ENOUGH_BLOCKS = 128
POSITION = "i16"  # of an element in its tile
WARP_SPAN = (
    2 * WARP
)  # neighbours that one warp compares with each other, in all steps that are short


@dataclass(frozen=True)
class TileShape:
    """What a block sorts.

    Attributes:
        lines: parts of lines.
        length: elements of each; the last part of a line may have fewer.
        padded: the same, or the next power of two.
        threads: of the block.
        kept: operands whose elements are in shared memory.
    """

    lines: int
    length: int
    padded: int
    threads: int
    kept: tuple[int, ...]


def tile_shape(lines: SortedLines) -> TileShape:
    """Whole lines where they fit into shared memory, else tiles of a power of two."""
    length = lines.length
    alone = length <= LARGEST_ALONE or lines.lines >= ENOUGH_LINES
    if not alone or length >= 1 << 15 or _shared_bytes(lines, length) > LARGEST_STATIC_SHARED:
        length = min(TILE, length)
        while _shared_bytes(lines, length) > LARGEST_STATIC_SHARED:
            length //= 2
    padded = 1 << max(length - 1, 0).bit_length()
    together = 1
    if length == lines.length:
        together = max(min(BLOCK_ELEMENTS // padded, lines.lines // ENOUGH_BLOCKS), 1)
        while _shared_bytes(lines, together * length) > LARGEST_STATIC_SHARED:
            together //= 2
    pairs = together * padded // 2
    threads = min(1024, -(-max(pairs, 1) // WARP) * WARP)
    return TileShape(together, length, padded, threads, lines.keys)


def _shared_bytes(lines: SortedLines, elements: int) -> int:
    """Shared memory that so many elements take, keys and positions."""
    sizes = [2, *(lines.node.operands[k].type.memory_bytes for k in lines.keys)]
    return sum(-(-elements * size // 16) * 16 for size in sizes)


def sorted_tiles(
    lines: SortedLines, shape: TileShape, target: Mapping[int, Buffer] | None,
    last: Mapping[int, tuple[Buffer, int | None]], buffers: list[Buffer],
) -> Stage:  # fmt: skip
    """The stage that sorts every tile.

    Args:
        target: where elements go, by operand; if None, to the kernel's results, `last`.
    """
    inputs, _ = argument_buffers(lines.region)
    em = ThreadEmitter(ThreadBuilder(shape.threads), inputs)
    tile = _Tile(lines, shape, em)
    tile.load()
    tile.sort()
    tile.store(target, last)
    written = target.values() if target is not None else (buffer for buffer, _ in last.values())
    return stage(em.b, buffers, list(written), tile.blocks * shape.threads, shape.threads)


class _Tile:
    """The code of one block.

    Attributes:
        blocks: how many there are.
    """

    def __init__(self, lines: SortedLines, shape: TileShape, em: ThreadEmitter) -> None:
        self.lines, self.shape, self.em, self.b = lines, shape, em, em.b
        self.parts = -(-lines.length // shape.length)  # tiles of a line
        self.blocks = -(-lines.lines // shape.lines) * self.parts
        elements = shape.lines * shape.length
        self.keys = {k: _Shared(em, elements, lines.node.operands[k].type) for k in shape.kept}
        self.positions = em.b.shared(elements, POSITION)
        number = em.name_index(em.b.as_index(em.b.block_number(self.blocks)), self.blocks)
        self.first_line, self.part = em.divmod(number, self.parts)
        self.first_line = self.first_line * shape.lines

    # -- from memory and back ----------------------------------------------------------------------
    def load(self) -> None:
        """Brings the keys into shared memory, each with its position."""

        def bring(line: Affine, index: Affine) -> None:
            at = self._place(line, index)
            offset = self._offset(line, index)
            for k, store in self.keys.items():
                tensor = self.lines.node.operands[k]
                store.put(self.em.element(tensor, Position.of_offset(offset)), at)
            word = self.b.op(f"arith.index_castui {self.em.index(index)} : index to {POSITION}")
            name, memref = self.positions
            self.b.effect(f"memref.store {word}, {name}[{at}] : {memref}")

        self._each_element(bring)
        self.b.barrier()

    def store(
        self, target: Mapping[int, Buffer] | None, last: Mapping[int, tuple[Buffer, int | None]]
    ) -> None:
        """Stores what the tile holds now; as of `sorted_tiles`."""
        em, lines = self.em, self.lines

        def put(line: Affine, index: Affine) -> None:
            at = self._place(line, index)
            origin = em.name_index(self._position(at), self.shape.length)
            row, column = em.divmod(self.first_line + line, lines.inner)
            place = self.part * self.shape.length + index
            for k in lines.carried if target is not None else last:
                if k in self.keys:
                    value = self.keys[k].get(at)
                else:
                    offset = self._offset(line, origin)
                    value = em.element(lines.node.operands[k], Position.of_offset(offset))
                if target is not None:
                    offset = (row * lines.length + place) * lines.inner + column
                    em.store(value, target[k], offset)
                else:
                    lines.store(em, value, last[k], (row, column), place)

        self._each_element(put)

    def _each_element(self, body: Callable[[Affine, Affine], None]) -> None:
        """The body for every element of the tile that exists: its line there, its index."""
        em, b, shape = self.em, self.b, self.shape
        total = shape.lines * shape.length
        with b.loop(b.as_index(b.thread()), b.index(total), b.index(shape.threads)) as loop:
            element = em.name_index(loop.iv, total)
            if self.lines.inner == 1 or shape.lines == 1:
                line, index = em.divmod(element, shape.length)
            else:  # neighbours in memory are of neighbouring lines
                index, line = em.divmod(element, shape.lines)
            b.perhaps(self._exists(line, index), lambda: body(line, index))

    def _exists(self, line: Affine, index: Affine) -> str | None:
        """SSA i1: whether there is such an element in the tile; None if there always is."""
        em, b, lines, shape = self.em, self.b, self.lines, self.shape
        inside = None
        if lines.lines % shape.lines:
            number = em.index(self.first_line + line)
            inside = b.op(f"arith.cmpi ult, {number}, {b.index(lines.lines)} : index")
        if lines.length % shape.length:
            at = em.index(self.part * shape.length + index)
            held = b.op(f"arith.cmpi ult, {at}, {b.index(lines.length)} : index")
            inside = b.both(inside, held)
        return inside

    def _offset(self, line: Affine, index: Affine) -> Affine:
        """The row-major offset in an operand of an element of the tile."""
        lines = self.lines
        row, column = self.em.divmod(self.first_line + line, lines.inner)
        place = self.part * self.shape.length + index
        return (row * lines.length + place) * lines.inner + column

    def _place(self, line: Affine, index: Affine) -> str:
        return self.em.index(line * self.shape.length + index)

    def _position(self, at: str) -> str:
        name, memref = self.positions
        word = self.b.load(f"memref.load {name}[{at}] : {memref}")
        return self.b.op(f"arith.index_castui {word} : {POSITION} to index")

    # -- the network -------------------------------------------------------------------------------
    def sort(self) -> None:
        """Merges of 2, 4, ... elements; steps within what one warp compares need no barrier."""
        b = self.b
        merges = self.shape.padded.bit_length() - 1
        near = min(merges, WARP_SPAN.bit_length() - 1)
        with b.loop(b.index(0), b.index(near), b.index(1)) as merge:
            self._steps(merge.iv, merge.iv, b.index(-1), b.warp_barrier)
        b.barrier()
        if near == merges:
            return
        with b.loop(b.index(near), b.index(merges), b.index(1)) as merge:
            self._steps(merge.iv, merge.iv, b.index(near - 1), b.barrier)
            self._steps(merge.iv, b.index(near - 1), b.index(-1), b.warp_barrier)
            b.barrier()

    def _steps(self, merge: str, first: str, end: str, wait: Callable[[], None]) -> None:
        """The steps of one merge from log2 of their stride `first` down to `end`, exclusive."""
        b = self.b
        count = b.op(f"arith.subi {first}, {end} : index")
        with b.loop(b.index(0), count, b.index(1)) as loop:
            stride = b.op(f"arith.subi {first}, {loop.iv} : index")
            self._step(merge, stride)
            wait()

    def _step(self, merge: str, stride: str) -> None:
        """Compares all pairs 1 << stride apart; in a merge's first step mirror images."""
        b, shape = self.b, self.shape
        one = b.index(1)
        distance = b.op(f"arith.shli {one}, {stride} : index")
        below = b.op(f"arith.subi {distance}, {one} : index")
        twice = b.op(f"arith.addi {stride}, {one} : index")
        mirrored = b.op(f"arith.cmpi eq, {merge}, {stride} : index")
        all_ones = b.op(f"arith.ori {distance}, {below} : index")
        mask = b.op(f"arith.select {mirrored}, {all_ones}, {distance} : index")
        pairs = shape.lines * shape.padded // 2
        with b.loop(b.as_index(b.thread()), b.index(pairs), b.index(shape.threads)) as loop:
            high = b.op(f"arith.shrui {loop.iv}, {stride} : index")
            high = b.op(f"arith.shli {high}, {twice} : index")
            low = b.op(f"arith.andi {loop.iv}, {below} : index")
            first = b.op(f"arith.ori {high}, {low} : index")
            second = b.op(f"arith.xori {first}, {mask} : index")
            self._pair(first, second)

    def _pair(self, first: str, second: str) -> None:
        """Puts two elements in order, given their numbers as if tiles were padded."""
        em, b, shape = self.em, self.b, self.shape
        virtual = shape.lines * shape.padded
        line, low = em.divmod(em.name_index(first, virtual), shape.padded)
        _, high = em.divmod(em.name_index(second, virtual), shape.padded)
        inside = None
        if shape.padded > shape.length:
            inside = b.op(f"arith.cmpi ult, {em.index(high)}, {b.index(shape.length)} : index")
            high, _ = em.clamped(high, shape.length)
            low, _ = em.clamped(low, shape.length)
        exists = b.both(inside, self._exists(line, high))
        b.perhaps(exists, lambda: self._exchange(self._place(line, low), self._place(line, high)))

    def _exchange(self, low: str, high: str) -> None:
        """Exchanges the elements at two places of the tile if the second goes ahead."""
        em, b = self.em, self.b
        name, memref = self.positions
        mine, its = (b.load(f"memref.load {name}[{at}] : {memref}") for at in (low, high))
        is_later = b.op(f"arith.cmpi ugt, {its}, {mine} : {POSITION}")
        flag = Value(element_type("i1"), (is_later,))
        held = {k: (store.get(low), store.get(high)) for k, store in self.keys.items()}
        later = {k: elementwise.select(b, flag, y, x) for k, (x, y) in held.items()}
        earlier = {k: elementwise.select(b, flag, x, y) for k, (x, y) in held.items()}
        # Of equals the earlier stays ahead: the later goes there only if it is less.
        less = self.lines.before(em, later, earlier)
        stays = b.op(f"arith.xori {less}, {is_later} : i1")
        true = b.constant(True, "i1")
        with b.when(b.op(f"arith.xori {stays}, {true} : i1")):
            b.effect(f"memref.store {its}, {name}[{low}] : {memref}")
            b.effect(f"memref.store {mine}, {name}[{high}] : {memref}")
            for k, (x, y) in held.items():
                self.keys[k].put(y, low)
                self.keys[k].put(x, high)


class _Shared:
    """Elements of an operand in shared memory."""

    def __init__(self, em: ThreadEmitter, elements: int, kind: ElementType) -> None:
        self.b, self.kind = em.b, kind
        self.name, self.memref = em.b.shared(elements * kind.parts, kind.memory)

    def _at(self, place: str, part: int) -> str:
        b, parts = self.b, self.kind.parts
        if parts == 1:
            return place
        first = b.op(f"arith.muli {place}, {b.index(parts)} : index")
        return b.op(f"arith.addi {first}, {b.index(part)} : index")

    def get(self, place: str) -> Value:
        """The element at an SSA index."""
        raws = [
            self.b.load(f"memref.load {self.name}[{self._at(place, part)}] : {self.memref}")
            for part in range(self.kind.parts)
        ]
        return elementwise.unpack(self.b, self.kind, raws)

    def put(self, value: Value, place: str) -> None:
        for part, raw in enumerate(elementwise.pack(self.b, value)):
            at = self._at(place, part)
            self.b.effect(f"memref.store {raw}, {self.name}[{at}] : {self.memref}")
