"""Kernels of rows that store, beside whole rows, what there is one of for each row."""

from __future__ import annotations

import numpy as np
import pytest
from core_programs import Program, Value
from test_joint_reductions import product, spread
from test_reductions import reduce

import hlo

SHAPES = [(64, 1000), (64, 7), (40, 16), (33, 300), (32, 4, 50), (4, 16, 33), (100, 1)]


def last(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (len(shape) - 1,)


def unary(p: Program, name: str, x: Value) -> Value:
    return p.op(name, [x], x.shape)


def kernels_of(p: Program) -> int:
    return len(hlo.compile(p.text).cost_analysis().kernels)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["f32", "f64", "bf16"])
def test_normalised_rows_and_their_statistics(shape: tuple[int, ...], kind: str) -> None:
    """What a layer normalisation keeps for its gradient: mean and deviation feed the rows."""
    p = Program()
    x = p.sample(shape, kind)
    total = reduce(p, x, last(shape))
    mean = product(p, total, p.constant("0.0625", total.shape, kind))
    centred = p.op("subtract", [x, spread(p, mean, shape, last(shape))], shape)
    squares = reduce(p, product(p, centred, centred), last(shape))
    scale = unary(p, "rsqrt", p.op("add", [squares, p.constant("1.0", total.shape, kind)],
                                   total.shape))  # fmt: skip
    p.result(product(p, centred, spread(p, scale, shape, last(shape))), mean, scale)
    p.check(ulps=64)


@pytest.mark.parametrize("shape", SHAPES)
def test_exponentials_and_their_sums(shape: tuple[int, ...]) -> None:
    """The sums read what the kernel stores, the exponentials the maxima it stores too."""
    p = Program()
    x = p.sample(shape, "f32")
    most = reduce(p, x, last(shape), "maximum", "0xFF800000")
    raised = unary(p, "exponential", p.op("subtract", [x, spread(p, most, shape, last(shape))],
                                          shape))  # fmt: skip
    p.result(raised, most, unary(p, "log", reduce(p, raised, last(shape))))
    p.check(ulps=32)


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_beside_sums_of_the_same_tensor(shape: tuple[int, ...]) -> None:
    p = Program()
    x = p.argument(np.random.default_rng(0).integers(-3, 4, shape).astype(np.float32))
    p.result(unary(p, "negate", x), reduce(p, x, last(shape)))
    p.result(reduce(p, product(p, x, x), last(shape)))
    p.check()


def test_one_kernel_reads_the_rows_once() -> None:
    p = Program()
    x = p.sample((64, 4096), "f32")
    p.result(unary(p, "tanh", x), reduce(p, x, (1,)))
    assert kernels_of(p) == 1


def test_a_buffer_of_row_results_is_not_read_after_it_is_written() -> None:
    """The old statistics are read with every element; the new ones must not take their place."""
    p = Program()
    x, old = p.sample((64, 300), "f32"), p.sample((64,), "f32")
    shifted = p.op("add", [x, spread(p, unary(p, "negate", old), (64, 300), (1,))], (64, 300))
    fresh = p.op("multiply", [reduce(p, x, (1,)), old], (64,))
    p.result(shifted, fresh)
    p.check(ulps=32)
    arguments = [a.copy() for a in p.arguments]
    wanted = hlo.compile(p.text)(*p.arguments)
    donated = hlo.compile(p.text, donate=(0, 1))(*arguments)
    for left, right in zip(wanted, donated, strict=True):
        np.testing.assert_array_equal(np.asarray(left), np.asarray(right))


def test_few_rows_are_taken_in_pieces() -> None:
    """Two rows are no work for several threads; their pieces are, in one launch with the sums."""
    p = Program()
    x = p.sample((2, 200000), "f32")
    p.result(unary(p, "negate", x), reduce(p, x, (1,), "maximum", "0xFF800000"))
    assert kernels_of(p) == 1
    p.check()
