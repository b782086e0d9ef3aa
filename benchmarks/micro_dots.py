"""Matrix products and convolutions: ours beside jax and OpenBLAS's sgemm, against the peak of fused
multiply-adds measured in the same run; writes docs/benchmark_dots.md.

python benchmarks/micro_dots.py [PATTERN ...] [--threads=N] [--cpu-time]

The runs of all sides alternate; figures are medians. `--cpu-time` binds the process to one
processor and counts processor time, which other work on the machine changes less than wall time.
sgemm runs on one thread, so that its figures mean something with `--cpu-time` or `--threads=1`.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

import ml_dtypes
import numpy as np
from timing import (
    Clock,
    Run,
    clock_of,
    counted,
    geometric_mean,
    is_chosen,
    machine_code,
    names_of,
    parser,
    threads_of,
    time_in_turn,
    unpin_library,
)

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmark_dots.md"
TOLERANCE = 2e-5
Array = np.ndarray[Any, Any]

_HEADING = """# Matrix products and convolutions
Written by `benchmarks/micro_dots.py`: f32 where nothing else is said, runs alternating, medians,
{counted}. x is the peer's time / ours; sgemm is OpenBLAS's on one thread. The peak of fused
multiply-adds was {peak:.0f} Gflop/s in the same run; load of the machine {load:.1f}. Layouts: n as
it is, t transposed, of the left and the right operand.

| case | ours us | Gflop/s | of peak | x jax | x sgemm |
|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Case:
    """One product or convolution.

    Attributes:
        name: of the case.
        flops: of one run.
        arguments: arrays, made anew.
        function: of the jax module and the arguments.
        sgemm: (m, k, n, layout) if it is a plain matrix product.
    """

    name: str
    flops: int
    arguments: Callable[[], list[Array]]
    function: Callable[..., Any]
    sgemm: tuple[int, int, int, str] | None = None


@dataclass(frozen=True)
class Figure:
    """Medians of one case, in microseconds."""

    name: str
    ours_us: float
    jax_us: float
    sgemm_us: float | None
    gigaflops: float


def main() -> int:
    args = parser(__doc__).parse_args()
    unpin_library()
    clock = clock_of(args)
    peak = measured_peak(clock) * threads_of(args)
    print(f"peak {peak:.0f} Gflop/s", flush=True)
    figures: list[Figure] = []
    for case in cases():
        if not is_chosen(case.name, args.patterns):
            continue
        figures.append(measure(case, clock, args.threads, args.rounds))
        print(row_of(figures[-1], peak), flush=True)
    if not args.patterns:
        heading = _HEADING.format(counted=counted(args), peak=peak, load=os.getloadavg()[0])
        rows = "".join(row_of(figure, peak) + "\n" for figure in figures)
        PAGE.write_text(heading + rows + f"\n{summary(figures)}\n")
    print(summary(figures))
    return 0


def cases() -> Iterator[Case]:
    """Square products, those of real models, few rows, both transposed forms, convolutions."""
    for n in (32, 64, 128, 256, 512, 1024, 2048):
        yield _product(n, n, n)
    for m, k, n in [(128, 768, 768), (128, 768, 3072), (128, 3072, 768), (197, 3072, 768)]:
        yield _product(m, k, n)
    for m in (1, 4, 16, 64):
        yield _product(m, 768, 3072)
        yield _product(m, 768, 3072, "nt")
    yield _product(1, 4096, 4096)
    for m, k, n in [(256, 256, 256), (512, 384, 1536), (512, 1536, 384), (1024, 256, 1024)]:
        yield _product(m, k, n, "nt")
    for m, k, n in [(256, 1024, 1024), (512, 512, 512), (1024, 1024, 256), (1024, 1024, 1024)]:
        yield _product(m, k, n, "tn")
    for kind, result in [("int8", "int32"), ("bfloat16", "float32"), ("float16", "float32")]:
        yield _product(512, 512, 512, kind=kind, result=result)
        yield _product(128, 768, 3072, "nt", kind=kind, result=result)
    yield _product(512, 512, 512, kind="float64", result="float64")
    yield _product(128, 512, 512, epilogue=True)
    yield _product(512, 384, 1536, "nt", epilogue=True)
    yield _convolution("stem 7x7 3 to 64 at 112", 224, 3, 64, 7, stride=2)
    yield _convolution("3x3 64 to 64 at 56", 56, 64, 64, 3)
    yield _convolution("3x3 256 to 256 at 14", 14, 256, 256, 3)
    yield _convolution("3x3 512 to 512 at 7", 7, 512, 512, 3)
    yield _convolution("1x1 256 to 64 at 56", 56, 256, 64, 1)
    yield _convolution("1x1 1024 to 2048 at 14, strided", 14, 1024, 2048, 1, stride=2)


def _product(
    m: int, k: int, n: int, layout: str = "nn", *,
    epilogue: bool = False, kind: str = "float32", result: str = "float32",
) -> Case:  # fmt: skip
    left = (m, k) if layout[0] == "n" else (k, m)
    right = (k, n) if layout[1] == "n" else (n, k)

    def arguments() -> list[Array]:
        rng = np.random.default_rng(0)
        shapes = [left, right, (n,)] if epilogue else [left, right]
        if kind == "int8":
            return [rng.integers(-128, 128, shape, np.int8) for shape in shapes]
        dtype = ml_dtypes.bfloat16 if kind == "bfloat16" else np.dtype(kind)
        return [rng.standard_normal(shape, np.float32).astype(dtype) for shape in shapes]

    def function(jax: Any, a: Any, b: Any, *bias: Any) -> Any:
        dims = (((1 if layout[0] == "n" else 0,), (0 if layout[1] == "n" else 1,)), ((), ()))
        value = jax.lax.dot_general(a, b, dims, preferred_element_type=result)
        return jax.nn.gelu(value + bias[0]) if bias else value

    name = f"{m}x{k}x{n} {layout}" + (" + bias, GELU" if epilogue else "")
    name += "" if kind == "float32" else f", {kind}"
    plain = None if epilogue or kind != "float32" else (m, k, n, layout)
    return Case(name, 2 * m * k * n, arguments, function, plain)


def _convolution(
    name: str, size: int, features: int, outputs: int, window: int, *, stride: int = 1
) -> Case:
    def arguments() -> list[Array]:
        rng = np.random.default_rng(0)
        kernel = (window, window, features, outputs)
        shapes: list[tuple[int, ...]] = [(1, size, size, features), kernel]
        return [rng.standard_normal(shape, np.float32) for shape in shapes]

    def function(jax: Any, x: Any, kernel: Any) -> Any:
        numbers = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(
            x, kernel, (stride, stride), "SAME", dimension_numbers=numbers
        )

    positions = (-(-size // stride)) ** 2
    return Case(name, 2 * positions * window**2 * features * outputs, arguments, function)


def measure(case: Case, clock: Clock, threads: int, rounds: int) -> Figure:
    """Compiles a case for every side, compares the results, and times them."""
    import jax

    jax.config.update("jax_enable_x64", True)  # for the cases that ask for them
    from hlo.driver.compile import compile as compile_program

    arguments = case.arguments()
    lowered = jax.jit(lambda *a: case.function(jax, *a)).lower(*arguments)
    compiled = compile_program(lowered.as_text(), threads=threads)
    executable, on_device = lowered.compile(), [jax.device_put(a) for a in arguments]
    expected = np.asarray(executable(*on_device), np.float64)
    found = np.asarray(compiled(*arguments)[0], np.float64)
    error = np.abs(found - expected).max() / np.abs(expected).max()
    if not error <= TOLERANCE:
        print(f"{case.name}: results differ from jax's by {error:.2g}", file=sys.stderr)
    runs: list[Run] = [
        lambda: compiled(*arguments),
        lambda: jax.block_until_ready(executable(*on_device)),
    ]
    if case.sgemm is not None:
        runs.append(_sgemm_run(*case.sgemm, arguments))
    seconds = time_in_turn(runs, clock, rounds)
    sgemm = 1e6 * seconds[2] if len(seconds) > 2 else None
    rate = case.flops / seconds[0] / 1e9
    return Figure(case.name, 1e6 * seconds[0], 1e6 * seconds[1], sgemm, rate)


def _sgemm_run(m: int, k: int, n: int, layout: str, arguments: Sequence[Array]) -> Run:
    """A call of OpenBLAS by its C interface, one thread."""
    from hlo.executable import runtime  # loads the library our own calls use

    assert runtime.blas_available()
    import scipy_openblas32

    folder = Path(scipy_openblas32.get_lib_dir())
    library = ctypes.CDLL(str(next(iter(folder.glob("libscipy_openblas*.so*")))))
    library.scipy_openblas_set_num_threads(1)
    a, b = arguments
    result = np.empty((m, n), np.float32)
    codes = [112 if letter == "t" else 111 for letter in layout]

    def address(array: Array) -> ctypes.c_void_p:
        return ctypes.c_void_p(array.ctypes.data)

    one, zero = ctypes.c_float(1.0), ctypes.c_float(0.0)
    operands = (one, address(a), a.shape[1], address(b), b.shape[1], zero, address(result), n)

    def run() -> object:
        library.scipy_cblas_sgemm(101, *codes, m, n, k, *operands)
        return result

    return run


_STEPS = 1_000_000
_CHAINS = 24
_PEAK = """func.func @peak(%p: !llvm.ptr, %begin: i64, %end: i64) {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %steps = arith.constant {steps} : index
  %x = arith.constant dense<0.5> : vector<16xf32>
{starts}
  %r:{chains} = scf.for %i = %zero to %steps step %one iter_args({carried}) -> ({types}) {{
{body}
    scf.yield {yielded} : {types}
  }}
{stores}
  return
}}
"""


def measured_peak(clock: Clock) -> float:
    """Gflop/s of fused multiply-adds of 16 lanes in registers, one thread: the best of ten."""
    count = range(_CHAINS)
    text = _PEAK.format(
        steps=_STEPS,
        chains=_CHAINS,
        # Chains that start alike would be one.
        starts="\n".join(f"  %s{i} = arith.constant dense<{i}.0> : vector<16xf32>" for i in count),
        carried=", ".join(f"%a{i} = %s{i}" for i in count),
        types=", ".join("vector<16xf32>" for _ in count),
        body="\n".join(f"    %b{i} = math.fma %a{i}, %x, %x : vector<16xf32>" for i in count),
        yielded=", ".join(f"%b{i}" for i in count),
        stores="\n".join(
            f"  %p{i} = llvm.getelementptr %p[{16 * i}] : (!llvm.ptr) -> !llvm.ptr, f32\n"
            f"  llvm.store %r#{i}, %p{i} {{alignment = 4 : i64}} : vector<16xf32>, !llvm.ptr"
            for i in count
        ),
    )
    library = machine_code(text)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    function, sink = kind(library.lookup("peak")), np.empty(16 * _CHAINS, np.float32)
    seconds: list[float] = []
    for _ in range(10):
        start = clock()
        function(sink.ctypes.data, 0, 1)
        seconds.append(clock() - start)
    return 2 * 16 * _CHAINS * _STEPS / min(seconds) / 1e9


def row_of(figure: Figure, peak: float) -> str:
    """One row of the table."""
    sgemm = "" if figure.sgemm_us is None else f"{figure.sgemm_us / figure.ours_us:.2f}"
    return (
        f"| {figure.name} | {figure.ours_us:.3g} | {figure.gigaflops:.1f} "
        f"| {100 * figure.gigaflops / peak:.0f}% | {figure.jax_us / figure.ours_us:.2f} | {sgemm} |"
    )


def summary(figures: Sequence[Figure]) -> str:
    """Geometric means of the peers' times over ours."""
    jax_mean = geometric_mean(figure.jax_us / figure.ours_us for figure in figures)
    pairs = [(figure.sgemm_us, figure.ours_us) for figure in figures]
    sgemm_mean = geometric_mean(peer / ours for peer, ours in pairs if peer is not None)
    behind = [figure.name for figure in figures if figure.jax_us < figure.ours_us]
    return (
        f"Geometric mean of jax's time / ours: {jax_mean:.2f}, of sgemm's: {sgemm_mean:.2f}. "
        f"Behind jax: {names_of(behind)}."
    )


if __name__ == "__main__":
    sys.exit(main())
