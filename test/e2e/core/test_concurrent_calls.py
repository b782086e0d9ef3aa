"""One program called from several Python threads at once, and results that outlive it."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import hlo

CALLERS, CALLS = 4, 12
# Scratch of two library calls, a dot, a loop and several work units: all of it in the arena.
PROGRAM = """
func.func @main(%x: tensor<64x512xf32>, %w: tensor<512x512xf32>)
    -> (tensor<64x512xf32>, tensor<64x512xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %three = hlo.constant dense<3> : tensor<i32>
  %s = "hlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "hlo.compare"(%a, %b) {comparison_direction = #hlo<comparison_direction GT>}
      : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "hlo.return"(%c) : (tensor<i1>) -> ()
  }) {dimension = 1 : i64, is_stable = true} : (tensor<64x512xf32>) -> tensor<64x512xf32>
  %loop:2 = hlo.while(%i = %zero, %a = %s) : tensor<i32>, tensor<64x512xf32>
   cond {
    %c = hlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  } do {
    %d = hlo.dot_general %a, %w, contracting_dims = [1] x [0]
      : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
    %t = hlo.tanh %d : tensor<64x512xf32>
    %next = hlo.add %i, %one : tensor<i32>
    hlo.return %next, %t : tensor<i32>, tensor<64x512xf32>
  }
  %f = "hlo.fft"(%loop#1) {fft_type = #hlo<fft_type RFFT>, fft_length = array<i64: 512>}
    : (tensor<64x512xf32>) -> tensor<64x257xcomplex<f32>>
  %back = "hlo.fft"(%f) {fft_type = #hlo<fft_type IRFFT>, fft_length = array<i64: 512>}
    : (tensor<64x257xcomplex<f32>>) -> tensor<64x512xf32>
  return %back, %s : tensor<64x512xf32>, tensor<64x512xf32>
}
"""


def arguments_of(seed: int) -> list[np.ndarray]:
    source = np.random.default_rng(seed)
    x, w = source.standard_normal((64, 512)), source.standard_normal((512, 512)) / 20
    return [x.astype(np.float32), w.astype(np.float32)]


@pytest.mark.parametrize("threads", [1, 2])
def test_calls_at_once_do_not_disturb_each_other(threads: int) -> None:
    compiled = hlo.compile(PROGRAM, threads=threads)
    given = [arguments_of(seed) for seed in range(CALLERS)]
    expected = [[np.array(x) for x in compiled(*arguments)] for arguments in given]

    def many(caller: int) -> bool:
        return all(
            np.array_equal(got, want)
            for _ in range(CALLS)
            for got, want in zip(compiled(*given[caller]), expected[caller], strict=True)
        )

    with ThreadPoolExecutor(CALLERS) as pool:
        assert all(pool.map(many, range(CALLERS)))


def test_results_outlive_their_program_while_others_run() -> None:
    arguments = arguments_of(0)
    program = hlo.compile(PROGRAM)
    kept = program(*arguments)
    copies = [np.array(x) for x in kept]
    with ThreadPoolExecutor(CALLERS) as pool:
        running = [pool.submit(program, *arguments_of(seed)) for seed in range(CALLERS)]
        del program
        others = [future.result() for future in running]
    del running
    gc.collect()
    hlo.compile(PROGRAM)(*arguments_of(9))  # takes the arena that is free now
    for got, want in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(got, want)
    assert len({np.asarray(first).tobytes() for first, _ in others}) == CALLERS
