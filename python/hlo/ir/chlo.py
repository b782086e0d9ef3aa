"""Which operations of the dialect StableHLO has in its CHLO dialect."""

from __future__ import annotations

CHLO_OPS: frozenset[str] = frozenset(
    {
        "hlo._asin_acos_kernel",
        "hlo.acos",
        "hlo.acosh",
        "hlo.asin",
        "hlo.asinh",
        "hlo.atan",
        "hlo.atanh",
        "hlo.bessel_i1e",
        "hlo.conj",
        "hlo.cosh",
        "hlo.digamma",
        "hlo.erf",
        "hlo.erf_inv",
        "hlo.erfc",
        "hlo.is_inf",
        "hlo.is_neg_inf",
        "hlo.is_pos_inf",
        "hlo.lgamma",
        "hlo.mulhi",
        "hlo.next_after",
        "hlo.polygamma",
        "hlo.ragged_dot",
        "hlo.scan",
        "hlo.sinh",
        "hlo.square",
        "hlo.top_k",
        "hlo.zeta",
    }
)
"""Names, with their prefix, of the operations that are exported as ``chlo`` operations."""
