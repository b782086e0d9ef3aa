"""Tensor maps of the operands of a dot: its batches, side and depth as dimensions of tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hlo.gpu.tensor_map import ELEMENT_BYTES, MOST_DIMENSIONS, SWIZZLE_BYTES, TensorMap
from hlo.passes.hlo_to_gpu.contraction_space import ContractionSpace, InMemory
from hlo.passes.hlo_to_gpu.thread_builder import ASYNC_BYTES
from hlo.passes.hlo_to_loops.affine import suffix_products
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.graph import Tensor

LARGEST_STRIDE = 1 << 40  # bytes
LARGEST_SIZE = 1 << 31  # elements: coordinates are signed


@dataclass(frozen=True)
class MappedOperand:
    """An operand that bulk copies bring.

    Attributes:
        argument: position of its buffer.
        batches: sizes of the dimensions of the map that the batch is divided into, outermost first.
        sizes, strides: as of `TensorMap`.
    """

    source: InMemory
    argument: int
    element: str
    batches: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def along_depth(self) -> bool:
        return self.source.along_depth

    @property
    def line(self) -> int:
        """Elements of a line of a tile."""
        return SWIZZLE_BYTES // ELEMENT_BYTES[self.element]

    def tiles(self, lines: int) -> TensorMap:
        """The map of tiles of so many lines of 128 bytes."""
        box = (self.line, lines, *([1] * len(self.batches)))
        return TensorMap(self.argument, self.element, self.sizes, self.strides, box)


def mapped_operand(
    space: ContractionSpace, left: bool, inputs: Mapping[Tensor, Buffer], element: str
) -> MappedOperand | str:
    """How an operand of a dot is copied in bulk, or why it cannot be.

    Args:
        element: a key of `hlo.gpu.tensor_map.ELEMENT_BYTES`; the operand's elements have its size.
    """
    source = space.in_memory(left, inputs)
    if source is None:
        return "is not an input whose rows are multiples of 16 bytes"
    width = ELEMENT_BYTES[element]
    extents = space.row_extents if left else space.column_extents
    steps = suffix_products(source.tensor.shape)
    groups = (
        (source.batch, space.batch_extents),
        (source.free, extents),
        (source.summed, space.depth_extents),
    )
    batch, side, depth = (_joined(sizes, [steps[d] for d in dims]) for dims, sizes in groups)
    if len(side) > 1 or len(depth) > 1:
        return "has dimensions that are not one line of memory"
    if len(batch) > MOST_DIMENSIONS - 2:
        return "has batches in too many places"
    inner, outer = (depth, side) if source.along_depth else (side, depth)
    dims = [*inner, *outer, *reversed(batch)]
    strides = tuple(step * width for _, step in dims[1:])
    if dims[0][1] != 1 or any(s % ASYNC_BYTES or s >= LARGEST_STRIDE for s in strides):
        return "has lines that are no multiples of 16 bytes apart"
    if any(size >= LARGEST_SIZE for size, _ in dims):
        return "is too long"
    sizes = tuple(size for size, _ in dims)
    argument = list(inputs).index(source.tensor)
    batches = tuple(size for size, _ in batch)
    return MappedOperand(source, argument, element, batches, sizes, strides)


def _joined(sizes: Sequence[int], steps: Sequence[int]) -> list[tuple[int, int]]:
    """(size, elements to the next) of the fewest dimensions that give the same, in their order."""
    found: list[tuple[int, int]] = []
    for size, step in zip(sizes, steps, strict=True):
        if size == 1:
            continue
        if found and found[-1][1] == size * step:
            found[-1] = (found[-1][0] * size, step)
        else:
            found.append((size, step))
    return found
