"""Which ops compute each element of their result from the operands' elements at the same index."""

from __future__ import annotations

ELEMENTWISE: frozenset[str] = frozenset(
    f"hlo.{name}"
    for name in ["abs", "cbrt", "ceil", "convert", "cosine", "count_leading_zeros", "exponential", "exponential_minus_one", "floor", "imag", "is_finite", "log", "log_plus_one", "logistic", "negate", "not", "popcnt", "real", "reduce_precision", "round_nearest_afz", "round_nearest_even", "rsqrt", "sign", "sine", "sqrt", "tan", "tanh", "add", "and", "atan2", "compare", "complex", "divide", "maximum", "minimum", "multiply", "or", "power", "remainder", "shift_left", "shift_right_arithmetic", "shift_right_logical", "subtract", "xor", "clamp", "select", "_asin_acos_kernel", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bessel_i1e", "conj", "cosh", "digamma", "erf", "erf_inv", "erfc", "is_inf", "is_neg_inf", "is_pos_inf", "lgamma", "mulhi", "next_after", "polygamma", "sinh", "square", "zeta"]
)
"""Names with their prefix. `hlo.select` and `hlo.clamp` also take scalars for some operands, and
`hlo.bitcast_convert` is elementwise when widths agree."""
