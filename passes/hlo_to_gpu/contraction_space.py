"""A dot or convolution as matrix products: its batches, rows, columns and depth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_gpu.thread_builder import ASYNC_BYTES
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.element_types import ElementType
from hlo.passes.hlo_to_loops.elemental.contractions import contraction_of
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.graph import Node, Tensor


@dataclass(frozen=True)
class InMemory:
    """An operand of a dot that is an input of the kernel, its last dimension a free or summed one.

    Attributes:
        left: whether it is the left operand.
        along_depth: whether its last dimension is summed over.
        batch, free, summed: its dimensions, in the order of those of the result, and of the depth.
    """

    tensor: Tensor
    left: bool
    along_depth: bool
    batch: tuple[int, ...]
    free: tuple[int, ...]
    summed: tuple[int, ...]


@dataclass(frozen=True)
class ContractionSpace:
    """Extents of the four parts, each of several dimensions.

    A convolution's rows are the batch and the places of its windows, its columns the features of
    one group, its depth the window and the input features.

    Attributes:
        node: the dot_general or convolution.
        batch_dims, row_dims, column_dims: dimensions of the result; of a convolution in groups the
            feature dimension is both a batch, the group, and a column.
    """

    node: Node
    batch_dims: tuple[int, ...]
    row_dims: tuple[int, ...]
    column_dims: tuple[int, ...]
    batch_extents: tuple[int, ...]
    row_extents: tuple[int, ...]
    column_extents: tuple[int, ...]
    depth_extents: tuple[int, ...]

    @property
    def batches(self) -> int:
        return math.prod(self.batch_extents)

    @property
    def rows(self) -> int:
        return math.prod(self.row_extents)

    @property
    def columns(self) -> int:
        return math.prod(self.column_extents)

    @property
    def depth(self) -> int:
        return math.prod(self.depth_extents)

    def extent_of(self, left: bool) -> int:
        """Rows for the left operand, columns for the right one."""
        return self.rows if left else self.columns

    def in_memory(self, left: bool, inputs: Mapping[Tensor, Buffer]) -> InMemory | None:
        """An operand whose pieces of 16 bytes are contiguous and aligned; None if it is no such."""
        tensor = self.node.operands[0 if left else 1]
        if self.node.name != "dot_general" or tensor not in inputs or tensor.type.is_complex:
            return None
        numbers, side = self.node.attributes["dot_dimension_numbers"], "lhs" if left else "rhs"
        batch = tuple(numbers.get(f"{side}_batching_dimensions", ()))
        summed = tuple(numbers.get(f"{side}_contracting_dimensions", ()))
        free = tuple(d for d in range(tensor.rank) if d not in batch and d not in summed)
        last = tensor.rank - 1
        ends = [dims[-1] for dims in (free, summed) if dims]
        if last not in ends or tensor.shape[last] * tensor.type.memory_bytes % ASYNC_BYTES:
            return None
        return InMemory(tensor, left, last in summed, batch, free, summed)

    def offset(
        self, em: Emitter, source: InMemory, batch: Affine, side: Affine, depth: Affine
    ) -> Affine:
        """The row-major offset of an element of an operand in memory."""
        at = [ZERO] * source.tensor.rank
        extents = self.row_extents if source.left else self.column_extents
        for dims, index, sizes in (
            (source.batch, batch, self.batch_extents),
            (source.free, side, extents),
            (source.summed, depth, self.depth_extents),
        ):
            for d, place in zip(dims, _split(em, index, sizes), strict=True):
                at[d] = place
        return Position.of_dims(at).linear(source.tensor.shape)

    def position(self, em: Emitter, batch: Affine, row: Affine, column: Affine) -> list[Affine]:
        """The index in each dimension of the result."""
        dims = [ZERO] * len(self.node.results[0].shape)
        for where, extents, index in (
            (self.row_dims, self.row_extents, row),
            (self.column_dims, self.column_extents, column),
        ):
            for d, place in zip(where, _split(em, index, extents), strict=True):
                dims[d] = place
        for d, place, extent in zip(
            self.batch_dims, _split(em, batch, self.batch_extents), self.batch_extents, strict=True
        ):
            shared = d in self.column_dims
            group = self.columns if shared else 0
            dims[d] = dims[d] + place * group if shared and extent > 1 else dims[d] + place
        return dims

    def left(
        self, em: Emitter, batch: Affine, row: Affine, depth: Affine, kind: ElementType
    ) -> Value:
        """The left factor."""
        dims = self.position(em, batch, row, ZERO)
        indices = _split(em, depth, self.depth_extents)
        return contraction_of(em, self.node, dims).factors(indices, kind)[0]

    def right(
        self, em: Emitter, batch: Affine, column: Affine, depth: Affine, kind: ElementType
    ) -> Value:
        """The right factor."""
        dims = self.position(em, batch, ZERO, column)
        indices = _split(em, depth, self.depth_extents)
        return contraction_of(em, self.node, dims).factors(indices, kind)[1]


def _split(em: Emitter, index: Affine, extents: Sequence[int]) -> list[Affine]:
    return list(em.dims(Position.of_offset(index), extents))


def contraction_space(node: Node) -> ContractionSpace:
    """The parts of a dot_general or convolution."""
    if node.name == "dot_general":
        return _of_dot(node)
    return _of_convolution(node)


def _of_dot(node: Node) -> ContractionSpace:
    numbers = node.attributes["dot_dimension_numbers"]
    shape = node.results[0].shape
    batches = len(numbers.get("lhs_batching_dimensions", ()))
    summed: tuple[int, ...] = numbers.get("lhs_contracting_dimensions", ())
    rows = node.operands[0].rank - batches - len(summed)
    dims = range(len(shape))
    batch, row, column = dims[:batches], dims[batches : batches + rows], dims[batches + rows :]

    def extents(dims: Sequence[int]) -> tuple[int, ...]:
        return tuple(shape[d] for d in dims)

    return ContractionSpace(
        node, tuple(batch), tuple(row), tuple(column), extents(batch), extents(row),
        extents(column), tuple(node.operands[0].shape[d] for d in summed),
    )  # fmt: skip


def _of_convolution(node: Node) -> ContractionSpace:
    labels, shape = node.attributes["dimension_numbers"], node.results[0].shape
    groups = node.attributes["feature_group_count"] * node.attributes["batch_group_count"]
    feature = labels["output"].index("f")
    rows = tuple(d for d in range(len(shape)) if d != feature)
    kernel = node.operands[1].shape
    spatial = [kernel[labels["kernel"].index(str(k))] for k in range(len(kernel) - 2)]
    return ContractionSpace(
        node, (feature,), rows, (feature,), (groups,), tuple(shape[d] for d in rows),
        (shape[feature] // groups,), (*spatial, kernel[labels["kernel"].index("i")]),
    )  # fmt: skip
