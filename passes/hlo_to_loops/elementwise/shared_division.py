"""Division of many numbers by one: the reciprocal is computed once.

A division of a whole register takes ten to twenty cycles in which no other begins; a product and
two fused multiply-adds take two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hlo.passes.hlo_to_loops.builder import Builder
from hlo.passes.hlo_to_loops.elementwise.numeric import Real, any_bit


@dataclass(frozen=True)
class _Range:
    """Powers of two between which a quotient is computed without overflow, and exactly enough.

    Attributes:
        least, most: of the divisor.
        raised: what residuals are multiplied by, so that none loses bits as a subnormal number.
    """

    least: int
    most: int
    raised: int


# Dividends are below the number whose exponent begins with the bits 11: 2**65 and 2**513. With
# `raised` they are finite. The residual of a quotient is a multiple of the product of the last
# places of quotient and divisor: of 2**-149 * 2**(least - 23) at least, which `raised` makes a
# number that f32 has.
_RANGES = {"f32": _Range(-36, 60, 60), "f64": _Range(-440, 480, 500)}


def divide(x: Real, y: Real, *, bounded: bool = False) -> Real:
    """x / y; by the reciprocal of y where that is the same in all turns of the innermost loop.

    Rounded as a division rounds: the quotient by the rounded reciprocal is at most a unit in the
    last place off, and the step that adds its residual times the reciprocal rounds correctly
    (Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", 1990).
    Only a subnormal quotient midway between two numbers may become the other one of the two.
    Where a dividend or the divisor is out of range all lanes are divided.

    Args:
        bounded: each x is NaN or within [-1, 1]. Without it all lanes are looked at.
    """
    b = x.b
    if not (b.is_for_host and b.lanes):
        return x / y
    value = b.float_of(y.name)
    if value is not None:
        return _by_constant(x, value, y, bounded=bounded)
    if (shared := b.scalar_before_loop(y.name)) is None:
        return x / y
    name, level = shared
    limits, lanes = _RANGES[x.scalar], b.lanes
    with b.at_level(level), b.width(0):
        divisor = y.of(name)
        outside = ~((divisor >= 2.0**limits.least) & (divisor <= 2.0**limits.most))
        inverse = 1.0 / divisor
        lowered, raised = inverse * 2.0**-limits.raised, divisor * 2.0**limits.raised
        with b.width(lanes):
            factors = [y.of(b.splat(v.name, y.scalar)) for v in (inverse, lowered, raised)]
    condition = outside.name
    if not bounded:
        condition = b.op(f"arith.ori {_any_large(x)}, {condition} : i1")
    return _unless(condition, x, y, factors)


def _by_constant(x: Real, value: float, y: Real, *, bounded: bool) -> Real:
    limits, size = _RANGES[x.scalar], abs(value)
    if not 2.0**limits.least <= size <= 2.0**limits.most:
        return x / y
    kind = np.float64 if x.is_double else np.float32
    inverse = float(kind(1.0) / kind(size))
    numbers = (inverse, inverse * 2.0**-limits.raised, size * 2.0**limits.raised)
    dividend, factors = -x if value < 0.0 else x, [x.lift(v) for v in numbers]
    if bounded:
        return _quotient(dividend, factors)
    return _unless(_any_large(x), dividend, x.lift(size), factors)


def _any_large(x: Real) -> str:
    """A scalar `i1`: whether the exponent of any lane begins with two ones; so does NaN's."""
    bits = x.bits()
    return any_bit(bits & (bits << 1), x.width - 2)


def _unless(condition: str, x: Real, y: Real, factors: Sequence[Real]) -> Real:
    """x / y by the factors of y, or by division where the condition holds; it seldom does."""
    b, kind = x.b, x.b.type_of(x.scalar)

    def divided(inner: Builder, names: list[str]) -> list[str]:
        dividend, divisor = (Real(inner, name, x.scalar) for name in names)
        return [(dividend / divisor).name]

    with b.choice(condition, [kind]) as choice:
        with choice.then():
            if b.outlines:
                operands = [(x.name, kind), (y.name, kind)]
                choice.yielded = b.call_rare(f"quotient_{x.scalar}", operands, [kind], divided)
            else:
                choice.yielded = divided(b, [x.name, y.name])
        with choice.otherwise():
            choice.yielded = [_quotient(x, factors).name]
    return x.of(choice.results[0])


def _quotient(x: Real, factors: Sequence[Real]) -> Real:
    """x / y by 1 / y, 1 / (y * 2**raised) and y * 2**raised."""
    inverse, lowered, raised = factors
    rough = x * inverse
    # What the product is too large by, not what is left: so a quotient of -0 keeps its sign.
    excess = rough.fma(raised, -(x * 2.0 ** _RANGES[x.scalar].raised))
    return (-excess).fma(lowered, rough)
