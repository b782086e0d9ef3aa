"""Integer division by constants, and the payload of NaNs in narrow floats."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from core_programs import INTEGERS, NARROW_INTEGERS, Program

import hlo
from hlo import ir

SIZE = 37


def _edges(dtype: np.dtype) -> np.ndarray:
    """Values of an integer type: the least and the largest, those around 0, and random ones."""
    info = ml_dtypes.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    rng = np.random.default_rng(3)
    random = [int(v) for v in rng.integers(max(low, -(2**40)), min(high, 2**40) + 1, SIZE - 8)]
    around = [v for v in (-2, -1, 0, 1, 2) if v >= low]
    near = [low, low + 1, high - 1, high, *around, *random][:SIZE]
    return np.array(near + [high] * (SIZE - len(near)), np.int64 if low else np.uint64).astype(
        dtype
    )


@pytest.mark.parametrize("kind", [*NARROW_INTEGERS, *INTEGERS])
@pytest.mark.parametrize("size", ["vector", "scalar"])
def test_division_by_a_constant(kind: str, size: str) -> None:
    dtype = ir.types.to_dtype(kind)
    info = ml_dtypes.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    divisors = sorted({d for d in (low, -7, -2, -1, 0, 1, 2, 3, 7, 100, high) if low <= d <= high})
    program = Program()
    x = program.argument(_edges(dtype)[: SIZE if size == "vector" else 1])
    for divisor in divisors:
        by = program.constant(str(divisor), x.shape, kind)
        program.result(*(program.op(op, [x, by], x.shape) for op in ("divide", "remainder")))
    program.check()


@pytest.mark.parametrize("op", ["add", "subtract", "multiply", "divide"])
def test_bfloat16_nans_of_every_payload_stay(op: str) -> None:
    tensor = "tensor<254xbf16>"
    text = f"""func.func @main(%x: {tensor}, %y: {tensor}) -> {tensor} {{
      %0 = "hlo.{op}"(%x, %y) : ({tensor}, {tensor}) -> {tensor}
      %1 = "hlo.{op}"(%0, %y) : ({tensor}, {tensor}) -> {tensor}
      return %1 : {tensor}
    }}"""
    payloads = np.arange(1, 128, dtype=np.uint16)
    nans = np.concatenate([0x7F80 | payloads, 0xFF80 | payloads]).astype(np.uint16)
    x = nans.view(ml_dtypes.bfloat16)
    ones = np.ones(254, ml_dtypes.bfloat16)
    program = hlo.compile(text)
    assert np.isnan(program(x, ones)[0].astype(np.float32)).all()
    assert np.isnan(program(ones, x)[0].astype(np.float32)).all()
    infinity = np.full(254, np.inf, ml_dtypes.bfloat16)
    if op == "subtract":
        assert np.isnan(program(infinity, infinity)[0].astype(np.float32)).all()
