"""Matrix products beside OpenBLAS on as many threads; writes docs/benchmark_openblas.md.

python benchmarks/openblas.py [PATTERN ...] [--threads=N] [--rounds=N]

Both sides take a copy of the library of their own, so that its number of threads is each one's, and
its kernels for this processor, whatever the environment pins. Both are called from machine code in
a loop, with results that stay where they are. The runs alternate; figures are medians of wall time.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

# Its idle threads are to sleep before others run: after 2^20 ticks of the clock instead of 2^26.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")

import numpy as np
from entry_calls import EntryCalls, aligned
from product_choice import Case
from timing import (
    Run,
    is_chosen,
    machine_code,
    names_of,
    parser,
    threads_of,
    time_in_turn,
    unpin_library,
)

from hlo.executable import runtime

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmark_openblas.md"
LARGE = 256  # rows, columns and depth, at the least, of a large product
GOALS = {True: 0.95, False: 1.0}  # x OpenBLAS: of large products, of others
FLOPS_A_RUN = 4e6  # for which a product is called from machine code
MIGRATION_SECONDS = 0.01  # after which threads that woke on one processor are on several
TOLERANCES = {"f32": 2e-5, "f64": 1e-13}  # of the largest element
Array = np.ndarray[Any, Any]

_HEADING = """# Matrix products beside OpenBLAS
Written by `benchmarks/openblas.py`: microseconds of wall time, runs alternating, medians, both
sides on the same number of threads. x is OpenBLAS's time / ours. OpenBLAS has its kernels for this
processor ({core}). Both are called from machine code: its routine, for a batch in a loop, and the
entry of our program. Layouts: n as it is, t transposed, of the left and the right operand. Where x
of 2 threads is beyond 10 for a product with many rows, threads of OpenBLAS shared a processor. Load
of the machine: {load:.1f}.

"""
_COLUMNS = """| case | 1 thread: ours | OpenBLAS | x | 2 threads: ours | OpenBLAS | x |
|---|---|---|---|---|---|---|"""


@dataclass(frozen=True)
class Figure:
    """Seconds of one case on so many threads: ours, OpenBLAS's."""

    case: Case
    threads: int
    ours: float
    library: float

    @property
    def ratio(self) -> float:
        """OpenBLAS's time / ours."""
        return self.library / self.ours

    @property
    def is_large(self) -> bool:
        """Whether rows, columns and depth are those of a large product."""
        return min(self.case.m, self.case.k, self.case.n) >= LARGE

    @property
    def name(self) -> str:
        """Of the case and the threads."""
        return f"{self.case.name} on {self.threads}"


def cases() -> Iterator[Case]:
    """Square products from 16 to 2048, those with few rows, columns or steps, and batches."""
    for kind in ("f32", "f64"):
        for layout in ("nn", "nt", "tn", "tt"):
            for n in (16, 32, 64, 128, 256, 512, 1024):
                yield Case(n, n, n, layout, kind)
        for n in (24, 48, 96, 100, 192, 300, 384, 768, 2048):
            yield Case(n, n, n, "nn", kind)
    few = [
        (1, 768, 3072), (4, 768, 768), (8, 64, 1024), (16, 768, 3072), (64, 768, 768),
        (128, 768, 3072), (197, 3072, 768), (512, 512, 1), (512, 512, 4), (512, 512, 16),
        (1024, 64, 1024), (64, 4096, 64), (256, 64, 4),
    ]  # fmt: skip
    for layout in ("nn", "nt", "tn"):
        for shape in few:
            yield Case(*shape, layout)
    for layout in ("nn", "nt"):
        for batch, size in [(64, 8), (64, 16), (64, 32), (64, 64), (12, 128)]:
            yield Case(size, size, size, layout, "f32", batch)
        yield Case(12, 512, 64, layout, "f32", 12)


def main() -> int:
    args = parser(__doc__).parse_args()
    unpin_library()
    counts = [args.threads] if args.threads else [1, threads_of(args)]
    figures: list[Figure] = []
    print(_COLUMNS)
    for case in cases():
        if is_chosen(case.name, args.patterns):
            mine = [measure(case, count, args.rounds) for count in counts]
            print(row_of(mine), flush=True)
            figures += mine
    print(summary(figures))
    if not args.patterns:
        rows = "".join(
            row_of(figures[i : i + len(counts)]) + "\n" for i in range(0, len(figures), len(counts))
        )
        heading = _HEADING.format(core=_library().core, load=os.getloadavg()[0])
        PAGE.write_text(f"{heading}{_COLUMNS}\n{rows}\n{summary(figures)}\n")
    return 0


def measure(case: Case, threads: int, rounds: int) -> Figure:
    """Compiles a case, compares the results, and times both sides."""
    from hlo.driver.compile import compile as compile_program

    rng = np.random.default_rng(0)
    dtype = np.float32 if case.kind == "f32" else np.float64
    a, b, result = (aligned(shape, np.dtype(dtype)) for shape in case.shapes)
    for operand in (a, b):
        operand[:] = rng.standard_normal(operand.shape)
    program = compile_program(case.text(), threads=threads)
    _library().set_threads(threads)
    count = max(1, int(FLOPS_A_RUN / (2 * case.batch * case.m * case.k * case.n)))
    calls = _library().calls(case, (a, b, result), count)
    ours = EntryCalls(program, (a, b), threads)
    runs = [ours.run(count), calls]
    for run in runs:
        run()
    error = np.abs(ours.results[0] - result).max() / np.abs(result).max()
    if not error <= TOLERANCES[case.kind]:
        print(f"{case.name}: results differ from OpenBLAS's by {error:.2g}", file=sys.stderr)
    if threads == 1:
        times = time_in_turn(runs, time.perf_counter, 3 * rounds, pause=0.0)
    else:
        times = time_in_turn(runs, time.perf_counter, rounds, warm=MIGRATION_SECONDS)
    return Figure(case, threads, *(seconds / count for seconds in times))


@cache
def _library() -> _Library:
    return _Library()


class _Library:
    """A copy of OpenBLAS beside the one that our programs call.

    Attributes:
        core: the processor that its kernels are for.
    """

    def __init__(self) -> None:
        if not runtime.blas_available():  # loads what the copy depends on too
            raise SystemExit(runtime.blas_error())
        with tempfile.TemporaryDirectory() as folder:
            self._library = ctypes.CDLL(shutil.copy(runtime.BLAS_PATH, folder))
        name = self._library.scipy_openblas_get_corename
        name.restype = ctypes.c_char_p
        self.core = name().decode()

    def set_threads(self, threads: int) -> None:
        """How many threads later calls have."""
        self._library.scipy_openblas_set_num_threads(threads)

    def calls(self, case: Case, arrays: Sequence[Array], count: int) -> Run:
        """A run of `count` multiplications in machine code: of both operands and the result."""
        routine = getattr(self._library, f"scipy_cblas_{'s' if case.kind == 'f32' else 'd'}gemm")
        address = ctypes.cast(routine, ctypes.c_void_p)
        code = machine_code(_calls_text(case))
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)
        function = kind(code.lookup("calls"))
        places = [ctypes.c_void_p(array.ctypes.data) for array in arrays]

        def run() -> object:
            assert code and arrays  # which the function is in, and works on
            return function(address, *places, ctypes.c_int64(count))

        return run


_CALLS = """func.func @calls(
    %routine: !llvm.ptr, %a: !llvm.ptr, %b: !llvm.ptr, %c: !llvm.ptr, %count: i64) {{
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %size = arith.constant {batch} : index
  %end = arith.index_cast %count : i64 to index
  %one = arith.constant 1.0 : {kind}
  %zero = arith.constant 0.0 : {kind}
{constants}
  scf.for %i = %first to %end step %step {{
    scf.for %j = %first to %size step %step {{
      %item = arith.index_cast %j : index to i64
{places}
      llvm.call %routine(%order, %turn_a, %turn_b, %m, %n, %k, %one,
          %x, %ld_a, %y, %ld_b, %zero, %z, %ld_c)
        : !llvm.ptr, (i32, i32, i32, i32, i32, i32, {kind},
          !llvm.ptr, i32, !llvm.ptr, i32, {kind}, !llvm.ptr, i32) -> ()
    }}
  }}
  return
}}
"""


def _calls_text(case: Case) -> str:
    """A function that calls cblas_?gemm for each product of a batch, in row-major order."""
    shapes = [shape[-2:] for shape in case.shapes]
    turned = [112 if letter == "t" else 111 for letter in case.layout]
    numbers = {"order": 101, "turn_a": turned[0], "turn_b": turned[1]}
    numbers |= {"m": case.m, "n": case.n, "k": case.k}
    numbers |= {f"ld_{name}": shape[1] for name, shape in zip("abc", shapes, strict=True)}
    constants = [f"  %{name} = arith.constant {value} : i32" for name, value in numbers.items()]
    places: list[str] = []
    for place, pointer, (rows, columns) in zip("xyz", "abc", shapes, strict=True):
        constants.append(f"  %size_{place} = arith.constant {rows * columns} : i64")
        places.append(f"      %at_{place} = arith.muli %item, %size_{place} : i64")
        places.append(
            f"      %{place} = llvm.getelementptr %{pointer}[%at_{place}] "
            f": (!llvm.ptr, i64) -> !llvm.ptr, {case.kind}"
        )
    return _CALLS.format(
        batch=case.batch, kind=case.kind, constants="\n".join(constants), places="\n".join(places)
    )


def row_of(figures: Sequence[Figure]) -> str:
    """One row of the table: a case on one thread and on several."""
    cells = [f"{1e6 * f.ours:.3g} | {1e6 * f.library:.3g} | {f.ratio:.2f}" for f in figures]
    return f"| {figures[0].case.name} | {' | '.join(cells)} |"


def summary(figures: Sequence[Figure]) -> str:
    """The lowest ratios of large and of other products, and those below what is aimed at."""
    lines: list[str] = []
    for is_large, what in ((True, f"of {LARGE} and up"), (False, f"below {LARGE}")):
        mine = [figure for figure in figures if figure.is_large == is_large]
        if not mine:
            continue
        lowest, goal = min(mine, key=lambda figure: figure.ratio), GOALS[is_large]
        middle = statistics.median(figure.ratio for figure in mine)
        below = names_of([f"{f.name} ({f.ratio:.2f})" for f in mine if f.ratio < goal])
        lines.append(
            f"Products {what}: at the lowest {lowest.ratio:.2f} x OpenBLAS ({lowest.name}), "
            f"median {middle:.2f}. Below {goal}: {below}."
        )
    return "\n\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
