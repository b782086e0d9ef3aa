"""Register tiles of convolutions: their sizes, what they copy, and what they load at the ends."""

from __future__ import annotations

import pytest
from kernel_regions import region

from hlo.passes.hlo_to_loops.contraction_kernel import emit_contraction
from hlo.passes.hlo_to_loops.contraction_tiling import (
    columns_leave_cache,
    features_near,
    tiling_for,
)
from hlo.passes.hlo_to_loops.graph import Region


def convolution(size: int, inputs: int, outputs: int, stride: int = 1) -> Region:
    """3 x 3, with padding, on `size` x `size` x `inputs`."""
    data = f"tensor<1x{size}x{size}x{inputs}xf32>"
    kernel = f"tensor<3x3x{inputs}x{outputs}xf32>"
    places = -(-size // stride)
    result = f"tensor<1x{places}x{places}x{outputs}xf32>"
    return region(f"""
      func.func @main(%x: {data}, %w: {kernel}) -> {result} {{
        %0 = hlo.convolution(%x, %w)
          dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
          window = {{stride = [{stride}, {stride}], pad = [[1, 1], [1, 1]]}}
          {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
          : ({data}, {kernel}) -> {result}
        return %0 : {result}
      }}""")


@pytest.mark.parametrize(
    ("size", "inputs", "outputs", "stride", "rows", "vectors"),
    [
        (56, 64, 64, 1, 14, 2),  # 28 accumulators; 4 x 4 have 16
        (28, 128, 128, 1, 14, 2),  # 28; 7 x 3 have 21
        (16, 64, 64, 1, 4, 4),  # 16, as many as 8 x 2
        (7, 128, 128, 1, 7, 3),  # 21; 7 x 2 have 14
        (448, 128, 64, 8, 4, 4),  # rows are 8 x 128 elements apart: 4 KiB
    ],
)
def test_tiles(size: int, inputs: int, outputs: int, stride: int, rows: int, vectors: int) -> None:
    tiling = tiling_for(convolution(size, inputs, outputs, stride).nodes[0])
    assert (tiling.rows, tiling.vectors) == (rows, vectors)


@pytest.mark.parametrize(
    ("size", "features", "leave", "packed"),
    [
        # Rows are 4 vectors: 1024 / 4 sets x 2 lines x 16 ways = 8192 lines; 2 x 576 x 2 are read.
        (56, 64, False, False),
        # Rows are 16 vectors: 1024 / 16 x 2 x 16 = 2048 lines; 2 x 2304 x 2. 14 tiles share them.
        (14, 256, True, True),
        (5, 512, True, False),  # 5 tiles do not make up for a copy
    ],
)
def test_columns_that_leave_the_cache_are_copied(
    size: int, features: int, leave: bool, packed: bool
) -> None:
    found = convolution(size, features, features)
    node = found.nodes[0]
    tiling = tiling_for(node)
    assert columns_leave_cache(node, tiling) == leave
    kernel = emit_contraction(found)
    assert kernel is not None
    assert (f"memref<{9 * features * tiling.width}xf32>" in kernel.text) == packed


def test_rows_at_the_ends_are_addresses_of_zeros() -> None:
    """What is loaded is not replaced: a tile chooses where it reads, ahead of the products."""
    kernel = emit_contraction(convolution(28, 64, 64))
    assert kernel is not None
    chosen = [line for line in kernel.text.splitlines() if "arith.select" in line]
    assert chosen and not any(line.endswith(": f32") for line in chosen)
    assert any("memref<64xf32, strided" in line for line in chosen)


@pytest.mark.parametrize(
    ("features", "vectors"),
    [
        (144, 9),  # 27 accumulators
        (320, 5),  # a quarter of 20 vectors; 9 x 3 would leave a tile of 2
        (40, 3),
    ],
)
def test_tiles_of_a_depthwise_gradient_have_all_taps_of_a_line(features: int, vectors: int) -> None:
    data, result = f"tensor<1x28x28x{features}xf32>", f"tensor<3x3x1x{features}xf32>"
    found = region(f"""
      func.func @main(%x: {data}, %g: {data}) -> {result} {{
        %0 = hlo.convolution(%x, %g)
          dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f],
          window = {{pad = [[1, 1], [1, 1]]}}
          {{batch_group_count = {features} : i64, feature_group_count = 1 : i64}}
          : ({data}, {data}) -> {result}
        return %0 : {result}
      }}""")
    tiling = tiling_for(found.nodes[0])
    assert (tiling.rows, tiling.vectors) == (3, vectors)


@pytest.mark.parametrize(
    ("inputs", "near"),
    [(64, 64), (128, 128), (512, 128), (192, 96), (272, 68), (262, 262)],  # 2 x 131
)
def test_input_features_that_all_taps_meet_together(inputs: int, near: int) -> None:
    assert features_near(convolution(14, inputs, 64).nodes[0]) == near
