"""`hlo.torch_index_select` becomes a gather."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import element_of, shape_of
from hlo.passes.rewrite.walk import expand


@dataclass(frozen=True)
class ExpandTorchIndexSelect(Pass):
    """Replaces the selection of slices along a dimension by a gather, which clamps as it does.

      "hlo.torch_index_select"(%0, %1) {dim = 0 : i64, batch_dims = 0 : i64}
          : (tensor<5x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
    ==>
      "hlo.gather"(%0, %1) with slices 1x3
    """

    def run(self, module: ir.Module) -> bool:
        """Expands every selection."""
        return expand(module, {"hlo.torch_index_select": _expand})


def _expand(op: ir.Operation, builder: Builder) -> Sequence[ir.Value]:
    operand, index = op.operands
    rank, index_rank = len(shape_of(operand)), len(shape_of(index))
    dim = ir.attributes.integer(op, "dim") % rank
    batch = ir.attributes.integer(op, "batch_dims")
    batch += index_rank if batch < 0 else 0
    # The result is operand[:dim], the index without its batch, operand[dim + 1:].
    added = index_rank - batch
    offsets = [*range(batch, dim), *range(dim + added, rank - 1 + added)]
    numbers = ir.attributes.GatherDimensionNumbers.get(
        offset_dims=offsets,
        collapsed_slice_dims=[dim],
        operand_batching_dims=list(range(batch)),
        start_indices_batching_dims=list(range(batch)),
        start_index_map=[dim],
        index_vector_dim=index_rank,
        context=builder.context,
    )
    fixed = {dim, *range(batch)}
    sizes = [1 if d in fixed else size for d, size in enumerate(shape_of(operand))]
    shape = shape_of(op.results[0])
    if 0 in shape_of(operand):
        return [builder.constant(0, element_of(operand), shape)]
    return [
        builder.one(
            "gather",
            [operand, index],
            builder.tensor(shape, element_of(operand)),
            {"dimension_numbers": numbers, "slice_sizes": builder.integers(sizes)},
        )
    ]
