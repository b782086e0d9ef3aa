"""What fusion needs to know of an op: how it reads its operands, and what recomputing it costs."""

from __future__ import annotations

from hlo.passes.hlo_to_loops.graph import Node

ELEMENTWISE = frozenset(
    [
        "abs",
        "acos",
        "acosh",
        "add",
        "and",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "bessel_i1e",
        "cbrt",
        "ceil",
        "clamp",
        "compare",
        "complex",
        "conj",
        "convert",
        "cos",
        "cosh",
        "cosine",
        "count_leading_zeros",
        "digamma",
        "divide",
        "erf",
        "erfc",
        "erf_inv",
        "exponential",
        "exponential_minus_one",
        "floor",
        "imag",
        "is_finite",
        "is_inf",
        "is_neg_inf",
        "is_pos_inf",
        "lgamma",
        "log",
        "log_plus_one",
        "logistic",
        "maximum",
        "minimum",
        "multiply",
        "negate",
        "next_after",
        "not",
        "or",
        "polygamma",
        "popcnt",
        "power",
        "real",
        "reduce_precision",
        "remainder",
        "round_nearest_afz",
        "round_nearest_even",
        "rsqrt",
        "select",
        "shift_left",
        "shift_right_arithmetic",
        "shift_right_logical",
        "sign",
        "sine",
        "sinh",
        "sqrt",
        "square",
        "subtract",
        "tan",
        "tanh",
        "xor",
        "zeta",
        "bitcast_convert",
        "copy",
    ]
)

# Cost tens of instructions: not worth computing twice.
EXPENSIVE = frozenset(
    [
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "bessel_i1e",
        "cbrt",
        "cosh",
        "cosine",
        "digamma",
        "divide",
        "erf",
        "erfc",
        "erf_inv",
        "exponential",
        "exponential_minus_one",
        "lgamma",
        "log",
        "log_plus_one",
        "logistic",
        "polygamma",
        "power",
        "remainder",
        "rsqrt",
        "sine",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "zeta",
        "gather",
    ]
)

# Each element of the result is one element of an operand, or a value known from the index.
MOVEMENT = frozenset(
    [
        "broadcast_in_dim",
        "concatenate",
        "dynamic_slice",
        "gather",
        "iota",
        "pad",
        "reshape",
        "reverse",
        "slice",
        "transpose",
    ]
)

# Reading one of these again costs no more than reading what it was made from.
FREE_TO_REPEAT = frozenset(["broadcast_in_dim", "iota", "constant", "reshape"])

FOLDS = frozenset({"reduce", "reduce_window"})

CONTRACTIONS = frozenset({"dot_general", "convolution"})

FUSIBLE = ELEMENTWISE | MOVEMENT | FOLDS | CONTRACTIONS | {"dynamic_update_slice"}


def is_fusible(node: Node) -> bool:
    """Whether generated loops can hold the op together with others."""
    return node.name in FUSIBLE


def repeats_operand(node: Node, operand: int) -> bool:
    """Whether computing the result once may read an element of that operand more than once."""
    if node.name in ("gather", "reduce_window", "dot_general", "convolution"):
        return True
    if node.name == "broadcast_in_dim":
        return node.operands[0].size != node.results[0].size
    return node.name == "dynamic_update_slice" and operand == 0
