"""Memory of the benchmark programs, beside that of XLA."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

import memory
from memory import Own, Peer

TRAINING = (
    "adam_update", "cnn_train", "gnn_train", "gpt_train", "gru_train", "lm_train_remat",
    "mlp_train", "resnet18_train",
)  # fmt: skip


def test_small_programs_are_not_compared() -> None:
    figures = {
        "small": (Own(100, 100, 200), Peer(memory.SMALL, 100)),
        "high": (Own(100_000, 100_000, 300_000), Peer(90_000, 300_000)),
        "low": (Own(90_000, 90_000, 300_000), Peer(90_000, 299_999)),
    }
    assert memory.higher(figures) == (["high"], ["low"])
    assert "is higher on 1 (high), the peak on 1 (low)." in memory.summary(figures)


def test_a_program_is_planned(tmp_path: Path) -> None:
    """Two products: 64 x 64 x 4 = 16384 bytes between them; arguments and result are 3 x 16384."""
    path = tmp_path / "dots.mlir"
    kind = "tensor<64x64xf32>"
    path.write_text(f"""func.func @main(%x: {kind}, %y: {kind}) -> {kind} {{
  %0 = hlo.dot_general %x, %y, contracting_dims = [1] x [0] : ({kind}, {kind}) -> {kind}
  %1 = hlo.dot_general %0, %y, contracting_dims = [1] x [0] : ({kind}, {kind}) -> {kind}
  return %1 : {kind}
}}""")
    assert memory.own_figures(path) == Own(16384, 16384, 4 * 16384)


def test_the_page_says_what_it_shows() -> None:
    figures = memory.recorded()
    assert memory.summary(figures) in memory.PAGE.read_text()
    arenas, peaks = memory.higher(figures)
    assert not set(TRAINING) & {*arenas, *peaks}


@pytest.mark.slow
def test_no_program_needs_more_than_the_page_says() -> None:
    """At most what XLA needs where the page says so, and at most 2% above the floor everywhere."""
    figures = memory.recorded()
    own = {n: memory.own_figures(memory.DEFAULT_PROGRAMS / f"{n}.mlir") for n in figures}
    now = {name: (own[name], peer) for name, (_, peer) in figures.items()}
    for better, before in zip(memory.higher(now), memory.higher(figures), strict=True):
        assert set(better) <= set(before)
    for plan in own.values():
        assert plan.arena <= 1.02 * plan.floor
