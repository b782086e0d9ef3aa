"""`make demo`: compiles and runs two programs and checks them against XLA.

The MiniLM sentence encoder with its real weights, on eight sentences, and the chain sum(sin(x * 2)
+ 1) over 16M floats. Prints the fused program, the seconds of each stage, the results, and how they
compare. Exits with 1 if one differs."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

import minilm
import numpy as np

import hlo
from hlo import knobs
from hlo.driver.comparison import Tolerance, compare_all
from hlo.driver.peers import OwnRunner, XlaPeer
from hlo.driver.run_program import time_in_alternation

SENTENCES = (
    "A cat sleeps on the warm windowsill.",
    "A kitten is napping by the sunny window.",
    "The stock market fell sharply today.",
    "Shares dropped as investors sold.",
    "How do I bake bread at home?",
    "A simple recipe for a homemade loaf.",
    "The compiler fuses operations into kernels.",
    "Operators are merged so that memory is read once.",
)
EXCERPT_LINES = 24
RUNS = 10


def main() -> int:
    print(f"hlo {hlo.__version__}: a tensor compiler in Python on MLIR\n")
    matches = [_chain(), _encoder()]
    print("every result matches XLA" if all(matches) else "RESULTS DIFFER FROM XLA")
    return 0 if all(matches) else 1


def _chain() -> bool:
    print("== sum(sin(x * 2) + 1), 16M floats ==")
    x = np.random.default_rng(0).standard_normal(1 << 24, np.float32)
    text = (minilm.PROGRAMS / "seed_demo.mlir").read_text()
    results, matches = _compile_run_check(text, [x])
    expected = float(np.sum(np.sin(x.astype(np.float64) * 2.0) + 1.0))
    print(f"result {float(results[0]):.6e}; in double precision by NumPy {expected:.6e}\n")
    return matches


def _encoder() -> bool:
    print("== MiniLM sentence encoder, real weights, 8 sentences of up to 64 tokens ==")
    folder = minilm.model_folder()
    ids, mask = minilm.WordPiece(folder / "vocab.txt").encode(SENTENCES)
    text = (minilm.PROGRAMS / "minilm.mlir").read_text()
    results, matches = _compile_run_check(text, [*minilm.parameters(folder), ids, mask])
    similarity = results[0] @ results[0].T
    np.fill_diagonal(similarity, -1.0)
    print("nearest sentence by the embeddings:")
    for row, nearest in enumerate(similarity.argmax(axis=1)):
        print(f"  {similarity[row, nearest]:.2f}  {SENTENCES[row]}  ->  {SENTENCES[nearest]}")
    print()
    return matches


def _compile_run_check(text: str, arguments: Sequence[np.ndarray]) -> tuple[list[np.ndarray], bool]:
    start = time.perf_counter()
    with knobs.scope(cache=False):  # what is shown is compilation
        compiled = hlo.compile(text)
    compile_seconds = time.perf_counter() - start
    _print_excerpt(compiled.as_text("fused"))
    print(f"compiled in {compile_seconds:.2f} s: {_stages(compiled.statistics.stage_seconds)}")
    print(
        f"{compiled.statistics.kernels} kernels, {compiled.statistics.arena_bytes:,} bytes of "
        f"scratch"
    )
    own = OwnRunner(compiled, arguments, {})
    peer = XlaPeer(text, arguments, {})
    results = own.results()
    (comparison,) = compare_all(results, peer.results(), Tolerance())
    own_ms, peer_ms = time_in_alternation(own, peer, RUNS)
    print(
        f"runs in {own_ms:.2f} ms; XLA compiles in {peer.compile_seconds:.2f} s and runs in "
        f"{peer_ms:.2f} ms"
    )
    print(
        f"largest relative error against XLA {comparison.max_relative_error:.2g} "
        f"({comparison.mismatches} of {comparison.elements} elements out of tolerance)"
    )
    return results, comparison.matches


def _stages(seconds: Mapping[str, float]) -> str:
    """The stages that take a twentieth of the time or more, and the sum of the others."""
    total = sum(seconds.values())
    long = {stage: time for stage, time in seconds.items() if time >= total / 20}
    shown = [f"{stage} {1e3 * time:.0f} ms" for stage, time in long.items()]
    rest = 1e3 * (total - sum(long.values()))
    return ", ".join([*shown, f"{len(seconds) - len(long)} other stages {rest:.0f} ms"])


def _print_excerpt(text: str) -> None:
    """The largest fusion that fits on a screen."""
    lines = text.splitlines()
    fusions = [_fusion_at(lines, i) for i, line in enumerate(lines) if '"hlo.fusion"' in line]
    fitting = [fusion for fusion in fusions if len(fusion) <= EXCERPT_LINES]
    print(f"{len(fusions)} fusions; the largest that fits here:")
    for line in max(fitting, key=len, default=[]):
        print(f"  {line.rstrip()[:120]}{'...' if len(line.rstrip()) > 120 else ''}")


def _fusion_at(lines: Sequence[str], start: int) -> list[str]:
    indent = len(lines[start]) - len(lines[start].lstrip())
    for end in range(start + 1, len(lines)):
        if lines[end].startswith(" " * indent + "})"):
            return [line[indent:] for line in lines[start : end + 1]]
    return list(lines[start:])


if __name__ == "__main__":
    sys.exit(main())
