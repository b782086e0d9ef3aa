"""Dots and convolutions by tiles of the result in registers, operands through shared memory.

A block computes a tile of the result. For each step of the depth all its threads bring a tile of
either operand into shared memory, while the products of the step before are added up: by fused
multiply-adds (4 x 4 elements a thread), or by tensor cores (`mma.sync`, 32 x 32 elements a warp)
where both operands are f16 or both bf16. Elements are pulled as everywhere: what leads to an
operand is computed on the way, a convolution gathers its windows (implicit GEMM), and what follows
is applied before the result is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_gpu.contraction_space import ContractionSpace, contraction_space
from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel, gpu_kernel, stage
from hlo.passes.hlo_to_gpu.tensor_cores import TensorCoreTile
from hlo.passes.hlo_to_gpu.thread_builder import ThreadBuilder
from hlo.passes.hlo_to_gpu.thread_emitter import ThreadEmitter
from hlo.passes.hlo_to_gpu.tile_product import FusedMultiplyTile, Operand, TileProduct, TileShape
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.builder import Builder, Value
from hlo.passes.hlo_to_loops.element_types import Kind
from hlo.passes.hlo_to_loops.elemental.contractions import product_type
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.loop_kernel import argument_buffers

SMALLEST_PRODUCT = 4096  # products below which an element a thread does as well
SMALLEST_SIDE = 8
SMALLEST_DEPTH = 8
ENOUGH_BLOCKS = 128  # of large tiles, to keep a GPU busy
SLAB = 64  # rows of a tile that are stored at a time


def emit_matrix_tiles(region: Region) -> GpuKernel | None:
    """The kernel of a dot or convolution and elementwise ops after it; None if it is small."""
    nodes = [n for n in region.nodes if n.name in ("convolution", "dot_general")]
    if len(nodes) != 1 or any(n.name in ("reduce", "reduce_window") for n in region.nodes):
        return None
    node = nodes[0]
    if any(r.size != node.results[0].size for r in region.results) or node.results[0].size == 0:
        return None
    if node.results[0].type.is_complex or node.results[0].type.kind is Kind.BOOL:
        return None
    space = contraction_space(node)
    m, n, k = space.rows, space.columns, space.depth
    if min(m, n) < SMALLEST_SIDE or k < SMALLEST_DEPTH or m * n * k < SMALLEST_PRODUCT:
        return None
    return _Tiles(region, node, space).emit()


def tensor_core_type(node: Node) -> str | None:
    """The type that tensor cores multiply: f16 or bf16, if both operands are of it."""
    kinds = {o.type.name for o in node.operands}
    if len(kinds) != 1 or node.results[0].type.name not in ("f16", "bf16", "f32"):
        return None
    name = kinds.pop()
    return name if name in ("f16", "bf16") else None


def walks_depth(space: ContractionSpace, region: Region, side: str) -> bool:
    """Whether neighbours in memory of an operand differ in the depth rather than in the side."""
    inputs, _ = argument_buffers(region)
    em = Emitter(Builder(), inputs)
    depth = em.variable("%depth", space.depth) if space.depth > 1 else ZERO
    extent = space.rows if side == "left" else space.columns
    across = em.variable("%across", extent) if extent > 1 else ZERO
    kind = product_type(space.node.results[0].type)
    get = space.left if side == "left" else space.right
    get(em, ZERO, across, depth, kind)
    offsets = [o for read in em.loaded.values() for o in read]
    if any(o.coefficient("%across") == 1 for o in offsets):
        return False
    if any(o.coefficient("%depth") == 1 for o in offsets):
        return True
    # Divided up: the last depth dimension is the one that runs along memory, as a rule.
    return side == "left"


@dataclass
class _Tiles:
    region: Region
    node: Node
    space: ContractionSpace

    def emit(self) -> GpuKernel:
        space = self.space
        name = tensor_core_type(self.node)
        shape = self._shape(name)
        kind = product_type(self.node.results[0].type)
        self.inputs, self.outputs = argument_buffers(self.region)
        self.em = ThreadEmitter(ThreadBuilder(shape.threads), self.inputs)
        self.kind, self.shape = kind, shape
        left = Operand(walks_depth(space, self.region, "left"), shape.rows, shape.depth)
        right = Operand(walks_depth(space, self.region, "right"), shape.columns, shape.depth)
        product: TileProduct = (
            FusedMultiplyTile(self.em, shape, kind, left, right)
            if name is None
            else TensorCoreTile(self.em, shape, name, left, right)
        )
        batch, row, column = self._block()
        accumulators = self._sum(product, batch, row, column)
        written = self._store(product, accumulators, batch, row, column)
        blocks = space.batches * self._tiles(space.rows, shape.rows)
        blocks *= self._tiles(space.columns, shape.columns)
        buffers = [*self.inputs.values(), *self.outputs]
        in_place = tuple(
            i
            for i, buffer in enumerate(self.inputs.values())
            if self.em.loaded.get(buffer, set()) <= written
        )
        return gpu_kernel(
            [stage(self.em.b, buffers, self.outputs, blocks * shape.threads, shape.threads)],
            list(self.inputs.values()), self.outputs, in_place=in_place,
        )  # fmt: skip

    def _shape(self, name: str | None) -> TileShape:
        space = self.space
        area = space.rows * space.columns * space.batches
        if name is not None:
            large = space.rows >= 128 and area >= ENOUGH_BLOCKS * 128 * 64
            return TileShape(128, 64, 32, 256) if large else TileShape(64, 64, 32, 128)
        wide = product_type(self.node.results[0].type).bits > 32
        large = min(space.rows, space.columns) >= 48 and area >= ENOUGH_BLOCKS * 64 * 64
        return TileShape(64, 64, 16, 256) if large and not wide else TileShape(32, 32, 16, 256)

    @staticmethod
    def _tiles(extent: int, size: int) -> int:
        return -(-extent // size)

    def _block(self) -> tuple[Affine, Affine, Affine]:
        """(batch, first row, first column) of this block's tile."""
        em, b, space, shape = self.em, self.em.b, self.space, self.shape
        down, across = (
            self._tiles(space.rows, shape.rows),
            self._tiles(space.columns, shape.columns),
        )
        blocks = space.batches * down * across
        number = em.name_index(b.as_index(b.block_number(blocks)), blocks)
        rest, column = em.divmod(number, across)
        batch, row = em.divmod(rest, down)
        return batch, row * shape.rows, column * shape.columns

    # -- the sum -----------------------------------------------------------------------------------
    def _sum(self, product: TileProduct, batch: Affine, row: Affine, column: Affine) -> list[str]:
        """Runs along the depth; gives the accumulators of this thread."""
        em, b, space, shape = self.em, self.em.b, self.space, self.shape
        steps = self._tiles(space.depth, shape.depth)
        first = self._fetch(product, batch, row, column, ZERO)
        types = [*product.fetched_types, *product.accumulator_types]
        carried = list(zip([*first, *product.zeros()], types, strict=True))
        with b.loop(b.index(0), b.index(steps), b.index(1), carried) as loop:
            count = len(product.fetched_types)
            fetched, held = loop.carried[:count], loop.carried[count:]
            at = em.variable(loop.iv, steps)
            parity = b.op(f"arith.andi {loop.iv}, {b.index(1)} : index")
            half = em.name_index(parity, 2)
            product.put(half, fetched)
            b.barrier()
            following = (at + 1) * shape.depth
            coming = self._fetch(product, batch, row, column, following)
            loop.yielded = [*coming, *product.multiply(half, held)]
        return loop.results[len(product.fetched_types) :]

    def _fetch(
        self, product: TileProduct, batch: Affine, row: Affine, column: Affine, depth: Affine
    ) -> list[str]:
        """This thread's elements of the tiles of both operands at a depth; zeros past the ends."""
        em, b, space = self.em, self.em.b, self.space
        fetched: list[str] = []
        sides = (
            (product.left, row, space.rows, space.left),
            (product.right, column, space.columns, space.right),
        )
        for operand, start, extent, get in sides:
            for across, along in product.places(operand):
                place, inside = self.em.clamped(start + across, extent)
                deep, exists = self.em.clamped(depth + along, space.depth)
                value = get(em, batch, place, deep, self.kind)
                value = elementwise.convert(b, value, product.factor_type(self.kind))
                held = product.packed(value)
                for flag in (inside, exists):
                    if flag is not None:
                        zero = b.constant(0, product.stored)
                        held = b.op(f"arith.select {flag}, {held}, {zero} : {product.stored}")
                fetched.append(held)
        return fetched

    # -- the result --------------------------------------------------------------------------------
    def _store(
        self, product: TileProduct, accumulators: Sequence[str], batch: Affine, row: Affine,
        column: Affine,
    ) -> set[Affine]:  # fmt: skip
        """Hands the tile over through shared memory, so that neighbours are stored together."""
        em, b, shape = self.em, self.em.b, self.shape
        slab = min(SLAB, shape.rows)
        stride = shape.columns + 4
        buffer, memref = b.shared(slab * stride, self.kind.register)
        written: set[Affine] = set()
        for first in range(0, shape.rows, slab):
            if first:
                b.barrier()
            product.spill(accumulators, first, slab, stride, buffer, memref)
            b.barrier()
            thread = b.as_index(b.thread())
            size, step = b.index(slab * shape.columns), b.index(shape.threads)
            with b.loop(thread, size, step) as loop:
                element = em.variable(loop.iv, slab * shape.columns)
                down, across = em.divmod(element, shape.columns)
                at = em.index(down * stride + across)
                self._finish(
                    lambda at=at: b.load(f"memref.load {buffer}[{at}] : {memref}"),
                    batch, row + first + down, column + across, written,
                )  # fmt: skip
        return written

    def _finish(
        self, load: Callable[[], str], batch: Affine, row: Affine, column: Affine,
        written: set[Affine],
    ) -> None:  # fmt: skip
        """One element: what follows the sum is applied, and the results stored."""
        em, b, space = self.em, self.em.b, self.space
        held: str | None = None
        places: list[Affine] = []
        for index, extent in ((row, space.rows), (column, space.columns)):
            place, inside = self.em.clamped(index, extent)
            places.append(place)
            if inside is not None:
                held = inside if held is None else b.op(f"arith.andi {held}, {inside} : i1")

        def finish() -> None:
            result = self.node.results[0]
            dims = space.position(em, batch, places[0], places[1])
            offset = Position.of_dims(dims).linear(result.shape)
            total = Value(self.kind, (load(),))
            where = Position.of_offset(offset)
            em.pin(result, where, elementwise.convert(b, total, result.type))
            values = [em.element(root, where) for root in self.region.results]
            written.add(offset)
            for value, buffer in zip(values, self.outputs, strict=True):
                em.store(value, buffer, offset)

        if held is None:
            finish()
            return
        with b.when(held):
            finish()
