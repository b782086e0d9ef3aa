"""Updates that are one atomic operation of the GPU, in whatever order they come."""

from __future__ import annotations

from hlo.passes.hlo_to_gpu.thread_emitter import ThreadEmitter
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.element_types import ElementType
from hlo.passes.hlo_to_loops.graph import Node

_INTEGER = {"add": "add", "and": "_and", "or": "_or", "xor": "_xor"}
_WIDTHS = (32, 64)  # bits that every GPU has them for


def atomic_of(node: Node, deterministic: bool) -> str | None:
    """The operation of `llvm.atomicrmw` that a scatter's body is; None if it is none.

    Those of integers give one result in every order, sums of floats do not: they are taken only if
    the result need not be the same in every run.
    """
    body = node.regions[0]
    if len(body.results) != 1 or len(body.arguments) != 2:
        return None
    combined = body.results[0].producer
    if combined is None or len(combined.operands) != 2:
        return None
    if {id(t) for t in combined.operands} != {id(t) for t in body.arguments}:
        return None
    return _operation(combined.name, combined.operands[0].type, deterministic)


def _operation(name: str, kind: ElementType, deterministic: bool) -> str | None:
    if kind.bits not in _WIDTHS:
        return None
    if kind.is_float:
        return "fadd" if name == "add" and not deterministic else None
    if not kind.is_integer:
        return None
    if name in ("minimum", "maximum"):
        return ("" if kind.is_signed else "u") + name[:3]
    return _INTEGER.get(name)


def apply_atomically(
    em: ThreadEmitter, buffer: Buffer, offset: Affine, value: Value, operation: str
) -> None:
    """Combines a value with an element of a buffer."""
    b, memory = em.b, buffer.type.memory
    (packed,) = elementwise.pack(b, value)
    base = b.op(f"memref.extract_aligned_pointer_as_index {buffer.name} : {buffer.memref} -> index")
    base = b.op(f"arith.index_cast {base} : index to i64")
    pointer = b.op(f"llvm.inttoptr {base} : i64 to !llvm.ptr")
    index = b.op(f"arith.index_cast {em.index(offset)} : index to i64")
    place = b.op(f"llvm.getelementptr {pointer}[{index}] : (!llvm.ptr, i64) -> !llvm.ptr, {memory}")
    b.load(
        f'llvm.atomicrmw {operation} {place}, {packed} syncscope("device") monotonic : '
        f"!llvm.ptr, {memory}"
    )
