"""Which block of a launch is done last: it goes on with what needs all the others.

Blocks count themselves in device memory. The counter starts at zero and wraps around at the last
block, so it is zero again when the launch is over: a launch can be repeated, in a graph too, and
nothing clears the counter in between. (CUDA C++ Programming Guide, "Memory Fence Functions".)
"""

from __future__ import annotations

from hlo.passes.hlo_to_gpu.thread_builder import ThreadBuilder
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.element_types import element_type

COUNTER = element_type("i32")


def counter_buffers(counts: tuple[int, ...]) -> list[Buffer]:
    """The buffers of a kernel's counters, by how many each holds."""
    return [Buffer(f"%counter{i}", count, COUNTER) for i, count in enumerate(counts)]


def is_last_block(b: ThreadBuilder, counter: Buffer, at: str, blocks: int) -> str:
    """An i1, the same for all threads of a block: whether it is the last one to come here.

    What all of these blocks have stored before is then there for it. All threads of the block must
    run.

    Args:
        counter: of 32-bit numbers, zero when the launch begins.
        at: the number, an `index`, that these blocks count in.
        blocks: how many come here.
    """
    slot, memref = b.shared(1, "i32")
    with b.width(0):
        zero, last = b.constant(0, "i32"), b.constant(blocks - 1, "i32")
    b.barrier()
    with b.when(b.op(f"arith.cmpi eq, {b.thread()}, {zero} : i32")):
        place = b.global_pointer(counter.name, counter.memref, at, "i32")
        b.fence_blocks()
        before = b.load(
            f'llvm.atomicrmw uinc_wrap {place}, {last} syncscope("device") monotonic : '
            "!llvm.ptr<1>, i32"
        )
        b.fence_blocks()
        b.effect(f"memref.store {before}, {slot}[{b.index(0)}] : {memref}")
    b.barrier()
    count = b.load(f"memref.load {slot}[{b.index(0)}] : {memref}")
    return b.op(f"arith.cmpi eq, {count}, {last} : i32")
