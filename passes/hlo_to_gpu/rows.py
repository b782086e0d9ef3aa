"""Kernels over the elements of their results: a thread an element, or a group of threads a row."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from hlo.passes.cost.op_cost import work
from hlo.passes.hlo_to_gpu.gpu_kernel import LARGEST_BLOCK, GpuKernel, gpu_kernel, stage
from hlo.passes.hlo_to_gpu.thread_builder import WARP, ThreadBuilder
from hlo.passes.hlo_to_gpu.thread_emitter import Chunk, Group, ThreadEmitter
from hlo.passes.hlo_to_gpu.transposes import emit_transposed
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position, merge_cuts, suffix_products
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.emitter import NotVectorizableError
from hlo.passes.hlo_to_loops.graph import Region
from hlo.passes.hlo_to_loops.joint_folds import Folds
from hlo.passes.hlo_to_loops.kernel_function import argument_buffers
from hlo.passes.hlo_to_loops.loop_kernel import FOLDS, has_fold, same_row
from hlo.passes.hlo_to_loops.work import work_of

BLOCK = 256
SMALLEST_VECTOR_KERNEL = 1024  # threads that a kernel keeps at least when it takes vectors
LARGEST_VECTOR_WORK = (
    24  # element operations above which vectors cost more registers than they save
)
FEW_OF_A_FOLD = 16  # results of a fold for each of its elements, beyond which threads have one each
FEW_RESULTS = 4096  # results whose scattered reads are worth a group of threads each


def emit_elements(region: Region, most_threads: int = LARGEST_BLOCK) -> GpuKernel:
    """The kernel of a region whose results have one element count, all of them computed alike.

    Args:
        most_threads: of a block, whole warps.
    """
    if region.results[0].size == 0:
        return gpu_kernel([], *_lists(region))
    if has_fold(region):
        for attempt in (_rows, _shared_folds):
            if (kernel := attempt(region, most_threads)) is not None:
                return kernel
    return _elementwise(region, most_threads)


def _emitter(region: Region, block: int) -> ThreadEmitter:
    """An emitter for blocks of so many threads; reductions that can share their loops do."""
    inputs, _ = argument_buffers(region)
    em = ThreadEmitter(ThreadBuilder(block), inputs)
    folds = Folds.of(region)
    em.joint, em.earlier = folds.joint, folds.earlier
    return em


def _lists(region: Region) -> tuple[list[Buffer], list[Buffer]]:
    inputs, outputs = argument_buffers(region)
    return list(inputs.values()), outputs


def block_for(threads: int, most: int = BLOCK) -> int:
    """Threads of a block: whole warps, fewer than `BLOCK` where there is no more to do."""
    return min(BLOCK, most, -(-threads // WARP) * WARP)


# -- a thread an element ---------------------------------------------------------------------------
def _elementwise(region: Region, most_threads: int) -> GpuKernel:
    size = region.results[0].size
    if (tiled := emit_transposed(region)) is not None:
        return tiled
    for lanes in _vector_widths(region, size):
        try:
            return _by_element(region, lanes, most_threads)
        except NotVectorizableError:
            continue
    return _by_element(region, 0, most_threads)


def _vector_widths(region: Region, size: int) -> list[int]:
    """Lanes that make 16 bytes of the widest element, where there is enough to do besides."""
    tensors = [*region.arguments, *region.results]
    widest = max((t.type.memory_bytes for t in tensors), default=4)
    lanes = min(16 // widest, 8)
    dear = work_of(region) // max(size, 1) > LARGEST_VECTOR_WORK
    if lanes < 2 or size // lanes < SMALLEST_VECTOR_KERNEL or dear:
        return []
    return [lanes]


def _by_element(region: Region, lanes: int, most_threads: int) -> GpuKernel:
    inputs, outputs = argument_buffers(region)
    size, step = region.results[0].size, max(lanes, 1)
    extents, em, units = _space(region, size, step, most_threads)
    b = em.b
    written: set[Affine] = set()

    def body(unit: Affine) -> None:
        strides = suffix_products([*extents[:-1], extents[-1] // step])
        dims, rest = list[Affine](), unit
        for stride in strides[:-1]:
            quotient, rest = em.divmod(rest, stride)
            dims.append(quotient)
        base = ZERO
        for index, stride in zip(dims, suffix_products(extents), strict=False):
            base = base + index * stride
        if not lanes:
            offset = base + rest
            _store_results(em, region, outputs, offset)
            written.add(offset)
            return
        lane = em.index(rest * lanes) if rest.terms else b.load(_copy_of(b, 0))
        em.variable(lane, extents[-1])
        with em.vector(lane, lanes):
            em.hoist_from_here()
            offset = base + Affine.variable(lane)
            _store_results(em, region, outputs, offset)
            written.add(offset)

    guarded_threads(em, units, body)
    in_place = tuple(
        i for i, buffer in enumerate(inputs.values()) if em.loaded.get(buffer, set()) <= written
    )
    buffers = [*inputs.values(), *outputs]
    return gpu_kernel(
        [stage(b, buffers, outputs, units, b.block)], list(inputs.values()), outputs,
        in_place=in_place,
    )  # fmt: skip


def _copy_of(b: ThreadBuilder, value: int) -> str:
    return f"arith.addi {b.index(value)}, {b.index(0)} : index"


def _space(
    region: Region, size: int, step: int, most_threads: int
) -> tuple[list[int], ThreadEmitter, int]:
    """(extents of the loop space, an emitter, threads that each compute `step` elements)."""
    units = size // step
    em = _emitter(region, block_for(units, most_threads))
    extents = merge_cuts({cut for root in region.results for cut in em.cuts(root)}, size)
    if extents[-1] % step:
        raise NotVectorizableError("rows are not a whole number of vectors")
    return extents, em, units


def guarded_threads(em: ThreadEmitter, threads: int, body: Callable[[Affine], None]) -> None:
    """The body in the first `threads` threads of the grid, given its own number."""
    b = em.b
    unit, inside = ZERO, None
    if threads % b.block:
        name = b.global_thread(-(-threads // b.block) * b.block)
        inside = b.op(f"arith.cmpi ult, {name}, {b.index(threads)} : index")
    if threads > 1:
        unit = em.variable(b.global_thread(-(-threads // b.block) * b.block), threads)
    if inside is None:
        body(unit)
        return
    with b.when(inside):
        body(unit)


def _store_results(
    em: ThreadEmitter, region: Region, outputs: Sequence[Buffer], offset: Affine
) -> None:
    values = [em.element(root, Position.of_offset(offset)) for root in region.results]
    for value, buffer in zip(values, outputs, strict=True):
        em.store(value, buffer, offset)


# -- a group of threads a row ----------------------------------------------------------------------
@dataclass(frozen=True)
class Grouping:
    """How rows are spread: `rows` of them, `threads` each, in blocks of `block` threads."""

    rows: int
    threads: int
    block: int


def grouping(rows: int, length: int, lanes: int, most_threads: int) -> Grouping:
    """A warp for a short row, up to a block for a long one, so that a row fits into registers."""
    threads = WARP
    while 2 * threads <= most_threads and length > threads * lanes * 8:
        threads *= 2
    block = threads if threads > WARP else min(128, most_threads, WARP * rows)
    while block % threads:
        block += WARP
    return Grouping(rows, threads, max(block, WARP))


def _enter_rows(em: ThreadEmitter, group: Grouping) -> tuple[Affine, str | None]:
    """(the row of this thread's group, i1 whether there is one); sets `em.group`."""
    b, per_block = em.b, group.block // group.threads
    grid = -(-group.rows // per_block)
    thread, block = b.thread(), b.as_index(b.block_number(grid))
    row, inside = block, None
    member = b.as_index(thread)
    if per_block > 1:
        shift = b.constant(int(math.log2(group.threads)), "i32")
        own = b.as_index(b.op(f"arith.shrui {thread}, {shift} : i32"))
        low = b.constant(group.threads - 1, "i32")
        member = b.as_index(b.op(f"arith.andi {thread}, {low} : i32"))
        start = b.op(f"arith.muli {block}, {b.index(per_block)} overflow<nsw, nuw> : index")
        row = b.op(f"arith.addi {start}, {own} overflow<nsw, nuw> : index")
        if group.rows % per_block:
            inside = b.op(f"arith.cmpi ult, {row}, {b.index(group.rows)} : index")
    em.variable(member, group.threads)
    place = em.name_index(row, group.rows) if group.rows > 1 else ZERO
    em.group = Group(group.threads, member, b.level)
    return place, inside


def _rows(region: Region, most_threads: int) -> GpuKernel | None:
    """A kernel whose elements share folds along each row; None if they do not."""
    size = region.results[0].size
    inputs, _ = argument_buffers(region)
    probe = ThreadEmitter(ThreadBuilder(BLOCK), inputs)
    extents = merge_cuts({cut for root in region.results for cut in probe.cuts(root)}, size)
    if extents[-1] < 2:
        return None
    for lanes in _row_widths(region, extents[-1]):
        try:
            return _by_row(region, extents, lanes, most_threads)
        except NotVectorizableError:
            continue
    return None


def _row_widths(region: Region, extent: int) -> list[int]:
    widest = max(t.type.memory_bytes for t in (*region.arguments, *region.results))
    lanes = max(min(16 // widest, 8), 1)
    while lanes > 1 and extent % lanes:
        lanes //= 2
    return [lanes, 1] if lanes > 1 else [1]


def _by_row(
    region: Region, extents: Sequence[int], lanes: int, most_threads: int
) -> GpuKernel | None:
    inputs, outputs = argument_buffers(region)
    extent, rows = extents[-1], math.prod(extents[:-1])
    group = grouping(rows, extent, lanes, most_threads)
    em = _emitter(region, group.block)
    b = em.b
    row, inside = _enter_rows(em, group)
    written: set[Affine] = set()

    def body() -> None:
        assert em.group is not None
        em.group = Group(group.threads, em.group.member, b.level)
        base = ZERO
        dims = em.dims(Position.of_offset(row), extents[:-1])
        for index, stride in zip(dims, suffix_products(extents), strict=False):
            base = base + index * stride
        chunks = em.chunks(extent, lanes)
        if chunks is None:
            _row_in_loop(em, region, outputs, base, extent, lanes, written)
            return
        _row_in_registers(em, region, outputs, base, chunks, lanes, written)

    if inside is None:
        body()
    else:
        with b.when(inside):
            body()
    if not em.divided:
        return None
    in_place = tuple(
        i for i, buffer in enumerate(inputs.values()) if _read_in_row(em, buffer, extent, written)
    )
    buffers = [*inputs.values(), *outputs]
    threads = -(-rows // (group.block // group.threads)) * group.block
    return gpu_kernel(
        [stage(b, buffers, outputs, threads, group.block)], list(inputs.values()), outputs,
        in_place=in_place,
    )  # fmt: skip


def _row_in_registers(
    em: ThreadEmitter, region: Region, outputs: Sequence[Buffer], base: Affine,
    chunks: Sequence[Chunk], lanes: int, written: set[Affine],
) -> None:  # fmt: skip
    """Computes all of a thread's share of a row, then stores it."""
    computed: list[list[Value]] = []
    for chunk in chunks:
        with em.vector(chunk.start, lanes):
            em.hoist_from_here()
            offset = base + Affine.variable(chunk.start)
            written.add(offset)
            computed.append([em.element(r, Position.of_offset(offset)) for r in region.results])
    if any(chunk.exists is not None for chunk in chunks):
        _end_reading(em)
    for chunk, values in zip(chunks, computed, strict=True):
        with ExitStack() as stack:
            if chunk.exists is not None:
                stack.enter_context(em.b.when(chunk.exists))
            stack.enter_context(em.vector(chunk.start, lanes))
            for value, buffer in zip(values, outputs, strict=True):
                em.store(value, buffer, base + Affine.variable(chunk.start))


def _end_reading(em: ThreadEmitter) -> None:
    """Ends what threads read of elements that others store: a result may lie in an input."""
    assert em.group is not None
    if em.group.threads <= WARP:
        em.b.warp_barrier()
    else:
        em.b.barrier()


def _row_in_loop(
    em: ThreadEmitter, region: Region, outputs: Sequence[Buffer], base: Affine, extent: int,
    lanes: int, written: set[Affine],
) -> None:  # fmt: skip
    """Computes and stores a thread's share of a row element by element."""
    b, group = em.b, em.group
    assert group is not None
    first = em.index(Affine.variable(group.member) * lanes)
    with b.loop(first, b.index(extent), b.index(group.threads * lanes)) as loop:
        em.body = b.region
        em.variable(loop.iv, extent)
        with em.vector(loop.iv, lanes):
            offset = base + Affine.variable(loop.iv)
            written.add(offset)
            _store_results(em, region, outputs, offset)


def _read_in_row(em: ThreadEmitter, buffer: Buffer, extent: int, written: set[Affine]) -> bool:
    """Whether an input is read where it is then written, or by the folds ahead of the same row."""
    ahead = em.loaded.get(buffer, set()) - written
    if ahead & em.loaded_in_body.get(buffer, set()):
        return False
    return all(any(same_row(em, extent, read, other) for other in written) for read in ahead)


# -- a group of threads a fold ---------------------------------------------------------------------
def _shared_folds(region: Region, most_threads: int) -> GpuKernel | None:
    """A kernel each of whose results is a fold that many threads divide; None if there is none."""
    inputs, outputs = argument_buffers(region)
    size = region.results[0].size
    longest = _longest_fold(region)
    group = grouping(size, longest, 4, most_threads)
    em = _emitter(region, group.block)
    b = em.b
    row, inside = _enter_rows(em, group)

    def body() -> None:
        assert em.group is not None
        em.group = Group(group.threads, em.group.member, b.level)
        values = [em.element(root, Position.of_offset(row)) for root in region.results]
        first = b.op(f"arith.cmpi eq, {em.group.member}, {b.index(0)} : index")
        with b.when(first):
            for value, buffer in zip(values, outputs, strict=True):
                em.store(value, buffer, row)

    try:
        if inside is None:
            body()
        else:
            with b.when(inside):
                body()
    except NotVectorizableError:
        return None
    few = size <= FEW_RESULTS and size <= longest * FEW_OF_A_FOLD
    if not em.divided or not (em.contiguous or few):
        return None
    buffers = [*inputs.values(), *outputs]
    threads = -(-size // (group.block // group.threads)) * group.block
    return gpu_kernel(
        [stage(b, buffers, outputs, threads, group.block)], list(inputs.values()), outputs
    )


def _longest_fold(region: Region) -> int:
    """Elements that go into one result of the region's largest reduction, roughly."""
    longest = 1
    for node in region.nodes:
        if node.name in FOLDS:
            read = max(o.size for o in node.operands)
            longest = max(longest, work(node) // max(node.results[0].size, 1), 1)
            longest = min(longest, read)
    return longest
