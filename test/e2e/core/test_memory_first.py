"""Orders of ops that need less memory and take longer: only for who asks for them."""

from __future__ import annotations

import hlo

ROWS = 1 << 19
# Two kernels read %x, of 16 MiB: one after the other, the second finds it in the cache. With the
# product by 64 MiB in between it does not, but one vector of 2 MiB is live, not both.
TWO_READERS = f"""
func.func @main(%x: tensor<8x{ROWS}xf32>, %u: tensor<8xf32>, %y: tensor<{ROWS}x32xf32>,
                %z: tensor<{ROWS}x32xf32>) -> (tensor<32xf32>, tensor<32xf32>) {{
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %a = hlo.reduce(%x init: %zero) applies hlo.maximum across dimensions = [0]
      : (tensor<8x{ROWS}xf32>, tensor<f32>) -> tensor<{ROWS}xf32>
  %b = hlo.dot_general %u, %x, contracting_dims = [0] x [0]
      : (tensor<8xf32>, tensor<8x{ROWS}xf32>) -> tensor<{ROWS}xf32>
  %p = hlo.dot_general %a, %y, contracting_dims = [0] x [0]
      : (tensor<{ROWS}xf32>, tensor<{ROWS}x32xf32>) -> tensor<32xf32>
  %q = hlo.dot_general %b, %z, contracting_dims = [0] x [0]
      : (tensor<{ROWS}xf32>, tensor<{ROWS}x32xf32>) -> tensor<32xf32>
  return %p, %q : tensor<32xf32>, tensor<32xf32>
}}"""


def test_the_order_is_slower_and_saves_half() -> None:
    plain = hlo.compile(TWO_READERS).memory_analysis()
    least = hlo.compile(TWO_READERS, memory_first=True).memory_analysis()
    assert [d.rule for d in plain.schedule] == ["as it was"]
    assert plain.arena_bytes > 2 * 4 * ROWS > least.arena_bytes
    assert least.schedule[-1].bytes_after < least.schedule[-1].bytes_before


def test_a_budget_asks_for_it() -> None:
    plain = hlo.compile(TWO_READERS)
    least = hlo.compile(TWO_READERS, memory_first=True).memory_analysis()
    within = hlo.compile(TWO_READERS, max_bytes=least.peak_bytes)
    found = within.memory_analysis()
    assert found.peak_bytes == least.peak_bytes
    assert found.schedule[-1].bytes_after < found.schedule[-1].bytes_before
    assert len(within.cost_analysis().kernels) == len(plain.cost_analysis().kernels)
    enough = plain.memory_analysis().peak_bytes
    assert hlo.compile(TWO_READERS, max_bytes=enough).memory_analysis().peak_bytes == enough


# The same, around a sine of 2 MiB that is read ahead of both and behind them.
WIDE, LONG = "tensor<8x65536xf32>", "tensor<65536xf32>"
READERS_AND_SINE = f"""
func.func @main(%x: tensor<8x{ROWS}xf32>, %t: {WIDE}, %c: {LONG}, %m: tensor<32x8xf32>,
                %y: tensor<{ROWS}x32xf32>, %z: tensor<{ROWS}x32xf32>) -> (tensor<32xf32>, {LONG}) {{
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %a = hlo.reduce(%x init: %zero) applies hlo.maximum across dimensions = [0]
      : (tensor<8x{ROWS}xf32>, tensor<f32>) -> tensor<{ROWS}xf32>
  %s = hlo.sine %t : {WIDE}
  %u = hlo.dot_general %s, %c, contracting_dims = [1] x [0] : ({WIDE}, {LONG}) -> tensor<8xf32>
  %b = hlo.dot_general %u, %x, contracting_dims = [0] x [0]
      : (tensor<8xf32>, tensor<8x{ROWS}xf32>) -> tensor<{ROWS}xf32>
  %p = hlo.dot_general %a, %y, contracting_dims = [0] x [0]
      : (tensor<{ROWS}xf32>, tensor<{ROWS}x32xf32>) -> tensor<32xf32>
  %q = hlo.dot_general %b, %z, contracting_dims = [0] x [0]
      : (tensor<{ROWS}xf32>, tensor<{ROWS}x32xf32>) -> tensor<32xf32>
  %v = hlo.dot_general %q, %m, contracting_dims = [0] x [0]
      : (tensor<32xf32>, tensor<32x8xf32>) -> tensor<8xf32>
  %w = hlo.dot_general %v, %s, contracting_dims = [0] x [0] : (tensor<8xf32>, {WIDE}) -> {LONG}
  return %p, %w : tensor<32xf32>, {LONG}
}}"""


def test_the_order_is_reported_though_ops_run_again_as_well() -> None:
    ordered = hlo.compile(READERS_AND_SINE, memory_first=True).memory_analysis()
    found = hlo.compile(READERS_AND_SINE, max_bytes=ordered.peak_bytes - (1 << 20))
    assert found.memory_analysis().peak_bytes < ordered.peak_bytes
    last = found.memory_analysis().schedule[-1]
    assert last.bytes_after < last.bytes_before
