"""`hlo.scan` becomes a loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.inlining import move_block_to
from hlo.passes.rewrite.tensor_types import element_of, shape_of
from hlo.passes.rewrite.walk import body_of, expand


@dataclass(frozen=True)
class ExpandScan(Pass):
    """Replaces a computation carried along a dimension by `hlo.while` over its indices, which
    slices the inputs and updates the outputs in place.

        %ys, %c = "hlo.scan"(%xs, %c0) <{dimension = 0}> ({ body })
      ==>
        %i, %ys, %c = hlo.while(0, zeros, %c0) cond i < n
          do { x = dynamic_slice %xs[i]; y, c = body(x, c); dynamic_update_slice %ys[i] = y }
    """

    def run(self, module: ir.Module) -> bool:
        """Expands every scan."""
        return expand(module, {"hlo.scan": _expand})


def _expand(op: ir.Operation, builder: Builder) -> Sequence[ir.Value]:
    sizes = ir.attributes.ints(op, "operandSegmentSizes")
    inputs, carries = list(op.operands)[: sizes[0]], list(op.operands)[sizes[0] :]
    outputs = list(op.results)[: ir.attributes.ints(op, "resultSegmentSizes")[0]]
    dimension = ir.attributes.integer(op, "dimension")
    steps = _steps(op, inputs, outputs, dimension)
    backward = ir.attributes.boolean(op, "is_reverse")
    index = builder.integer_type(32)
    initial = [
        builder.constant(0, index),
        *(builder.constant_like(0, output) for output in outputs),
        *carries,
    ]
    loop = builder.create("hlo.while", initial, [v.type for v in initial], regions=2)
    types = [value.type for value in initial]

    def condition(b: Builder, args: list[ir.Value]) -> list[ir.Value]:
        return [b.compare(args[0], b.constant(steps, index), "LT")]

    def body(b: Builder, args: list[ir.Value]) -> list[ir.Value]:
        step, buffers, state = args[0], args[1 : 1 + len(outputs)], args[1 + len(outputs) :]
        position = b.subtract(b.constant(steps - 1, index), step) if backward else step
        slices = [_take(b, value, position, dimension) for value in inputs]
        results = move_block_to(b, body_of(op), [*slices, *state])
        written = [
            _put(b, buffer, value, position, dimension)
            for buffer, value in zip(buffers, results[: len(outputs)], strict=True)
        ]
        return [b.add(step, b.constant(1, index)), *written, *results[len(outputs) :]]

    builder.fill(loop.regions[0], types, condition)
    builder.fill(loop.regions[1], types, body)
    return list(loop.results)[1:]


def _steps(
    op: ir.Operation, inputs: Sequence[ir.Value], outputs: Sequence[ir.Value], dimension: int
) -> int:
    for value in (*inputs, *outputs):
        return shape_of(value)[dimension]
    return ir.attributes.integer(op, "scan_dim_size", 0)


def _starts(b: Builder, position: ir.Value, rank: int, dimension: int) -> list[ir.Value]:
    zero = b.constant(0, element_of(position))
    return [position if d == dimension else zero for d in range(rank)]


def _take(b: Builder, value: ir.Value, position: ir.Value, dimension: int) -> ir.Value:
    shape = list(shape_of(value))
    sizes = [1 if d == dimension else size for d, size in enumerate(shape)]
    part = b.dynamic_slice(value, _starts(b, position, len(shape), dimension), sizes)
    return b.reshape(part, shape[:dimension] + shape[dimension + 1 :])


def _put(
    b: Builder, buffer: ir.Value, value: ir.Value, position: ir.Value, dimension: int
) -> ir.Value:
    shape = list(shape_of(buffer))
    update = b.reshape(value, [1 if d == dimension else size for d, size in enumerate(shape)])
    starts = _starts(b, position, len(shape), dimension)
    return b.one("dynamic_update_slice", [buffer, update, *starts], buffer.type)
