"""Pairs of layouts: the forms of a pair compute as much, and the page says which is slower."""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from layout_pairs import Figure, Pair, gap, page, pairs


@pytest.mark.parametrize("pair", pairs(), ids=lambda pair: pair.name)
def test_forms_make_as_many_elements(pair: Pair) -> None:
    sizes: list[list[int]] = []
    for form in (pair.first, pair.second):
        arguments = [jax.ShapeDtypeStruct(shape, np.float32) for shape in form.shapes]
        results = jax.tree.leaves(
            jax.eval_shape(lambda *a, form=form: form.function(jax, *a), *arguments)
        )
        sizes.append(sorted(result.size for result in results))
    assert sizes[0] == sizes[1]


def test_page_has_gaps_and_ratios() -> None:
    pair = pairs()[0]
    text = page([Figure(pair, (20.0, 10.0), (40.0, 5.0), 0.0)], "wall time")
    assert gap((10.0, 20.0)) == 2
    # 40 / 20 and 5 / 10: one form of two is behind; the gap of jax is 40 / 5.
    assert f"| {pair.name} | NCHW | 20 | 2.00 | NHWC | 10 | 0.50 | 2.00 | 8.00 |" in text
    assert "1 of them behind" in text.replace("\n", " ")
