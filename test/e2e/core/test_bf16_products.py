"""Products of bf16: strict ones keep subnormal numbers, `fast` ones take them for zero at most."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from core_programs import Program
from test_contractions import dot

import hlo
from hlo.passes.hlo_to_loops import product_factors

# Rows, depth, columns and layout; parts of the depth have 384 elements.
CASES = [
    (17, 100, 49, "nn"), (17, 102, 49, "nt"), (33, 900, 40, "tn"), (20, 101, 33, "nn"),
]  # fmt: skip


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The instruction on pairs wherever the processor has it, however long it takes."""
    monkeypatch.setattr(
        product_factors, "is_faster", lambda i: product_factors.has_feature(i.feature)
    )


@pytest.mark.usefixtures("words")
@pytest.mark.parametrize("result", ["f32", "bf16"])
@pytest.mark.parametrize("fast", [False, True])
def test_bf16_products(result: str, fast: bool) -> None:
    p = Program()
    for m, k, n, layout in CASES:
        a = p.sample((m, k) if layout[0] == "n" else (k, m), "bf16")
        b = p.sample((k, n) if layout[1] == "n" else (n, k), "bf16")
        contract = ([int(layout[0] == "n")], [int(layout[1] == "t")])
        p.result(dot(p, a, b, contract, kind=result))
    p.check(ulps=8, fast=fast)


@pytest.mark.usefixtures("words")
def test_infinities_and_nan_stay_what_they_are_in_fast_products() -> None:
    p = Program()
    a, b = np.ones((16, 32), ml_dtypes.bfloat16), np.ones((32, 64), ml_dtypes.bfloat16)
    a[1, 3], a[2, 4], a[3, 5:7] = np.inf, np.nan, (np.inf, -np.inf)
    b[0, 7] = -np.inf
    p.result(dot(p, p.argument(a), p.argument(b), ([1], [0]), kind="f32"))
    p.check(fast=True)


def test_strict_products_keep_subnormal_numbers() -> None:
    p = Program()
    tiny = np.full((16, 32), 2.0**-130, ml_dtypes.bfloat16)
    ones = np.ones((32, 64), ml_dtypes.bfloat16)
    p.result(dot(p, p.argument(tiny), p.argument(ones), ([1], [0]), kind="f32"))
    strict, fast = (hlo.compile(p.text, fast=fast)(tiny, ones)[0] for fast in (False, True))
    assert (strict == 2.0**-125).all()  # 32 x 2^-130
    assert np.isin(fast, [0, 2.0**-125]).all()
