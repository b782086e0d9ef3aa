"""Builds ops of the `hlo` dialect with the types they have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from hlo import ir
from hlo.passes.rewrite.tensor_types import (
    element_of,
    is_complex,
    is_float,
    is_integer,
    is_unsigned,
    shape_of,
)

Number: TypeAlias = bool | int | float | complex
BodyFunction: TypeAlias = "Callable[[Builder, list[ir.Value]], Sequence[ir.Value]]"


class Builder:
    """Creates ops at one place, with one location.

    Shapes and element types of results follow from the operands. Nothing here checks that an op is
    well-formed: the verifier does, after the pass.

    Attributes:
        created: every op created so far through this builder and the builders of its regions.
    """

    def __init__(
        self,
        point: ir.InsertionPoint,
        location: ir.Location,
        created: list[ir.Operation] | None = None,
    ) -> None:
        self.point = point
        self.location = location
        self.context = location.context
        self.created: list[ir.Operation] = [] if created is None else created

    @classmethod
    def before(cls, op: ir.Operation) -> Builder:
        """A builder in front of an op, with its location."""
        return cls(ir.InsertionPoint(op), op.location)

    # ---- Anything ----
    def create(
        self,
        name: str,
        operands: Sequence[ir.Value],
        results: Sequence[ir.Type],
        attributes: Mapping[str, ir.Attribute] | None = None,
        regions: int = 0,
    ) -> ir.Operation:
        """An op by its full name."""
        op = ir.Operation.create(
            name,
            list(results),
            list(operands),
            dict(attributes) if attributes else None,
            None,
            regions,
            self.location,
            self.point,
        )
        self.created.append(op)
        return op

    def one(
        self,
        name: str,
        operands: Sequence[ir.Value],
        result: ir.Type,
        attributes: Mapping[str, ir.Attribute] | None = None,
    ) -> ir.Value:
        """The result of an `hlo` op without regions that has one."""
        return self.create(f"hlo.{name}", operands, [result], attributes).results[0]

    def fill(self, region: ir.Region, arguments: Sequence[ir.Type], body: BodyFunction) -> None:
        """Gives a region one block that ends in `hlo.return` of what `body` returns."""
        block = region.blocks.append(*arguments, arg_locs=[self.location] * len(arguments))
        inner = Builder(ir.InsertionPoint(block), self.location, self.created)
        inner.create("hlo.return", body(inner, list(block.arguments)), [])

    # ---- Types and attributes ----
    def tensor(self, shape: Sequence[int], element: ir.Type) -> ir.RankedTensorType:
        """A ranked tensor type."""
        return ir.RankedTensorType.get(list(shape), element, loc=self.location)

    def parse_type(self, text: str) -> ir.Type:
        """A type from its assembly."""
        return ir.Type.parse(text, self.context)

    def integer_type(self, width: int, *, unsigned: bool = False) -> ir.Type:
        """i1 to i64, or ui2 to ui64."""
        make = ir.IntegerType.get_unsigned if unsigned else ir.IntegerType.get_signless
        return make(width, self.context)

    def integers(self, values: Sequence[int]) -> ir.Attribute:
        """`array<i64: ...>`."""
        return ir.DenseI64ArrayAttr.get([int(v) for v in values], self.context)

    def integer(self, value: int, width: int = 64) -> ir.Attribute:
        """A signless integer attribute."""
        return ir.IntegerAttr.get(self.integer_type(width), value)

    def boolean(self, value: bool) -> ir.Attribute:
        """A flag."""
        return ir.BoolAttr.get(value, self.context)

    def string(self, value: str) -> ir.Attribute:
        """A string attribute."""
        return ir.StringAttr.get(value, self.context)

    def parse(self, text: str) -> ir.Attribute:
        """An attribute from its assembly."""
        return ir.Attribute.parse(text, self.context)

    # ---- Constants ----
    def constant(self, value: Number, element: ir.Type, shape: Sequence[int] = ()) -> ir.Value:
        """A tensor with one value everywhere."""
        kind = self.tensor(shape, element)
        if isinstance(element, ir.IntegerType):
            attribute = ir.DenseElementsAttr.get_splat(kind, _integer_attribute(element, value))
        elif isinstance(element, ir.FloatType):
            number = ir.FloatAttr.get(element, float(value.real), loc=self.location)
            attribute = ir.DenseElementsAttr.get_splat(kind, number)
        else:
            array = np.full(tuple(shape), value, ir.types.to_dtype(element))
            attribute = ir.constants.from_numpy(array, element)
        return self.one("constant", [], kind, {"value": attribute})

    def constant_array(self, array: np.ndarray, element: ir.Type) -> ir.Value:
        """A tensor of known elements; the array's dtype is the element type's."""
        attribute = ir.constants.from_numpy(array, element)
        return self.one("constant", [], self.tensor(array.shape, element), {"value": attribute})

    def constant_like(self, value: Number, like: ir.Value) -> ir.Value:
        """One value everywhere, with the type of `like`."""
        return self.constant(value, element_of(like), shape_of(like))

    def iota(self, shape: Sequence[int], element: ir.Type, dimension: int) -> ir.Value:
        """The index along a dimension."""
        return self.one(
            "iota",
            [],
            self.tensor(shape, element),
            {"iota_dimension": self.integer(dimension)},
        )

    # ---- Elementwise ----
    def unary(self, name: str, operand: ir.Value) -> ir.Value:
        """An elementwise op whose result has its operand's type."""
        return self.one(name, [operand], operand.type)

    def binary(self, name: str, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        """An elementwise op whose result has its operands' type."""
        return self.one(name, [lhs, rhs], lhs.type)

    def add(self, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        """lhs + rhs."""
        return self.binary("add", lhs, rhs)

    def subtract(self, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        """lhs - rhs."""
        return self.binary("subtract", lhs, rhs)

    def multiply(self, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        """lhs * rhs."""
        return self.binary("multiply", lhs, rhs)

    def divide(self, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        """lhs / rhs."""
        return self.binary("divide", lhs, rhs)

    def compare(
        self, lhs: ir.Value, rhs: ir.Value, direction: str, *, total_order: bool = False
    ) -> ir.Value:
        """Whether `lhs direction rhs`, in the order of the element type."""
        element = element_of(lhs)
        if total_order:
            kind = "TOTALORDER"
        elif is_float(element) or is_complex(element):
            kind = "FLOAT"
        else:
            kind = "UNSIGNED" if is_unsigned(element) else "SIGNED"
        return self.one(
            "compare",
            [lhs, rhs],
            self.tensor(shape_of(lhs), self.integer_type(1)),
            {
                "comparison_direction": self.parse(f"#hlo<comparison_direction {direction}>"),
                "compare_type": self.parse(f"#hlo<comparison_type {kind}>"),
            },
        )

    def select(self, predicate: ir.Value, on_true: ir.Value, on_false: ir.Value) -> ir.Value:
        """on_true where the predicate holds."""
        return self.one("select", [predicate, on_true, on_false], on_true.type)

    def convert(self, operand: ir.Value, element: ir.Type) -> ir.Value:
        """The operand as another element type; the operand itself if it has it already."""
        if element_of(operand) == element:
            return operand
        return self.one("convert", [operand], self.tensor(shape_of(operand), element))

    def bitcast(self, operand: ir.Value, element: ir.Type) -> ir.Value:
        """The same bits as an element type of the same width."""
        if element_of(operand) == element:
            return operand
        return self.one("bitcast_convert", [operand], self.tensor(shape_of(operand), element))

    # ---- Shapes ----
    def reshape(self, operand: ir.Value, shape: Sequence[int]) -> ir.Value:
        """The operand under another shape; the operand itself if it has it already."""
        if shape_of(operand) == tuple(shape):
            return operand
        return self.one("reshape", [operand], self.tensor(shape, element_of(operand)))

    def broadcast_in_dim(
        self, operand: ir.Value, shape: Sequence[int], dimensions: Sequence[int]
    ) -> ir.Value:
        """The operand's dimension i as the result's dimension dimensions[i], repeated elsewhere."""
        if shape_of(operand) == tuple(shape) and list(dimensions) == list(range(len(shape))):
            return operand
        return self.one(
            "broadcast_in_dim",
            [operand],
            self.tensor(shape, element_of(operand)),
            {"broadcast_dimensions": self.integers(dimensions)},
        )

    def splat(self, scalar: ir.Value, shape: Sequence[int]) -> ir.Value:
        """A scalar repeated."""
        return self.broadcast_in_dim(scalar, shape, [])

    def transpose(self, operand: ir.Value, permutation: Sequence[int]) -> ir.Value:
        """The operand's dimension permutation[i] as dimension i."""
        if list(permutation) == list(range(len(permutation))):
            return operand
        shape = shape_of(operand)
        return self.one(
            "transpose",
            [operand],
            self.tensor([shape[d] for d in permutation], element_of(operand)),
            {"permutation": self.integers(permutation)},
        )

    def slice(
        self,
        operand: ir.Value,
        starts: Sequence[int],
        limits: Sequence[int],
        strides: Sequence[int] | None = None,
    ) -> ir.Value:
        """Every stride-th element between start and limit; the operand itself if that is all."""
        steps = [1] * len(starts) if strides is None else list(strides)
        if not any(starts) and tuple(limits) == shape_of(operand) and set(steps) <= {1}:
            return operand
        sizes = [
            max(0, -(-(limit - start) // step))
            for start, limit, step in zip(starts, limits, steps, strict=True)
        ]
        return self.one(
            "slice",
            [operand],
            self.tensor(sizes, element_of(operand)),
            {
                "start_indices": self.integers(starts),
                "limit_indices": self.integers(limits),
                "strides": self.integers(steps),
            },
        )

    def slice_dimension(
        self, operand: ir.Value, dimension: int, start: int, limit: int, stride: int = 1
    ) -> ir.Value:
        """A slice along one dimension, all of the others."""
        limits = list(shape_of(operand))
        starts, strides = [0] * len(limits), [1] * len(limits)
        starts[dimension], limits[dimension], strides[dimension] = start, limit, stride
        return self.slice(operand, starts, limits, strides)

    def pad(
        self,
        operand: ir.Value,
        value: ir.Value,
        low: Sequence[int],
        high: Sequence[int],
        interior: Sequence[int],
    ) -> ir.Value:
        """The operand with a scalar around and between its elements."""
        sizes = [
            lo + size + max(size - 1, 0) * gap + hi
            for size, lo, hi, gap in zip(shape_of(operand), low, high, interior, strict=True)
        ]
        return self.one(
            "pad",
            [operand, value],
            self.tensor(sizes, element_of(operand)),
            {
                "edge_padding_low": self.integers(low),
                "edge_padding_high": self.integers(high),
                "interior_padding": self.integers(interior),
            },
        )

    def concatenate(self, operands: Sequence[ir.Value], dimension: int) -> ir.Value:
        """The operands one after another; a single one is itself."""
        if len(operands) == 1:
            return operands[0]
        shape = list(shape_of(operands[0]))
        shape[dimension] = sum(shape_of(operand)[dimension] for operand in operands)
        return self.one(
            "concatenate",
            operands,
            self.tensor(shape, element_of(operands[0])),
            {"dimension": self.integer(dimension)},
        )

    def dynamic_slice(
        self, operand: ir.Value, starts: Sequence[ir.Value], sizes: Sequence[int]
    ) -> ir.Value:
        """A slice at computed starts, clamped into the operand."""
        return self.one(
            "dynamic_slice",
            [operand, *starts],
            self.tensor(sizes, element_of(operand)),
            {"slice_sizes": self.integers(sizes)},
        )

    # ---- With regions ----
    def reduce(
        self, operand: ir.Value, initial: ir.Value, dimensions: Sequence[int], combiner: str
    ) -> ir.Value:
        """The elements along dimensions combined by a binary op."""
        element = element_of(operand)
        kept = [s for d, s in enumerate(shape_of(operand)) if d not in set(dimensions)]
        op = self.create(
            "hlo.reduce",
            [operand, initial],
            [self.tensor(kept, element)],
            {"dimensions": self.integers(dimensions)},
            regions=1,
        )
        scalar = self.tensor((), element)
        self.fill(
            op.regions[0], [scalar, scalar], lambda b, args: [b.binary(combiner, args[0], args[1])]
        )
        return op.results[0]

    def sum(self, operand: ir.Value, dimensions: Sequence[int]) -> ir.Value:
        """The sum along dimensions."""
        zero: Number = 0 if is_integer(element_of(operand)) else 0.0
        return self.reduce(operand, self.constant(zero, element_of(operand)), dimensions, "add")

    def sort(
        self,
        operands: Sequence[ir.Value],
        dimension: int,
        before: Callable[[Builder, list[ir.Value]], ir.Value],
    ) -> list[ir.Value]:
        """A stable sort. `before` gets two scalars of each operand, as hlo.sort's comparator."""
        op = self.create(
            "hlo.sort",
            operands,
            [operand.type for operand in operands],
            {"dimension": self.integer(dimension), "is_stable": self.boolean(True)},
            regions=1,
        )
        scalars = [self.tensor((), element_of(operand)) for operand in operands for _ in range(2)]
        self.fill(op.regions[0], scalars, lambda b, args: [before(b, args)])
        return list(op.results)

    # ---- Contractions ----
    def dot_general(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        batching: tuple[Sequence[int], Sequence[int]] = ((), ()),
        contracting: tuple[Sequence[int], Sequence[int]],
        element: ir.Type,
        attributes: Mapping[str, ir.Attribute] | None = None,
    ) -> ir.Value:
        """A contraction: batching dimensions, then lhs's free ones, then rhs's.

        `attributes` are the optional ones, such as `precision_config`.
        """
        free = [
            [s for d, s in enumerate(shape_of(x)) if d not in (*batching[i], *contracting[i])]
            for i, x in enumerate((lhs, rhs))
        ]
        shape = [*(shape_of(lhs)[d] for d in batching[0]), *free[0], *free[1]]
        numbers = ir.attributes.DotDimensionNumbers.get(
            lhs_batching_dimensions=list(batching[0]),
            rhs_batching_dimensions=list(batching[1]),
            lhs_contracting_dimensions=list(contracting[0]),
            rhs_contracting_dimensions=list(contracting[1]),
            context=self.context,
        )
        return self.one(
            "dot_general",
            [lhs, rhs],
            self.tensor(shape, element),
            {"dot_dimension_numbers": numbers, **(attributes or {})},
        )


def _integer_attribute(element: ir.IntegerType, value: Number) -> ir.IntegerAttr:
    """An integer attribute; values beyond the signed range wrap, as the type has them."""
    width = element.width
    number = int(value.real) % (1 << width)
    if not element.is_unsigned and width > 1 and number >= 1 << (width - 1):
        number -= 1 << width
    if element.is_unsigned and width == 64 and number >= 1 << 63:
        number -= 1 << 64
    return ir.IntegerAttr.get(element, number)
