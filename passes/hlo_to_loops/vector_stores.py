"""Stores of vectors that are not plain ones: of their first lanes alone, and past the caches."""

from __future__ import annotations

from collections.abc import Callable

from hlo.passes.hlo_to_loops.buffer import Buffer, pointer_to
from hlo.passes.hlo_to_loops.builder import Builder
from hlo.passes.hlo_to_loops.elementwise.host_instructions import host_features

_FEWEST_WORDS, _WORDS = 8, 32  # of 16 bits in a register
SHORT_ROW = 512  # elements; longer ones are worth a wait at their end


def store_first_lanes(
    b: Builder, raw: str, lanes: int, count: int, buffer: Buffer, place: Callable[[int], str]
) -> None:
    """Stores `count` lanes of a vector in parts of 16, 8, 4, 2 and 1, without a mask.

    Processors take a masked store for one of the whole vector when a later load waits for it: the
    next row, loaded where the lanes that are left out lie, waits until the store has reached the
    cache, some 20 cycles. Where a kernel overwrites what it reads, each of its rows would.

    Args:
        raw, lanes: SSA name of the vector in the buffer's type, and how many lanes it has.
        place: SSA index where a lane goes, one behind the other.
    """
    scalar, first = buffer.type.memory, 0
    while first < count:
        size = 1 << ((count - first).bit_length() - 1)
        at = f"{buffer.name}[{place(first)}]"
        if size == 1:
            lane = b.op(f"vector.extract {raw}[{first}] : {scalar} from vector<{lanes}x{scalar}>")
            b.effect(f"memref.store {lane}, {at} : {buffer.memref}")
        else:
            with b.width(lanes):
                part = b.part(raw, scalar, first, size)
            b.effect(f"vector.store {part}, {at} : {buffer.memref}, vector<{size}x{scalar}>")
        first += size


def store_past_caches(
    b: Builder, raw: str, buffer: Buffer, index: str, lanes: int, alignment: int
) -> None:
    """Stores a vector by a non-temporal store.

    Args:
        raw, lanes: SSA name of the vector in the buffer's type, and how many lanes it has.
        index: SSA index of the first lane's place.
        alignment: bytes of which the place is a multiple.
    """
    memory = buffer.type.memory
    if memory == "f16" and lanes >= _FEWEST_WORDS and {"avx512f", "avx512vl"} <= host_features():
        _store_words_past_caches(b, raw, buffer, index, lanes, alignment)
        return
    b.effect(
        f"vector.store {raw}, {buffer.name}[{index}] "
        f"{{alignment = {alignment} : i64, nontemporal = true}} : "
        f"{buffer.memref}, vector<{lanes}x{memory}>"
    )


def _store_words_past_caches(
    b: Builder, raw: str, buffer: Buffer, index: str, lanes: int, alignment: int
) -> None:
    """Stores f16 as words of 16 bits that LLVM 22 does not know for f16: of vectors of f16 it makes
    plain stores. A register at a time, as what hides the words takes no more.
    """
    for start in range(0, lanes, _WORDS):
        count, part = min(lanes, _WORDS), raw
        if lanes > _WORDS:
            with b.width(lanes):
                part = b.part(raw, "f16", start, count)
        words = f"vector<{count}xi16>"
        word = b.op(f"vector.bitcast {part} : vector<{count}xf16> to {words}")
        word = b.op(f'llvm.inline_asm asm_dialect = att "", "=v,0" {word} : ({words}) -> {words}')
        place = b.op(f"arith.addi {index}, {b.index(start)} : index") if start else index
        number, pointer = b.op(f"arith.index_cast {place} : index to i64"), pointer_to(b, buffer)
        at = b.op(f"llvm.getelementptr {pointer}[{number}] : (!llvm.ptr, i64) -> !llvm.ptr, f16")
        how = f"{{alignment = {alignment} : i64, nontemporal}}"
        b.effect(f"llvm.store {word}, {at} {how} : {words}, !llvm.ptr")
