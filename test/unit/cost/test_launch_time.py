"""Launches: when kernels are one, and how many threads they are worth."""

from __future__ import annotations

from dataclasses import replace

import pytest
from regions import entry

import hlo
from hlo.passes.cost.launch_time import (
    cores_for,
    launch_choice,
    launch_seconds,
    phases,
    seconds_alone,
    tail_choice,
)
from hlo.passes.cost.machine import HOST
from hlo.passes.hlo_to_loops.graph import Node


def chain(first: int, *, op: str = "hlo.tanh", second: str = "hlo.negate") -> list[Node]:
    text = f"""
    func.func @main(%x: tensor<{first}xf32>) -> tensor<{first}xf32> {{
      %0 = {op} %x : tensor<{first}xf32>
      %1 = {second} %0 : tensor<{first}xf32>
      return %1 : tensor<{first}xf32>
    }}
    """
    return entry(text).nodes


def pair(size: int, op: str = "hlo.tanh") -> list[Node]:
    text = f"""
    func.func @main(%x: tensor<{size}xf32>, %y: tensor<{size}xf32>)
        -> (tensor<{size}xf32>, tensor<{size}xf32>) {{
      %0 = {op} %x : tensor<{size}xf32>
      %1 = {op} %y : tensor<{size}xf32>
      return %0, %1 : tensor<{size}xf32>, tensor<{size}xf32>
    }}
    """
    return entry(text).nodes


def test_threads_follow_time_and_not_the_number_of_ops() -> None:
    # 16384 / 16 vectors x 7.5 cycles / 4.1e9 = 1.9 us, four times what another thread costs.
    tanh, _ = chain(16384)
    assert cores_for(tanh, HOST) == 2
    # 131072 bytes at 240 GB/s = 0.55 us: as many ops, and no work for two.
    _, negate = chain(16384)
    assert seconds_alone(negate, HOST) < 2 * HOST.fork
    assert cores_for(negate, HOST) == 1
    assert cores_for(tanh, replace(HOST, fork=1e-3)) == 1


def test_a_copy_takes_as_long_as_its_bytes() -> None:
    _, negate = chain(1 << 22)
    assert seconds_alone(negate) == pytest.approx(2 * 4 * (1 << 22) / 60e9, rel=0.01)


def test_independent_kernels_share_the_launch() -> None:
    small = [[node] for node in pair(256)]
    choice = launch_choice(small)
    assert choice.joins
    assert choice.apart - choice.joined == pytest.approx(HOST.launch)
    assert "in one launch they take" in choice.reason


def test_in_a_loop_only_threads_count() -> None:
    assert not launch_choice([[node] for node in pair(256)], in_loop=True).joins
    # Either alone is less than two pieces, both together are more: 4096 / 16 x 7.5 = 0.47 us each.
    first, second = pair(4096)
    assert HOST.pieces(seconds_alone(first)) == 1
    assert HOST.pieces(seconds_alone(first) + seconds_alone(second)) == 2
    assert launch_choice([[first], [second]], in_loop=True).joins


def test_a_head_that_several_threads_would_share_stays_a_launch() -> None:
    tiny, reader = chain(64)
    assert launch_choice([[tiny], [reader]]).joins
    dear, reader = chain(65536, op="hlo.tanh", second="hlo.exponential")
    head, parallel, tail = phases([dear, reader])
    assert (head, parallel, tail) == ([], [dear], [reader])  # the reader waits, on one thread
    assert not launch_choice([[dear], [reader]]).joins
    assert launch_seconds([dear]) < seconds_alone(dear)


def test_a_tail_that_takes_long_is_divided() -> None:
    first, short = chain(1024)
    assert tail_choice(first, [short]).joins
    first, dear = chain(65536, op="hlo.negate", second="hlo.tanh")
    choice = tail_choice(first, [dear])
    assert choice.apart < 0.7 * choice.joined


def test_what_is_made_of_partial_sums_is_a_launch_where_that_is_faster() -> None:
    def reasons(after: str) -> list[tuple[bool, str]]:
        text = f"""
        func.func @main(%x: tensor<256x1024xf32>) -> tensor<1024xf32> {{
          %c = hlo.constant dense<0.0> : tensor<f32>
          %0 = hlo.reduce(%x init: %c) applies hlo.add across dimensions = [0]
            : (tensor<256x1024xf32>, tensor<f32>) -> tensor<1024xf32>
          %1 = "{after}"(%0) : (tensor<1024xf32>) -> tensor<1024xf32>
          return %1 : tensor<1024xf32>
        }}
        """
        launches = hlo.compile(text).explain().launches
        return [(launch.joined, launch.reason) for launch in launches]

    ((joined, reason),) = reasons("hlo.negate")
    assert joined
    assert reason.startswith(
        "partial results of a reduction are reduced when all are there: in one"
    )
    ((joined, reason),) = reasons("hlo.digamma")
    assert not joined
    assert reason.startswith("divided over threads it is done sooner: in one launch they take")


def test_windows_without_dimensions_have_a_time() -> None:
    text = """
    func.func @main(%x: tensor<f32>) -> tensor<f32> {
      %0 = "hlo.select_and_scatter"(%x, %x, %x) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %g = hlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
        hlo.return %g : tensor<i1>
      }, {
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = hlo.add %a, %b : tensor<f32>
        hlo.return %s : tensor<f32>
      }) : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }
    """
    (node,) = entry(text).nodes
    assert 0 < seconds_alone(node) < 1e-6
    assert cores_for(node, HOST) == 1
