"""Which operations of the dialect StableHLO has in its CHLO dialect."""

from __future__ import annotations

CHLO_OPS: frozenset[str] = frozenset(
    f"hlo.{name}"
    for name in (
        "_asin_acos_kernel acos acosh asin asinh atan atanh bessel_i1e conj cosh digamma erf erf_inv "
        "erfc is_inf is_neg_inf is_pos_inf lgamma mulhi next_after polygamma ragged_dot scan sinh "
        "square top_k zeta"
    ).split()
)
"""Names, with their prefix, of the operations that are exported as ``chlo`` operations."""
