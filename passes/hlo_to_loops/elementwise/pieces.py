"""Functions as piecewise polynomials whose coefficients are looked up in vector registers.

Where a permutation of a register's lanes by another register costs as much as an addition, sixteen
short polynomials are cheaper than one long one, or than a quotient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_loops.elementwise import host_instructions
from hlo.passes.hlo_to_loops.elementwise.numeric import Bits, Real
from hlo.passes.hlo_to_loops.elementwise.whole_numbers import nearest_integer

_INDEX_SHIFT = 21  # leaves of an `f32`'s bits the exponent and two bits of the significand


@dataclass(frozen=True)
class Pieces:
    """f on [0, top] in 16 pieces, numbered by four bits of x + bias; constant from `top` on.

    Attributes:
        rows: of each piece c, f(c), and the coefficients of q in (x - c): f is f(c) + (x - c) q.
        first: below it, f is x + x q; 0 for a function that is not odd.
    """

    bias: float
    top: float
    rows: tuple[tuple[float, ...], ...]
    first: float = 0.0


@dataclass(frozen=True)
class EvenPieces:
    """f on [low, high] in 32 pieces around multiples of 1 / per_unit; constant below `low`.

    Attributes:
        rows: as of `Pieces`; that of the piece around n / per_unit is at n mod 32.
    """

    per_unit: float
    low: float
    high: float
    rows: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        half = len(self.rows) // 2
        ends = (self.low * self.per_unit, self.high * self.per_unit)
        assert -half - 0.5 < ends[0] < ends[1] < half - 0.5, "an end lies in the other end's piece"


def even_pieces(x: Real, pieces: EvenPieces) -> Real | None:
    """f(x) for x of at most `high` or NaN; None where the host has no such look-up."""
    if not host_instructions.can_look_up(x):
        return None
    bounded = x.at_least(pieces.low)
    piece = nearest_integer(bounded, pieces.per_unit).low_bits
    centres, starts, *terms = zip(*pieces.rows, strict=True)
    step = bounded - host_instructions.look_up(piece, centres)
    quotient = _quotient(step, piece, terms)
    return quotient.fma(step, host_instructions.look_up(piece, starts))


def piecewise(x: Real, pieces: Pieces) -> Real | None:
    """f(x) for x of at least 0 or NaN; None where the host has no such look-up."""
    if not host_instructions.can_look_up(x):
        return None
    bounded = x.at_most(pieces.top)
    place = bounded + pieces.bias
    piece = place.bits().shr(_INDEX_SHIFT)
    centres, starts, *terms = zip(*pieces.rows, strict=True)
    step = bounded - host_instructions.look_up(piece, centres)
    quotient = _quotient(step, piece, terms)
    start = host_instructions.look_up(piece, starts)
    if pieces.first:
        # Of `place`, not of x: just below `first` it may round up into the next piece.
        start = (place < pieces.first + pieces.bias).real(bounded, start)
    return quotient.fma(step, start)


def _quotient(step: Real, piece: Bits, terms: Sequence[Sequence[float]]) -> Real:
    """A polynomial whose coefficients are looked up where they are used: that keeps few of them in
    registers.
    """
    quotient = host_instructions.look_up(piece, terms[-1])
    for term in reversed(terms[:-1]):
        quotient = quotient.fma(step, host_instructions.look_up(piece, term))
    return quotient
