"""What the order of ops costs the benchmark programs."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

import schedule_time
from schedule_time import Row

PROGRAM = """func.func @main(
    %x: tensor<256x64xf32>, %y: tensor<256x64xf32>, %w: tensor<64x512xf32>, %v: tensor<512x16xf32>
  ) -> (tensor<256x16xf32>, tensor<256x16xf32>) {
  %a = hlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<256x64xf32>, tensor<64x512xf32>) -> tensor<256x512xf32>
  %b = hlo.dot_general %y, %w, contracting_dims = [1] x [0]
      : (tensor<256x64xf32>, tensor<64x512xf32>) -> tensor<256x512xf32>
  %aa = hlo.dot_general %a, %v, contracting_dims = [1] x [0]
      : (tensor<256x512xf32>, tensor<512x16xf32>) -> tensor<256x16xf32>
  %bb = hlo.dot_general %b, %v, contracting_dims = [1] x [0]
      : (tensor<256x512xf32>, tensor<512x16xf32>) -> tensor<256x16xf32>
  return %aa, %bb : tensor<256x16xf32>, tensor<256x16xf32>
}"""


def test_a_program_is_measured_both_ways(tmp_path: Path) -> None:
    """Two values of 256 x 512 x 4 = 524288 bytes, which live at once only without the pass."""
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    path.with_suffix(".json").write_text(
        """{"args": [{"shape": [256, 64], "dtype": "float32", "fill": {"constant": 0.5}},
                     {"shape": [256, 64], "dtype": "float32", "fill": {"constant": 0.5}},
                     {"shape": [64, 512], "dtype": "float32", "fill": {"constant": 0.5}},
                     {"shape": [512, 16], "dtype": "float32", "fill": {"constant": 0.5}}]}"""
    )
    estimated = schedule_time.estimated_ratio(path.read_bytes())
    assert estimated is not None and 0.5 < estimated < 1.02
    row = schedule_time.measure(path, estimated, 1, time.process_time, 3)
    assert row.arenas == (2 * 524288, 524288)
    assert min(row.seconds) > 0


def test_the_page_shows_what_the_pass_promises() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in schedule_time.PAGE.read_text().splitlines()
        if line.startswith("| ") and not line.startswith("| program")
    ]
    assert rows
    for _, plain, ordered, *_, ratio, estimated in rows:
        assert int(ordered) <= 0.98 * int(plain)
        assert float(ratio) <= schedule_time.MOST_RATIO
        assert float(estimated) <= 1.01


@pytest.mark.slow
def test_the_page_has_every_program_that_the_pass_changes() -> None:
    page = schedule_time.PAGE.read_text()
    for program in schedule_time.DEFAULT_PROGRAMS.glob("*.mlir"):
        changed = schedule_time.estimated_ratio(program.read_bytes()) is not None
        assert changed == (f"| {program.stem} |" in page), program.stem


def test_a_row_reads_as_the_page_has_it() -> None:
    row = Row("p", (200, 100), (0.002, 0.003), 1.0)
    assert str(row) == "| p | 200 | 100 | 2 | 3 | 1.500 | 1.000 |"
