"""Attention on sm_90a: products by warpgroups, of keys and values that one warp copies in bulk.

A ring in shared memory holds tiles of keys and of values, swizzled as the products read them. One
lane of the last warp begins all copies; each place of the ring has a barrier for keys that have
come, one for values, and one for what all warps are done with. The query's rows stay in a tile
like those of keys; the factors of the values are left operands in registers, where the softmax
leaves them (Shah et al., "FlashAttention-3", 2024). Two warpgroups take turns: the products of one
run while the other computes exponentials. What a mask hides from a block is left out as in
`attention_tiles.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo.gpu.tensor_map import ELEMENT_BYTES, MOST_DIMENSIONS, SWIZZLE_BYTES, TensorMap
from hlo.passes.hlo_to_gpu.attention_products import AttentionShape
from hlo.passes.hlo_to_gpu.attention_rows import AttentionThread, RowSpace, RowState
from hlo.passes.hlo_to_gpu.attention_tensor_cores import (
    STEP,
    TensorCoreProducts,
    tensor_core_shape,
)
from hlo.passes.hlo_to_gpu.attention_tiles import AttentionTiles
from hlo.passes.hlo_to_gpu.operand_maps import LARGEST_SIZE, LARGEST_STRIDE
from hlo.passes.hlo_to_gpu.shared_tile import SharedTile, are_pieces
from hlo.passes.hlo_to_gpu.target import GpuTarget
from hlo.passes.hlo_to_gpu.thread_builder import ASYNC_BYTES, WARP
from hlo.passes.hlo_to_gpu.warpgroup_builder import (
    BARRIER_BYTES,
    DEPTH_BYTES,
    MULTIPLY_ROWS,
    WARPGROUP,
    WarpgroupBuilder,
    WarpgroupMultiply,
)
from hlo.passes.hlo_to_gpu.warpgroup_shapes import ALIGNMENT
from hlo.passes.hlo_to_loops.affine import ZERO, Affine
from hlo.passes.hlo_to_loops.attention_parts import (
    DEPTH,
    KEY,
    WIDTH,
    AttentionParts,
    Operand,
    row_name,
)
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.element_types import ElementType
from hlo.passes.hlo_to_loops.graph import Region, Tensor
from hlo.passes.hlo_to_loops.online_softmax import OnlineSoftmax

LINE_BYTES = SWIZZLE_BYTES  # of a row of a tile; wider rows are several panels
GROUP_BYTES = 8 * LINE_BYTES  # rows that the swizzle's pattern covers
PANEL = LINE_BYTES // 2  # elements of 16 bits
FEW_KEYS, MANY_KEYS = 64, 128  # of a tile: many where sums of values leave registers for scores
STAGES = (4, 2)  # of the ring, powers of two


@dataclass(frozen=True)
class MappedRows:
    """Keys or values as bulk copies bring them.

    Attributes:
        tensor_map: of panels of 128 bytes of a tile's rows.
        groups: variables of the map's dimensions behind the keys, innermost first.
        panels: of a row.
    """

    tensor_map: TensorMap
    groups: tuple[str, ...]
    panels: int

    @property
    def tile_bytes(self) -> int:
        return self.panels * self.tensor_map.box_bytes


@dataclass(frozen=True)
class BulkAttention:
    """How an attention is divided.

    Attributes:
        shape: of a block, the warp that copies included.
        stages: places of the ring.
    """

    shape: AttentionShape
    keys: MappedRows
    values: MappedRows
    stages: int

    @property
    def name(self) -> str:
        shape = self.shape
        return f"{shape.rows} rows by tiles of {shape.keys} keys in {self.stages} stages"

    @property
    def multiplying(self) -> int:
        """Threads that multiply."""
        return self.shape.threads - WARP

    @property
    def stage_bytes(self) -> int:
        return self.keys.tile_bytes + self.values.tile_bytes

    @property
    def shared_bytes(self) -> int:
        """The ring, the query's rows, and three barriers for each place of the ring."""
        query = SwizzledTile.bytes(self.shape.rows, self.shape.depth)
        return self.stages * (self.stage_bytes + 3 * BARRIER_BYTES) + query

    @property
    def query_start(self) -> int:
        return self.stages * self.stage_bytes

    @property
    def barriers_start(self) -> int:
        return self.query_start + SwizzledTile.bytes(self.shape.rows, self.shape.depth)


def bulk_attention(
    parts: AttentionParts, space: RowSpace, inputs: Sequence[Tensor], target: GpuTarget
) -> BulkAttention | str:
    """How warpgroups compute an attention, or why they do not."""
    narrow = tensor_core_shape(parts, space.rows)
    if narrow is None:
        return "tensor cores do not multiply its types, or its rows are too long"
    if space.rows < MULTIPLY_ROWS:
        return f"{space.rows} rows that share keys do not fill a warpgroup"
    if not are_pieces(parts.query, DEPTH, parts.depth):
        return "its query has rows that are no whole pieces of 16 bytes"
    groups = 2 if space.rows > MULTIPLY_ROWS else 1
    keys = FEW_KEYS if narrow.width > PANEL or parts.keys <= FEW_KEYS else MANY_KEYS
    found: list[MappedRows] = []
    for name, operand, inner, extent in (
        ("keys", parts.key, DEPTH, parts.depth),
        ("values", parts.value, WIDTH, parts.width),
    ):
        mapped = _mapped(parts, space, list(inputs), operand, (inner, extent), keys)
        if isinstance(mapped, str):
            return f"its {name} {mapped}"
        found.append(mapped)
    threads = WARPGROUP * groups + WARP
    shape = AttentionShape(MULTIPLY_ROWS * groups, keys, threads, narrow.depth, narrow.width)
    for stages in STAGES:
        made = BulkAttention(shape, found[0], found[1], stages)
        if made.shared_bytes + ALIGNMENT <= target.largest_shared_bytes:
            return made
    return "two tiles of its keys and values do not fit into shared memory"


def _mapped(
    parts: AttentionParts, space: RowSpace, inputs: list[Tensor], operand: Operand,
    inner: tuple[str, int], keys: int,
) -> MappedRows | str:  # fmt: skip
    """The map of an operand, or why there is none.

    Args:
        inner: the variable along its rows, and its extent.
        keys: of a tile.
    """
    name, extent = inner
    offset, kind = operand.offset, operand.tensor.type.name
    if offset.constant or offset.coefficient(name) != 1 or kind not in ELEMENT_BYTES:
        return "are not rows of an input from its start"
    outer = [(row_name(d), parts.rows[d]) for d in space.outer]
    moving = [(n, size) for n, size in outer if offset.coefficient(n) and size > 1]
    known = {name, KEY, *(n for n, _ in moving)}
    if any(n not in known for n, _ in offset.terms):
        return "are not found by batches alone"
    dims = [(extent, 1), (parts.keys, offset.coefficient(KEY))]
    dims += [(size, offset.coefficient(n)) for n, size in reversed(moving)]
    if len(dims) > MOST_DIMENSIONS:
        return "have batches in too many places"
    strides = tuple(step * ELEMENT_BYTES[kind] for _, step in dims[1:])
    if any(s <= 0 or s % ASYNC_BYTES or s >= LARGEST_STRIDE for s in strides):
        return "have rows that are no multiples of 16 bytes apart"
    sizes = tuple(size for size, _ in dims)
    if any(size >= LARGEST_SIZE for size in sizes):
        return "are too many"
    box = (PANEL, keys, *([1] * len(moving)))
    tensor_map = TensorMap(inputs.index(operand.tensor), kind, sizes, strides, box)
    groups = tuple(n for n, _ in reversed(moving))
    return MappedRows(tensor_map, groups, -(-extent // PANEL))


class SwizzledTile(SharedTile):
    """A tile as products of warpgroups read it: panels of 128 bytes of its rows, swizzled.

    It is filled in pieces of 16 bytes alone.
    """

    def __init__(
        self, thread: AttentionThread, kind: ElementType, rows: int, columns: int,
        room: tuple[str, str], first: int,
    ) -> None:  # fmt: skip
        """Args:
        room: bytes of shared memory, and their memref type.
        first: the byte where the tile begins; with it a multiple of 1024.
        """
        super().__init__(thread, kind, rows, columns, room)
        self.first = first

    @staticmethod
    def bytes(rows: int, columns: int) -> int:
        """Shared memory of a tile of 16-bit elements."""
        return rows * -(-columns // PANEL) * LINE_BYTES

    def at(self, row: Affine, column: Affine | int) -> str:
        """The SSA index of an element at the start of a piece, in elements of `room`."""
        em, b = self.em, self.b
        piece, _ = em.divmod(column if isinstance(column, Affine) else ZERO + column, self.lanes)
        panel, place = em.divmod(piece, LINE_BYTES // ASYNC_BYTES)
        turn = em.index(em.divmod(row, LINE_BYTES // ASYNC_BYTES)[1])
        swizzled = b.op(f"arith.xori {em.index(place)}, {turn} : index")
        start = self.first // self.kind.memory_bytes
        line = em.index(panel * (self.rows * PANEL) + row * PANEL + start)
        moved = b.op(f"arith.muli {swizzled}, {b.index(self.lanes)} : index")
        return b.op(f"arith.addi {line}, {moved} : index")


class WarpgroupAttention(AttentionTiles):
    """See the module."""

    query_tile: SwizzledTile

    builder = WarpgroupBuilder
    b: WarpgroupBuilder

    def __init__(
        self, region: Region, parts: AttentionParts, online: OnlineSoftmax, bulk: BulkAttention
    ) -> None:
        self.bulk = bulk
        super().__init__(region, parts, online, bulk.shape, tensor_cores=True)
        assert isinstance(self.products, TensorCoreProducts)
        self.cores = self.products
        self.resident_threads = bulk.shape.threads
        self.dynamic_bytes = bulk.shared_bytes
        self.maps = (bulk.keys.tensor_map, bulk.values.tensor_map)
        kind = parts.key.tensor.type.name
        self.scoring = WarpgroupMultiply(kind, kind, bulk.shape.keys, STEP, "f32")
        self.adding = WarpgroupMultiply(
            kind, kind, bulk.shape.width, STEP, "f32", (False, True), held=True
        )

    def _place_tiles(self) -> None:
        shape, stored = self.shape, self.products.stored
        self.products.keeps = False  # the query is multiplied where it is
        self.buffer, self.memref = self.b.dynamic_shared(ALIGNMENT)
        room = (self.buffer, self.memref)
        self.query_tile = SwizzledTile(
            self, stored, shape.rows, shape.depth, room, self.bulk.query_start
        )

    def _begin(self) -> None:
        b, em = self.b, self.em
        thread = em.variable(b.as_index(b.thread()), b.block)
        warp, lane = em.divmod(thread, WARP)
        last = b.index(self.bulk.multiplying // WARP)
        self.is_copying = b.op(f"arith.cmpi eq, {em.index(warp)}, {last} : index")
        self.is_first_lane = b.op(f"arith.cmpi eq, {em.index(lane)}, {b.index(0)} : index")
        first = b.op(f"arith.cmpi eq, {em.index(thread)}, {b.index(0)} : index")
        with b.when(first):
            for k in range(len(self.maps)):
                b.prefetch_map(f"%map{k}")
            for slot in range(self.bulk.stages):
                place = b.index(slot)
                b.barrier_init(self._barrier(place, 0), 1)
                b.barrier_init(self._barrier(place, 1), 1)
                b.barrier_init(self._barrier(place, 2), self.bulk.multiplying // WARP)
        super()._begin()
        b.wait_for_copies()
        b.fence_stores()  # the query, and barriers just made, as asynchronous accesses see them
        b.barrier()
        group = em.divmod(warp, WARPGROUP // WARP)[0]
        self.own_query = em.index(group * (MULTIPLY_ROWS * LINE_BYTES) + self.bulk.query_start)

    # -- the ring ----------------------------------------------------------------------------------
    def _barrier(self, slot: str, which: int) -> str:
        """The barrier of a place of the ring: for keys, for values, or for what is done with."""
        b, bulk = self.b, self.bulk
        start = bulk.barriers_start + which * bulk.stages * BARRIER_BYTES
        scaled = b.op(f"arith.muli {slot}, {b.index(BARRIER_BYTES)} : index")
        return self._pointer(b.op(f"arith.addi {scaled}, {b.index(start)} : index"))

    def _pointer(self, at: str) -> str:
        return self.b.shared_pointer(self.buffer, self.memref, at, "i8")

    def _tile(self, slot: str, offset: int) -> str:
        """The address of a byte of a place of the ring: keys, then values."""
        b = self.b
        start = b.op(f"arith.muli {slot}, {b.index(self.bulk.stage_bytes)} : index")
        return self._pointer(b.op(f"arith.addi {start}, {b.index(offset)} : index"))

    def _slot(self, tile: str) -> tuple[str, str]:
        """(the place of a tile in the ring, the parity of the phase in which it is there)."""
        b, stages = self.b, self.bulk.stages
        slot = b.op(f"arith.andi {tile}, {b.index(stages - 1)} : index")
        turn = b.op(f"arith.shrui {tile}, {b.index(stages.bit_length() - 1)} : index")
        word = b.op(f"arith.index_cast {turn} : index to i32")
        return slot, b.op(f"arith.andi {word}, {b.constant(1, 'i32')} : i32")

    # -- along the keys ----------------------------------------------------------------------------
    def _along_keys(self, low: str, high: str, carried: Sequence[str]) -> list[str]:
        b = self.b
        with b.choice(self.is_copying, [self.scalar] * len(carried)) as choice:
            with choice.then():
                with b.when(self.is_first_lane):
                    self._copy(low, high)
                choice.yielded = list(carried)
            with choice.otherwise():
                choice.yielded = self._multiply(low, high, carried)
        return choice.results

    def _copy(self, low: str, high: str) -> None:
        """Tiles [low, high), each once its place is free; at first all places are."""
        em, b, bulk = self.em, self.b, self.bulk
        with b.loop(low, high, b.index(1), unroll=1) as loop:
            tile = em.variable(loop.iv, self.tiles)
            slot, parity = self._slot(loop.iv)
            before = b.op(f"arith.xori {parity}, {b.constant(1, 'i32')} : i32")
            b.await_phase(self._barrier(slot, 2), before)
            start = 0
            for which, rows in enumerate((bulk.keys, bulk.values)):
                come = self._barrier(slot, which)
                b.arrive_expecting(come, rows.tile_bytes)
                groups = [self._word(self.group[name]) for name in rows.groups]
                first = self._word(tile * self.shape.keys)
                for panel in range(rows.panels):
                    target = self._tile(slot, start + panel * rows.tensor_map.box_bytes)
                    column = b.constant(panel * PANEL, "i32")
                    b.copy_tile(target, f"%map{which}", [column, first, *groups], come)
                start += rows.tile_bytes

    def _word(self, at: Affine) -> str:
        return self.b.op(f"arith.index_cast {self.em.index(at)} : index to i32")

    def _multiply(self, low: str, high: str, carried: Sequence[str]) -> list[str]:
        """Takes in tiles [low, high) of keys."""
        em, b = self.em, self.b
        with b.loop(low, high, b.index(1), [(n, self.scalar) for n in carried]) as loop:
            tile = em.variable(loop.iv, self.tiles)
            slot, parity = self._slot(loop.iv)
            states, sums = self._unpacked(loop.carried)
            b.await_phase(self._barrier(slot, 0), parity)
            scored = self._scores(slot)
            factors, shrinks = self.absorb_tile(tile, scored, states)
            sums = self.products.shrink(sums, shrinks)
            b.await_phase(self._barrier(slot, 1), parity)
            sums = self._add_values(slot, factors, sums)
            with b.when(self.is_first_lane):
                b.arrive(self._barrier(slot, 2))
            loop.yielded = [n for s in states for n in (s.peak, s.total)] + sums
        return loop.results

    def _scores(self, slot: str) -> list[list[str]]:
        """Products of the query's rows with a tile of keys: by own row, then by own column."""
        b, how = self.b, self.scoring
        sums = [self.number(0.0)] * how.registers
        panel_bytes = self.bulk.keys.tensor_map.box_bytes
        b.fence_sums()
        query = self._pointer(self.own_query)
        for step in range(self.shape.depth // STEP):
            panel, inner = divmod(step * DEPTH_BYTES, LINE_BYTES)
            place = panel * self.shape.rows * LINE_BYTES + inner
            left = b.moved(query, b.constant(place, "i64"))
            right = self._tile(slot, panel * panel_bytes + inner)
            tiles = [b.descriptor(tile, 0, GROUP_BYTES) for tile in (left, right)]
            sums = b.multiply_tiles(how, tiles[0], tiles[1], sums)
        b.commit_products()
        sums = b.await_products(0, sums, "f32")
        columns = range(0, how.registers, 4)
        return [
            [sums[first + 2 * half + k] for first in columns for k in range(2)] for half in range(2)
        ]

    def _add_values(
        self, slot: str, factors: Sequence[Sequence[Value]], sums: Sequence[str]
    ) -> list[str]:
        """The sums with factors times a tile of values added."""
        b, how = self.b, self.adding
        panel_bytes = self.bulk.values.tensor_map.box_bytes
        left = [self.cores.fragments(factors, k) for k in range(0, self.shape.keys, STEP)]
        current = list(sums)
        b.fence_sums()
        for step, words in enumerate(left):
            start = self._tile(slot, self.bulk.keys.tile_bytes + step * STEP * LINE_BYTES)
            right = b.descriptor(start, panel_bytes, GROUP_BYTES)
            current = b.multiply_tiles(how, words, right, current)
        b.commit_products()
        return b.await_products(0, current, "f32")

    # -- what only those that multiply do ----------------------------------------------------------
    def _hidden_are_zero(self, states: Sequence[RowState]) -> str:
        flag = super()._hidden_are_zero(states)
        return self.b.op(f"arith.ori {flag}, {self.is_copying} : i1")

    def _conclude(self, results: Sequence[str]) -> None:
        b = self.b
        multiplies = b.op(f"arith.xori {self.is_copying}, {b.constant(True, 'i1')} : i1")
        with b.when(multiplies):
            super()._conclude(results)
