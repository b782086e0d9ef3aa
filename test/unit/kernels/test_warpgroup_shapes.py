"""The shapes of warpgroups' tiles keep to the chip's limits, and the cheaper kernel is chosen."""

from __future__ import annotations

import pytest

from hlo.passes.hlo_to_gpu.target import gpu_target
from hlo.passes.hlo_to_gpu.tile_product import TileShape
from hlo.passes.hlo_to_gpu.tile_result import TileResult
from hlo.passes.hlo_to_gpu.warpgroup_shapes import (
    Problem,
    WarpgroupShape,
    best_shape,
    cycles,
    shapes,
    warp_cycles,
)
from hlo.passes.hlo_to_loops.element_types import element_type

H100 = gpu_target("nvptx:sm_90a")


@pytest.mark.parametrize("promoted", [False, True])
def test_blocks_fit_a_multiprocessor(promoted: bool) -> None:
    for shape in shapes(H100.largest_shared_bytes, promoted):
        assert shape.resident * shape.shared_bytes <= H100.largest_shared_bytes
        assert shape.resident * shape.threads <= H100.multiprocessor_threads
        # The assembler's limit for so many blocks leaves room for the sums.
        sums = shape.columns // 2 * (2 if promoted else 1)
        assert H100.registers // (shape.resident * shape.threads) >= min(sums + 24, 255)
        result = TileResult.slab_bytes(shape.rows, shape.columns, element_type("f32"))
        assert result <= shape.ring_bytes


def test_large_products_get_large_tiles() -> None:
    large = best_shape(Problem(1, 8192, 8192, 8192, 2), H100.largest_shared_bytes)
    assert (large.rows, large.columns) == (128, 256)
    narrow = best_shape(Problem(1, 4096, 64, 4096, 2), H100.largest_shared_bytes)
    assert narrow.columns == 64


def test_cycles_of_a_large_product_are_those_of_the_tensor_cores() -> None:
    # 32 x 16 tiles of 128 x 256, 4 on the busiest of 132 multiprocessors: 64 steps of
    # 128 x 256 x 64 / 2048 = 1024 cycles each; and 4 x (2000 + 128 x 256 / 16).
    problem = Problem(1, 4096, 4096, 4096, 2)
    assert cycles(problem, WarpgroupShape(2, 256, 4, 1)) == 4 * 64 * 1024 + 4 * (2000 + 2048)


def test_short_products_stay_with_warps() -> None:
    short = Problem(1, 64, 64, 64, 2)
    assert warp_cycles(short, TileShape(64, 64, 32, 128)) < cycles(
        short, best_shape(short, H100.largest_shared_bytes)
    )
