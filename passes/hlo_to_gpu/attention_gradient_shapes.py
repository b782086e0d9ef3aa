"""The tiles of an attention's backward pass, and which operands they are of."""

from __future__ import annotations

from dataclasses import dataclass

from hlo.passes.hlo_to_gpu.attention_multiply_adds import ACROSS
from hlo.passes.hlo_to_gpu.attention_multiply_adds import ROWS as ROWS_OF_THREAD
from hlo.passes.hlo_to_gpu.attention_products import rounded_up
from hlo.passes.hlo_to_gpu.attention_rows import RowSpace
from hlo.passes.hlo_to_gpu.attention_tensor_cores import ROWS as ROWS_OF_WARP
from hlo.passes.hlo_to_gpu.attention_tensor_cores import STEP
from hlo.passes.hlo_to_gpu.gpu_kernel import LARGEST_STATIC_SHARED
from hlo.passes.hlo_to_gpu.shared_tile import SharedTile
from hlo.passes.hlo_to_gpu.thread_builder import ASYNC_BYTES, WARP
from hlo.passes.hlo_to_loops.attention_gradient_parts import GradientParts
from hlo.passes.hlo_to_loops.attention_parts import DEPTH, WIDTH, Operand, require, row_name
from hlo.passes.hlo_to_loops.elemental.contractions import product_type
from hlo.passes.hlo_to_loops.online_softmax import exponent_shift

NARROW = 64  # depth or width up to which a block keeps operands and sums in registers
WIDEST = 128  # depth or width on tensor cores


@dataclass(frozen=True)
class GradientShape:
    """A block of rows (or of keys) and the tiles of keys (or rows) that go by.

    Attributes:
        by_keys: whether keys are kept.
        kept: rows or keys of a block.
        passing: keys or rows of a tile.
        depth, width: those of the attention, rounded up to what the products work with.
        tensor_cores: whether they multiply.
        in_registers: whether the operands of the rows kept are in registers, not shared memory.
    """

    by_keys: bool
    kept: int
    passing: int
    threads: int
    depth: int
    width: int
    tensor_cores: bool
    in_registers: bool

    @property
    def resident_threads(self) -> int:
        """Threads that registers of a multiprocessor leave room for."""
        return 256


@dataclass(frozen=True)
class Tiled:
    """An operand whose rows go through tiles.

    Attributes:
        name: the variable along a row, DEPTH or WIDTH, in [0, extent).
        padded: columns of a tile.
    """

    operand: Operand
    name: str
    extent: int
    padded: int

    @staticmethod
    def of(operand: Operand, name: str, extent: int, shape: GradientShape) -> Tiled:
        return Tiled(operand, name, extent, shape.depth if name == DEPTH else shape.width)


def kept_operands(gradients: GradientParts, shape: GradientShape) -> list[Tiled]:
    """What a block keeps: the left operands of the scores and of dP."""
    parts = gradients.softmax
    first, second = (parts.key, parts.value) if shape.by_keys else (parts.query, gradients.gradient)
    return [
        Tiled.of(first, DEPTH, parts.depth, shape),
        Tiled.of(second, WIDTH, parts.width, shape),
    ]


def passing_operands(gradients: GradientParts, shape: GradientShape) -> list[Tiled]:
    """What goes by a block: the right operands of the scores and of dP, and those of the gradients.

    Mostly these are the same.
    """
    parts = gradients.softmax
    found = [
        Tiled.of(parts.key, DEPTH, parts.depth, shape),
        Tiled.of(parts.value, WIDTH, parts.width, shape),
        Tiled.of(gradients.query.other, DEPTH, parts.depth, shape),
    ]
    if shape.by_keys:
        found = [
            Tiled.of(parts.query, DEPTH, parts.depth, shape),
            Tiled.of(gradients.gradient, WIDTH, parts.width, shape),
            Tiled.of(gradients.key.other, DEPTH, parts.depth, shape),
            Tiled.of(gradients.value.other, WIDTH, parts.width, shape),
        ]
    return list(dict.fromkeys(found))


def gradient_shapes(gradients: GradientParts) -> tuple[GradientShape, GradientShape]:
    """The shapes of the blocks of rows and of the blocks of keys.

    Raises:
        NotAttentionError: there are none.
    """
    parts = gradients.softmax
    space = RowSpace.of(parts)
    exponent_shift(parts)
    require(not gradients.reads_scores, "the gradient of its scores needs the scores")
    require(
        gradients.key.summed == frozenset(row_name(d) for d in space.shared),
        "its gradients do not sum over all rows that share keys and values",
    )
    rows, keys = _shape(gradients, space.rows, False), _shape(gradients, parts.keys, True)
    require(
        rows is not None and keys is not None, "tiles of its operands do not fit into shared memory"
    )
    assert rows is not None and keys is not None
    return rows, keys


def _shape(gradients: GradientParts, extent: int, by_keys: bool) -> GradientShape | None:
    """The shape of blocks of `extent` rows or keys."""
    parts = gradients.softmax
    tensors = {
        parts.query.tensor, parts.key.tensor, parts.value.tensor, gradients.gradient.tensor,
        gradients.query.other.tensor, gradients.key.other.tensor, gradients.value.other.tensor,
        parts.probabilities, gradients.score_gradient,
    }  # fmt: skip
    kinds = {tensor.type.name for tensor in tensors}
    depth, width = rounded_up(parts.depth, STEP), rounded_up(parts.width, STEP)
    if len(kinds) == 1 and kinds <= {"f16", "bf16"} and max(depth, width) <= WIDEST:
        narrow = max(depth, width) <= NARROW
        in_registers = narrow or not by_keys
        warps = min(4 if in_registers else 2, -(-extent // ROWS_OF_WARP))
        shape = GradientShape(
            by_keys, ROWS_OF_WARP * warps, 32, WARP * warps, depth, width, True, in_registers
        )
        return shape if _bytes(gradients, shape) <= LARGEST_STATIC_SHARED else None
    lanes = ASYNC_BYTES // product_type(parts.scores.type).memory_bytes
    depth, width = rounded_up(depth, ACROSS), rounded_up(width, max(ACROSS, lanes))
    for kept in (64, 32, 16, 8):
        for passing in (32, 16):
            threads = kept * ACROSS // ROWS_OF_THREAD
            shape = GradientShape(by_keys, kept, passing, threads, depth, width, False, False)
            if kept < 2 * extent and _bytes(gradients, shape) <= LARGEST_STATIC_SHARED:
                return shape
    return None


def _bytes(gradients: GradientParts, shape: GradientShape) -> int:
    """Shared memory of a block."""
    parts = gradients.softmax
    kind = parts.key.tensor.type if shape.tensor_cores else product_type(parts.scores.type)
    passing = passing_operands(gradients, shape)
    rows = max(shape.kept, shape.passing) if shape.in_registers else shape.passing
    tiles = [(rows, tiled.padded) for tiled in passing]
    if not shape.in_registers:
        tiles += [(shape.kept, tiled.padded) for tiled in kept_operands(gradients, shape)]
    if not shape.tensor_cores:
        tiles.append((shape.kept, shape.passing))
    return kind.memory_bytes * sum(SharedTile.elements(kind, *tile) for tile in tiles)
