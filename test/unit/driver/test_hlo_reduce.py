"""`hlo-reduce` from within: what an interrupt leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from hlo import ir
from hlo.driver.reduce_program import Candidate
from hlo.tools import hlo_reduce

PROGRAM = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = hlo.sine %x : tensor<4xf32>
  %b = hlo.cosine %a : tensor<4xf32>
  return %b : tensor<4xf32>
}"""
SMALLER = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = hlo.sine %x : tensor<4xf32>
  return %a : tensor<4xf32>
}"""


def test_an_interrupt_writes_the_smallest_that_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(
        module: ir.Module,
        arguments: Sequence[np.ndarray],
        still_fails: Callable[[Candidate], bool],
        tries: int,
    ) -> Candidate:
        assert still_fails(Candidate(SMALLER, tuple(arguments), 0))
        raise KeyboardInterrupt

    monkeypatch.setattr(hlo_reduce, "reduce_program", interrupted)
    (tmp_path / "wrong.mlir").write_text(PROGRAM)
    small = tmp_path / "small.mlir"
    words = [str(tmp_path / "wrong.mlir"), "--seed=0", "--command=false", "-o", str(small)]
    assert hlo_reduce.main(words) == 130
    assert small.read_text() == SMALLER
    assert np.load(tmp_path / "small.npz")["arg0"].shape == (4,)
    assert "reduced to 1, 1" in capsys.readouterr().out
