"""Which gradients by the weights go through the batch once, and how."""

from __future__ import annotations

from kernel_regions import region

from hlo.passes.hlo_to_loops.contraction_kernel import emit_contraction
from hlo.passes.hlo_to_loops.contraction_tiling import tiling_for
from hlo.passes.hlo_to_loops.graph import Region
from hlo.passes.hlo_to_loops.sums_in_parts import chunks_in_parts, part_of


def gradient(batch: int, size: int, inputs: int, outputs: int) -> Region:
    """By the weights of a 3 x 3 convolution with padding."""
    data, by = (f"tensor<{batch}x{size}x{size}x{n}xf32>" for n in (inputs, outputs))
    result = f"tensor<3x3x{inputs}x{outputs}xf32>"
    return region(f"""
      func.func @main(%x: {data}, %g: {by}) -> {result} {{
        %0 = hlo.convolution(%x, %g)
          dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f],
          window = {{pad = [[1, 1], [1, 1]]}}
          {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
          : ({data}, {by}) -> {result}
        return %0 : {result}
      }}""")


def test_a_large_batch_is_read_in_parts() -> None:
    found = gradient(64, 14, 32, 64)
    node = found.nodes[0]
    tiling = tiling_for(node)
    # 32 rows are 11 + 11 + 10, by 2 vectors: 27 tiles in each of 2 runs of columns.
    assert (tiling.rows, tiling.vectors, tiling.positions, tiling.runs) == (11, 2, 27, 2)
    assert chunks_in_parts(node, tiling) == 4  # 8 units
    # An image is 14 x 14 x (32 + 64) x 4 = 75,264 bytes: 3 fit 256 KiB, 2 divide 64.
    assert part_of(node) == 2
    kernel = emit_contraction(found)
    assert kernel is not None and kernel.units == 8
    assert "memref<2464xf32>" in kernel.text  # 7 tiles of 11 x 2 x 16 sums


def test_what_stays_in_the_cache_is_read_where_it_lies() -> None:
    node = gradient(2, 14, 32, 64).nodes[0]
    assert chunks_in_parts(node, tiling_for(node)) == 0
    node = gradient(1, 112, 32, 64).nodes[0]  # no batch
    assert chunks_in_parts(node, tiling_for(node)) == 0
