"""Results too large for the caches are written past them.

An ordinary store reads the line it writes to. Where a result will have left the caches before it is
read, non-temporal stores of whole lines save that and leave the caches to what is read. Smaller
results are often found there by whoever reads them, and then such stores cost three times as much.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hlo.passes.cost.caches import SHARED_BYTES
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.emitter import LINE_BYTES, Emitter

_PIECE_BYTES = 512 << 10  # written past the caches before a thread takes more


def go_past_caches(size: int) -> bool:
    """Whether results of so many bytes will have left the caches before they are read."""
    return size >= SHARED_BYTES


def units_together(outputs: Sequence[Buffer], units: int) -> int:
    """How many of a kernel's work units a thread should do one after another.

    Before it takes more, an atomic operation waits for all stores past the caches that are on their
    way to memory: behind every 16 KiB a fifth of the time.
    """
    size = _bytes_of(outputs)
    return max(1, units * _PIECE_BYTES // size) if go_past_caches(size) else 1


def _bytes_of(outputs: Sequence[Buffer]) -> int:
    return sum(o.elements * o.type.memory_bytes for o in outputs)


def emit_streaming(
    em: Emitter, inputs: Sequence[Buffer], outputs: Sequence[Buffer], emit: Callable[[], None]
) -> None:
    """Emits a kernel's loops, twice if the outputs are large: past the caches, and plainly.

    The first is for outputs that start at a line and overwrite no input: only the caller's own
    arrays may be placed otherwise, and what is overwritten has been read into the caches already.
    """
    if not go_past_caches(_bytes_of(outputs)):
        emit()
        return
    b = em.b
    addresses = {
        buffer: b.op(
            f"memref.extract_aligned_pointer_as_index {buffer.name} : {buffer.memref} -> index"
        )
        for buffer in (*inputs, *outputs)
    }
    held = b.constant(True, "i1")
    for output in outputs:
        low = b.op(f"arith.andi {addresses[output]}, {b.index(LINE_BYTES - 1)} : index")
        checks = [b.op(f"arith.cmpi eq, {low}, {b.index(0)} : index")]
        checks += [
            b.op(f"arith.cmpi ne, {addresses[output]}, {addresses[source]} : index")
            for source in inputs
        ]
        for check in checks:
            held = b.op(f"arith.andi {held}, {check} : i1")
    em.streams = frozenset(outputs)
    with b.when(held):
        emit()
        # Such stores are not ordered with those that tell other threads that this one is done.
        b.effect("llvm.fence seq_cst")
    em.streams = frozenset()
    with b.when(b.op(f"arith.xori {held}, {b.constant(True, 'i1')} : i1")):
        emit()
