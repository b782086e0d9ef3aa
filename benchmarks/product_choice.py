"""Matrix products by generated kernels and by the vendor's library: what each takes, what the cost
model foretells and what it chooses; writes docs/benchmark_products.md.

python benchmarks/product_choice.py [PATTERN ...]

One thread, processor time; of several runs the fastest one counts, less the time of a call that
does next to nothing. The library chooses its own kernels: what the environment pins is dropped.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from timing import is_chosen, unpin_library

from hlo import knobs
from hlo.driver.compile import Compiled
from hlo.driver.compile import compile as compile_program
from hlo.passes.cost.machine import HOST, LibraryRates, Machine
from hlo.passes.cost.product_choice import ProductChoice, product_choice
from hlo.passes.hlo_to_loops.graph import Node

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmark_products.md"
ROUNDS, SAMPLE_SECONDS = 7, 3e-3
_KINDS: dict[str, type[np.generic]] = {
    "f32": np.float32, "f64": np.float64, "complex<f32>": np.complex64,
    "complex<f64>": np.complex128,
}  # fmt: skip
_HEADING = """# Matrix products: generated kernels and the vendor's library
Written by `benchmarks/product_choice.py`: processor time of one thread in microseconds, the
fastest of {rounds} samples; *foretold* by `passes/cost/product_times.py`, for one core. Layouts:
n as it is, t transposed, of the left and the right operand. *lost* is how much longer what is
chosen takes than the faster one. The library is OpenBLAS with the kernels that it takes for this
processor. Load of the machine: {load:.1f}.

| case | kernel | generated | foretold | library | foretold | chosen | lost |
|---|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Case:
    """A batch of products [m, k] x [k, n] of one type."""

    m: int
    k: int
    n: int
    layout: str
    kind: str = "f32"
    batch: int = 1

    @property
    def name(self) -> str:
        """As the table has it."""
        batch = f"{self.batch} x " if self.batch > 1 else ""
        return f"{batch}{self.m}x{self.k}x{self.n} {self.layout}, {self.kind}"

    @property
    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Of both operands and the result."""
        left = (self.m, self.k) if self.layout[0] == "n" else (self.k, self.m)
        right = (self.k, self.n) if self.layout[1] == "n" else (self.n, self.k)
        batch = (self.batch,) if self.batch > 1 else ()
        return (*batch, *left), (*batch, *right), (*batch, self.m, self.n)

    def text(self) -> str:
        """The program."""
        types = [f"tensor<{'x'.join(map(str, s))}x{self.kind}>" for s in self.shapes]
        first = 1 if self.batch > 1 else 0
        summed = first + (self.layout[0] == "n"), first + (self.layout[1] == "t")
        batch = "batching_dims = [0] x [0], " if first else ""
        return f"""func.func @main(%a: {types[0]}, %b: {types[1]}) -> {types[2]} {{
          %0 = hlo.dot_general %a, %b, {batch}contracting_dims = [{summed[0]}] x [{summed[1]}]
            : ({types[0]}, {types[1]}) -> {types[2]}
          return %0 : {types[2]}
        }}"""


@dataclass(frozen=True)
class Figure:
    """Seconds of one case, measured, and what the model says of it."""

    case: Case
    generated: float
    library: float
    choice: ProductChoice

    @property
    def lost(self) -> float:
        """How much longer the chosen one takes than the faster one, as a fraction."""
        chosen = self.library if self.choice.calls_library else self.generated
        return chosen / min(self.library, self.generated) - 1

    def row(self) -> str:
        """Of the table."""
        figures = (self.generated, self.choice.generated, self.library, self.choice.library)
        times = " | ".join(f"{1e6 * seconds:.3g}" for seconds in figures)
        chosen = "library" if self.choice.calls_library else "generated"
        lost = f"{100 * self.lost:.0f}%" if self.lost > 0.005 else ""
        return f"| {self.case.name} | {self.choice.way.value} | {times} | {chosen} | {lost} |"


def cases() -> Iterator[Case]:
    """Square products, those with few rows or columns, batches; all layouts and types."""
    squares = (24, 32, 64, 100, 128, 256, 512)
    few = [
        (1, 768, 3072), (2, 16, 4096), (4, 768, 768), (8, 64, 1024), (12, 512, 512),
        (16, 768, 3072), (64, 768, 768), (512, 512, 1), (512, 512, 2), (512, 512, 3),
        (512, 512, 4), (512, 512, 8), (300, 33, 17), (256, 64, 4), (2048, 16, 2048),
        (64, 4096, 64), (256, 2, 64), (2708, 7, 64),
    ]  # fmt: skip
    for kind in ("f32", "f64"):
        for layout in ("nn", "nt", "tn", "tt"):
            for n in squares:
                yield Case(n, n, n, layout, kind)
            for shape in few:
                yield Case(*shape, layout, kind)
    for kind in ("complex<f32>", "complex<f64>"):
        for layout in ("nn", "nt", "tn"):
            for n in (16, *squares):
                yield Case(n, n, n, layout, kind)
            for shape in [(1, 512, 512), (512, 512, 1), (512, 512, 4)]:
                yield Case(*shape, layout, kind)
    for layout in ("nn", "nt", "tn"):
        for batch, size in [(64, 8), (64, 16), (64, 32), (64, 64), (12, 128)]:
            yield Case(size, size, size, layout, "f32", batch)
            yield Case(size, size, size, layout, "complex<f32>", batch)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("patterns", nargs="*", help="names of cases, by shell patterns")
    args = parser.parse_args(argv)
    unpin_library()
    around = _seconds(compile_program(_NOTHING, threads=1), [np.zeros(4, np.float32)])
    figures: list[Figure] = []
    for case in cases():
        if is_chosen(case.name, args.patterns):
            figures.append(measure(case, around))
            print(figures[-1].row(), flush=True)
    print(summary(figures))
    if not args.patterns:
        heading = _HEADING.format(rounds=ROUNDS, load=os.getloadavg()[0])
        rows = "".join(figure.row() + "\n" for figure in figures)
        PAGE.write_text(f"{heading}{rows}\n{summary(figures)}\n")
    return 0


_NOTHING = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}"""


def measure(case: Case, around: float) -> Figure:
    """Compiles a case both ways and times it.

    Args:
        around: seconds of a call that does next to nothing.
    """
    rng = np.random.default_rng(0)
    arguments = [rng.standard_normal(s).astype(_KINDS[case.kind]) for s in case.shapes[:2]]
    generated = compile_program(case.text(), threads=1, vendor=False)
    chosen: list[ProductChoice] = []
    with knobs.scope(cache=False), products_chosen_for(_with_free_library(), chosen):
        library = compile_program(case.text(), threads=1)
    times = [max(_seconds(p, arguments) - around, 1e-9) for p in (generated, library)]
    return Figure(case, *times, chosen[-1])


def _with_free_library() -> Machine:
    """A machine whose library takes no time, so that it is called wherever it can be."""
    rates = LibraryRates(1e9, 1e9, 1e9, 0.0, 0.0)
    library = replace(
        HOST.library, call=-1.0, f32=rates, f64=rates, c64=rates, c128=rates, streamed=1e9
    )
    return replace(HOST, library=library)


@contextmanager
def products_chosen_for(machine: Machine, chosen: list[ProductChoice]) -> Iterator[None]:
    """Kernels of products are chosen as for a machine; what one core of ours would choose is
    added to a list.
    """

    def choose(node: Node) -> ProductChoice:
        chosen.append(product_choice(node, HOST.on(1)))
        return product_choice(node, machine)

    with mock.patch("hlo.passes.hlo_to_loops.kernels.product_choice", choose):
        yield


def _seconds(program: Compiled, arguments: Sequence[np.ndarray[Any, Any]]) -> float:
    """The fastest of several samples."""
    program(*arguments)
    start = time.process_time()
    program(*arguments)
    count = max(1, int(SAMPLE_SECONDS / max(time.process_time() - start, 1e-6)))
    samples: list[float] = []
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(count):
            program(*arguments)
        samples.append((time.process_time() - start) / count)
    return min(samples)


def summary(figures: Sequence[Figure]) -> str:
    """How often the slower one is chosen, and how far the model is off."""
    wrong = [figure for figure in figures if figure.lost > 0.1]
    off = {
        "generated": [abs(math.log(f.choice.generated / f.generated)) for f in figures],
        "library": [abs(math.log(f.choice.library / f.library)) for f in figures],
    }
    medians = ", ".join(f"{100 * statistics.median(v):.0f}% ({k})" for k, v in off.items())
    called = sum(figure.choice.calls_library for figure in figures)
    worst = max((figure.lost for figure in figures), default=0.0)
    return (
        f"{len(figures)} cases, the library chosen in {called}. In {len(wrong)} what is chosen "
        f"takes over 10% longer than the other, at the most {100 * worst:.0f}%. The model is off "
        f"by {medians} in the median."
    )


if __name__ == "__main__":
    sys.exit(main())
