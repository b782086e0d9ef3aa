"""What the benchmark of PyTorch's models writes; the models themselves need other packages."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from model_zoo import IMAGE_MODELS, TEXT_MODELS, Row, page


def test_names_are_those_of_one_model_each() -> None:
    names = [*IMAGE_MODELS, *TEXT_MODELS]
    assert len(names) == len(set(names))


def test_the_page_says_who_is_behind() -> None:
    rows = [Row("fast", [0.002, 0.004], 1.0, 1e-7), Row("slow", [0.004, 0.002], 2.0, 0.0)]
    text = page(rows, 2, 0.5)
    assert "| fast | 2 | 2.00 | 1.0 | 1.0e-07 |" in text
    assert "| slow | 4 | 0.50 | 2.0 | 0.0e+00 |" in text
    assert "2 models. eager: 1.00 on geometric mean, ahead of us slow." in text


def test_a_second_peer_is_a_column() -> None:
    text = page([Row("m", [0.001, 0.002, 0.003], 1.0, 0.0)], 2, 0.0)
    head = next(line for line in text.splitlines() if line.startswith("| model"))
    rule = next(line for line in text.splitlines() if line.startswith("|---"))
    assert head.count("|") == rule.count("|") == 7
    assert "x torch.compile" in head
    assert "| m | 1 | 2.00 | 3.00 |" in text
