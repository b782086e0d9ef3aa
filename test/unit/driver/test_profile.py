"""Profiles: each kernel with its calls, time, flops and bytes."""

from __future__ import annotations

import json

import numpy as np
import pytest

import hlo
from hlo.diagnostics import ArgumentError

PROGRAM = """
func.func @main(%x: tensor<64xf32>, %w: tensor<32x32xf32>) -> (tensor<64xf32>, tensor<32x32xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %0:2 = hlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<64xf32>
  cond {
    %n = hlo.constant dense<40> : tensor<i32>
    %c = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  } do {
    %one = hlo.constant dense<1> : tensor<i32>
    %j = hlo.add %i, %one : tensor<i32>
    %z = hlo.sine %y : tensor<64xf32>
    hlo.return %j, %z : tensor<i32>, tensor<64xf32>
  }
  %1 = hlo.dot_general %w, %w, contracting_dims = [1] x [0]
    : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  return %0#1, %1 : tensor<64xf32>, tensor<32x32xf32>
}
"""
X = np.linspace(0.0, 1.0, 64, dtype=np.float32)
W = np.ones((32, 32), np.float32)


def test_kernels_have_calls_flops_and_bytes() -> None:
    report = hlo.compile(PROGRAM).profile(X, W, runs=3)
    assert report.runs == 3
    (dot,) = [kernel for kernel in report.kernels if kernel.name.startswith("dot_general")]
    assert dot.calls == 1
    assert dot.flops == 2 * 32**3
    assert dot.bytes == 2 * W.nbytes  # W once, and the result
    looped = [kernel for kernel in report.kernels if kernel.calls == 40]
    assert looped, report.as_text()
    assert 0 < sum(kernel.seconds for kernel in report.kernels) < report.seconds
    seconds = [kernel.seconds for kernel in report.kernels]
    assert seconds == sorted(seconds, reverse=True)


def test_reports_as_text_and_json() -> None:
    report = hlo.compile(PROGRAM).profile(X, W, runs=1)
    text = report.as_text(most=1)
    assert text.splitlines()[0].endswith("ms a run, mean of 1")
    assert text.count("%  ") == 2 + (len(report.kernels) > 1)
    data = json.loads(report.to_json())
    assert data["version"] == 1
    assert [kernel["name"] for kernel in data["kernels"]] == [k.name for k in report.kernels]


def test_donated_arguments_stay_as_they_are() -> None:
    program = """
    func.func @main(%x: tensor<8xf32> {tf.aliasing_output = 0 : i32}) -> tensor<8xf32> {
      %0 = hlo.add %x, %x : tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    """
    x = np.arange(8, dtype=np.float32)
    compiled = hlo.compile(program)
    compiled.profile(x, runs=2)
    np.testing.assert_array_equal(x, np.arange(8))
    np.testing.assert_array_equal(compiled(x.copy())[0], 2 * np.arange(8))


def test_a_program_without_kernels() -> None:
    report = hlo.compile(
        "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }"
    ).profile(np.ones(8, np.float32), runs=1)
    assert [kernel.kind for kernel in report.kernels] == ["copy"]


def test_arguments_are_checked() -> None:
    compiled = hlo.compile(PROGRAM)
    with pytest.raises(ArgumentError, match="at least 1, found 0"):
        compiled.profile(X, W, runs=0)
    with pytest.raises(ArgumentError):
        compiled.profile(X)


def test_kernels_of_one_name_in_two_branches_have_their_own_figures() -> None:
    # The second branch moves most, so its kernels come first in a list of the dearest branch alone.
    program = """
    func.func @main(%p: tensor<i1>, %x: tensor<64xf32>, %y: tensor<65536xf32>)
        -> (tensor<64xf32>, tensor<65536xf32>) {
      %0:2 = "hlo.if"(%p) ({
        %1 = hlo.sine %x : tensor<64xf32>
        hlo.return %1, %y : tensor<64xf32>, tensor<65536xf32>
      }, {
        %2 = hlo.sine %y : tensor<65536xf32>
        hlo.return %x, %2 : tensor<64xf32>, tensor<65536xf32>
      }) : (tensor<i1>) -> (tensor<64xf32>, tensor<65536xf32>)
      return %0#0, %0#1 : tensor<64xf32>, tensor<65536xf32>
    }
    """
    compiled = hlo.compile(program)
    x, y = np.ones(64, np.float32), np.ones(65536, np.float32)
    for taken, size in ((True, 64), (False, 65536)):
        report = compiled.profile(np.array(taken), x, y, runs=2)
        (sine,) = [kernel for kernel in report.kernels if kernel.name.startswith("sine")]
        assert sine.bytes == 8 * size
        assert len(sine.launches) == 1
        assert 0 < sine.least <= sine.seconds
        assert sine.estimated > 0
