"""bessel_i1e, computed in `f64`."""

from __future__ import annotations

from hlo.passes.hlo_to_loops.elementwise import coefficients
from hlo.passes.hlo_to_loops.elementwise.numeric import Real, chebyshev


def bessel_i1e(x: Real) -> Real:
    """e**-|x| I1(x): Chebyshev series in |x| on [0, 8] and in 1 / |x| beyond; 0 at infinity."""
    wide = x.cast("f64")
    magnitude = abs(wide)
    small = magnitude.at_most(8.0)
    near = chebyshev(small, 0.0, 8.0, coefficients.I1E_CHEBYSHEV["f64"]) * small / (small + 1.0)
    beyond = magnitude.at_least(8.0)
    far = (
        chebyshev(1.0 / beyond, 1e-9, 0.125, coefficients.I1E_FAR_CHEBYSHEV["f64"]) / beyond.sqrt()
    )
    return (magnitude <= 8.0).real(near, far).copysign(wide).cast(x.scalar)
