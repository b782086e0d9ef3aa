"""Kernel counts and bytes of the benchmark programs, beside those of XLA."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

import kernel_counts
from kernel_counts import Figures

TABLE = """Programs.

| program | what | ops | XLA kernels | XLA GB touched |
|---|---|---|---|---|
| one | a | 3 | 12 | 0.336 |
| two | b | 4 | 7 | 1.5e-05 |

More.
"""


def test_peer_figures_are_read_from_the_table(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(TABLE)
    assert kernel_counts.peer_figures(tmp_path) == {
        "one": Figures(12, 0.336),
        "two": Figures(7, 1.5e-05),
    }


def test_bytes_are_compared_as_the_table_gives_them() -> None:
    peer = [Figures(12, 0.336)] * 3
    own = [Figures(12, 0.3364), Figures(13, 0.337), Figures(1, 0.1)]  # 0.3364 is 0.336 in it
    assert kernel_counts.no_higher(own, peer) == (2, 2)


def test_a_program_is_counted(tmp_path: Path) -> None:
    """A row of softmax: 64 x 128 floats read and written once; and the sum of a column."""
    path = tmp_path / "sum.mlir"
    path.write_text("""func.func @main(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %0 = hlo.exponential %x : tensor<64x128xf32>
  %1 = hlo.negate %0 : tensor<64x128xf32>
  return %1 : tensor<64x128xf32>
}""")
    assert kernel_counts.own_figures(path) == Figures(1, 2 * 64 * 128 * 4 / 1e9)


@pytest.mark.slow
def test_no_more_kernels_and_bytes_than_xla_on_most_programs() -> None:
    """The page is up to date, and says that 80% of the programs need no more than XLA."""
    lines = [line.split("|") for line in kernel_counts.PAGE.read_text().splitlines()]
    rows = [row for row in lines if len(row) == 7 and row[2].strip().isdigit()]
    table = {row[1].strip(): int(row[2]) for row in rows}
    folder = kernel_counts.DEFAULT_PROGRAMS
    own = {n: kernel_counts.own_figures(folder / f"{n}.mlir") for n in table}
    peer = kernel_counts.peer_figures(folder)
    kernels, touched = kernel_counts.no_higher(list(own.values()), [peer[n] for n in own])
    assert min(kernels, touched) >= 0.8 * len(peer)
    assert own["bert_base"].kernels <= 12 * 13  # layers x kernels, dots included
    assert {n: figures.kernels for n, figures in own.items()} == table
