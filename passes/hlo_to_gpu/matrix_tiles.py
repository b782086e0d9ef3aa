"""Dots and convolutions by tiles of the result in registers, operands through shared memory.

A block computes a tile of the result. For each step of the depth all its threads bring a tile of
either operand into shared memory, while the products of steps before are added up: by tensor cores
for the types they multiply, by fused multiply-adds otherwise. An operand that lies in memory as
tiles do is copied by `cp.async`, two steps ahead. Elements of any other are pulled as everywhere, a
step ahead: what leads to the operand is computed on the way, a convolution gathers its windows
(implicit GEMM). What follows is applied before the result is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from hlo.passes.hlo_to_gpu.contraction_space import ContractionSpace, contraction_space
from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel, gpu_kernel, stage
from hlo.passes.hlo_to_gpu.tensor_cores import MULTIPLIERS, DoubleTile, TensorCoreTile
from hlo.passes.hlo_to_gpu.thread_builder import ThreadBuilder
from hlo.passes.hlo_to_gpu.thread_emitter import ThreadEmitter
from hlo.passes.hlo_to_gpu.tile_product import (
    SLOTS,
    STAGES,
    FusedMultiplyTile,
    Stored,
    TileProduct,
    TileShape,
)
from hlo.passes.hlo_to_gpu.tile_result import Corner, TileResult
from hlo.passes.hlo_to_gpu.tile_store import Operand, TileStore
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Builder
from hlo.passes.hlo_to_loops.element_types import Kind, element_type
from hlo.passes.hlo_to_loops.elemental.contractions import product_type
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.kernel_function import argument_buffers

SMALLEST_PRODUCT = 4096  # products below which an element a thread does as well
SMALLEST_SIDE = 8
SMALLEST_DEPTH = 8
ENOUGH_BLOCKS = 128  # of large tiles, to keep a GPU busy
SLAB = 64  # rows of a tile that are stored at a time
LINE_BYTES = 64  # of the depth of a tile on tensor cores
# f16, and types all of whose numbers it has.
HALVES = {
    "f16", "f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E3M4", "f8E4M3", "f8E4M3B11FNUZ", "f8E4M3FN",
    "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ",
}  # fmt: skip
EIGHT_BIT_FLOATS = {"f8E4M3FN": "e4m3", "f8E5M2": "e5m2"}  # of tensor cores, and their names in PTX


def matrix_tiles(
    region: Region, tf32: bool = False, byte_floats: bool = False
) -> MatrixTiles | None:
    """The product of a dot or convolution and elementwise ops after it; None if it is small.

    Args:
        tf32: as of `multiplier_of`.
        byte_floats: whether `mma.sync` multiplies 8-bit floats.
    """
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
    name = multiplier_of(node, tf32)
    kinds = {EIGHT_BIT_FLOATS.get(operand.type.name, "") for operand in node.operands}
    if byte_floats and name == "f16" and len(kinds) == 1:
        name = kinds.pop() or name
    return MatrixTiles(region, node, space, name)


def multiplier_of(node: Node, tf32: bool) -> str | None:
    """The key of `MULTIPLIERS`, or f64, of the tensor cores' product of a dot or convolution.

    Args:
        tf32: whether f32 factors may be rounded to tf32, where the program asks for no precision.
    """
    kinds = {o.type.name for o in node.operands}
    total = product_type(node.results[0].type).name
    if total == "f32" and kinds <= HALVES:
        return "f16"  # which holds what they hold
    if len(kinds) != 1:
        return None
    kind = kinds.pop()
    if kind == "f32" and total == "f32":
        asked = node.attributes.get("precision_config") or ()
        return "tf32" if tf32 and all(word == "DEFAULT" for word in asked) else None
    found = {("bf16", "f32"): "bf16", ("f64", "f64"): "f64", ("i8", "i32"): "s8"}
    found |= {("ui8", "i32"): "u8", ("ui8", "ui32"): "u8", ("i8", "ui32"): "s8"}
    return found.get((kind, total))


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


class MatrixTiles:
    """A product by tiles of the warps or threads of a block.

    Attributes:
        node: the dot or convolution.
        inputs: of the kernel.
        shape: of the tiles.
    """

    def __init__(
        self, region: Region, node: Node, space: ContractionSpace, name: str | None
    ) -> None:
        """Args:
        name: as of `multiplier_of`.
        """
        self.region, self.node, self.space, self.name = region, node, space, name
        self.inputs, self.outputs = argument_buffers(region)
        self.kind = product_type(node.results[0].type)
        self.shape = self._shape()
        self.em = ThreadEmitter(ThreadBuilder(self.shape.threads), self.inputs)

    def emit(self) -> GpuKernel:
        """The kernel."""
        space, shape = self.space, self.shape
        product = self._product()
        slab = min(SLAB, shape.rows)
        taken = TileResult.slab_bytes(slab, shape.columns, self.kind)
        raw = self.em.b.shared(max(product.store_bytes, taken), "i8")
        product.place(*raw)
        batch, row, column = self._block()
        accumulators = self._sum(product, batch, row, column)
        self.em.b.barrier()  # the tiles make room for the result
        result = TileResult(self.em, self.region, space, self.kind, self.outputs)
        result.store(
            partial(product.spill, accumulators), (shape.rows, shape.columns), slab, shape.threads,
            raw, Corner(batch, row, column),
        )  # fmt: skip
        blocks = space.batches * self._tiles(space.rows, shape.rows)
        blocks *= self._tiles(space.columns, shape.columns)
        buffers = [*self.inputs.values(), *self.outputs]
        in_place = tuple(
            i
            for i, buffer in enumerate(self.inputs.values())
            if buffer not in self._copied(product)
            and self.em.loaded.get(buffer, set()) <= result.written
        )
        return gpu_kernel(
            [stage(self.em.b, buffers, self.outputs, blocks * shape.threads, shape.threads)],
            list(self.inputs.values()), self.outputs, in_place=in_place,
        )  # fmt: skip

    def _product(self) -> TileProduct:
        shape = self.shape
        if self.name is None:
            stored = Stored(self.kind.register, self.kind)
            return FusedMultiplyTile(self.em, shape, self.kind, self._operands(stored))
        if self.name == "f64":
            return DoubleTile(self.em, shape, self._operands(Stored("f64", self.kind)))
        how = MULTIPLIERS[self.name]
        stored = Stored(how.stored, element_type(how.factor))
        return TensorCoreTile(self.em, shape, how, self._operands(stored))

    def _operands(self, stored: Stored) -> list[Operand]:
        found: list[Operand] = []
        bytewise = stored.scalar == "i8"  # whose fragments are loaded along the depth alone
        for left, size in ((True, self.shape.rows), (False, self.shape.columns)):
            source = self.space.in_memory(left, self.inputs)
            if source is not None and not stored.takes(source.tensor.type):
                source = None
            if source is not None and bytewise and self.name and not source.along_depth:
                source = None
            if source is not None:
                along = source.along_depth
            else:
                along = walks_depth(self.space, self.region, "left" if left else "right")
            if bytewise and self.name:
                along = True
            found.append(Operand(along, size, self.shape.depth, source))
        return found

    def _is_copied(self, left: bool) -> bool:
        """Whether an operand of bytes is copied as it lies in memory."""
        source = self.space.in_memory(left, self.inputs)
        return source is not None and source.along_depth

    def _copied(self, product: TileProduct) -> set[Buffer]:
        sources = [o.source for o in product.operands if o.source is not None]
        return {self.inputs[source.tensor] for source in sources}

    def _shape(self) -> TileShape:
        space, name = self.space, self.name
        area = space.rows * space.columns * space.batches
        narrow = min(space.rows, space.columns)
        large = narrow > 64 and area >= ENOUGH_BLOCKS * 128 * 128
        if name == "f64":
            return TileShape(64, 64, LINE_BYTES // 8, 128)
        if name is not None:
            depth = LINE_BYTES // element_type(MULTIPLIERS[name].factor).memory_bytes
            if depth == LINE_BYTES and not all(map(self._is_copied, (True, False))):
                depth //= 2  # bytes are fetched one by one: registers hold half as many
            if large:
                return TileShape(128, 128, depth, 256)
            wide = space.rows >= 128 and area >= ENOUGH_BLOCKS * 128 * 64
            return TileShape(128, 64, depth, 256) if wide else TileShape(64, 64, depth, 128)
        if product_type(self.node.results[0].type).memory_bytes > 4:
            return TileShape(32, 32, 16, 256)
        if large:
            return TileShape(128, 128, 16, 256)
        some = narrow >= 48 and area >= ENOUGH_BLOCKS * 64 * 64
        return TileShape(64, 64, 16, 256) if some else TileShape(32, 32, 16, 256)

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
        """Runs along the depth; gives the accumulators of this thread.

        Copies are begun two steps ahead, into the tiles that were done with before the last
        barrier; what comes through registers is fetched a step ahead.
        """
        em, b, space, shape = self.em, self.em.b, self.space, self.shape
        steps = self._tiles(space.depth, shape.depth)
        start = Corner(batch, row, column)
        copies = any(o.source is not None for o in product.operands)
        if copies:
            for step in range(STAGES - 1):
                if step < steps:
                    self._copy(product, start, ZERO + step * shape.depth, ZERO + step)
                b.commit_copies()
        first = self._fetch(product, start, ZERO)
        count = len(product.fetched_types)
        types = [*product.fetched_types, *product.accumulator_types, "index", "index"]
        initial = [*first, *product.zeros(), b.index(0), b.index(STAGES - 1)]
        carried = list(zip(initial, types, strict=True))
        with b.loop(b.index(0), b.index(steps), b.index(1), carried) as loop:
            fetched, held = loop.carried[:count], loop.carried[count:-2]
            at = em.variable(loop.iv, steps)
            parity = em.name_index(b.op(f"arith.andi {loop.iv}, {b.index(1)} : index"), SLOTS)
            full, free = (em.variable(name, STAGES) for name in loop.carried[-2:])
            self._put(product, parity, fetched)
            if copies:
                b.wait_for_copies(STAGES - 2)
            b.barrier()
            if copies:
                coming = b.op(f"arith.addi {loop.iv}, {b.index(STAGES - 1)} : index")
                with b.when(b.op(f"arith.cmpi ult, {coming}, {b.index(steps)} : index")):
                    ahead = em.variable(coming, steps)
                    self._copy(product, start, ahead * shape.depth, free)
                b.commit_copies()
            following = self._fetch(product, start, (at + 1) * shape.depth)
            slots = [parity if o.source is None else full for o in product.operands]
            done = product.multiply(slots, held)
            turned = [self._next(name) for name in loop.carried[-2:]]
            loop.yielded = [*following, *done, *turned]
        return loop.results[count:-2]

    def _next(self, slot: str) -> str:
        b = self.em.b
        name = b.op(f"arith.addi {slot}, {b.index(1)} : index")
        last = b.op(f"arith.cmpi eq, {name}, {b.index(STAGES)} : index")
        return b.op(f"arith.select {last}, {b.index(0)}, {name} : index")

    def _copy(self, product: TileProduct, start: Corner, depth: Affine, slot: Affine) -> None:
        """Begins to copy the tiles of operands that are copied."""
        sides = (start.row, start.column)
        for operand, store, side in zip(product.operands, product.stores, sides, strict=True):
            if operand.source is not None:
                buffer = self.inputs[operand.source.tensor]
                store.copy(slot, start.batch, side, depth, self.space, buffer)

    def _fetched(self, product: TileProduct) -> list[tuple[bool, TileStore]]:
        """(whether it is the left operand, its tiles) of operands that come through registers."""
        stores = zip((True, False), product.operands, product.stores, strict=True)
        return [(left, store) for left, operand, store in stores if operand.source is None]

    def _put(self, product: TileProduct, slot: Affine, fetched: Sequence[str]) -> None:
        values = iter(fetched)
        for _, store in self._fetched(product):
            for across, along in store.places():
                store.put(slot, across, along, next(values))

    def _fetch(self, product: TileProduct, start: Corner, depth: Affine) -> list[str]:
        """This thread's elements of the tiles at a depth; zeros past the ends."""
        em, b, space = self.em, self.em.b, self.space
        fetched: list[str] = []
        for left, store in self._fetched(product):
            get = space.left if left else space.right
            side, extent = start.row if left else start.column, space.extent_of(left)
            for across, along in store.places():
                place, inside = em.clamped(side + across, extent)
                deep, exists = em.clamped(depth + along, space.depth)
                value = get(em, start.batch, place, deep, self.kind)
                held = product.packed(elementwise.convert(b, value, product.stored.factor))
                for flag in (inside, exists):
                    if flag is not None:
                        zero = b.constant(0, store.scalar)
                        held = b.op(f"arith.select {flag}, {held}, {zero} : {store.scalar}")
                fetched.append(held)
        return fetched
