"""The cost of one op, whatever kernel it ends up in."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor

# Functions that hardware has no instruction for: counted apart from flops, as XLA does.
TRANSCENDENTAL = frozenset(
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
        "rsqrt",
        "sine",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "zeta",
    ]
)

# Take tens of instructions for an element.
SLOW = TRANSCENDENTAL | {"divide", "remainder", "sort", "scatter", "select_and_scatter"}
SLOW_WORK = 8

# Only move elements, or make them from their index.
FREE_OF_FLOPS = frozenset(
    [
        "bitcast_convert",
        "broadcast_in_dim",
        "concatenate",
        "constant",
        "convert",
        "copy",
        "custom_call",
        "dynamic_slice",
        "dynamic_update_slice",
        "gather",
        "imag",
        "iota",
        "optimization_barrier",
        "pad",
        "partition_id",
        "real",
        "replica_id",
        "reshape",
        "reverse",
        "slice",
        "transpose",
    ]
)


def looks_elements_up(node: Node) -> bool:
    """Whether an op is a gather of single elements: each of its result for an index of its own."""
    return node.name == "gather" and all(size == 1 for size in node.attributes["slice_sizes"])


def work(node: Node) -> int:
    """Element operations, roughly nanoseconds of scalar code: what is divided over threads."""
    size = node.results[0].size if node.results else 0
    if node.name in ("dot_general", "convolution"):
        return multiply_adds(node)
    if node.name == "reduce_window":
        return size * math.prod(node.attributes["window_dimensions"])
    if node.name in ("constant", "reshape", "broadcast_in_dim"):
        return 0
    if node.name in ("reduce", "sort", "select_and_scatter"):
        size = max([size, *(o.size for o in node.operands)])
    if node.name == "scatter":
        size = node.operands[-1].size
    if node.name == "dynamic_update_slice":
        size = node.operands[1].size
    return size * (SLOW_WORK if node.name in SLOW else 1)


def flops(node: Node) -> int:
    """Arithmetic operations on elements, those of `transcendentals` apart.

    A dot or convolution counts two for each multiply-add, a reduction what its body does for each
    element folded, a sort n log2 n comparisons along its dimension, an FFT 5 n log2 n. Integer
    operations count too. Custom calls are not counted: what they do is not known here.
    """
    if not node.results or node.name in FREE_OF_FLOPS or node.name in TRANSCENDENTAL:
        return 0
    size = node.results[0].size
    if node.name in ("dot_general", "convolution"):
        return 2 * multiply_adds(node)
    if node.name in ("reduce", "reduce_window", "select_and_scatter", "scatter"):
        return _folded(node) * sum(_body_flops(region) for region in node.regions)
    if node.name == "sort":
        length = node.results[0].shape[node.attributes["dimension"]]
        return math.ceil(size * math.log2(max(length, 2)))
    if node.name == "fft":
        length = math.prod(node.attributes["fft_length"])
        return math.ceil(5 * size * math.log2(max(length, 2)))
    return size


def transcendentals(node: Node) -> int:
    """Evaluations of transcendental functions and roots."""
    return node.results[0].size if node.name in TRANSCENDENTAL else 0


def multiply_adds(node: Node) -> int:
    """Multiply-adds of a `dot_general` or `convolution`; those on padding count."""
    size = node.results[0].size
    if node.name == "dot_general":
        numbers = node.attributes["dot_dimension_numbers"]
        depth = [node.operands[0].shape[d] for d in numbers.get("lhs_contracting_dimensions", ())]
        return size * math.prod(depth)
    kernel = node.operands[1]
    features = node.attributes["dimension_numbers"]["kernel"].index("o")
    return size * kernel.size // max(1, kernel.shape[features])


def spatial_size(node: Node, part: str, tensor: Tensor) -> int:
    """Elements of a convolution's tensor along its spatial dimensions alone.

    Args:
        part: `input`, `kernel` or `output`, which the tensor is.
    """
    labels = node.attributes["dimension_numbers"][part]
    return math.prod(tensor.shape[d] for d, label in enumerate(labels) if label.isdigit())


def has_wide_window(node: Node) -> bool:
    """Whether a convolution's window has more positions than its result: a kernel's gradient."""
    window = spatial_size(node, "kernel", node.operands[1])
    return window > spatial_size(node, "output", node.results[0])


def is_depthwise_gradient(node: Node) -> bool:
    """Whether a convolution is a depthwise one's gradient by its weights: each group has one
    feature of either operand, and what is summed over is the batch.
    """
    attributes = node.attributes
    groups = attributes["batch_group_count"]
    data, kernel = (
        dict(zip(attributes["dimension_numbers"][part], operand.shape, strict=True))
        for part, operand in zip(("input", "kernel"), node.operands, strict=True)
    )
    gaps = attributes.get("lhs_dilation") or ()
    plain = all(gap == 1 for gap in gaps) and not any(attributes.get("window_reversal") or ())
    if not plain or attributes["feature_group_count"] != 1:
        return False
    return groups > 1 and data["b"] == kernel["o"] == groups


def has_places_minor(data: Sequence[str], kernel: Sequence[str]) -> bool:
    """Whether places are side by side in both operands of such a gradient, in one order.

    Args:
        data, kernel: labels of the operands' dimensions from major to minor.
    """
    renamed = [{"i": "f", "o": "b"}.get(label, label) for label in kernel]
    return list(data) == renamed and renamed[-1] not in ("f", "b")


def _folded(node: Node) -> int:
    """How many elements the op folds into others."""
    if node.name == "reduce_window":
        return node.results[0].size * math.prod(node.attributes["window_dimensions"])
    if node.name == "scatter":
        return node.operands[-1].size
    return node.operands[0].size


def _body_flops(region: Region) -> int:
    return sum(flops(node) + transcendentals(node) for node in region.nodes)
