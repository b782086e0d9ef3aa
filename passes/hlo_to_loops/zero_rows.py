"""Zeros in memory, for what a window meets outside its tensor.

Whether a row of elements is the tensor's or one of zeros is a choice of an address, ahead of the
loop over the row. To replace what was loaded by zero takes instructions inside it: where two of a
processor's units multiply and all that moves between kinds of registers is theirs too (Intel's
cores), three for a row of a tile, a tenth of its time.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.element_types import ElementType
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.graph import Tensor
from hlo.passes.hlo_to_loops.loop_kernel import VECTOR_BITS

_LAYOUT = "strided<[1], offset: ?>"


def row_or_zeros(
    em: Emitter, tensor: Tensor, buffer: Buffer, row: Sequence[Affine], outside: str
) -> Buffer:
    """The elements of a tensor along its last dimension, or as many zeros.

    Args:
        buffer: where the tensor is.
        row: the index in each other dimension, inside.
        outside: SSA i1, whether zeros are wanted.
    """
    b, size = em.b, tensor.shape[-1]
    begin = Position.of_dims((*row, ZERO)).linear(tensor.shape)
    em.note_load(buffer, begin)
    with b.width(0):
        zeros = _zeros(em, size, tensor.type)
        either = Buffer("", size, tensor.type, _LAYOUT).memref
        names = [
            b.op(
                f"memref.reinterpret_cast {source.name} to offset: [{em.index(at)}], "
                f"sizes: [{size}], strides: [1] : {source.memref} to {either}"
            )
            for source, at in ((zeros, ZERO), (buffer, begin))
        ]
        name = b.op(f"arith.select {outside}, {names[0]}, {names[1]} : {either}")
    return Buffer(name, size, tensor.type, _LAYOUT)


def _zeros(em: Emitter, count: int, kind: ElementType) -> Buffer:
    """Zeros on the stack, written when the kernel begins."""
    b, key = em.b, ("zeros", count, kind)
    if (known := b.recall(key)) is not None:
        return known
    lanes = VECTOR_BITS // max(kind.bits, 8)
    padded = -(-count // lanes) * lanes
    buffer = Buffer(b.stack_buffer(padded, kind.memory), padded, kind)
    with b.at_level(0):
        with b.loop(b.index(0), b.index(padded), b.index(lanes)) as loop, b.width(lanes):
            (zero,) = elementwise.pack(b, elementwise.constant(b, kind, 0))
            vector = b.type_of(kind.memory)
            b.effect(f"vector.store {zero}, {buffer.name}[{loop.iv}] : {buffer.memref}, {vector}")
        b.remember(key, buffer)
    return buffer
