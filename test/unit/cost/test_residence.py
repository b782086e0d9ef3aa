"""Where bytes are found: by how much was touched since they were."""

from __future__ import annotations

import pytest
from regions import entry

from hlo.passes.cost.machine import HOST, L1, L2, L3, MEMORY, Machine
from hlo.passes.cost.residence import residence

ONE = HOST.on(1)


def chain(elements: int, ops: int = 2) -> str:
    lines = [f"  %{i + 1} = hlo.negate %{i} : tensor<{elements}xf32>" for i in range(ops)]
    body = "\n".join(lines).replace("%0 ", "%x ").replace("%0\n", "%x\n")
    return f"""
    func.func @main(%x: tensor<{elements}xf32>) -> tensor<{elements}xf32> {{
    {body}
      return %{ops} : tensor<{elements}xf32>
    }}
    """


@pytest.mark.parametrize(
    ("elements", "level"),
    # 16 bytes an element are touched in a run: two kernels, each reads and writes 4.
    [(1 << 10, L1), (1 << 14, L2), (1 << 18, L3), (1 << 22, MEMORY)],
)
def test_what_a_run_touches_is_where_its_size_fits(elements: int, level: int) -> None:
    first, last = residence(entry(chain(elements)), ONE).values()
    assert first[level] >= 4 * elements
    if level != MEMORY:
        assert sum(first) == sum(last) == 8 * elements


def test_an_intermediate_is_nearer_than_the_arguments() -> None:
    # 20 MiB each: the intermediate is that far away, the argument and the result 80 MiB.
    first, last = residence(entry(chain(5 << 20)), ONE).values()
    assert last[L3] == 20 << 20
    assert first[L3] == 0


def test_a_donated_argument_is_written_where_it_was_read() -> None:
    text = chain(8 << 20, ops=1)
    (own,) = residence(entry(text), ONE).values()
    (donated,) = residence(entry(text), ONE, {0: 0}).values()
    # A line of another buffer is read before it is written: 32 MiB more.
    assert own[MEMORY] - donated[MEMORY] == 32 << 20


def test_a_slice_of_a_large_table_is_not_near_because_another_slice_was_read() -> None:
    text = """
    func.func @main(%t: tensor<64x262144xf32>, %i: tensor<i32>, %j: tensor<i32>)
        -> (tensor<1x262144xf32>, tensor<1x262144xf32>) {
      %z = hlo.constant dense<0> : tensor<i32>
      %0 = hlo.dynamic_slice %t, %i, %z, sizes = [1, 262144]
        : (tensor<64x262144xf32>, tensor<i32>, tensor<i32>) -> tensor<1x262144xf32>
      %1 = hlo.dynamic_slice %t, %j, %z, sizes = [1, 262144]
        : (tensor<64x262144xf32>, tensor<i32>, tensor<i32>) -> tensor<1x262144xf32>
      return %0, %1 : tensor<1x262144xf32>, tensor<1x262144xf32>
    }
    """
    for traffic in residence(entry(text), ONE).values():
        assert traffic[MEMORY] >= 1 << 20


def test_what_a_loop_carries_stays_near() -> None:
    text = """
    func.func @main(%x: tensor<4096xf32>, %n: tensor<i32>) -> tensor<4096xf32> {
      %zero = hlo.constant dense<0> : tensor<i32>
      %0:2 = hlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<4096xf32>
      cond {
        %c = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        hlo.return %c : tensor<i1>
      } do {
        %one = hlo.constant dense<1> : tensor<i32>
        %j = hlo.add %i, %one : tensor<i32>
        %z = hlo.sine %y : tensor<4096xf32>
        hlo.return %j, %z : tensor<i32>, tensor<4096xf32>
      }
      return %0#1 : tensor<4096xf32>
    }
    """
    region = entry(text)
    found = residence(region, ONE)
    (sine,) = [traffic for node, traffic in found.items() if node.name == "sine"]
    assert sine[L1] == sum(sine) == 2 * 4 * 4096


def test_levels_hold_what_fits_in_them() -> None:
    machine: Machine = HOST.on(4)
    assert machine.level_of(40 << 10) == L1
    assert machine.level_of(150 << 10) == L1  # a quarter for each core
    assert machine.level_of(3 << 20) == L2
    assert machine.level_of(20 << 20) == L3  # shared: no more for more cores
    assert machine.level_of(100 << 20) == MEMORY


def test_the_slowest_level_sets_the_time() -> None:
    # 64 MB from memory pass through every cache too, which takes less time.
    seconds, level = ONE.moving_seconds((0, 0, 0, 64_000_000))
    assert level == MEMORY
    assert seconds == 64e6 / HOST.levels[MEMORY].bandwidth
    seconds, level = ONE.moving_seconds((64_000_000, 0, 0, 0))
    assert (seconds, level) == (64e6 / HOST.levels[L1].bandwidth, L1)
