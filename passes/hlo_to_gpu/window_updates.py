"""select_and_scatter: which element each window selects, then what each element collects."""

from __future__ import annotations

from collections.abc import Sequence

from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel, Stage, gpu_kernel, stage
from hlo.passes.hlo_to_gpu.rows import block_for, guarded_threads
from hlo.passes.hlo_to_gpu.thread_builder import ThreadBuilder
from hlo.passes.hlo_to_gpu.thread_emitter import ThreadEmitter
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import Affine, Position
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.conditions import rebuild, register_types
from hlo.passes.hlo_to_loops.element_types import element_type
from hlo.passes.hlo_to_loops.elemental.reductions import padding_pairs
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor
from hlo.passes.hlo_to_loops.kernel_function import argument_buffers
from hlo.passes.hlo_to_loops.scalar_regions import apply

NOWHERE = -1


def emit_select_and_scatter(region: Region, node: Node) -> GpuKernel:
    """Two stages: a thread a window finds the element it selects; a thread an element of the result
    combines the sources of the windows that selected it, in row-major order.
    """
    inputs, outputs = argument_buffers(region)
    operand, source, _ = node.operands
    if operand.size == 0:
        return gpu_kernel([], list(inputs.values()), outputs)
    chosen = Buffer("%scratch0", max(source.size, 1), element_type("i64"))
    buffers = [*inputs.values(), *outputs, chosen]
    stages = [_select(region, node, buffers, chosen)] if source.size else []
    stages.append(_collect(region, node, buffers, outputs[0], chosen))
    return gpu_kernel(stages, list(inputs.values()), outputs, scratch=[chosen])


def _select(region: Region, node: Node, buffers: Sequence[Buffer], chosen: Buffer) -> Stage:
    operand, source, _ = node.operands
    inputs, _ = argument_buffers(region)
    em = ThreadEmitter(ThreadBuilder(block_for(source.size)), inputs)

    def body(unit: Affine) -> None:
        b = em.b
        at = em.dims(Position.of_offset(unit), source.shape)
        found, where = _selected(em, node, operand, at)
        offset = b.op(f"arith.index_cast {where} : index to i64")
        nowhere = b.constant(NOWHERE, "i64")
        held = b.op(f"arith.select {found}, {offset}, {nowhere} : i64")
        em.store(Value(chosen.type, (held,)), chosen, unit)

    guarded_threads(em, source.size, body)
    return stage(em.b, buffers, [chosen], source.size, em.b.block)


def _collect(
    region: Region, node: Node, buffers: Sequence[Buffer], out: Buffer, chosen: Buffer
) -> Stage:
    operand, source, initial = node.operands
    inputs, _ = argument_buffers(region)
    em = ThreadEmitter(ThreadBuilder(block_for(operand.size)), inputs)
    rank, attributes, b = operand.rank, node.attributes, em.b
    window = attributes.get("window_dimensions") or (1,) * rank
    strides = attributes.get("window_strides") or (1,) * rank
    padding = padding_pairs(attributes.get("padding"), rank)
    # A window of w elements at steps of s covers an element at most ceil(w / s) times.
    counts = [-(-w // s) for w, s in zip(window, strides, strict=True)]
    types = [operand.type]

    def body(unit: Affine) -> None:
        place = b.op(f"arith.index_cast {em.index(unit)} : index to i64")
        last: list[str] = []
        dims = em.dims(Position.of_offset(unit), operand.shape)
        for index, (low, _), step in zip(dims, padding, strides, strict=True):
            last.append(b.op(f"arith.floordivsi {em.index(index + low)}, {b.index(step)} : index"))

        def visit(outer: list[str], held: Value) -> Value:
            d = len(outer)
            if d == rank:
                return _combined(em, node, chosen, place, outer, held)
            carried = list(zip(held.parts, register_types(em, types), strict=True))
            with b.loop(b.index(0), b.index(counts[d]), b.index(1), carried) as loop:
                back = b.op(f"arith.subi {b.index(counts[d] - 1)}, {loop.iv} : index")
                at = b.op(f"arith.subi {last[d]}, {back} : index")
                (inner,) = rebuild(types, loop.carried, 0)
                loop.yielded = list(visit([*outer, at], inner).parts)
            return rebuild(types, loop.results, 0)[0]

        start = em.element(initial, Position.of_dims(()))
        em.store(visit([], start) if source.size else start, out, unit)

    guarded_threads(em, operand.size, body)
    return stage(em.b, buffers, [out], operand.size, em.b.block)


def _combined(
    em: ThreadEmitter, node: Node, chosen: Buffer, place: str, at: Sequence[str], held: Value
) -> Value:
    """`held`, with the source of the window `at` if there is one and it selected `place`."""
    b, source = em.b, node.operands[1]
    inside = b.constant(True, "i1")
    for name, size in zip(at, source.shape, strict=True):
        check = b.op(f"arith.cmpi ult, {name}, {b.index(size)} : index")
        inside = b.op(f"arith.andi {inside}, {check} : i1")
    types = register_types(em, [held.type])
    with b.choice(inside, types) as choice:
        with choice.then():
            dims = [em.name_index(name, size) for name, size in zip(at, source.shape, strict=True)]
            position = Position.of_dims(dims)
            where = em.load(chosen, position.linear(source.shape)).name
            mine = Value(element_type("i1"), (b.op(f"arith.cmpi eq, {where}, {place} : i64"),))
            new = em.element(source, position)
            total = apply(em, node.regions[1], [held, new])[0]
            choice.yielded = list(elementwise.select(b, mine, total, held).parts)
        with choice.otherwise():
            choice.yielded = list(held.parts)
    return rebuild([held.type], choice.results, 0)[0]


def _selected(
    em: ThreadEmitter, node: Node, operand: Tensor, at: Sequence[Affine]
) -> tuple[str, str]:
    """(whether the window holds any element, offset of the one that the select region keeps)."""
    b, attributes = em.b, node.attributes
    rank = operand.rank
    window = attributes.get("window_dimensions") or (1,) * rank
    strides = attributes.get("window_strides") or (1,) * rank
    padding = padding_pairs(attributes.get("padding"), rank)
    kind = operand.type
    zero = elementwise.constant(b, kind, False if kind.register == "i1" else 0)
    names = [b.constant(False, "i1"), b.index(0), *zero.parts]
    types = ["i1", "index", *(kind.register for _ in zero.parts)]

    def taps(outer: list[Affine], state: list[str]) -> list[str]:
        if len(outer) < rank:
            with b.loop(
                b.index(0),
                b.index(window[len(outer)]),
                b.index(1),
                list(zip(state, types, strict=True)),
            ) as loop:
                loop.yielded = taps(
                    [*outer, em.variable(loop.iv, window[len(outer)])], loop.carried
                )
            return loop.results
        index = [
            i * s + w + -low for i, s, w, (low, _) in zip(at, strides, outer, padding, strict=True)
        ]
        return _tap(em, node, operand, index, state, types)

    result = taps([], names)
    return result[0], result[1]


def _tap(
    em: ThreadEmitter,
    node: Node,
    operand: Tensor,
    index: list[Affine],
    state: list[str],
    types: list[str],
) -> list[str]:
    """One window element: enters the state if it is in range and the select region prefers it."""
    b = em.b
    checks = [
        b.op(f"arith.cmpi ult, {em.index(i)}, {b.index(size)} : index")
        for i, size in zip(index, operand.shape, strict=True)
    ]
    inside = checks[0] if checks else b.constant(True, "i1")
    for check in checks[1:]:
        inside = b.op(f"arith.andi {inside}, {check} : i1")
    with b.choice(inside, types) as choice:
        with choice.then():
            dims = [em.bounded(i, size) for i, size in zip(index, operand.shape, strict=True)]
            value = em.element(operand, Position.of_dims(dims))
            offset = em.index(Position.of_dims(dims).linear(operand.shape))
            held = Value(operand.type, tuple(state[2:]))
            keep = apply(em, node.regions[0], [held, value])[0].name
            keep = b.op(f"arith.andi {state[0]}, {keep} : i1")
            chosen = elementwise.select(b, Value(element_type("i1"), (keep,)), held, value)
            where = b.op(f"arith.select {keep}, {state[1]}, {offset} : index")
            choice.yielded = [b.constant(True, "i1"), where, *chosen.parts]
        with choice.otherwise():
            choice.yielded = list(state)
    return choice.results
