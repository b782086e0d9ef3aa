"""Where the row-major space of a kernel must be cut into loops."""

from __future__ import annotations

import pytest
from kernel_regions import region

from hlo.passes.hlo_to_loops.loop_space import required_cuts


def cuts(body: str, arguments: str, result: str) -> set[int]:
    text = f"func.func @f({arguments}) -> {result} {{ {body} return %r : {result} }}"
    return set(required_cuts(region(text).results[0]))


def test_elementwise_chains_need_one_loop() -> None:
    body = '%r = "hlo.add"(%x, %x) : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>'
    assert cuts(body, "%x: tensor<4x5xf32>", "tensor<4x5xf32>") == set()


@pytest.mark.parametrize(
    ("small", "dims", "expected"),
    [
        ("5x6", "1, 2", {30}),  # a block of 5 x 6 again and again
        ("4", "0", {30}),  # constant along the last 30
        ("5", "1", {30, 6}),
        ("4x6", "0, 2", {30, 6}),
        ("4x5x6", "0, 1, 2", set()),
    ],
)
def test_broadcasts(small: str, dims: str, expected: set[int]) -> None:
    body = (
        f'%r = "hlo.broadcast_in_dim"(%x) {{broadcast_dimensions = array<i64: {dims}>}} '
        f": (tensor<{small}xf32>) -> tensor<4x5x6xf32>"
    )
    assert cuts(body, f"%x: tensor<{small}xf32>", "tensor<4x5x6xf32>") == expected


@pytest.mark.parametrize(
    ("order", "shape", "expected"),
    [
        ("0, 1, 2", "4x5x6", set()),
        ("1, 0, 2", "5x4x6", {24, 6}),  # 5 x 4 x 6: strides 24, 6, 1
        ("1, 2, 0", "5x6x4", {4}),  # 5 and 6 stay side by side
        ("2, 0, 1", "6x4x5", {20}),
    ],
)
def test_transposes(order: str, shape: str, expected: set[int]) -> None:
    body = (
        f'%r = "hlo.transpose"(%x) {{permutation = array<i64: {order}>}} '
        f": (tensor<4x5x6xf32>) -> tensor<{shape}xf32>"
    )
    assert cuts(body, "%x: tensor<4x5x6xf32>", f"tensor<{shape}xf32>") == expected


def test_reshapes_pass_cuts_on() -> None:
    body = """
    %w = "hlo.broadcast_in_dim"(%x) {broadcast_dimensions = array<i64: 1>}
      : (tensor<6xf32>) -> tensor<4x6xf32>
    %r = "hlo.reshape"(%w) : (tensor<4x6xf32>) -> tensor<24xf32>"""
    assert cuts(body, "%x: tensor<6xf32>", "tensor<24xf32>") == {6}
