"""What the order of dimensions in memory costs, in bytes moved or in what takes as long."""

from __future__ import annotations

from collections.abc import Sequence

from hlo.passes.cost.caches import NEAR_BYTES
from hlo.passes.cost.cycles import MULTIPLY_ADDS
from hlo.passes.cost.machine import HOST, MEMORY
from hlo.passes.cost.op_cost import has_wide_window, multiply_adds, spatial_size
from hlo.passes.cost.transfers import bytes_of
from hlo.passes.hlo_to_loops.graph import Node, Tensor

# Multiply-adds of register tiles in the time that one byte takes to memory or back.
MULTIPLY_ADDS_PER_BYTE = round(MULTIPLY_ADDS * HOST.clock * HOST.cores / HOST.levels[MEMORY].most)
# Columns of a product that a vector holds.
LANES = 16
# With fewer input features the taps of a window are read along a line.
FEW_FEATURES = 8
# Multiply-adds with each element of a convolution's input that a better order of it is felt in.
FEWEST_PRODUCTS = 128


def copy_bytes(tensor: Tensor) -> int:
    """Bytes that it takes to put a tensor into another order."""
    return 2 * bytes_of(tensor)


def dot_bytes(lhs: Tensor, rhs: Tensor, shape: tuple[int, int, int], packed: bool) -> int:
    """What a dot costs beyond its products: lanes left idle, and panels packed on the way.

    Args:
        lhs, rhs: the operands in the order the dot takes them.
        shape: rows and columns of one product, and its depth.
        packed: whether `rhs` is contiguous along the depth.
    """
    rows, columns, depth = shape
    batch = lhs.size // max(1, rows * depth)
    idle = batch * rows * depth * (-columns % LANES)
    return idle // MULTIPLY_ADDS_PER_BYTE + (bytes_of(rhs) // 2 if packed else 0)


def wants_features_last(node: Node, labels: Sequence[str]) -> bool:
    """Whether a convolution is worth a copy of its input that has the features minor.

    Its rows of register tiles then read neighbouring addresses. Measured (x86-64, 4 images): with a
    spatial dimension minor 1.1 to 1.5 times the time for 3 x 3 windows, 1.2 for windows of one
    element with 128 output features and more, no more with fewer; 20 times for 3 x 3 windows in
    groups of one feature. The copy takes 2 to 10% of the time. Gradients of kernels, whose window
    is larger than their result, read lines either way.

    Args:
        labels: of the input's dimensions from major to minor.
    """
    lhs = node.operands[0]
    if labels[-1] in ("f", "b") or has_wide_window(node):
        return False
    if node.attributes["feature_group_count"] > 1:
        return spatial_size(node, "kernel", node.operands[1]) > 1
    features = lhs.shape[node.attributes["dimension_numbers"]["input"].index("f")]
    return features >= FEW_FEATURES and multiply_adds(node) >= FEWEST_PRODUCTS * lhs.size


def reread_bytes(operand: Tensor) -> int:
    """What it costs that a fold does not go along rows, if its result is combined with them again:
    the operand does not stay in the cache from one pass to the other, unless it is small.
    """
    amount = bytes_of(operand)
    return amount if amount > NEAR_BYTES else 0


def idle_bytes(tensor: Tensor) -> int:
    """What it costs that rows shorter than a vector are walked one element after another.

    Half of a copy, which is what kernels of light ops lose; those of dear ones lose more.
    """
    return bytes_of(tensor)
