"""Branches within branches: right, and compiled in time that grows with their number."""

from __future__ import annotations

import time

import numpy as np

import hlo

V = "tensor<8xf32>"


def nested(depth: int) -> str:
    """x + 1 for each level up to n; then the cosine of that, or after all levels its sine."""
    head = "".join(
        f"""
        %k{i} = hlo.constant dense<{i}> : tensor<i32>
        %p{i} = hlo.compare LE, %n, %k{i} : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %r{i} = "hlo.if"(%p{i}) ({{
          %c{i} = hlo.cosine %m{i} : {V}
          "hlo.return"(%c{i}) : ({V}) -> ()
        }}, {{
          %m{i + 1} = hlo.add %m{i}, %one : {V}"""
        for i in range(depth)
    )
    tail = "".join(
        f'"hlo.return"(%r{i + 1}) : ({V}) -> () }}) : (tensor<i1>) -> {V}\n'
        for i in reversed(range(depth))
    )
    return (
        f"func.func @main(%n: tensor<i32>, %m0: {V}) -> {V} {{\n"
        f"%one = hlo.constant dense<1.0> : {V}{head}\n"
        f"%r{depth} = hlo.sine %m{depth} : {V}\n{tail}return %r0 : {V}\n}}"
    )


def seconds(depth: int) -> float:
    """Processor time of a compilation, the best of two."""
    times: list[float] = []
    for _ in range(2):
        start = time.process_time()
        hlo.compile(nested(depth))
        times.append(time.process_time() - start)
    return min(times)


def test_results_of_each_level() -> None:
    x = np.arange(8, dtype=np.float32) / 8
    program = hlo.compile(nested(20))
    for n in (-1, 0, 1, 7, 19, 20, 25):
        levels = min(max(n, 0), 20)
        want = np.sin(x + levels) if n > 19 else np.cos(x + levels)
        np.testing.assert_allclose(program(np.array(n, np.int32), x)[0], want, atol=2e-5)


def test_four_times_the_levels_take_about_four_times_as_long() -> None:
    """A loose bound: 4 ** 1.3 = 6.1, for noise; quadratic would be 16."""
    hlo.compile(nested(4))
    assert seconds(120) <= 4**1.3 * seconds(30)
