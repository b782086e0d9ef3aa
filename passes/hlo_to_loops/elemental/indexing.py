"""Ops whose positions are data: dynamic slices, updates, gather."""

from __future__ import annotations

from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position, suffix_products
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.conditions import ALWAYS, at_least, both, guarded, less_than
from hlo.passes.hlo_to_loops.element_types import Kind, element_type
from hlo.passes.hlo_to_loops.elementwise import unpack
from hlo.passes.hlo_to_loops.emitter import Emitter, NotVectorizableError, elemental
from hlo.passes.hlo_to_loops.gathered_rows import fetch_row
from hlo.passes.hlo_to_loops.graph import Node, Tensor
from hlo.passes.hlo_to_loops.index_values import clamped_index
from hlo.passes.hlo_to_loops.parts_of_words import can_look_up_parts, look_up_parts


@elemental("dynamic_slice")
def dynamic_slice(em: Emitter, node: Node, _: int, position: Position) -> Value:
    operand, *starts = node.operands
    dims = em.dims(position, node.results[0].shape)
    source = [
        i + clamped_index(em, start, Position.of_dims(()), size - taken)
        for i, start, size, taken in zip(
            dims, starts, operand.shape, node.results[0].shape, strict=True
        )
    ]
    return em.element(operand, Position.of_dims(source))


@elemental("dynamic_update_slice")
def dynamic_update_slice(em: Emitter, node: Node, _: int, position: Position) -> Value:
    operand, update, *starts = node.operands
    dims = em.dims(position, operand.shape)
    condition, source = ALWAYS, list[Affine]()
    for i, start, size, taken in zip(dims, starts, operand.shape, update.shape, strict=True):
        shifted = i + clamped_index(em, start, Position.of_dims(()), size - taken) * -1
        condition = both(
            em, condition, both(em, at_least(em, shifted, 0), less_than(em, shifted, taken))
        )
        source.append(shifted)

    def inside() -> list[Value]:
        named = [em.bounded(i, size) for i, size in zip(source, update.shape, strict=True)]
        return [em.element(update, Position.of_dims(named))]

    return guarded(em, condition, [operand.type], inside, lambda: [em.element(operand, position)])[
        0
    ]


@elemental("gather")
def gather(em: Emitter, node: Node, _: int, position: Position) -> Value:
    operand, starts = node.operands
    numbers, slice_sizes = node.attributes["dimension_numbers"], node.attributes["slice_sizes"]
    dims = em.dims(position, node.results[0].shape)
    offset_dims = numbers.get("offset_dims", ())
    batch = [i for d, i in enumerate(dims) if d not in offset_dims]
    vector_dim = numbers.get("index_vector_dim", 0)
    start_map = numbers.get("start_index_map", ())
    source: list[Affine] = [ZERO] * operand.rank
    varying: dict[int, Value] = {}  # dimension of the operand -> its index, another in each lane
    begins: dict[int, Affine] = {}  # the same of all lanes, and where it is read
    places: dict[int, Position] = {}
    for k, d in enumerate(start_map):
        at = list(batch)
        if vector_dim < starts.rank:
            at.insert(vector_dim, Affine((), k))
        limit = operand.shape[d] - slice_sizes[d]
        place = Position.of_dims(at)
        if limit and not all(em.is_uniform(index) for index in at):
            varying[d] = _clamped_lanes(em, em.element(starts, place), limit)
        else:
            begins[d], places[d] = clamped_index(em, starts, place, limit), place
    starts_batching = numbers.get("start_indices_batching_dims", ())
    for d, s in zip(numbers.get("operand_batching_dims", ()), starts_batching, strict=True):
        source[d] = batch[s - (1 if vector_dim < s else 0)]
    hidden = (*numbers.get("collapsed_slice_dims", ()), *numbers.get("operand_batching_dims", ()))
    kept = [d for d in range(operand.rank) if d not in hidden]
    for d, o in zip(kept, offset_dims, strict=True):
        source[d] = source[d] + dims[o]
    em.looked_up.update(name for index in begins.values() for name in index.variables)
    if len(start_map) == len(begins) == 1 and starts.size > 1:
        (d,) = start_map
        place, limit = places[d], operand.shape[d] - slice_sizes[d]
        fetch_row(em, operand, source, d, starts, place, limit)
    for d, index in begins.items():
        source[d] = source[d] + index
    if varying:
        return _looked_up(em, operand, source, varying)
    return em.element(operand, Position.of_dims(source))


def _clamped_lanes(em: Emitter, value: Value, limit: int) -> Value:
    """Integers clamped to [0, limit] by their own signedness, an i32 in each lane."""
    if limit >= 1 << 31:
        raise NotVectorizableError("positions in each lane do not fit 32 bits")
    b, signed = em.b, value.type.kind is Kind.SINT
    wide = element_type("i64" if value.type.bits > 32 or not signed else "i32")
    kind = b.type_of(wide.register)
    name = value.name
    if value.type.register != wide.register:
        narrow = b.type_of(value.type.register)
        name = b.op(f"arith.{'extsi' if signed else 'extui'} {name} : {narrow} to {kind}")
    least, most = b.constant(0, wide.register), b.constant(limit, wide.register)
    if signed:
        name = b.op(f"arith.maxsi {name}, {least} : {kind}")
        name = b.op(f"arith.minsi {name}, {most} : {kind}")
    else:
        name = b.op(f"arith.minui {name}, {most} : {kind}")
    if wide.bits == 64:
        name = b.op(f"arith.trunci {name} : {kind} to {b.type_of('i32')}")
    return Value(element_type("i32"), (name,), b.lanes)


def _looked_up(
    em: Emitter, operand: Tensor, source: list[Affine], varying: dict[int, Value]
) -> Value:
    """Elements of a buffer at `source`, but in some dimensions at `varying` positions."""
    b, strides = em.b, suffix_products(operand.shape)
    if operand.size >= 1 << 31:
        raise NotVectorizableError("positions in each lane do not fit 32 bits")
    offset, kind = None, b.type_of("i32")
    for d, index in varying.items():
        step = b.constant(strides[d], "i32")
        term = b.op(f"arith.muli {index.name}, {step} : {kind}") if strides[d] != 1 else index.name
        offset = term if offset is None else b.op(f"arith.addi {offset}, {term} : {kind}")
    assert offset is not None
    base = Position.of_dims(source).linear(operand.shape)
    return _lanes_at(em, operand, base, offset)


def _is_whole_word(buffer: Buffer) -> bool:
    """Whether the elements are of 32 or 64 bits, which an instruction gathers."""
    return buffer.type.memory_bytes in (4, 8)


def _lanes_at(em: Emitter, tensor: Tensor, base: Affine, offsets: str) -> Value:
    """Lanes of a tensor, each at an offset of its own behind `base`.

    Args:
        offsets: the SSA name of a vector of i32, not negative.

    Raises:
        NotVectorizableError: the tensor is not in memory, or has no elements of 32 or 64 bits.
    """
    while (node := tensor.producer) is not None and node.name == "reshape":
        if tensor in em.buffers or tensor in em.sources:
            break
        tensor = node.operands[0]  # its elements lie where those of its operand do
    b, buffer = em.b, em.buffers.get(tensor)
    if buffer is None or tensor in em.sources:
        raise NotVectorizableError("what is looked up in is not in memory")
    if buffer.type.parts != 1 or not (_is_whole_word(buffer) or can_look_up_parts(em, buffer)):
        raise NotVectorizableError("no vector instruction looks up elements of that size")
    # Where it reads is not known: nowhere that an output may be written before.
    anywhere = base + Affine.variable(offsets)
    em.loaded.setdefault(buffer, set()).add(anywhere)
    em.loaded_in_body.setdefault(buffer, set()).add(anywhere)
    stride = 0 if em.lane is None else base.coefficient(em.lane)
    kind, vector = b.type_of("i32"), b.type_of(buffer.type.memory)
    if stride:
        steps = ", ".join(str(i * stride) for i in range(b.lanes))
        ramp = b.op(f"arith.constant dense<[{steps}]> : {kind}")
        offsets = b.op(f"arith.addi {offsets}, {ramp} : {kind}")
    mask, passthru = em.mask or b.constant(True, "i1"), b.constant(0, buffer.type.memory)
    if not _is_whole_word(buffer):
        return unpack(b, buffer.type, [look_up_parts(em, buffer, base, offsets, mask)])
    raw = b.load(
        f"vector.gather {buffer.name}[{em.index(base)}] [{offsets}], {mask}, {passthru} : "
        f"{buffer.memref}, {kind}, {b.type_of('i1')}, {vector} into {vector}"
    )
    return unpack(b, buffer.type, [raw])
