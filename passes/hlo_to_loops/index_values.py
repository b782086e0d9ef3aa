"""Elements as indices, where slices and rows of a table begin; indices as elements."""

from __future__ import annotations

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.element_types import ElementType, Kind, element_type
from hlo.passes.hlo_to_loops.emitter import Emitter, NotVectorizableError
from hlo.passes.hlo_to_loops.graph import Tensor


def index_value(em: Emitter, index: Affine, to: ElementType) -> Value:
    """An index as an element, as `iota` gives it."""
    b = em.b
    low, high = index.bounds(em.extents)
    narrow = low > -(1 << 30) and high < 1 << 30  # a vector's length beyond fits as well
    integer = element_type("i32" if narrow else "i64")
    kind = integer.register
    with b.width(0):
        name = b.op(f"arith.index_cast {em.index(index)} : index to {kind}")
    if b.lanes:
        name = b.splat(name, kind)
        stride = 0 if em.lane is None else index.coefficient(em.lane)
        if stride:
            steps = ", ".join(str(i * stride) for i in range(b.lanes))
            ramp = b.op(f"arith.constant dense<[{steps}]> : {b.type_of(kind)}")
            name = b.op(f"arith.addi {name}, {ramp} : {b.type_of(kind)}")
    return elementwise.convert(b, Value(integer, (name,), b.lanes), to)


def clamped_index(em: Emitter, tensor: Tensor, position: Position, limit: int) -> Affine:
    """The integer at `position` of `tensor` clamped to [0, limit], as an index expression."""
    if limit == 0:
        return ZERO
    indices = position.dims if position.dims is not None else (position.offset or ZERO,)
    if not all(em.is_uniform(i) for i in indices):
        raise NotVectorizableError("a position read from memory differs between lanes")
    value = em.element(tensor, position) if em.lane is None else em.shared_element(tensor, position)
    with em.scalar():
        return em.name_index(clamp_to_index(em, value, limit), limit + 1)


def clamp_to_index(em: Emitter, value: Value, limit: int) -> str:
    """SSA `index` of a scalar integer clamped to [0, limit], by its own signedness."""
    return em.b.op(f"arith.index_cast {_clamped(em, value, limit)} : i64 to index")


def _clamped(em: Emitter, value: Value, limit: int) -> str:
    b = em.b
    wide = widened(em, value)
    if value.type.kind is Kind.SINT:
        wide = b.op(f"arith.maxsi {wide}, {b.constant(0, 'i64')} : i64")
        return b.op(f"arith.minsi {wide}, {b.constant(limit, 'i64')} : i64")
    return b.op(f"arith.minui {wide}, {b.constant(limit, 'i64')} : i64")


def widened(em: Emitter, value: Value) -> str:
    """A scalar integer as i64, sign- or zero-extended by its type."""
    if value.type.register == "i64":
        return value.name
    extend = "extsi" if value.type.kind is Kind.SINT else "extui"
    return em.b.op(f"arith.{extend} {value.name} : {value.type.register} to i64")
