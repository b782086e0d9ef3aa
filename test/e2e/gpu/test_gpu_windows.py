"""Windows of convolutions that reach outside their inputs, on the emulated device."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from test_gpu_kernels import check, sample

import hlo
from hlo.driver.gpu_compile import GpuCompiled


def convolution(
    image: Sequence[int],
    taps: Sequence[int],
    result: Sequence[int],
    kind: str,
    *,
    padding: list[list[int]],
    strides: Sequence[int] = (1, 1),
    spread: Sequence[int] = (1, 1),
    groups: int = 1,
) -> str:
    """A module of one convolution of an NHWC image by HWIO taps."""
    source, kernel, made = (
        f"tensor<{'x'.join(map(str, shape))}x{kind}>" for shape in (image, taps, result)
    )
    steps, gaps = (", ".join(map(str, each)) for each in (strides, spread))
    return f"""
func.func @main(%x: {source}, %w: {kernel}) -> {made} {{
  %0 = "hlo.convolution"(%x, %w) {{
    batch_group_count = 1 : i64, feature_group_count = {groups} : i64,
    dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>,
    padding = dense<{padding}> : tensor<2x2xi64>, window_strides = array<i64: {steps}>,
    rhs_dilation = array<i64: {gaps}>}} : ({source}, {kernel}) -> {made}
  return %0 : {made}
}}"""


def launches(text: str) -> list[str]:
    """Names of the kernels that a program launches."""
    program = hlo.compile(text, target="nvptx:sm_80")
    assert isinstance(program, GpuCompiled)
    return list(program.plan.kernels)


# (2 + 9 + 1 - 3) / 2 + 1 = 5 rows, (0 + 7 + 3 - 3) / 2 + 1 = 4 columns.
@pytest.mark.parametrize("kind", ["f32", "bf16", "i8", "i32", "f64"])
@pytest.mark.parametrize("groups", [1, 2, 16])
def test_unequal_padding(kind: str, groups: int) -> None:
    taps = (3, 3, 16 // groups, 32)
    text = convolution(
        (2, 9, 7, 16), taps, (2, 5, 4, 32), kind, padding=[[2, 1], [0, 3]], strides=(2, 2),
        groups=groups,
    )  # fmt: skip
    ulps = 0 if kind.startswith("i") else 8
    check(text, sample((2, 9, 7, 16), kind), sample(taps, kind, 1), ulps=ulps)


def test_taps_apart_and_a_result_that_is_all_padding() -> None:
    # Taps 4 apart span 9: 3 + 8 + 8 - 9 + 1 = 11 rows, the first and last of zeros alone.
    text = convolution(
        (1, 3, 5, 8), (3, 1, 8, 8), (1, 11, 5, 8), "f32", padding=[[8, 8], [0, 0]], spread=(4, 1)
    )
    check(text, sample((1, 3, 5, 8)), sample((3, 1, 8, 8), "f32", 1), ulps=8)


def test_padding_that_cuts_off() -> None:
    # 9 - 1 - 2 - 3 + 1 = 4 rows, 7 + 1 - 3 + 1 = 6 columns.
    text = convolution(
        (1, 9, 7, 8), (3, 3, 8, 16), (1, 4, 6, 16), "f32", padding=[[-1, -2], [1, 0]]
    )
    check(text, sample((1, 9, 7, 8)), sample((3, 3, 8, 16), "f32", 1), ulps=8)


@pytest.mark.parametrize("features", [16, 3])
def test_no_padded_copy_is_made(features: int) -> None:
    text = convolution(
        (1, 9, 8, 16), (3, 3, 16, features), (1, 9, 8, features), "f32", padding=[[1, 1], [1, 1]]
    )
    assert launches(text) == ["convolution_0"]


def test_zeros_that_a_pad_puts_around_are_not_stored() -> None:
    text = """
func.func @main(%x: tensor<1x9x8x16xf32>, %w: tensor<3x3x16x24xf32>) -> tensor<1x9x8x24xf32> {
  %z = "hlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %p = "hlo.pad"(%x, %z) {edge_padding_low = array<i64: 0, 1, 1, 0>,
    edge_padding_high = array<i64: 0, 1, 1, 0>, interior_padding = array<i64: 0, 0, 0, 0>}
    : (tensor<1x9x8x16xf32>, tensor<f32>) -> tensor<1x11x10x16xf32>
  %0 = "hlo.convolution"(%p, %w) {batch_group_count = 1 : i64, feature_group_count = 1 : i64,
    dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>}
    : (tensor<1x11x10x16xf32>, tensor<3x3x16x24xf32>) -> tensor<1x9x8x24xf32>
  return %0 : tensor<1x9x8x24xf32>
}"""
    assert launches(text) == ["convolution_0"]
    check(text, sample((1, 9, 8, 16)), sample((3, 3, 16, 24), "f32", 1), ulps=8)


def test_a_kernel_is_turned_as_it_is_read() -> None:
    # The gradient of a convolution by its input: taps reversed, features exchanged.
    text = """
func.func @main(%g: tensor<1x9x8x24xf32>, %w: tensor<3x3x16x24xf32>) -> tensor<1x9x8x16xf32> {
  %r = "hlo.reverse"(%w) {dimensions = array<i64: 0, 1>}
    : (tensor<3x3x16x24xf32>) -> tensor<3x3x16x24xf32>
  %0 = "hlo.convolution"(%g, %r) {batch_group_count = 1 : i64, feature_group_count = 1 : i64,
    dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f]>,
    padding = dense<1> : tensor<2x2xi64>} : (tensor<1x9x8x24xf32>, tensor<3x3x16x24xf32>)
    -> tensor<1x9x8x16xf32>
  return %0 : tensor<1x9x8x16xf32>
}"""
    assert len(launches(text)) == 1
    check(text, sample((1, 9, 8, 24)), sample((3, 3, 16, 24), "f32", 1), ulps=8)
