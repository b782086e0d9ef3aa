"""How gradients of convolutions by their weights are cut: tiles, blocks of positions, units."""

from __future__ import annotations

from kernel_regions import region

from hlo.passes.hlo_to_loops.gradient_blocks import GradientPlan, gradient_plan
from hlo.passes.hlo_to_loops.gradient_kernel import emit_gradient
from hlo.passes.hlo_to_loops.graph import Region


def gradient(
    batch: int, size: int, inputs: int, outputs: int, window: int = 3, pad: int = 1
) -> Region:
    """By the weights of a convolution that keeps the size."""
    data, by = (f"tensor<{batch}x{size}x{size}x{n}xf32>" for n in (inputs, outputs))
    result = f"tensor<{window}x{window}x{inputs}x{outputs}xf32>"
    return region(f"""
      func.func @main(%x: {data}, %g: {by}) -> {result} {{
        %0 = hlo.convolution(%x, %g)
          dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f],
          window = {{pad = [[{pad}, {pad}], [{pad}, {pad}]]}}
          {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
          : ({data}, {by}) -> {result}
        return %0 : {result}
      }}""")


def plan_of(found: Region) -> GradientPlan:
    plan = gradient_plan(found.nodes[0])
    assert plan is not None
    return plan


def test_units_with_few_results_have_parts_of_the_positions() -> None:
    found = gradient(1, 56, 64, 64)
    plan = plan_of(found)
    # 14 x 2 sums take 14 cycles for a position; 4 blocks of 14 rows and one of 8.
    assert (plan.tiling.rows, plan.tiling.vectors, plan.tiling.row_blocks) == (14, 2, 5)
    # 3 lines take 5 x 58 x 64 bytes of the input and 3 x 56 x 128 of the gradient: 40,064.
    assert plan.sizes == (1, 3, 56) and plan.grid == [1, 19, 1]
    assert (plan.parts, plan.tiles_of_unit) == (4, 2 * 9 * 5)
    kernel = emit_gradient(found)
    assert kernel is not None and (kernel.units, kernel.tail) == (5, 1)
    assert [size for size, _ in kernel.scratch] == [4 * 90 * 14 * 32]


def test_units_have_parts_of_many_results() -> None:
    found = gradient(8, 7, 512, 512)
    plan = plan_of(found)
    # 16 runs of columns; the sums of 9 x 10 tiles of 14 x 2 vectors are 161,280 bytes.
    assert (plan.parts, plan.row_groups, plan.rows_of_group) == (1, 4, 10)
    assert plan.copies_columns  # rows are 2 KiB apart
    kernel = emit_gradient(found)
    assert kernel is not None and (kernel.units, kernel.tail) == (64, 0)


def test_rows_of_one_feature_are_taps() -> None:
    plan = plan_of(gradient(32, 28, 1, 32))
    assert (plan.tiling.row_dim, plan.tiling.rows, plan.tiling.vectors) == (1, 3, 2)
    assert not plan.by_rows


def test_others_are_no_such_gradients() -> None:
    assert gradient_plan(gradient(1, 9, 64, 64).nodes[0]) is None  # 81 positions
    # Windows as many as the positions.
    assert gradient_plan(gradient(1, 40, 64, 64, window=33, pad=16).nodes[0]) is None
