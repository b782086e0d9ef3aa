"""split-reductions: a long reduction to few elements becomes partial ones, then one of those."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.hlo_to_loops.graph import decode_attribute
from hlo.passes.kernel_forms.building import create, integers, reshaped

# Reducers that may be applied to the initial value any number of times, and those with the constant
# for which that holds.
IDEMPOTENT = frozenset({"hlo.maximum", "hlo.minimum", "hlo.and", "hlo.or"})
# Marks the reductions that make partial results, to be reduced by the same launch.
PARTIAL = "hlo.partial"
IDENTITY = {"hlo.add": 0, "hlo.multiply": 1, "hlo.xor": 0}


@dataclass(frozen=True)
class SplitReductions(Pass):
    """Splits the outermost reduced dimension so that all threads have work.

    Requires: the core op set, static shapes.
    Guarantees: only reductions of one operand whose body is one commutative op that leaves the
    initial value be are split, and none of `enough_rows` contiguous rows, which are work for all
    threads; float sums are rounded in another order, as the specification allows.

        %0 = hlo.reduce(%x) add, dimensions = [0] : tensor<16777216xf32> -> tensor<f32>
        ==>
        %r = hlo.reshape %x : tensor<128x131072xf32>
        %p = hlo.reduce(%r) add, dimensions = [1] : -> tensor<128xf32>
        %0 = hlo.reduce(%p) add, dimensions = [0] : -> tensor<f32>
    """

    pieces: int = 128
    smallest: int = 1 << 17
    largest_result: int = 2048
    enough_rows: int = 64

    def run(self, module: ir.Module) -> bool:
        found: list[ir.Operation] = []

        def visit(op: ir.Operation) -> ir.WalkResult:
            if op.name == "hlo.reduce" and len(op.operands) == 2:
                found.append(op)
            return ir.WalkResult.ADVANCE

        module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
        split = [self._split(op) for op in found]
        return any(split)

    def _split(self, op: ir.Operation) -> bool:
        body = list(op.regions[0].blocks[0].operations)
        if len(body) != 2 or not _may_repeat_initial(body[0].operation.name, op.operands[1]):
            return False
        operand = ir.RankedTensorType(op.operands[0].type)
        shape, dims = list(operand.shape), sorted(decode_attribute(op.attributes["dimensions"]))
        kept = math.prod(s for d, s in enumerate(shape) if d not in dims)
        if not dims or math.prod(shape) < self.smallest or kept > self.largest_result or 0 in shape:
            return False
        innermost = dims == list(range(len(shape) - len(dims), len(shape)))
        if innermost and kept >= self.enough_rows:
            # A kernel takes whole rows: they stay in the cache for what reads them next.
            return False
        first = dims[0]
        run = 1  # reduced dimensions that follow the first one: split together with it
        while run < len(dims) and dims[run] == first + run:
            run += 1
        extent = math.prod(shape[first : first + run])
        pieces = self._pieces(extent)
        if pieces == 1:
            return False
        self._rewrite(op, shape, dims, first, run, extent, pieces)
        return True

    def _pieces(self, extent: int) -> int:
        """The divisor of `extent` nearest to the wanted count of pieces; 1 if none is near."""
        near = [
            p
            for p in range(self.pieces // 8, self.pieces * 4)
            if extent % p == 0 and extent // p >= 16
        ]
        return min(near, key=lambda p: abs(math.log(p / self.pieces)), default=1)

    @staticmethod
    def _rewrite(
        op: ir.Operation,
        shape: list[int],
        dims: list[int],
        first: int,
        run: int,
        extent: int,
        pieces: int,
    ) -> None:
        element = ir.RankedTensorType(op.results[0].type).element_type
        split = [*shape[:first], pieces, extent // pieces, *shape[first + run :]]
        inner = [first + 1, *(d - run + 2 for d in dims[run:])]
        partial = [s for d, s in enumerate(split) if d not in inner]
        with op.location, ir.InsertionPoint(op):
            value = reshaped(op.operands[0], split)
            for source, reduced, out in (
                (value, inner, partial),
                (None, [first], list(ir.RankedTensorType(op.results[0].type).shape)),
            ):
                operand = value if source is None else source
                new = create(
                    "hlo.reduce",
                    [operand, op.operands[1]],
                    out,
                    element,
                    {"dimensions": integers(reduced)},
                    regions=1,
                )
                _copy_body(op, new)
                if source is not None:
                    new.attributes[PARTIAL] = ir.UnitAttr.get()
                value = new.results[0]
        op.results[0].replace_all_uses_with(value)
        op.erase()


def _may_repeat_initial(reducer: str, initial: ir.Value) -> bool:
    """Whether folding the initial value in more than once changes nothing."""
    if reducer in IDEMPOTENT:
        return True
    owner = initial.owner
    if (
        reducer not in IDENTITY
        or isinstance(owner, ir.Block)
        or owner.operation.name != "hlo.constant"
    ):
        return False
    value = ir.constants.splat_value(owner.operation.attributes["value"])
    return value is not None and bool(value == IDENTITY[reducer])


def _copy_body(source: ir.Operation, target: ir.Operation) -> None:
    """The reducer region again, in another reduce of the same types."""
    block = source.regions[0].blocks[0]
    copy = target.regions[0].blocks.append(*[a.type for a in block.arguments])
    known: dict[ir.Value, ir.Value] = dict(zip(block.arguments, copy.arguments, strict=True))
    with ir.InsertionPoint(copy):
        for op in block.operations:
            new = op.operation.clone()
            for i, value in enumerate(op.operation.operands):
                new.operands[i] = known.get(value, value)
            for old, result in zip(op.operation.results, new.results, strict=True):
                known[old] = result
