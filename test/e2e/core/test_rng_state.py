"""What `hlo.rng` draws: other numbers in each call, the same ones after the same seed."""

from __future__ import annotations

import numpy as np
import pytest

import hlo
from hlo.driver.gpu_compile import GpuCompiled

UNIFORM = "{rng_distribution = #hlo<rng_distribution UNIFORM>}"
DRAWS = f"""
func.func @main(%a: tensor<f32>, %b: tensor<f32>) -> (tensor<64xf32>, tensor<64xf32>) {{
  %n = hlo.constant dense<64> : tensor<1xi64>
  %0 = "hlo.rng"(%a, %b, %n) {UNIFORM} : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<64xf32>
  %1 = "hlo.rng"(%a, %b, %n) {UNIFORM} : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<64xf32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}}
"""
IN_LOOP = f"""
func.func @main(%a: tensor<f32>, %b: tensor<f32>) -> tensor<5x8xf32> {{
  %n = hlo.constant dense<8> : tensor<1xi64>
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %five = hlo.constant dense<5> : tensor<i32>
  %empty = hlo.constant dense<0.0> : tensor<5x8xf32>
  %loop:2 = hlo.while(%i = %zero, %rows = %empty) : tensor<i32>, tensor<5x8xf32>
   cond {{
    %c = hlo.compare LT, %i, %five, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  }} do {{
    %0 = "hlo.rng"(%a, %b, %n) {UNIFORM}
      : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<8xf32>
    %1 = hlo.reshape %0 : (tensor<8xf32>) -> tensor<1x8xf32>
    %2 = hlo.dynamic_update_slice %rows, %1, %i, %zero
      : (tensor<5x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<5x8xf32>
    %next = hlo.add %i, %one : tensor<i32>
    hlo.return %next, %2 : tensor<i32>, tensor<5x8xf32>
  }}
  return %loop#1 : tensor<5x8xf32>
}}
"""
ENDS = np.float32(-1), np.float32(2)


def arrays(results: object) -> list[np.ndarray]:
    return [np.array(x) for x in (results if isinstance(results, tuple) else (results,))]


def draws(program: str, target: str = "cpu") -> list[np.ndarray]:
    compiled = hlo.compile(program, target=target)
    run = compiled.emulated(1) if isinstance(compiled, GpuCompiled) else compiled
    return arrays(run(*ENDS)) + arrays(run(*ENDS))


@pytest.mark.parametrize("target", ["cpu", "nvptx:sm_80"])
def test_all_draws_differ_until_the_seed_is_set_again(target: str) -> None:
    hlo.seed_rng(7)
    found = draws(DRAWS, target)
    assert len({x.tobytes() for x in found}) == 4
    assert all((x >= -1).all() and (x < 2).all() for x in found)
    hlo.seed_rng(7)
    for got, want in zip(draws(DRAWS, target), found, strict=True):
        np.testing.assert_array_equal(got, want)
    hlo.seed_rng(8)
    assert not np.array_equal(draws(DRAWS, target)[0], found[0])


def test_targets_draw_the_same() -> None:
    hlo.seed_rng(3)
    on_host = draws(DRAWS)
    hlo.seed_rng(3)
    for got, want in zip(draws(DRAWS, "nvptx:sm_80"), on_host, strict=True):
        np.testing.assert_array_equal(got, want)


def test_each_iteration_of_a_loop_draws_anew() -> None:
    first, second = draws(IN_LOOP)
    assert len({row.tobytes() for row in (*first, *second)}) == 10


@pytest.mark.parametrize("seed", [-1, 1 << 64])
def test_seeds_out_of_range_are_refused(seed: int) -> None:
    with pytest.raises(hlo.ArgumentError, match="seed"):
        hlo.seed_rng(seed)
