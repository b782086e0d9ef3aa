"""Cumulative sums and the like: a reduce_window over all elements up to each one, in one pass."""

from __future__ import annotations

import math

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position, suffix_products
from hlo.passes.hlo_to_loops.builder import Builder
from hlo.passes.hlo_to_loops.conditions import rebuild, register_types
from hlo.passes.hlo_to_loops.elemental.reductions import padding_pairs, reducer
from hlo.passes.hlo_to_loops.emitter import Emitter, NotVectorizableError, splat_of
from hlo.passes.hlo_to_loops.folds import accumulator_type, monoid_of
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.loop_kernel import Kernel, argument_buffers, function_text

# Reducers that may be applied to the initial value, which is the padding too, any number of times,
# and those with the constant for which that holds.
_IDEMPOTENT = frozenset({"maximum", "minimum", "and", "or"})
_NEUTRAL = {"add": 0, "multiply": 1, "xor": 0}


def _may_repeat_initial(node: Node) -> bool:
    op = monoid_of(node.regions[0])
    if op in _IDEMPOTENT:
        return True
    initial = node.operands[1].producer
    if op not in _NEUTRAL or initial is None or initial.name != "constant":
        return False
    value = splat_of(initial)
    return value is not None and bool(value == _NEUTRAL[op])


def cumulative_dim(node: Node) -> tuple[int, bool] | None:
    """(dimension, whether from its end) if a reduce_window accumulates along one; else None."""
    operand, attributes = node.operands[0], node.attributes
    rank = operand.rank
    ones = (1,) * rank
    plain = all(
        (attributes.get(k) or ones) == ones
        for k in ("window_strides", "base_dilations", "window_dilations")
    )
    window = attributes["window_dimensions"]
    wide = [d for d in range(rank) if window[d] != 1]
    if len(node.operands) != 2 or not plain or len(wide) != 1 or not _may_repeat_initial(node):
        return None
    d, padding = wide[0], padding_pairs(attributes.get("padding"), rank)
    size = operand.shape[d]
    others = all(padding[k] == (0, 0) for k in range(rank) if k != d)
    if window[d] != size or not others or padding[d] not in ((size - 1, 0), (0, size - 1)):
        return None
    return d, padding[d] == (0, size - 1)


def emit_cumulative(region: Region, node: Node) -> Kernel | None:
    """A kernel with a running accumulator for each line along a dimension; None if not one."""
    found = cumulative_dim(node)
    if found is None or node.results[0].size == 0:
        return None
    widest = node.results[0].type.part_type.bits
    for lanes in (512 // max(widest, 32), 0):
        try:
            return _emit(region, node, *found, lanes)
        except NotVectorizableError:
            continue
    return None


def _emit(region: Region, node: Node, dim: int, backwards: bool, lanes: int) -> Kernel:
    inputs, outputs = argument_buffers(region)
    shape = node.results[0].shape
    outer, inner = math.prod(shape[:dim]), math.prod(shape[dim + 1 :])
    while lanes > inner:
        lanes //= 2
    if 0 < lanes < 4 or (lanes and inner % lanes):
        raise NotVectorizableError("lines are not a whole number of vectors")
    builder = Builder()
    em = Emitter(builder, inputs)
    b, step = em.b, max(lanes, 1)
    lines = inner // step
    with b.loop("%begin", "%end", b.index(1)) as loop:
        unit = em.variable(loop.iv, outer * lines) if outer * lines > 1 else ZERO
        row, line = em.divmod(unit, lines)
        base = row * (shape[dim] * inner)
        if lanes:
            name = b.load(f"arith.addi {em.index(line * step)}, {b.index(0)} : index")
            em.variable(name, inner)
            with em.vector(name, lanes):
                em.hoist_from_here()
                run_along_line(em, region, node, base + Affine.variable(name), dim, backwards)
        else:
            run_along_line(em, region, node, base + line, dim, backwards)
    return Kernel(
        function_text(builder, list(inputs.values()), outputs),
        outer * lines,
        tuple(buffer.memref for buffer in inputs.values()),
        tuple(buffer.memref for buffer in outputs),
    )


def run_along_line(
    em: Emitter, region: Region, node: Node, base: Affine, dim: int, backwards: bool
) -> None:
    """Runs along one line (or `lanes` of them)."""
    b, tensor = em.b, node.results[0]
    extent, stride = tensor.shape[dim], suffix_products(tensor.shape)[dim]
    op = monoid_of(node.regions[0])
    kind = accumulator_type(op, tensor.type)
    combine = reducer(em, node.regions[0], op)
    _, buffers = argument_buffers(region)
    start = elementwise.convert(b, em.element(node.operands[1], Position.of_dims(())), kind)
    types = register_types(em, [kind])
    carried = list(zip(start.parts, types, strict=True))
    with b.loop(b.index(0), b.index(extent), b.index(1), carried) as loop:
        index = em.variable(loop.iv, extent)
        at = index * -1 + (extent - 1) if backwards else index
        offset = base + at * stride
        value = em.element(node.operands[0], Position.of_offset(offset))
        running = rebuild([kind], loop.carried, b.lanes)
        total = combine(running, [elementwise.convert(b, value, kind)])[0]
        em.store(elementwise.convert(b, total, tensor.type), buffers[0], offset)
        loop.yielded = list(total.parts)
