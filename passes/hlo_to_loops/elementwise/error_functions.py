"""erf, erfc and erf_inv."""

from __future__ import annotations

from hlo.passes.hlo_to_loops.elementwise import coefficients, piece_tables
from hlo.passes.hlo_to_loops.elementwise.exponential import exp
from hlo.passes.hlo_to_loops.elementwise.logarithm import log
from hlo.passes.hlo_to_loops.elementwise.numeric import (
    Real,
    chebyshev,
    polynomial,
    rarely,
    two_product,
    unless_far,
)
from hlo.passes.hlo_to_loops.elementwise.pieces import even_pieces, piecewise


def _erf_near(x: Real) -> Real:
    """erf on [-1, 1]."""
    return x.fma(polynomial(x * x, coefficients.ERF[x.scalar]), x)


def _erfc_far(x: Real) -> Real:
    """erfc for x of at least 1/2: e**(-x**2) R((x - k) / (x + k)) / (1 + 2x)."""
    center = 4.0 if x.is_double else 2.0
    bounded = x.at_most(28.0 if x.is_double else 11.0)
    position = (bounded - center) / (bounded + center)
    scaled = polynomial(position, coefficients.ERFCX[x.scalar])
    # R has 1 as its scale; the quotient keeps what the division leaves.
    denominator = bounded.fma(2.0, 1.0)
    square, error = two_product(bounded, bounded)
    return exp(-square, -error) * (scaled / denominator)


def erf(x: Real) -> Real:
    """In pieces; else polynomials on both sides of 1, above it of -log(erfc) in `f32`."""
    magnitude = abs(x)
    if (found := piecewise(magnitude, piece_tables.ERF)) is not None:
        return found.copysign(x)
    if x.is_double:
        far = 1.0 - _erfc_far(magnitude.at_most(6.0))
    else:
        exponent = polynomial(magnitude.at_most(4.0), coefficients.ERF_LOG["f32"])
        far = 1.0 - exp(-exponent)
    return (magnitude < 1.0).real(_erf_near(x), far.copysign(x))


def erfc(x: Real) -> Real:
    """1 - erf(x), without cancellation; in pieces, far above 0 by e**(x**2) erfc(x) in pieces, or
    as a quotient.
    """
    if (near := even_pieces(x, piece_tables.ERFC)) is not None:
        return unless_far(x, near, lambda x: piece_tables.ERFC.high - x, "erfc", _erfc_in_pieces)
    far = _erfc_far(abs(x).at_least(0.5))
    far = (x < 0.0).real(2.0 - far, far)
    return (abs(x) < 0.5).real(1.0 - _erf_near(x), far)


def _erfc_in_pieces(x: Real) -> Real:
    """erfc for x of at least 0, in `f32`."""
    bounded = x.at_most(11.0)
    scaled = piecewise(x, piece_tables.ERFCX)
    assert scaled is not None, "even pieces are looked up as well"
    square, error = two_product(bounded, bounded)
    return exp(-square, -error) * scaled


def erf_inv(x: Real) -> Real:
    """x times a function of w = -log(1 - x**2), by pieces in w or its root; infinite at 1, NaN
    above.

    The pieces follow Giles, "Approximating the erfinv function" (2012).
    """
    magnitude = abs(x)
    inside = magnitude < 1.0
    safe = inside.real(x, 0.5)
    w = -log((1.0 - safe) * (safe + 1.0))
    factor = _erf_inv_double(w) if x.is_double else _erf_inv_single(w)
    edge = magnitude.eq(1.0).real(x.lift(float("inf")).copysign(x), float("nan"))
    return inside.real(factor * safe, edge)


def _erf_inv_single(w: Real) -> Real:
    near = polynomial(w - 2.5, coefficients.ERF_INV_NEAR["f32"])
    beyond = w >= 5.0

    def tail() -> list[Real]:
        root = polynomial(w.sqrt() - 3.0, coefficients.ERF_INV_TAIL["f32"])
        return [beyond.real(root, near)]

    return rarely(beyond, [near], tail)[0]


def _erf_inv_double(w: Real) -> Real:
    near = chebyshev(w, 0.0, 6.25, coefficients.ERF_INV_CHEBYSHEV["f64"])
    beyond = w >= 6.25

    def tail() -> list[Real]:
        root = w.sqrt()
        middle = chebyshev(root, 2.5, 4.0, coefficients.ERF_INV_MIDDLE_CHEBYSHEV["f64"])
        far = chebyshev(root, 4.0, 6.1, coefficients.ERF_INV_FAR_CHEBYSHEV["f64"])
        return [beyond.real((w < 16.0).real(middle, far), near)]

    return rarely(beyond, [near], tail)[0]
