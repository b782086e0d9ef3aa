"""split-reductions: a long reduction to few elements becomes partial ones, then one of those."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.cost.op_cost import SLOW, SLOW_WORK
from hlo.passes.hlo_to_loops.column_space import LONGEST, folds_spread_again
from hlo.passes.hlo_to_loops.elementwise import EMITTERS
from hlo.passes.hlo_to_loops.graph import blocks_in, decode_attribute, reading
from hlo.passes.kernel_forms.building import create, integers, reshaped
from hlo.passes.rewrite.walk import body_of, function_around, operations_named

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
    initial value be are split, from `smallest` elements on, or an eighth if all are folded into one
    and are dear to compute for that alone; and none of `enough_rows` contiguous rows, which are
    work for all threads, nor of columns that a kernel goes over again; float sums are rounded in
    another order, as the specification allows.

        %0 = hlo.reduce(%x) add, dimensions = [0] : tensor<16777216xf32> -> tensor<f32>
        ==>
        %r = hlo.reshape %x : tensor<128x131072xf32>
        %p = hlo.reduce(%r) add, dimensions = [1] : -> tensor<128xf32>
        %0 = hlo.reduce(%p) add, dimensions = [0] : -> tensor<f32>
    """

    pieces: int = 128
    partials: int = 1 << 30  # results of all pieces together, beyond which there are fewer pieces
    smallest: int = 1 << 17
    largest_result: int = 2048
    enough_rows: int = 64
    longest_column: int = LONGEST

    def run(self, module: ir.Module) -> bool:
        columns = WholeColumns(self.longest_column)
        plans = [(op, self.plan(op, columns)) for op in operations_named(module, {"hlo.reduce"})]
        split = [self._split(op, plan) for op, plan in plans if plan is not None]
        return any(split)

    def _split(self, op: ir.Operation, plan: SplitPlan) -> bool:
        element = ir.RankedTensorType(op.results[0].type).element_type
        with op.location, ir.InsertionPoint(op):
            value = reshaped(op.operands[0], plan.shape)
            for inner in (plan.inner, (plan.outer,)):
                shape = ir.RankedTensorType(value.type).shape
                kept = [s for d, s in enumerate(shape) if d not in inner]
                attributes = {"dimensions": integers(inner)}
                operands = [value, op.operands[1]]
                new = create("hlo.reduce", operands, kept, element, attributes, regions=1)
                copy_body(op, new)
                value = new.results[0]
                if inner is plan.inner:
                    new.attributes[PARTIAL] = ir.UnitAttr.get()
        op.results[0].replace_all_uses_with(value)
        op.erase()
        return True

    def plan(self, op: ir.Operation, columns: WholeColumns) -> SplitPlan | None:
        """How a reduction is split, if it is to be."""
        body = list(op.regions[0].blocks[0].operations)
        if len(op.operands) != 2 or len(body) != 2:
            return None
        if not _may_repeat_initial(body[0].operation.name, op.operands[1]):
            return None
        operand = ir.RankedTensorType(op.operands[0].type)
        shape, dims = list(operand.shape), sorted(decode_attribute(op.attributes["dimensions"]))
        kept = math.prod(s for d, s in enumerate(shape) if d not in dims)
        if not dims or kept > self.largest_result or 0 in shape:
            return None
        dear = kept == 1 and _is_dear(op.operands[0])
        if math.prod(shape) * (SLOW_WORK if dear else 1) < self.smallest:
            return None
        innermost = dims == list(range(len(shape) - len(dims), len(shape)))
        if innermost and kept >= self.enough_rows:
            # A kernel takes whole rows: they stay in the cache for what reads them next.
            return None
        first = dims[0]
        run = 1  # reduced dimensions that follow the first one: split together with it
        while run < len(dims) and dims[run] == first + run:
            run += 1
        extent = math.prod(shape[first : first + run])
        pieces = self._pieces(extent, max(min(self.pieces, self.partials // kept), 2))
        if pieces == 1 or columns.holds(op):
            return None
        split = (*shape[:first], pieces, extent // pieces, *shape[first + run :])
        return SplitPlan(split, first, (first + 1, *(d - run + 2 for d in dims[run:])))

    @staticmethod
    def _pieces(extent: int, wanted: int) -> int:
        """The divisor of `extent` nearest to the wanted count of pieces; 1 if none is near."""
        near = [
            p
            for p in range(max(wanted // 8, 2), wanted * 4)
            if extent % p == 0 and extent // p >= 16
        ]
        return min(near, key=lambda p: abs(math.log(p / wanted)), default=1)


@dataclass(frozen=True)
class SplitPlan:
    """A reduction in two steps.

    Attributes:
        shape: of the operand, with the outermost reduced dimensions as pieces x their length.
        outer: the dimension of the pieces, also of the partial results: reduced in the second step.
        inner: the dimensions reduced in the first step.
    """

    shape: tuple[int, ...]
    outer: int
    inner: tuple[int, ...]


def _is_dear(value: ir.Value) -> bool:
    """Whether elements take long that are computed for one reader alone, and so in its kernel."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        owner = value.owner
        if isinstance(owner, ir.Block) or sum(1 for _ in value.uses) != 1:
            continue
        name = owner.operation.name.removeprefix("hlo.")
        if name not in EMITTERS and name != "reshape":
            continue
        if name in SLOW:
            return True
        waiting += owner.operation.operands
    return False


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


class WholeColumns:
    """The reductions of columns that kernels go over again while these are in the cache.

    Args:
        longest: elements that a column may have.
    """

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._found: dict[ir.Block, set[ir.Value]] = {}

    def holds(self, op: ir.Operation) -> bool:
        """Whether an op is one of them; functions are as they were when first asked about."""
        body = body_of(function_around(op))
        if body not in self._found:
            self._found[body] = self._in_function(body)
        return op.results[0] in self._found[body]

    def _in_function(self, body: ir.Block) -> set[ir.Value]:
        with reading(body) as region:
            folds = [folds_spread_again(b.nodes, self._longest)[0] for b in blocks_in(region)]
            return {node.source.results[0] for found in folds for node in found}


def copy_body(source: ir.Operation, target: ir.Operation) -> None:
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
