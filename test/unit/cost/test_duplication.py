"""Whether a value that several kernels read is stored, or computed by each."""

from __future__ import annotations

from regions import entry

from hlo.passes.cost.duplication import (
    Choice,
    Distances,
    again_or_stored,
    is_cheaper_side_by_side,
)
from hlo.passes.hlo_to_loops.graph import Node


def unary(op: str, elements: int) -> Node:
    text = f"""
    func.func @main(%x: tensor<{elements}xf32>) -> tensor<{elements}xf32> {{
      %0 = {op} %x : tensor<{elements}xf32>
      return %0 : tensor<{elements}xf32>
    }}
    """
    return entry(text).nodes[0]


def choice(op: str, elements: int, kernels: int = 2, distance: int = 0) -> Choice:
    size = 4 * elements
    return again_or_stored(unary(op, elements), size, kernels, max(distance, size), alone=False)


def test_what_fits_in_a_cache_is_kept_there_unless_it_is_cheap() -> None:
    near, far = 1 << 17, 1 << 24
    assert choice("hlo.negate", near).repeats
    assert not choice("hlo.exponential", near).repeats
    assert choice("hlo.exponential", far).repeats
    assert not choice("hlo.tan", far).repeats  # 24 cycles a vector: longer than memory takes


def test_what_is_read_long_after_is_kept_in_memory() -> None:
    assert choice("hlo.exponential", 1 << 17).level == "L2"
    assert choice("hlo.exponential", 1 << 17, distance=64 << 20).level == "memory"


def test_equal_times_keep_it() -> None:
    # Two operands as large as the result, two readers: 4 sizes read again, or 2 read, 1 written, 1
    # read.
    size = 4 << 24
    found = again_or_stored(unary("hlo.negate", 1 << 24), 2 * size, 2, size, alone=False)
    assert found.again == found.stored
    assert not found.repeats
    assert "no less than to keep it in memory" in found.reason


def test_distances_count_what_is_stored_between() -> None:
    distances = Distances()
    for place, stored in ((9, 1), (7, 10), (4, 100), (2, 1000)):
        distances.note(place, stored)
    # Each is written and read.
    assert distances.between(3, 9) == 2 * 110
    assert distances.between(1, 5) == 2 * 1100
    assert distances.between(4, 7) == 0


def sliced(text: str) -> Node:
    return entry(f"func.func @main(%x: {text}").nodes[0]


COLUMN = """tensor<256x4xf32>) -> tensor<256x1xf32> {
  %0 = hlo.slice %x [0:256, 1:2] : (tensor<256x4xf32>) -> tensor<256x1xf32>
  return %0 : tensor<256x1xf32>
}"""
ROW = """tensor<4x256xf32>) -> tensor<1x256xf32> {
  %0 = hlo.slice %x [1:2, 0:256] : (tensor<4x256xf32>) -> tensor<1x256xf32>
  return %0 : tensor<1x256xf32>
}"""
EVERY_THIRD = """tensor<768xf32>) -> tensor<256xf32> {
  %0 = hlo.slice %x [0:768:3] : (tensor<768xf32>) -> tensor<256xf32>
  return %0 : tensor<256xf32>
}"""
ONE = """tensor<768xf32>) -> tensor<1xf32> {
  %0 = hlo.slice %x [5:6] : (tensor<768xf32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}"""


def test_elements_that_lie_apart_are_put_side_by_side_if_they_are_read_often() -> None:
    # Looked up 256 times at 1.2 cycles an element, or once, stored, and loaded 16 at a time.
    assert is_cheaper_side_by_side(sliced(COLUMN), 256)
    assert is_cheaper_side_by_side(sliced(EVERY_THIRD), 256)
    assert not is_cheaper_side_by_side(sliced(COLUMN), 1)
    assert not is_cheaper_side_by_side(sliced(ROW), 256)
    assert not is_cheaper_side_by_side(sliced(ONE), 256)
