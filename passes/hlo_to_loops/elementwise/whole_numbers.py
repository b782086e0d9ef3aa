"""Floats that are integers, and powers of two with such exponents."""

from __future__ import annotations

from dataclasses import dataclass

from hlo.passes.hlo_to_loops.elementwise import host_instructions
from hlo.passes.hlo_to_loops.elementwise.numeric import (
    Bits,
    Mask,
    Real,
    power_of_two,
    scale_in_two_steps,
)


@dataclass(frozen=True)
class Whole:
    """An integer, |integer| below 2**(p - 2) for p bits of precision.

    Attributes:
        real: as a float.
        shifted: plus a constant whose unit is 1: its low bits are the integer's.
    """

    real: Real
    shifted: Real

    @property
    def bits(self) -> Bits:
        """As a signed integer of the float's width; arbitrary for NaN."""
        return self.shifted.bits() - self.shifted.lift(_magic(self.shifted)).bits()

    @property
    def low_bits(self) -> Bits:
        """Bits whose lowest 16 are those of the integer."""
        return self.shifted.bits()

    def minus_one(self) -> Whole:
        """The integer before this one."""
        return Whole(self.real - 1.0, self.shifted - 1.0)


def _magic(x: Real) -> float:
    """What added to a small x rounds it to an integer."""
    return 1.5 * 2.0**x.mantissa


def nearest_integer(x: Real, factor: Real | float | None = None) -> Whole:
    """x, or x * factor in a fused step, rounded to an integer.

    By a constant whose unit is 1: a conversion would be undefined on NaN, which here gives NaN and
    arbitrary bits.
    """
    magic = _magic(x)
    shifted = x + magic if factor is None else x.fma(factor, magic)
    return Whole(shifted - magic, shifted)


def scale(x: Real, exponent: Whole) -> Real:
    """x * 2**exponent, rounded once, for x in [1/2, 2] and |exponent| up to twice the largest of
    the format.
    """
    scaled = host_instructions.scale_by(x, exponent.real)
    return scale_in_two_steps(x, exponent.bits) if scaled is None else scaled


def can_leave_out(x: Real) -> bool:
    """Whether the host has an instruction for scale_where."""
    return host_instructions.can_scale_some(x)


def scale_where(x: Real, exponent: Whole, mask: Mask) -> Real:
    """As `scale` where `mask` holds, for any exponent; 0 elsewhere, whatever x is there."""
    return host_instructions.scale_some(x, exponent.real, mask)


def two_to(exponent: Whole, like: Real, offset: int = 0) -> Real:
    """2**(exponent + offset), a normal number of the format of `like`."""
    scaled = host_instructions.scale_by(like.lift(2.0**offset), exponent.real)
    if scaled is not None:
        return scaled
    return power_of_two(exponent.bits + offset if offset else exponent.bits)
