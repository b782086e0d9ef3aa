"""Random number ops become the arithmetic of counter-based generators.

J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011, with XLA's arrangement
of counters and outputs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.executable.runtime import RANDOM_STATE
from hlo.passes.base import Pass
from hlo.passes.legalize.random_bits import philox_bits, threefry_bits
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import (
    bit_width,
    element_of,
    is_boolean,
    is_float,
    is_unsigned,
    shape_of,
)
from hlo.passes.rewrite.walk import expand, operations_named, replace, unsupported


@dataclass(frozen=True)
class ExpandRng(Pass):
    """Replaces `hlo.rng_bit_generator` by Threefry-2x32 or Philox-4x32 (the default), bit for bit
    as XLA's CPU backend has them, and `hlo.rng` by a distribution of Philox's bits.

    Each time an `hlo.rng` runs it takes the next state of the process (`hlo.seed_rng`): what it
    draws is independent of what others do, of the iterations of its loop and of other calls.

        %s, %b = hlo.rng_bit_generator %state, algorithm = THREE_FRY
      ==>
        additions, rotations and exclusive ors of ui32, then %state with its counter advanced
    """

    def run(self, module: ir.Module) -> bool:
        """Expands generators, then distributions."""
        changed = expand(module, {"hlo.rng_bit_generator": _bit_generator})
        draws = operations_named(module, {"hlo.rng"})
        for op in draws:
            replace(op, [_draw(op, Builder.before(op))])
        return changed or bool(draws)


def _bit_generator(op: ir.Operation, builder: Builder) -> Sequence[ir.Value]:
    algorithm = ir.attributes.enum(op, "rng_algorithm")
    state, shape = op.operands[0], shape_of(op.results[1])
    element = element_of(op.results[1])
    width = bit_width(element)
    if width > 64:
        raise unsupported(op, f"expected at most 64 bits an element, found {element}")
    words_type = builder.integer_type(64 if width == 64 else 32, unsigned=True)
    wide = builder.integer_type(64, unsigned=True)
    words = builder.bitcast(state, wide) if bit_width(element_of(state)) == 64 else None
    if words is None:
        raise unsupported(op, f"expected a state of 64-bit words, found {state.type}")
    generate = threefry_bits if algorithm == "THREE_FRY" else philox_bits
    new_state, bits = generate(builder, words, shape, bit_width(words_type))
    return [
        builder.bitcast(new_state, element_of(op.results[0])),
        _as_element(builder, bits, element),
    ]


def _as_element(builder: Builder, bits: ir.Value, element: ir.Type) -> ir.Value:
    """The low bits of each word as an element of its own width."""
    unsigned = builder.integer_type(bit_width(element), unsigned=True)
    if is_boolean(element):
        one = builder.constant_like(1, bits)
        return builder.convert(builder.binary("and", bits, one), element)
    return builder.bitcast(builder.convert(bits, unsigned), element)


def _draw(op: ir.Operation, builder: Builder) -> ir.Value:
    result, element = op.results[0], element_of(op.results[0])
    shape = shape_of(result)
    low, high = (builder.splat(operand, shape) for operand in list(op.operands)[:2])
    wide = builder.integer_type(64, unsigned=True)
    attributes = {
        "call_target_name": builder.string(RANDOM_STATE),
        "has_side_effect": builder.boolean(True),
    }
    drawn = builder.create("hlo.custom_call", [], [builder.tensor((2,), wide)], attributes).results[
        0
    ]
    key, stream = (builder.slice_dimension(drawn, 0, i, i + 1) for i in range(2))
    counter = builder.constant(0, wide, (1,))
    state = builder.concatenate([key, counter, stream], 0)
    width = 64 if bit_width(element) == 64 else 32
    _, bits = philox_bits(builder, state, shape, width)
    if ir.attributes.enum(op, "rng_distribution") == "NORMAL":
        return _normal(builder, bits, low, high)
    if is_float(element):
        return _uniform_float(builder, bits, low, high)
    if is_boolean(element):
        return _as_element(builder, bits, element)
    return _uniform_integer(builder, bits, low, high)


def _unit_interval(builder: Builder, bits: ir.Value, element: ir.Type) -> ir.Value:
    """The upper bits as a float of [0, 1), computed in f32 or f64."""
    width = bit_width(element_of(bits))
    precision = 53 if width == 64 else 24
    working = builder.parse_type("f64" if width == 64 else "f32")
    shift = builder.constant_like(width - precision, bits)
    numerator = builder.convert(builder.binary("shift_right_logical", bits, shift), working)
    del element
    return builder.multiply(numerator, builder.constant_like(2.0**-precision, numerator))


def _uniform_float(builder: Builder, bits: ir.Value, low: ir.Value, high: ir.Value) -> ir.Value:
    element = element_of(low)
    unit = _unit_interval(builder, bits, element)
    working = element_of(unit)
    start, end = builder.convert(low, working), builder.convert(high, working)
    value = builder.add(start, builder.multiply(unit, builder.subtract(end, start)))
    value = builder.convert(value, element)
    # Rounding may reach the excluded end.
    return builder.select(builder.compare(value, high, "LT"), value, low)


def _uniform_integer(builder: Builder, bits: ir.Value, low: ir.Value, high: ir.Value) -> ir.Value:
    element = element_of(low)
    width = bit_width(element)
    unsigned = builder.integer_type(width, unsigned=True)
    first, last = builder.bitcast(low, unsigned), builder.bitcast(high, unsigned)
    span = builder.convert(builder.subtract(last, first), element_of(bits))
    offset = builder.convert(builder.binary("remainder", bits, span), unsigned)
    value = builder.add(first, offset)
    return value if is_unsigned(element) else builder.bitcast(value, element)


def _normal(builder: Builder, bits: ir.Value, mean: ir.Value, deviation: ir.Value) -> ir.Value:
    """mean + deviation * sqrt(2) * erf_inv(u) for u in (-1, 1)."""
    element = element_of(mean)
    unit = _unit_interval(builder, bits, element)
    working = element_of(unit)
    precision = 53 if bit_width(working) == 64 else 24
    # Centres of the cells of [0, 1), so that neither end is drawn.
    half_cell = builder.constant_like(1.0 - 2.0**-precision, unit)
    symmetric = builder.subtract(builder.add(unit, unit), half_cell)
    scaled = builder.multiply(
        builder.unary("erf_inv", symmetric), builder.constant_like(math.sqrt(2.0), unit)
    )
    value = builder.add(
        builder.convert(mean, working),
        builder.multiply(builder.convert(deviation, working), scaled),
    )
    return builder.convert(value, element)
