"""Which gradients by the weights go through the batch once, and how."""

from __future__ import annotations

from kernel_regions import region

from hlo.passes.hlo_to_loops.contraction_kernel import emit_contraction
from hlo.passes.hlo_to_loops.contraction_tiling import tiling_for
from hlo.passes.hlo_to_loops.graph import Region
from hlo.passes.hlo_to_loops.sums_in_parts import chunks_in_parts, part_of


def gradient(batch: int, size: int, features: int) -> Region:
    """By the weights of a depthwise 5 x 5 convolution with padding."""
    data, result = f"tensor<{batch}x{size}x{size}x{features}xf32>", f"tensor<5x5x1x{features}xf32>"
    return region(f"""
      func.func @main(%x: {data}, %g: {data}) -> {result} {{
        %0 = hlo.convolution(%x, %g)
          dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f],
          window = {{pad = [[2, 2], [2, 2]]}}
          {{batch_group_count = {features} : i64, feature_group_count = 1 : i64}}
          : ({data}, {data}) -> {result}
        return %0 : {result}
      }}""")


def test_a_large_batch_is_read_in_parts() -> None:
    found = gradient(64, 14, 240)
    node = found.nodes[0]
    tiling = tiling_for(node)
    # 5 lines of 5 taps; 15 vectors are 7 x 2 and 1.
    assert (tiling.rows, tiling.vectors, tiling.positions, tiling.runs) == (5, 2, 5, 8)
    assert chunks_in_parts(node, tiling) == 1  # 8 units
    # An image is 14 x 14 x 2 x 240 x 4 = 376,320 bytes, more than 256 KiB.
    assert part_of(node) == 1
    kernel = emit_contraction(found)
    assert kernel is not None and kernel.units == 8
    assert "memref<800xf32>" in kernel.text  # 5 tiles of 5 x 2 x 16 sums


def test_what_stays_in_the_cache_is_read_where_it_lies() -> None:
    node = gradient(2, 14, 240).nodes[0]
    assert chunks_in_parts(node, tiling_for(node)) == 0
    node = gradient(1, 112, 240).nodes[0]  # no batch
    assert chunks_in_parts(node, tiling_for(node)) == 0
