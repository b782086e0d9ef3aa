"""split-scatters: many numbers folded into few elements are folded into several copies of them."""

from __future__ import annotations

from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.hlo_to_loops.element_types import element_type
from hlo.passes.hlo_to_loops.folds import identity_of
from hlo.passes.kernel_forms.building import create, integers, reshaped
from hlo.passes.kernel_forms.split_reductions import copy_body
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import element_of, is_boolean, shape_of, size_of
from hlo.passes.rewrite.walk import operations_named

REDUCERS = frozenset({"hlo.add", "hlo.maximum", "hlo.minimum"})


@dataclass(frozen=True)
class SplitScatters(Pass):
    """Splits the updates of a histogram so that all threads have work.

    Requires: the core op set, static shapes.
    Guarantees: only scatters of one number for each index, of integers, f32 or f64, whose body is
    an addition, maximum or minimum are split, from `smallest` updates on, into `pieces`, or half as
    many, whose results have no more than a `share`-th of the updates' elements; float sums are
    rounded in another order, as the specification allows.

        %0 = hlo.scatter(%x, %i, %u) add : (tensor<256xi32>, tensor<100000x1xi32>, ...)
        ==>
        %c = hlo.concatenate %x, 0, dim = 0 : tensor<8x256xi32>
        %s = hlo.scatter(%c, %i : tensor<8x12500x1xi32>, %u : tensor<8x12500xi32>) add
        %0 = hlo.reduce(%s) add, dimensions = [0] : tensor<256xi32>
    """

    pieces: int = 8
    smallest: int = 1 << 14
    share: int = 4

    def run(self, module: ir.Module) -> bool:
        split = [self._split(op) for op in operations_named(module, {"hlo.scatter"})]
        return any(split)

    def _split(self, op: ir.Operation) -> bool:
        reducer = _reducer(op)
        if reducer is None:
            return False
        operand, _, updates = op.operands
        count = size_of(shape_of(updates))
        most = count // (self.share * max(size_of(shape_of(operand)), 1))
        pieces = [p for p in (self.pieces, self.pieces // 2) if 1 < p <= most and count % p == 0]
        if count < self.smallest or not pieces:
            return False
        _rewrite(op, reducer, pieces[0])
        return True


def _reducer(op: ir.Operation) -> str | None:
    """The name of the one op that folds single numbers in, if a scatter may be split."""
    body = list(op.regions[0].blocks[0].operations)
    numbers = ir.attributes.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
    if len(op.operands) != 3 or len(body) != 2 or numbers.update_window_dims:
        return None
    operand, indices, _ = op.operands
    last = len(shape_of(indices)) - 1
    if numbers.input_batching_dims or numbers.index_vector_dim != last:
        return None
    name, block = body[0].operation.name, op.regions[0].blocks[0]
    element = element_of(operand)
    if name not in REDUCERS or is_boolean(element):
        return None
    if set(body[0].operation.operands) != set(block.arguments):
        return None
    if not isinstance(element, ir.IntegerType | ir.F32Type | ir.F64Type):
        return None
    return name


def _rewrite(op: ir.Operation, reducer: str, pieces: int) -> None:
    operand, indices, updates = op.operands
    shape, element = shape_of(operand), element_of(operand)
    kind = element_type(ir.types.name_of(element))
    neutral = identity_of(reducer.removeprefix("hlo."), kind)
    assert neutral is not None, "such a reducer has one"
    numbers = ir.attributes.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
    count = size_of(shape_of(updates))
    b = Builder.before(op)
    with op.location, ir.InsertionPoint(op):
        first = reshaped(operand, (1, *shape))
        rest = b.constant(neutral, element, (pieces - 1, *shape))
        copies = create(
            "hlo.concatenate", [first, rest], (pieces, *shape), element, {"dimension": b.integer(0)}
        )
        split = (pieces, count // pieces)
        moved = ir.attributes.ScatterDimensionNumbers.get(
            inserted_window_dims=[d + 1 for d in numbers.inserted_window_dims],
            input_batching_dims=[0],
            scatter_indices_batching_dims=[0],
            scatter_dims_to_operand_dims=[d + 1 for d in numbers.scatter_dims_to_operand_dims],
            index_vector_dim=2,
        )
        operands = [
            copies.results[0],
            reshaped(indices, (*split, shape_of(indices)[-1])),
            _updates(b, updates, split),
        ]
        attributes: dict[str, ir.Attribute] = {"scatter_dimension_numbers": moved}
        scatter = create("hlo.scatter", operands, (pieces, *shape), element, attributes, regions=1)
        copy_body(op, scatter)
        initial = b.constant(neutral, element)
        attributes = {"dimensions": integers([0])}
        operands = [scatter.results[0], initial]
        total = create("hlo.reduce", operands, shape, element, attributes, regions=1)
        copy_body(op, total)
    op.results[0].replace_all_uses_with(total.results[0])
    op.erase()


def _updates(b: Builder, updates: ir.Value, shape: tuple[int, int]) -> ir.Value:
    """The updates as so many pieces; one number everywhere stays that."""
    owner = updates.owner
    if not isinstance(owner, ir.Block) and owner.operation.name == "hlo.constant":
        value = ir.constants.splat_value(owner.operation.attributes["value"])
        if value is not None:
            return b.constant(value.item(), element_of(updates), shape)
    return reshaped(updates, shape)
