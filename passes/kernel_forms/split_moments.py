"""split-moments: a long sum and the sum of squared deviations from its mean, in one pass."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.cost.caches import CORE_BYTES
from hlo.passes.hlo_to_loops.graph import decode_attribute
from hlo.passes.kernel_forms.split_reductions import (
    PARTIAL,
    SplitPlan,
    SplitReductions,
    WholeColumns,
)
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import element_of, shape_of
from hlo.passes.rewrite.walk import operations_named
from hlo.passes.simplify.dead_code import erase_dead_ops

# Elements of a column up to which a kernel had better go over it three times, in the cache.
LONGEST_COLUMN = 1024


@dataclass(frozen=True)
class SplitMoments(Pass):
    """Sums the squared deviations from a mean piece by piece, each about the piece's own mean.

    A variance otherwise needs its mean first, and reads everything twice. With the sums and squared
    deviations of pieces of k elements, the whole has

        sum (x - mean)^2  =  sum over pieces ( sum (x - m)^2  +  k (m - mean)^2 ),  m of the piece

    which is as accurate as two passes (Chan, Golub and LeVeque, "Algorithms for Computing the
    Sample Variance", 1983). A piece stays in the cache for its second pass. Infinities and NaNs
    give what they gave; a piece whose mean is the whole's, also an infinite one, adds nothing to
    the second sum.

    Requires: the core op set, static shapes.
    Guarantees: both sums of the original are split as `split-reductions` splits reductions, where
    it would; only f32 and f64 sums that start at zero.

        %s = hlo.reduce(%x) add, dimensions = [0] : tensor<65536x64xf32> -> tensor<64xf32>
        %m = %s / 65536;  %d = %x - broadcast(%m)
        %v = hlo.reduce(%d * %d) add, dimensions = [0]
        ==>
        %r = hlo.reshape %x : tensor<128x512x64xf32>
        %p = hlo.reduce(%r) add, dimensions = [1] : -> tensor<128x64xf32>
        %q = hlo.reduce((%r - broadcast(%p / 512))^2) add, dimensions = [1]
        %s = hlo.reduce(%p) add, dimensions = [0];  %m = %s / 65536
        %v = hlo.reduce(%q) add + 512 * hlo.reduce((%p / 512 - broadcast(%m))^2) add
    """

    def run(self, module: ir.Module) -> bool:
        found = [m for op in operations_named(module, {"hlo.reduce"}) for m in _moments(op)]
        columns = WholeColumns(LONGEST_COLUMN)
        plans = [(moments, _plan(moments, columns)) for moments in found]
        taken: set[ir.Value] = set()
        changed = False
        for moments, plan in plans:
            if moments.sum.results[0] in taken or plan is None:
                continue
            taken.add(moments.sum.results[0])
            _rewrite(moments, plan)
            changed = True
        return changed and erase_dead_ops(module)


@dataclass(frozen=True)
class Moments:
    """A sum of a tensor, and one of its squared deviations from the mean, of any shape."""

    sum: ir.Operation
    squares: ir.Operation
    mean: ir.Value


def _moments(squares: ir.Operation) -> Iterator[Moments]:
    """The moments whose second sum an op is."""
    if not _is_sum(squares) or (deviation := _squared(squares.operands[0])) is None:
        return
    difference = _made_by(deviation, "subtract")
    spread = difference and _made_by(difference.operands[1], "broadcast_in_dim")
    if difference is None or spread is None:
        return
    operand, dims = difference.operands[0], _dimensions(squares)
    shape = shape_of(operand)
    count = math.prod(shape[d] for d in dims)
    total = _total_of_mean(_unshaped(spread.operands[0]), count) if count else None
    if total is None or not _is_sum(total) or total.operands[0] != operand:
        return
    kept = [d for d, size in enumerate(shape) if d not in dims and size != 1]
    walked = [
        d
        for d, size in zip(
            decode_attribute(spread.attributes["broadcast_dimensions"]),
            shape_of(spread.operands[0]),
            strict=True,
        )
        if size != 1
    ]
    if _dimensions(total) == dims and walked == kept:
        yield Moments(total, squares, spread.operands[0])


def _is_sum(op: ir.Operation) -> bool:
    """Whether a reduction adds f32 or f64, from zero."""
    if op.name != "hlo.reduce" or len(op.operands) != 2:
        return False
    if str(element_of(op.operands[0])) not in ("f32", "f64"):
        return False
    body = [inner.operation.name for inner in op.regions[0].blocks[0].operations]
    return body[:-1] == ["hlo.add"] and _splat(op.operands[1]) == 0


def _squared(value: ir.Value) -> ir.Value | None:
    """What a value is the square of."""
    if (square := _made_by(value, "square")) is not None:
        return square.operands[0]
    product = _made_by(value, "multiply")
    same = product is not None and product.operands[0] == product.operands[1]
    return product.operands[0] if product is not None and same else None


def _total_of_mean(mean: ir.Value, count: int) -> ir.Operation | None:
    """The op whose result, over a count, a value is."""
    number = ir.types.to_dtype(element_of(mean)).type
    if (quotient := _made_by(mean, "divide")) is not None:
        total, divisor = quotient.operands
        return _op_of(_unshaped(total)) if _splat(divisor) == count else None
    if (product := _made_by(mean, "multiply")) is None:
        return None
    for total, factor in (tuple(product.operands), tuple(product.operands)[::-1]):
        if _splat(factor) == number(1) / number(count):
            return _op_of(_unshaped(total))
    return None


def _unshaped(value: ir.Value) -> ir.Value:
    while (op := _made_by(value, "reshape")) is not None:
        value = op.operands[0]
    return value


def _op_of(value: ir.Value) -> ir.Operation | None:
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def _made_by(value: ir.Value, name: str) -> ir.Operation | None:
    op = _op_of(value)
    return op if op is not None and op.name == f"hlo.{name}" else None


def _splat(value: ir.Value) -> np.generic | None:
    """The value of all elements of a constant, or of one that is spread."""
    op = _op_of(value)
    while op is not None and op.name in ("hlo.broadcast_in_dim", "hlo.reshape"):
        op = _op_of(op.operands[0])
    if op is None or op.name != "hlo.constant":
        return None
    return ir.constants.splat_value(op.attributes["value"])


def _dimensions(op: ir.Operation) -> list[int]:
    return sorted(decode_attribute(op.attributes["dimensions"]))


def _plan(moments: Moments, columns: WholeColumns) -> SplitPlan | None:
    """How both sums are split: into pieces that stay in the cache for a second pass."""
    plan = SplitReductions().plan(moments.sum, columns)
    if plan is None:
        return None
    size = 4 if str(element_of(moments.sum.operands[0])) == "f32" else 8
    piece = math.prod(plan.shape[plan.outer + 1 :]) * size
    return plan if piece <= CORE_BYTES // 2 else None


def _rewrite(moments: Moments, plan: SplitPlan) -> None:
    total, squares = moments.sum, moments.squares
    b = Builder.before(total)
    pieces = b.reshape(total.operands[0], plan.shape)
    count = math.prod(plan.shape[d] for d in plan.inner)
    sums = _partial(b.sum(pieces, plan.inner))
    kept = [d for d in range(len(plan.shape)) if d not in plan.inner]
    whole = b.sum(sums, [plan.outer])
    total.results[0].replace_all_uses_with(whole)
    b = Builder.before(squares)
    own = b.divide(sums, b.constant_like(float(count), sums))
    deviation = b.subtract(pieces, b.broadcast_in_dim(own, plan.shape, kept))
    near = _partial(b.sum(b.multiply(deviation, deviation), plan.inner))
    mean = b.reshape(moments.mean, shape_of(whole))
    others = [d for d in range(len(kept)) if d != plan.outer]
    spread = b.broadcast_in_dim(mean, shape_of(sums), others)
    own = b.divide(sums, b.constant_like(float(count), sums))
    apart = b.select(
        b.compare(own, spread, "EQ"), b.constant_like(0.0, own), b.subtract(own, spread)
    )
    far = b.sum(b.multiply(apart, apart), [plan.outer])
    result = b.add(b.sum(near, [plan.outer]), b.multiply(far, b.constant_like(float(count), far)))
    squares.results[0].replace_all_uses_with(result)


def _partial(value: ir.Value) -> ir.Value:
    """Marks a reduction as one step of two."""
    value.owner.operation.attributes[PARTIAL] = ir.UnitAttr.get(value.context)
    return value
