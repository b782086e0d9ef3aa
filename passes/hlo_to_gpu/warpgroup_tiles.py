"""Dots on sm_90a: products by warpgroups, of tiles that one warp copies in bulk.

A ring in shared memory holds tiles of both operands, 128 bytes of the depth each, swizzled as the
products read them. For each place of the ring there are two barriers: one whose phase ends when a
tile has come, one when all warps have multiplied it. One lane of the last warp waits for the latter
and begins the next copy; the warpgroups before it wait for the former, multiply, and give the tile
back once the products are done, which is a step later: so that products follow each other without a
gap. What is past the ends of an operand is copied as zero. What follows is applied as for all
products (`tile_result.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo.gpu.tensor_map import TensorMap
from hlo.passes.hlo_to_gpu.contraction_space import ContractionSpace
from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel, gpu_kernel, stage
from hlo.passes.hlo_to_gpu.operand_maps import MappedOperand
from hlo.passes.hlo_to_gpu.thread_builder import WARP
from hlo.passes.hlo_to_gpu.thread_emitter import ThreadEmitter
from hlo.passes.hlo_to_gpu.tile_result import Corner, TileResult
from hlo.passes.hlo_to_gpu.warpgroup_builder import (
    BARRIER_BYTES,
    DEPTH_BYTES,
    MULTIPLY_ROWS,
    WarpgroupBuilder,
    WarpgroupMultiply,
)
from hlo.passes.hlo_to_gpu.warpgroup_shapes import ALIGNMENT, WarpgroupShape
from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.elemental.contractions import product_type
from hlo.passes.hlo_to_loops.graph import Region
from hlo.passes.hlo_to_loops.kernel_function import argument_buffers

LINE_BYTES = 128  # of the depth of a tile, or of a panel of its side
GROUP_BYTES = 8 * LINE_BYTES  # lines that the swizzle's pattern covers
TOGETHER = 8  # tiles of a column whose blocks run side by side: their operands stay in the cache


@dataclass(frozen=True)
class WarpgroupProduct:
    """What is multiplied.

    Attributes:
        how: the instruction.
        promoted: see `warpgroup_shapes.Problem`.
    """

    space: ContractionSpace
    operands: tuple[MappedOperand, MappedOperand]
    shape: WarpgroupShape
    how: WarpgroupMultiply
    promoted: bool

    @property
    def step(self) -> int:
        """Elements of the depth of a tile."""
        return self.operands[0].line

    @property
    def steps(self) -> int:
        return -(-self.space.depth // self.step)

    def side(self, left: bool) -> int:
        """Rows or columns of a tile."""
        return self.shape.rows if left else self.shape.columns

    def maps(self) -> tuple[TensorMap, TensorMap]:
        """Of tiles along the depth, or of panels of 128 bytes of the side."""
        left, right = (
            operand.tiles(self.side(i == 0) if operand.along_depth else self.step)
            for i, operand in enumerate(self.operands)
        )
        return left, right


def emit_warpgroup_tiles(region: Region, product: WarpgroupProduct) -> GpuKernel:
    """The kernel of a dot and elementwise ops after it."""
    return _Tiles(region, product).emit()


class _Tiles:
    def __init__(self, region: Region, product: WarpgroupProduct) -> None:
        self.region, self.product, self.shape = region, product, product.shape
        self.space = product.space
        self.inputs, self.outputs = argument_buffers(region)
        self.b = WarpgroupBuilder(self.shape.threads)
        self.em = ThreadEmitter(self.b, self.inputs)
        self.kind = product_type(self.space.node.results[0].type)
        self.total = product.how.total

    def emit(self) -> GpuKernel:
        b, shape = self.b, self.shape
        self.buffer, self.memref = b.dynamic_shared(ALIGNMENT)
        thread = self.em.variable(b.as_index(b.thread()), shape.threads)
        self.warp, self.lane = self.em.divmod(thread, WARP)
        corner = self._corner()
        self._make_barriers()
        result = TileResult(self.em, self.region, self.space, self.kind, self.outputs)
        last = b.index(shape.multiplying // WARP)
        warp = self.em.index(self.warp)
        with b.when(b.op(f"arith.cmpi eq, {warp}, {last} : index")), b.when(self._is_first_lane()):
            self._copy(corner)
        with b.when(b.op(f"arith.cmpi ult, {warp}, {last} : index")):
            sums = self._multiply()
            b.barrier(shape.multiplying)  # the tiles make room for the result
            result.store(
                lambda *slab: self._spill(sums, *slab), (shape.rows, shape.columns), shape.rows,
                shape.multiplying, (self.buffer, self.memref), corner,
            )  # fmt: skip
        buffers = [*self.inputs.values(), *self.outputs]
        copied = {operand.argument for operand in self.product.operands}
        in_place = tuple(
            i
            for i, buffer in enumerate(self.inputs.values())
            if i not in copied and self.em.loaded.get(buffer, set()) <= result.written
        )
        made = stage(
            b, buffers, self.outputs, self._blocks * shape.threads, shape.threads, shape.resident,
            dynamic_bytes=shape.shared_bytes, maps=self.product.maps(),
        )  # fmt: skip
        return gpu_kernel([made], list(self.inputs.values()), self.outputs, in_place=in_place)

    # -- where -------------------------------------------------------------------------------------
    @property
    def _grid(self) -> tuple[int, int]:
        """Tiles down and across."""
        space, shape = self.space, self.shape
        return -(-space.rows // shape.rows), -(-space.columns // shape.columns)

    @property
    def _blocks(self) -> int:
        down, across = self._grid
        return self.space.batches * down * across

    def _corner(self) -> Corner:
        em, b, shape = self.em, self.b, self.shape
        down, across = self._grid
        number = em.name_index(b.as_index(b.block_number(self._blocks)), self._blocks)
        together = TOGETHER if down % TOGETHER == 0 else 1
        rest, inner = em.divmod(number, together)
        rest, column = em.divmod(rest, across)
        batch, outer = em.divmod(rest, down // together)
        row = outer * together + inner
        return Corner(batch, row * shape.rows, column * shape.columns)

    def _is_first_lane(self) -> str:
        b = self.b
        return b.op(f"arith.cmpi eq, {self.em.index(self.lane)}, {b.index(0)} : index")

    def _pointer(self, at: str) -> str:
        """The address of a byte of shared memory; `at` is an `index`."""
        return self.b.shared_pointer(self.buffer, self.memref, at, "i8")

    def _barrier(self, slot: str, second: bool) -> str:
        """The barrier of a place of the ring: for what has come, or for what is done with."""
        b = self.b
        scaled = b.op(f"arith.muli {slot}, {b.index(BARRIER_BYTES)} : index")
        first = self.shape.ring_bytes + (self.shape.stages * BARRIER_BYTES if second else 0)
        return self._pointer(b.op(f"arith.addi {scaled}, {b.index(first)} : index"))

    def _make_barriers(self) -> None:
        b, shape = self.b, self.shape
        thread = b.as_index(b.thread())
        with b.when(b.op(f"arith.cmpi eq, {thread}, {b.index(0)} : index")):
            for k in range(len(self.product.operands)):
                b.prefetch_map(f"%map{k}")
            for slot in range(shape.stages):
                b.barrier_init(self._barrier(b.index(slot), False), 1)
                b.barrier_init(self._barrier(b.index(slot), True), shape.multiplying // WARP)
            b.fence_barriers()
        b.barrier()

    def _next(self, slot: str, parity: str) -> tuple[str, str]:
        """The next place of the ring, and its parity, which turns where the ring begins again."""
        b = self.b
        name = b.op(f"arith.addi {slot}, {b.index(1)} : index")
        wraps = b.op(f"arith.cmpi eq, {name}, {b.index(self.shape.stages)} : index")
        other = b.op(f"arith.xori {parity}, {b.constant(1, 'i32')} : i32")
        return (
            b.op(f"arith.select {wraps}, {b.index(0)}, {name} : index"),
            b.op(f"arith.select {wraps}, {other}, {parity} : i32"),
        )

    # -- copies ------------------------------------------------------------------------------------
    def _copy(self, corner: Corner) -> None:
        """All tiles, each once its place is free; at first all places are."""
        em, b, product = self.em, self.b, self.product
        carried = [(b.index(0), "index"), (b.constant(1, "i32"), "i32")]
        with b.loop(b.index(0), b.index(product.steps), b.index(1), carried) as loop:
            slot, parity = loop.carried
            depth = em.variable(loop.iv, product.steps) * product.step
            b.await_phase(self._barrier(slot, True), parity)
            come = self._barrier(slot, False)
            b.arrive_expecting(come, self.shape.stage_bytes)
            for i, (operand, tensor_map) in enumerate(
                zip(product.operands, product.maps(), strict=True)
            ):
                side = corner.column if i else corner.row
                panel = tensor_map.box[0]
                count = 1 if operand.along_depth else product.side(i == 0) // panel
                for k in range(count):
                    inner, outer = side + k * panel, depth
                    if operand.along_depth:
                        inner, outer = depth, side
                    target = self._tile(i, slot, k * tensor_map.box_bytes)
                    coordinates = [self._word(at) for at in (inner, outer)]
                    coordinates += self._batches(operand, corner.batch)
                    b.copy_tile(target, f"%map{i}", coordinates, come)
            loop.yielded = list(self._next(slot, parity))

    def _word(self, at: Affine) -> str:
        return self.b.op(f"arith.index_cast {self.em.index(at)} : index to i32")

    def _batches(self, operand: MappedOperand, batch: Affine) -> list[str]:
        """The coordinates of a batch, innermost first."""
        found: list[str] = []
        rest = batch
        for size in reversed(operand.batches[1:]):
            rest, at = self.em.divmod(rest, size)
            found.append(self._word(at))
        return [*found, self._word(rest)] if operand.batches else []

    def _tile(self, i: int, slot: str, offset: int) -> str:
        """The address of a byte of the tile of an operand at a place of the ring."""
        b, shape = self.b, self.shape
        start = b.op(f"arith.muli {slot}, {b.index(shape.stage_bytes)} : index")
        offset += shape.rows * LINE_BYTES if i else 0
        return self._pointer(b.op(f"arith.addi {start}, {b.index(offset)} : index"))

    # -- products ----------------------------------------------------------------------------------
    def _descriptor(self, i: int, slot: str, k: int) -> str:
        """Names an instruction's depth of a tile; of the left one the rows of this warpgroup."""
        operand, b = self.product.operands[i], self.b
        panel = self.product.step * LINE_BYTES  # of the side, where lines are along it
        tile = self._tile(i, slot, 0)
        if i == 0 and self.shape.groups > 1:
            each = MULTIPLY_ROWS * LINE_BYTES if operand.along_depth else panel
            group = self.em.divmod(self.warp, 4)[0]
            own = self.em.index(group * each)
            tile = b.moved(tile, b.op(f"arith.index_cast {own} : index to i64"))
        depth = k * (DEPTH_BYTES if operand.along_depth else self.product.how.depth * LINE_BYTES)
        if depth:
            tile = b.moved(tile, b.constant(depth, "i64"))
        return b.descriptor(tile, 0 if operand.along_depth else panel, GROUP_BYTES)

    def _products(self, slot: str, sums: Sequence[str]) -> list[str]:
        """Begins to add the products of the tiles at a place of the ring."""
        b, how = self.b, self.product.how
        current = list(sums)
        b.fence_sums()
        for k in range(LINE_BYTES // DEPTH_BYTES):
            left, right = (self._descriptor(i, slot, k) for i in range(2))
            current = b.multiply_tiles(how, left, right, current)
        b.commit_products()
        return current

    def _free(self, slot: str) -> None:
        """Gives a place of the ring back; a lane of each warp does."""
        with self.b.when(self._is_first_lane()):
            self.b.arrive(self._barrier(slot, True))

    def _multiply(self) -> list[str]:
        """This thread's sums."""
        return self._promoted() if self.product.promoted else self._chained()

    def _chained(self) -> list[str]:
        """Products of a step begin before those of the step before are done."""
        b, count = self.b, self.product.how.registers
        zeros = [b.constant(0, self.total)] * count
        zero, parity = b.index(0), b.constant(0, "i32")
        b.await_phase(self._barrier(zero, False), parity)
        first = self._products(zero, zeros)
        slot, parity = self._next(zero, parity)
        carried = [(name, self.total) for name in first]
        carried += [(zero, "index"), (slot, "index"), (parity, "i32")]
        steps = b.index(self.product.steps)
        with b.loop(b.index(1), steps, b.index(1), carried) as loop:
            before, slot, parity = loop.carried[count:]
            b.await_phase(self._barrier(slot, False), parity)
            sums = self._products(slot, loop.carried[:count])
            b.await_products(1)
            self._free(before)
            loop.yielded = [*sums, slot, *self._next(slot, parity)]
        return b.await_products(0, loop.results[:count], self.total)

    def _promoted(self) -> list[str]:
        """Products of a step are summed from zero, and added to sums that round as f32 does."""
        b, count = self.b, self.product.how.registers
        zeros = [b.constant(0, self.total)] * count
        carried = [(name, self.total) for name in zeros]
        carried += [(b.index(0), "index"), (b.constant(0, "i32"), "i32")]
        with b.loop(b.index(0), b.index(self.product.steps), b.index(1), carried) as loop:
            slot, parity = loop.carried[count:]
            b.await_phase(self._barrier(slot, False), parity)
            done = b.await_products(0, self._products(slot, zeros), self.total)
            self._free(slot)
            sums = [
                b.op(f"arith.addf {held}, {name} : {self.total}")
                for held, name in zip(loop.carried[:count], done, strict=True)
            ]
            loop.yielded = [*sums, *self._next(slot, parity)]
        return loop.results[:count]

    # -- the result --------------------------------------------------------------------------------
    def _spill(
        self, sums: Sequence[str], first: int, rows: int, stride: int, buffer: str, memref: str
    ) -> None:
        """Stores all sums: of each 8 columns two, of two rows 8 apart."""
        em, b = self.em, self.b
        assert first == 0 and rows == self.shape.rows
        group, pair = em.divmod(self.lane, 4)
        row = self.warp * 16 + group
        for k, name in enumerate(sums):
            own = row + 8 * (k // 2 % 2)
            at = em.index(own * stride + pair * 2 + (8 * (k // 4) + k % 2))
            b.effect(f"memref.store {name}, {buffer}[{at}] : {memref}")
