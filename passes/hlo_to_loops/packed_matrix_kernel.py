"""Matrix products with packed operands: for large transposed ones.

The scheme of Goto and van de Geijn ("Anatomy of High-Performance Matrix Multiplication", 2008). A
work unit makes a block of the result, rows x columns, from one block of the depth after the other:
the right operand's part is packed into panels of the tile's width, contiguous and in the type of
the sums, and stays in the second-level cache; register tiles run over the rows. Rows of the left
operand are read in place, copied tile by tile where they are of another type or share sets of the
first-level cache, and packed as a block where they are transposed. What follows the product,
element by element, is applied to a tile of sums before it is stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.builder import Builder, Value
from hlo.passes.hlo_to_loops.elemental.contractions import product_type
from hlo.passes.hlo_to_loops.emitter import Emitter, NotVectorizableError
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.loop_kernel import Kernel, argument_buffers, function_text
from hlo.passes.hlo_to_loops.matrix_multiply import (
    MatrixOperand,
    better_by_library,
    matrix_operands,
)
from hlo.passes.hlo_to_loops.register_transpose import transpose_square

# Rows of a tile for its vectors across.
MOST_ROWS = {1: 14, 2: 14, 3: 8, 4: 6}
DEPTH = 512  # of a block where the depth is cut
WHOLE_DEPTH = 768  # up to which it is not
PACKED_BYTES = 384 << 10  # of a block of the right operand: it stays in the second-level cache
ROWS = 512  # of a work unit's block
ROWS_IN_PARTS = 256  # where sums wait for the next part of the depth
ROWS_PACKED = 128  # where the left operand is packed too
FEWEST_UNITS = 8
SMALLEST_PRODUCT = 1 << 15  # multiply-adds below which packing does not pay
LARGE_LEFT = 1 << 21  # elements of a left operand that is not read again for every few columns
FAR_BYTES = 3072  # between steps of the depth beyond which a tile's columns are read with misses
ALIASING_BYTES = 4096  # lines a multiple of this apart share the 8 ways of a set of the cache
WAYS = 8
VECTOR_BYTES = 64


@dataclass(frozen=True)
class Blocking:
    """How a product [m, k] x [k, n] is cut.

    Attributes:
        lanes, vectors: elements in a vector, vectors across a tile.
        rows: of a tile.
        tiles: tiles below one another in a work unit's block.
        panels: tiles side by side in a work unit's block.
        depth: of a block.
    """

    m: int
    n: int
    k: int
    lanes: int
    vectors: int
    rows: int
    tiles: int
    panels: int
    depth: int

    @property
    def width(self) -> int:
        return self.lanes * self.vectors

    @property
    def all_tiles(self) -> int:
        return -(-self.m // self.rows)

    @property
    def all_panels(self) -> int:
        return -(-self.n // self.width)

    @property
    def row_blocks(self) -> int:
        return -(-self.all_tiles // self.tiles)

    @property
    def column_blocks(self) -> int:
        return -(-self.all_panels // self.panels)

    @property
    def depth_blocks(self) -> int:
        return -(-self.k // self.depth)

    @property
    def last_depth(self) -> int:
        return self.k - (self.depth_blocks - 1) * self.depth


def blocking_of(
    m: int, n: int, k: int, lanes: int, *, batch: int = 1, packs_left: bool = False
) -> Blocking:
    """Blocks of even size, in cache, and enough of them for a few threads."""
    columns = -(-n // lanes)
    # Panels are whole: as few columns beyond the edge as possible.
    vectors = min((4, 3, 2, 1), key=lambda v: (-(-columns // v) * v, -v))
    tiles = -(-m // MOST_ROWS[vectors])
    rows = -(-m // tiles)
    tiles = -(-m // rows)
    depth = _even(k, DEPTH // 2 if packs_left else WHOLE_DEPTH if k <= WHOLE_DEPTH else DEPTH)
    if depth < k:
        depth = -(-depth // lanes) * lanes  # only the last block may end within a vector
    most_rows = ROWS_PACKED if packs_left else ROWS if depth == k else ROWS_IN_PARTS
    panels = -(-n // (lanes * vectors))
    panel_bytes = depth * vectors * VECTOR_BYTES
    panel_block = _even(panels, max(1, PACKED_BYTES // panel_bytes))
    tile_block = _even(tiles, max(1, most_rows // rows))
    while batch * -(-panels // panel_block) * -(-tiles // tile_block) < FEWEST_UNITS:
        if tile_block <= 4:
            break
        tile_block = -(-tile_block // 2)
    return Blocking(m, n, k, lanes, vectors, rows, tile_block, panel_block, depth)


def _even(count: int, most: int) -> int:
    """The size of blocks of at most `most` that cut `count` evenly."""
    return -(-count // -(-count // most))


def packs(node: Node) -> bool:
    """Whether a dot_general is computed with packed operands."""
    if node.name != "dot_general" or product_type(node.results[0].type).name not in ("f32", "f64"):
        return False
    if not all(o.type.is_float for o in node.operands):
        return False
    if (operands := matrix_operands(node)) is None:
        return False
    left, right = operands
    m, n, k = left.free.extent, right.free.extent, left.summed.extent
    if min(m, n, k) < _lanes(node) or m * n * k < SMALLEST_PRODUCT:
        return False
    if right.summed.stride == 1 and right.free.stride != 1:
        return True
    if left.summed.stride == 1 and m * k >= LARGE_LEFT:
        return True
    step = left.summed.stride * node.operands[0].type.memory_bytes
    return left.summed.stride != 1 and step >= FAR_BYTES and not better_by_library(node)


def _lanes(node: Node) -> int:
    return 16 if product_type(node.results[0].type).name == "f32" else 8


def emit_packed_product(region: Region) -> Kernel | None:
    """A kernel for one dot of matrices and elementwise ops after it; None if it is no such."""
    dots = [n for n in region.nodes if n.name == "dot_general"]
    if len(dots) != 1 or not packs(dots[0]):
        return None
    node, root = dots[0], region.results[0]
    if root.size != node.results[0].size or not set(node.operands) <= set(region.arguments):
        return None
    operands = matrix_operands(node)
    assert operands is not None
    try:
        return _Product(region, node, *operands).emit()
    except NotVectorizableError:
        return None


@dataclass(frozen=True)
class _Part:
    """A block of the depth: its number, where it begins, the SSA name of how many steps it has."""

    index: Affine
    at: Affine
    steps: str


class _Product:
    def __init__(
        self, region: Region, node: Node, left: MatrixOperand, right: MatrixOperand
    ) -> None:
        self.region, self.node, self.left, self.right = region, node, left, right
        self.kind = product_type(node.results[0].type)
        self.batch = tuple(axis.extent for axis in left.batch)
        self.blocking = blocking_of(
            left.free.extent, right.free.extent, left.summed.extent, _lanes(node),
            batch=math.prod(self.batch),
            packs_left=left.summed.stride != 1 and left.summed.extent > 1,
        )  # fmt: skip
        self.inputs, self.outputs = argument_buffers(region)
        self.builder = Builder()
        self.em = Emitter(self.builder, self.inputs)
        self.written: set[Affine] = set()
        self.bytes = 4 if self.kind.name == "f32" else 8
        lhs = node.operands[0]
        self.left_is_transposed = left.summed.stride != 1 and left.summed.extent > 1
        self.copies_left = (
            self.left_is_transposed
            or lhs.type != self.kind
            or (self.blocking.rows > WAYS and left.free.stride * self.bytes % ALIASING_BYTES == 0)
        )
        self.items: list[Affine] = []

    # -- scratch -----------------------------------------------------------------------------------
    def _scratch(self, elements: int) -> str:
        return self.builder.load(
            f"memref.alloca() {{alignment = 64 : i64}} : {self._memref(elements)}"
        )

    def _memref(self, elements: int) -> str:
        return f"memref<{elements}x{self.kind.memory}>"

    def emit(self) -> Kernel:
        em, b, s = self.em, self.builder, self.blocking
        lanes = s.lanes
        # Copied rows are some lines more than a power of two apart.
        self.left_pitch = -(-s.depth // lanes) * lanes + lanes
        self.left_size = s.rows * self.left_pitch
        if self.left_is_transposed:
            self.left_pitch = -(-s.tiles * s.rows // lanes) * lanes + lanes
            self.left_size = s.depth * self.left_pitch
        self.packed_size = s.panels * s.depth * s.width
        waiting = s.tiles * s.panels if s.depth_blocks > 1 else 1
        self.sums_size = waiting * s.rows * s.width
        self.packed = self._scratch(self.packed_size)
        self.sums = self._scratch(self.sums_size)
        self.copied = self._scratch(self.left_size) if self.copies_left else ""
        units = math.prod(self.batch) * s.row_blocks * s.column_blocks
        with b.loop("%begin", "%end", b.index(1)) as loop:
            unit = em.variable(loop.iv, units) if units > 1 else ZERO
            rest, row_block = em.divmod(unit, s.row_blocks)
            item, column_block = em.divmod(rest, s.column_blocks)
            self.item = item
            self.items = list(em.dims(Position.of_offset(item), self.batch))
            self._block(row_block, column_block)
        return Kernel(
            function_text(b, list(self.inputs.values()), self.outputs),
            units,
            tuple(buffer.memref for buffer in self.inputs.values()),
            tuple(buffer.memref for buffer in self.outputs),
            in_place=tuple(
                i
                for i, buffer in enumerate(self.inputs.values())
                if em.loaded.get(buffer, set()) <= self.written
            ),
        )

    # -- loops -------------------------------------------------------------------------------------
    def _block(self, row_block: Affine, column_block: Affine) -> None:
        """One work unit: all of the depth for a block of the result."""
        b, em, s = self.builder, self.em, self.blocking
        self.first_tile = row_block * s.tiles
        self.first_panel = column_block * s.panels
        self.tile_count = self._count(self.first_tile, s.tiles, s.all_tiles)
        self.panel_count = self._count(self.first_panel, s.panels, s.all_panels)
        if s.depth_blocks == 1:
            self._part(row_block, _Part(ZERO, ZERO, b.index(s.k)))
            return
        with b.loop(b.index(0), b.index(s.depth_blocks), b.index(1)) as loop:
            index = em.variable(loop.iv, s.depth_blocks)
            first = index * s.depth
            self._part(row_block, _Part(index, first, self._count(first, s.depth, s.k)))

    def _count(self, first: Affine, most: int, total: int) -> str:
        b, em = self.builder, self.em
        if total % most == 0:
            return b.index(most)
        left = b.op(f"arith.subi {b.index(total)}, {em.index(first)} : index")
        return b.op(f"arith.minsi {left}, {b.index(most)} : index")

    def _part(self, row_block: Affine, part: _Part) -> None:
        """A block of the depth: packs the right operand, then runs over tiles."""
        b, em, s = self.builder, self.em, self.blocking
        self._pack(part)
        if self.left_is_transposed:
            self._pack_left(row_block, part)
        with b.loop(b.index(0), self.tile_count, b.index(1)) as loop:
            tile = em.variable(loop.iv, s.tiles)
            last_rows = s.m - (s.all_tiles - 1) * s.rows
            self._at_last(
                self.first_tile + tile, s.all_tiles, last_rows != s.rows,
                lambda cut: self._tiles(tile, last_rows if cut else s.rows, part),
            )  # fmt: skip

    def _is_part(self, part: _Part, number: int) -> str:
        b = self.builder
        return b.op(f"arith.cmpi eq, {self.em.index(part.index)}, {b.index(number)} : index")

    def _in_vectors(self, part: _Part, body: Callable[[Affine, int], None]) -> None:
        """`body(step, count)` for whole vectors of steps of a part, and for the last one's rest."""
        b, em, s = self.builder, self.em, self.blocking
        rest = s.k % s.lanes
        end = part.steps
        if rest and s.depth_blocks == 1:
            end = b.index(s.k - rest)
        elif rest:
            lanes = b.index(s.lanes)
            vectors = b.op(f"arith.divui {end}, {lanes} : index")
            end = b.op(f"arith.muli {vectors}, {lanes} : index")
        if s.depth >= s.lanes:
            with b.loop(b.index(0), end, b.index(s.lanes)) as loop:
                body(em.variable(loop.iv, s.depth), s.lanes)
        if not rest:
            return
        last = ZERO + (s.last_depth - rest)
        if s.depth_blocks == 1:
            body(last, rest)
            return
        with b.when(self._is_part(part, s.depth_blocks - 1)):
            body(last, rest)

    def _at_last(
        self, index: Affine, count: int, uneven: bool, body: Callable[[bool], None]
    ) -> None:
        """`body(True)` for the last of `count`, which is cut off, `body(False)` for the others."""
        if not uneven:
            body(False)
            return
        if count == 1:
            body(True)
            return
        b, em = self.builder, self.em
        name = em.index(index)
        for cut, predicate in ((False, "ne"), (True, "eq")):
            condition = b.op(f"arith.cmpi {predicate}, {name}, {b.index(count - 1)} : index")
            with b.when(condition):
                body(cut)

    # -- packing -----------------------------------------------------------------------------------
    def _right_at(self, column: Affine, depth: Affine) -> Affine:
        walk, total = self.right, ZERO
        for axis, index in zip(walk.batch, self.items, strict=True):
            total = total + index * axis.stride
        return total + column * walk.free.stride + depth * walk.summed.stride

    def _left_at(self, row: Affine, depth: Affine) -> Affine:
        walk, total = self.left, ZERO
        for axis, index in zip(walk.batch, self.items, strict=True):
            total = total + index * axis.stride
        return total + row * walk.free.stride + depth * walk.summed.stride

    def _load(self, side: int, offset: Affine) -> Value:
        value = self.em.element(self.node.operands[side], Position.of_offset(offset))
        return elementwise.convert(self.builder, value, self.kind)

    def _vector(self) -> str:
        return f"vector<{self.blocking.lanes}x{self.kind.memory}>"

    def _put(self, value: str, buffer: str, size: int, at: Affine) -> None:
        place = f"{buffer}[{self.em.index(at)}]"
        self.builder.effect(
            f"vector.store {value}, {place} : {self._memref(size)}, {self._vector()}"
        )

    def _get(self, buffer: str, size: int, at: Affine) -> str:
        place = f"{buffer}[{self.em.index(at)}]"
        return self.builder.load(f"vector.load {place} : {self._memref(size)}, {self._vector()}")

    def _named(self, index: Affine, extent: int) -> str:
        """An index as a lane variable."""
        b = self.builder
        with b.width(0):
            name = b.load(f"arith.addi {self.em.index(index)}, {b.index(0)} : index")
        self.em.variable(name, extent)
        return name

    def _lanes_from(
        self, index: Affine, extent: int, valid: int, body: Callable[[Affine], None]
    ) -> None:
        """`body` in vector mode, lanes along `index`, the first `valid` of them."""
        b, em, lanes = self.builder, self.em, self.blocking.lanes
        mask = None
        if valid < lanes:
            mask = b.op(f"vector.constant_mask [{valid}] : vector<{lanes}xi1>")
        name = self._named(index, extent)
        with em.vector(name, lanes, mask):
            em.hoist_from_here()
            body(Affine.variable(name))

    def _pack(self, part: _Part) -> None:
        """Panels of the right operand: their columns side by side for each step of the depth."""
        b, em, s = self.builder, self.em, self.blocking
        turned = self.right.summed.stride == 1 and self.right.free.stride != 1
        pack = self._pack_square if turned else self._pack_row

        def steps(step: Affine, count: int) -> None:
            with b.loop(b.index(0), self.panel_count, b.index(1)) as loop:
                panel = em.variable(loop.iv, s.panels)
                self._at_last(
                    self.first_panel + panel, s.all_panels, s.n % s.width != 0,
                    lambda cut: pack(panel, part.at, step, count, cut),
                )  # fmt: skip

        if turned:
            self._in_vectors(part, steps)
            return
        with b.loop(b.index(0), part.steps, b.index(1)) as loop:
            steps(em.variable(loop.iv, s.depth), 1)

    def _columns(self, cut: bool) -> int:
        s = self.blocking
        return s.n - (s.all_panels - 1) * s.width if cut else s.width

    def _pack_row(self, panel: Affine, depth_at: Affine, step: Affine, _: int, cut: bool) -> None:
        """One step of the depth: a row of the panel; zeros beyond the edge."""
        s, columns = self.blocking, self._columns(cut)
        first = (self.first_panel + panel) * s.width
        for v in range(s.vectors):
            at = panel * (s.depth * s.width) + step * s.width + v * s.lanes
            valid = min(s.lanes, columns - v * s.lanes)
            if valid <= 0:
                self._put(self._zero(), self.packed, self.packed_size, at)
                continue

            def store(column: Affine, at: Affine = at) -> None:
                value = self._load(1, self._right_at(column, depth_at + step))
                self._put(value.name, self.packed, self.packed_size, at)

            self._lanes_from(first + v * s.lanes, s.n, valid, store)

    def _pack_square(
        self, panel: Affine, depth_at: Affine, step: Affine, steps: int, cut: bool
    ) -> None:
        """The same from columns that are contiguous along the depth: squares are turned."""
        b, s, columns = self.builder, self.blocking, self._columns(cut)
        first = (self.first_panel + panel) * s.width
        for v in range(s.vectors):
            valid = max(0, min(s.lanes, columns - v * s.lanes))
            rows: list[str] = [self._zero()] * s.lanes

            def load(lane: Affine, v: int = v, valid: int = valid, rows: list[str] = rows) -> None:
                for c in range(valid):
                    column = first + (v * s.lanes + c)
                    rows[c] = self._load(1, self._right_at(column, lane)).name

            if valid:
                self._lanes_from(depth_at + step, s.k, steps, load)
                with b.width(s.lanes):
                    rows = transpose_square(b, rows, self.kind.register)
            for d in range(steps):
                at = panel * (s.depth * s.width) + (step + d) * s.width + v * s.lanes
                self._put(rows[d], self.packed, self.packed_size, at)

    def _zero(self) -> str:
        with self.builder.width(self.blocking.lanes):
            return elementwise.constant(self.builder, self.kind, 0).name

    def _pack_left(self, row_block: Affine, part: _Part) -> None:
        """The block of a transposed left operand, its rows side by side for each step."""
        s = self.blocking
        block = s.tiles * s.rows
        last = s.m - (s.row_blocks - 1) * block
        self._at_last(
            row_block, s.row_blocks, last != block,
            lambda cut: self._pack_left_rows(last if cut else block, part),
        )  # fmt: skip

    def _pack_left_rows(self, rows: int, part: _Part) -> None:
        b, em, s = self.builder, self.em, self.blocking
        row_at = self.first_tile * s.rows
        with b.loop(b.index(0), part.steps, b.index(1)) as loop:
            step = em.variable(loop.iv, s.depth)
            for start in range(0, rows, s.lanes):

                def store(row: Affine, start: int = start) -> None:
                    value = self._load(0, self._left_at(row, part.at + step))
                    at = step * self.left_pitch + start
                    self._put(value.name, self.copied, self.left_size, at)

                self._lanes_from(row_at + start, s.m, min(s.lanes, rows - start), store)

    def _copy_left(self, tile: Affine, rows: int, part: _Part) -> None:
        """A tile of the left operand, next to one another in cache."""
        b, em, s = self.builder, self.em, self.blocking
        row_at = (self.first_tile + tile) * s.rows

        def copy(step: Affine, valid: int) -> None:
            def store(lane: Affine) -> None:
                value = self._load(0, self._left_at(row_at + row, lane))
                at = row * self.left_pitch + step
                self._put(value.name, self.copied, self.left_size, at)

            self._lanes_from(part.at + step, s.k, valid, store)

        with b.loop(b.index(0), b.index(rows), b.index(1)) as loop:
            row = em.variable(loop.iv, rows)
            self._in_vectors(part, copy)

    # -- tiles -------------------------------------------------------------------------------------
    def _tiles(self, tile: Affine, rows: int, part: _Part) -> None:
        """A row of tiles: those of every panel."""
        b, em, s = self.builder, self.em, self.blocking
        if self.copies_left and not self.left_is_transposed:
            self._copy_left(tile, rows, part)
        with b.loop(b.index(0), self.panel_count, b.index(1)) as loop:
            panel = em.variable(loop.iv, s.panels)
            at = ZERO
            if s.depth_blocks > 1:
                at = (tile * s.panels + panel) * (s.rows * s.width)
            sums = self._multiply(tile, panel, rows, part, self._start(at, rows, part))
            for i, value in enumerate(sums):
                self._put(value, self.sums, self.sums_size, at + i * s.lanes)

            def finish(panel: Affine = panel, at: Affine = at) -> None:
                self._at_last(
                    self.first_panel + panel, s.all_panels, s.n % s.width != 0,
                    lambda cut: self._finish(tile, panel, rows, at, cut),
                )  # fmt: skip

            if s.depth_blocks == 1:
                finish()
            else:
                with b.when(self._is_part(part, s.depth_blocks - 1)):
                    finish()

    def _start(self, at: Affine, rows: int, part: _Part) -> list[str]:
        """The sums so far: zero at the first part of the depth."""
        b, s = self.builder, self.blocking
        count = rows * s.vectors
        if s.depth_blocks == 1:
            return [self._zero()] * count
        with b.choice(self._is_part(part, 0), [self._vector()] * count) as choice:
            with choice.then():
                choice.yielded = [self._zero()] * count
            with choice.otherwise():
                choice.yielded = [
                    self._get(self.sums, self.sums_size, at + i * s.lanes) for i in range(count)
                ]
        return choice.results

    def _multiply(
        self, tile: Affine, panel: Affine, rows: int, part: _Part, sums: Sequence[str]
    ) -> list[str]:
        b, em, s = self.builder, self.em, self.blocking
        row_at = (self.first_tile + tile) * s.rows
        kind = f"vector<{s.lanes}x{self.kind.register}>"
        with b.loop(b.index(0), part.steps, b.index(1), [(v, kind) for v in sums]) as loop:
            step = em.variable(loop.iv, s.depth)
            at = panel * (s.depth * s.width) + step * s.width
            right = [
                self._get(self.packed, self.packed_size, at + v * s.lanes) for v in range(s.vectors)
            ]
            result: list[str] = []
            for r in range(rows):
                left = self._left_element(tile, row_at, r, part.at + step, step)
                with b.width(s.lanes):
                    wide = b.splat(left, self.kind.register)
                for v in range(s.vectors):
                    old = loop.carried[r * s.vectors + v]
                    result.append(b.op(f"math.fma {wide}, {right[v]}, {old} : {kind}"))
            loop.yielded = result
        return loop.results

    def _left_element(
        self, tile: Affine, row_at: Affine, row: int, depth: Affine, step: Affine
    ) -> str:
        b, em, s = self.builder, self.em, self.blocking
        if not self.copies_left:
            return self._load(0, self._left_at(row_at + row, depth)).name
        at = step + row * self.left_pitch
        if self.left_is_transposed:
            at = step * self.left_pitch + tile * s.rows + row
        place = f"{self.copied}[{em.index(at)}]"
        return b.load(f"memref.load {place} : {self._memref(self.left_size)}")

    def _finish(self, tile: Affine, panel: Affine, rows: int, sums_at: Affine, cut: bool) -> None:
        """Rounds a tile of sums, applies what follows the product, stores."""
        b, em, s, tensor = self.builder, self.em, self.blocking, self.node.results[0]
        columns = self._columns(cut)
        column_at = (self.first_panel + panel) * s.width
        row_at = (self.first_tile + tile) * s.rows
        with b.loop(b.index(0), b.index(rows), b.index(1)) as loop:
            row = em.variable(loop.iv, rows)
            place = self.em.bounded(row_at + row, s.m)
            for v in range(-(-columns // s.lanes)):
                at = sums_at + row * s.width + v * s.lanes

                def store(column: Affine, at: Affine = at) -> None:
                    offset = self.item * (s.m * s.n) + place * s.n + column
                    position = Position.of_offset(offset)
                    self.written.add(offset)
                    total = Value(self.kind, (self._get(self.sums, self.sums_size, at),), s.lanes)
                    em.pin(tensor, position, elementwise.convert(b, total, tensor.type))
                    values = [em.element(root, position) for root in self.region.results]
                    for value, buffer in zip(values, self.outputs, strict=True):
                        em.store(value, buffer, offset)

                valid = min(s.lanes, columns - v * s.lanes)
                self._lanes_from(column_at + v * s.lanes, s.n, valid, store)
