"""Elements of 8 or 16 bits looked up in memory: words of 32 bits are gathered that hold them."""

from __future__ import annotations

from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.buffer import Buffer, pointer_to
from hlo.passes.hlo_to_loops.emitter import Emitter

_WORD_BYTES = 4
_MOST_BYTES = 1 << 31  # of a buffer, whose places are counted in bytes


def can_look_up_parts(em: Emitter, buffer: Buffer) -> bool:
    """Whether `look_up_parts` works on a buffer."""
    size = buffer.type.memory_bytes
    total = buffer.elements * size
    return em.b.is_for_host and size < _WORD_BYTES and _WORD_BYTES <= total < _MOST_BYTES


def look_up_parts(em: Emitter, buffer: Buffer, base: Affine, offsets: str, mask: str) -> str:
    """The raw lanes at `base` + `offsets` (i32, one a lane) of a buffer.

    A word begins where its element does, but for the last ones of the buffer, whose word is the
    buffer's last: nothing is read outside of it.
    """
    b, size, memory = em.b, buffer.type.memory_bytes, buffer.type.memory
    kind, narrow = b.type_of("i32"), b.type_of(f"i{8 * size}")
    with b.width(0):
        first = b.op(f"arith.index_cast {em.index(base)} : index to i32")
    pointer = pointer_to(b, buffer)
    place = b.op(f"arith.addi {offsets}, {b.splat(first, 'i32')} : {kind}")
    if size > 1:
        place = b.op(f"arith.muli {place}, {b.constant(size, 'i32')} : {kind}")
    last = b.constant(buffer.elements * size - _WORD_BYTES, "i32")
    start = b.op(f"arith.minsi {place}, {last} : {kind}")
    pointers = f"vector<{b.lanes}x!llvm.ptr>"
    at = b.op(f"llvm.getelementptr {pointer}[{start}] : (!llvm.ptr, {kind}) -> {pointers}, i8")
    word = b.load(
        f"llvm.intr.masked.gather {at}, {mask}, {b.constant(0, 'i32')} "
        f"{{alignment = 1 : i32}} : ({pointers}, {b.type_of('i1')}, {kind}) -> {kind}"
    )
    behind = b.op(f"arith.subi {place}, {start} : {kind}")
    bits = b.op(f"arith.shli {behind}, {b.constant(3, 'i32')} : {kind}")
    shifted = b.op(f"arith.shrui {word}, {bits} : {kind}")
    raw = b.op(f"arith.trunci {shifted} : {kind} to {narrow}")
    if memory.startswith("f"):
        raw = b.op(f"arith.bitcast {raw} : {narrow} to {b.type_of(memory)}")
    return raw
