"""Memory and time of many calls, many compilations and many updates."""

from __future__ import annotations

import gc
import time

import numpy as np
import pytest

import hlo
import hlo.numpy as hnp
from hlo import lax
from hlo.passes.hlo_to_loops.graph import Node

PAGE_BYTES = 4096
MIB = 1 << 20


def _resident_bytes() -> int:
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * PAGE_BYTES


def _program(k: int) -> str:
    """A program like no other: an own constant, and a loop, a dot, a reduction and an update."""
    return f"""
    func.func @main(%x: tensor<64x64xf32>, %i: tensor<i32>)
        -> (tensor<64xf32>, tensor<64x64xf32>) {{
      %k = hlo.constant dense<{k}.5> : tensor<64x64xf32>
      %zero = hlo.constant dense<0.0> : tensor<f32>
      %0 = hlo.add %x, %k : tensor<64x64xf32>
      %1 = hlo.dot_general %0, %x, contracting_dims = [1] x [0]
        : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %2 = hlo.reduce(%1 init: %zero) applies hlo.add across dimensions = [1]
        : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
      %3 = hlo.dynamic_slice %1, %i, %i, sizes = [1, 64]
        : (tensor<64x64xf32>, tensor<i32>, tensor<i32>) -> tensor<1x64xf32>
      %4 = hlo.dynamic_update_slice %0, %3, %i, %i
        : (tensor<64x64xf32>, tensor<1x64xf32>, tensor<i32>, tensor<i32>) -> tensor<64x64xf32>
      return %2, %4 : tensor<64xf32>, tensor<64x64xf32>
    }}
    """


@pytest.mark.slow
def test_10000_calls_leave_memory_as_it_was() -> None:
    compiled = hlo.compile(_program(1))
    x, i = np.ones((64, 64), np.float32), np.int32(3)

    def calls(count: int) -> None:
        for _ in range(count):
            compiled(x, i)

    calls(2000)
    before = _resident_bytes()
    calls(10_000)
    # One kept result of 16 KiB a call would be 160 MiB.
    assert _resident_bytes() - before < 4 * MIB


@pytest.mark.slow
def test_500_compilations_leave_memory_as_it_was() -> None:
    x, i = np.ones((64, 64), np.float32), np.int32(3)

    def compilations(first: int, count: int) -> None:
        for k in range(first, first + count):
            hlo.compile(_program(k))(x, i)
            if k % 50 == 0:
                gc.collect()  # ops and their results refer to each other: only this frees them

    compilations(0, 100)
    before = _resident_bytes()
    compilations(100, 500)
    # The modules, kernels and machine code of one are about 1 MiB: kept, they would be 500 MiB.
    assert _resident_bytes() - before < 16 * MIB


def test_200000_updates_in_place_take_linear_time() -> None:
    def fill(x: hnp.ndarray, count: hnp.ndarray) -> hnp.ndarray:
        def body(i: hnp.ndarray, carry: hnp.ndarray) -> hnp.ndarray:
            return lax.dynamic_update_slice(carry, hnp.reshape(i.astype(np.float32), (1,)), (i,))

        return lax.fori_loop(0, count, body, x)

    size = 1 << 20
    x = np.zeros(size, np.float32)
    compiled = hlo.jit(fill, donate_argnums=0).lower(x, np.int32(0)).compile()
    compiled.assert_donated()
    compiled(np.zeros(size, np.float32), np.int32(10))
    count = 200_000
    x = np.zeros(size, np.float32)
    start = time.process_time()
    filled = np.asarray(compiled(x, np.int32(count)))
    seconds = time.process_time() - start
    np.testing.assert_array_equal(filled[:count], np.arange(count, dtype=np.float32))
    assert not filled[count:].any()
    # Copies of the 4 MiB array would take a minute.
    assert seconds < 1.0


def test_a_compilation_leaves_no_graph_for_the_collector() -> None:
    """Ops read out of the IR refer to one another; they are let go when their pass is done."""
    hlo.compile(_program(2))
    gc.collect()
    gc.disable()
    try:
        hlo.compile(_program(3))
        left = sum(isinstance(o, Node) for o in gc.get_objects())
    finally:
        gc.enable()
    assert left < 8  # of about 50 that were made
