"""Ragged dots as loops over blocks of rows: each block is multiplied for its own group alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from hlo import ir
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import bit_width, element_of, is_float, shape_of

_FEWEST_ROWS, _MOST_ROWS = 8, 256
# Multiply-adds that a turn of the loop must save: some ten microseconds.
_WORTH_A_TURN = 1 << 20

Numbers = ir.attributes.RaggedDotDimensionNumbers
Step = Callable[[Builder, "Block", ir.Value], ir.Value]


def pays(op: ir.Operation, numbers: Numbers, ragged: int) -> bool:
    """Whether a loop saves enough of the products of all rows with all groups, which also need
    memory for all of them."""
    lhs, rhs, sizes = (shape_of(operand) for operand in op.operands)
    if numbers.lhs_batching_dimensions or len(lhs) != 2 or len(sizes) != 1:
        return False
    extent, groups = lhs[ragged], sizes[0]
    if extent * groups == 0 or len(rhs) != 2 + len(numbers.rhs_group_dimensions):
        return False
    rows = _rows(extent, groups)
    # Of one row with one matrix, or of one row of each side.
    products = prod(rhs) // groups if len(rhs) == 3 else prod(lhs) * prod(rhs) // extent**2
    turns = -(-extent // rows) + min(groups, extent)
    return products * (extent * groups - turns * rows) >= turns * _WORTH_A_TURN


def _rows(extent: int, groups: int) -> int:
    """Of a block: the power of two that an average group takes."""
    average = -(-extent // groups)
    return min(max(1 << (average - 1).bit_length(), _FEWEST_ROWS), _MOST_ROWS, extent)


class Block:
    """The rows of one turn.

    Attributes:
        group: whose they are.
        start: where the block lies; it ends within the tensor, so it may begin before its rows.
        rows: how many it has.
        mine: which of them are the group's and not done yet, i1 of [rows].
    """

    def __init__(self, b: Builder, ends: ir.Value, row: ir.Value, extent: int, rows: int) -> None:
        index, groups = element_of(row), shape_of(ends)[0]
        done = b.compare(ends, b.splat(row, [groups]), "LE")
        self.group = b.sum(b.convert(done, index), [0])
        end = b.reshape(b.dynamic_slice(ends, [self.group], [1]), [])
        self.rows = rows
        self.start = b.binary("minimum", row, b.constant(extent - rows, index))
        places = b.add(b.iota([rows], index, 0), b.splat(self.start, [rows]))
        self.mine = b.binary(
            "and",
            b.compare(places, b.splat(row, [rows]), "GE"),
            b.compare(places, b.splat(end, [rows]), "LT"),
        )
        after = b.binary("minimum", end, b.add(row, b.constant(rows, index)))
        # Sizes below zero mean nothing, but the loop must end.
        self.next = b.binary("maximum", after, b.add(row, b.constant(1, index)))

    def of(self, b: Builder, value: ir.Value, dimension: int) -> ir.Value:
        """The block of a tensor along a dimension."""
        sizes = list(shape_of(value))
        sizes[dimension] = self.rows
        return b.dynamic_slice(value, self.at(b, value, dimension), sizes)

    def at(self, b: Builder, value: ir.Value, dimension: int) -> list[ir.Value]:
        """Where that lies."""
        zero = b.constant(0, element_of(self.start))
        return [self.start if d == dimension else zero for d in range(len(shape_of(value)))]

    def only_mine(self, b: Builder, value: ir.Value, dimension: int, other: ir.Value) -> ir.Value:
        """A block's own rows, and those of another value."""
        return b.select(b.broadcast_in_dim(self.mine, shape_of(value), [dimension]), value, other)


def rows_by_group(op: ir.Operation, builder: Builder, ends: ir.Value, ragged: int) -> ir.Value:
    """Each group of rows times its own matrix; zeros past the last group."""
    lhs, rhs, _ = op.operands
    numbers = ir.attributes.RaggedDotDimensionNumbers(op.attributes["ragged_dot_dimension_numbers"])
    (group,) = numbers.rhs_group_dimensions
    (right,) = numbers.rhs_contracting_dimensions
    matrix = [size for d, size in enumerate(shape_of(rhs)) if d != group]

    def step(b: Builder, block: Block, result: ir.Value) -> ir.Value:
        zero = b.constant(0, element_of(block.start))
        starts = [block.group if d == group else zero for d in range(3)]
        sizes = [1 if d == group else size for d, size in enumerate(shape_of(rhs))]
        weights = b.reshape(b.dynamic_slice(rhs, starts, sizes), matrix)
        contracting = ([1 - ragged], [right - (right > group)])
        product = _dot(op, b, block.of(b, lhs, ragged), weights, contracting, element_of(result))
        # The free dimension of the rows comes first.
        written = block.only_mine(b, product, 0, block.of(b, result, 0))
        places = block.at(b, result, 0)
        return b.one("dynamic_update_slice", [result, written, *places], result.type)

    initial = builder.constant_like(0, op.results[0])
    return _loop(builder, ends, shape_of(lhs)[ragged], initial, step)


def sums_by_group(
    op: ir.Operation, builder: Builder, ends: ir.Value, ragged: int, other: int
) -> ir.Value:
    """A product for each group of a contracted dimension; narrow floats are added up in f32."""
    lhs, rhs, _ = op.operands
    result = op.results[0]
    element = element_of(result)
    narrow = is_float(element) and bit_width(element) < 32
    wide = builder.parse_type("f32") if narrow else element

    def step(b: Builder, block: Block, total: ir.Value) -> ir.Value:
        def own(value: ir.Value, dimension: int) -> ir.Value:
            part = block.of(b, value, dimension)
            return block.only_mine(b, part, dimension, b.constant_like(0, part))

        product = _dot(op, b, own(lhs, ragged), own(rhs, other), ([ragged], [other]), wide)
        zero = b.constant(0, element_of(block.start))
        places = [block.group, zero, zero]
        shape = [1, *shape_of(total)[1:]]
        added = b.add(b.dynamic_slice(total, places, shape), b.reshape(product, shape))
        return b.one("dynamic_update_slice", [total, added, *places], total.type)

    initial = builder.constant(0, wide, shape_of(result))
    return builder.convert(_loop(builder, ends, shape_of(lhs)[ragged], initial, step), element)


def _dot(
    op: ir.Operation,
    b: Builder,
    lhs: ir.Value,
    rhs: ir.Value,
    contracting: tuple[Sequence[int], Sequence[int]],
    element: ir.Type,
) -> ir.Value:
    kept = {n: op.attributes[n] for n in ("precision_config",) if n in op.attributes}
    return b.dot_general(lhs, rhs, contracting=contracting, element=element, attributes=kept)


def _loop(builder: Builder, ends: ir.Value, extent: int, result: ir.Value, step: Step) -> ir.Value:
    """A `hlo.while` over the rows that have a group, some of one group at a time.

    Args:
        result: what the first turn gets.
    """
    index, groups = element_of(ends), shape_of(ends)[0]
    rows = _rows(extent, groups)
    last = builder.reshape(builder.slice(ends, [groups - 1], [groups]), [])
    limit = builder.binary("minimum", last, builder.constant(extent, index))
    initial = [builder.constant(0, index), result]
    types = [value.type for value in initial]
    loop = builder.create("hlo.while", initial, types, regions=2)

    def body(b: Builder, carried: list[ir.Value]) -> list[ir.Value]:
        block = Block(b, ends, carried[0], extent, rows)
        return [block.next, step(b, block, carried[1])]

    builder.fill(loop.regions[0], types, lambda b, carried: [b.compare(carried[0], limit, "LT")])
    builder.fill(loop.regions[1], types, body)
    return loop.results[1]
