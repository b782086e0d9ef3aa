"""Convolutions and pooling: ours beside jax and torch, against the peak of fused multiply-adds
measured in the same run; writes docs/benchmark_convolutions.md.

python benchmarks/micro_convolutions.py [PATTERN ...] [--threads=N] [--cpu-time]

The runs of all sides alternate; figures are medians. `--cpu-time` binds the process to one
processor and counts processor time, which other work on the machine changes less than wall time.
torch (eager) runs where it is installed; its tensors have channels last in memory, as ours have,
and its weights are in its own order.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

import ml_dtypes
import numpy as np
from micro_dots import measured_peak
from report_page import machine
from timing import (
    Clock,
    Run,
    clock_of,
    counted,
    geometric_mean,
    is_chosen,
    names_of,
    parser,
    threads_of,
    time_in_turn,
    torch_of,
)

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmark_convolutions.md"
TOLERANCE = 5e-5
Array = np.ndarray[Any, Any]

_HEADING = """# Convolutions and pooling
Written by `benchmarks/micro_convolutions.py`: f32, channels last where nothing else is said, runs
alternating, medians, {counted}. x is the peer's time / ours. The peak of fused multiply-adds was
{peak:.0f} Gflop/s in the same run. Gflop/s count the products with elements of the input and its
padding, not those with the zeros that a dilation puts between.

Machine: {machine}

| case | ours us | Gflop/s | of peak | x jax | x torch |
|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Convolution:
    """One convolution with padding that keeps the size, up to the stride.

    Attributes:
        sizes: of the spatial dimensions of the input, of the result where it is `transposed`.
        gradient: `input` or `weights`: what the gradient of the convolution is taken by.
        transposed: the convolution's stride divides the input's: it enlarges it.
        planes: whether channels come ahead of the spatial dimensions.
        outputs_first: whether kernels have PyTorch's order: output features, inputs, window.
        kind: dtype of input and kernel; results of int8 are int32.
        fast: whether ours is compiled with that option.
    """

    name: str
    sizes: tuple[int, ...]
    inputs: int
    outputs: int
    window: int
    batch: int = 1
    stride: int = 1
    dilation: int = 1
    groups: int = 1
    gradient: str = ""
    transposed: bool = False
    planes: bool = False
    outputs_first: bool = False
    kind: str = "float32"
    fast: bool = False

    @property
    def tolerance(self) -> float:
        """The most that results may differ, relative to the largest."""
        return 2e-2 if self.kind == "bfloat16" else TOLERANCE

    @property
    def results(self) -> tuple[int, ...]:
        """Sizes of the spatial dimensions of the result."""
        return tuple(-(-size // self.stride) for size in self.sizes)

    @property
    def flops(self) -> int:
        """Multiplications and additions."""
        positions = self.batch * math.prod(self.results)
        taps = self.window ** len(self.sizes)
        return 2 * positions * taps * self.inputs // self.groups * self.outputs

    @property
    def reach(self) -> int:
        return self.dilation * (self.window - 1)

    @property
    def pads(self) -> list[tuple[int, int]]:
        """The same on both sides, as torch has it, where the window is odd."""
        pairs: list[tuple[int, int]] = []
        for size, result in zip(self.sizes, self.results, strict=True):
            total = max(0, (result - 1) * self.stride + self.reach + 1 - size)
            low = self.reach // 2 if self.window % 2 else total // 2
            pairs.append((low, max(0, total - low)))
        return pairs

    def arguments(self) -> list[Array]:
        """(input, kernel), (result's gradient, kernel) or (input, result's gradient)."""
        rng = np.random.default_rng(0)
        kernel = self._kernel_shape()
        data = self._data(self.sizes, self.inputs)
        result = self._data(self.results, self.outputs)
        first = result if self.gradient == "input" or self.transposed else data
        second = result if self.gradient == "weights" else kernel
        if self.kind == "int8":
            return [rng.integers(-128, 128, shape, np.int8) for shape in (first, second)]
        dtype = ml_dtypes.bfloat16 if self.kind == "bfloat16" else np.dtype(self.kind)
        return [rng.standard_normal(shape, np.float32).astype(dtype) for shape in (first, second)]

    def _data(self, sizes: tuple[int, ...], features: int) -> tuple[int, ...]:
        if self.planes:
            return (self.batch, features, *sizes)
        return (self.batch, *sizes, features)

    @property
    def _numbers(self) -> tuple[str, str, str]:
        letters = "DHW"[-len(self.sizes) :]
        data = f"NC{letters}" if self.planes else f"N{letters}C"
        return data, f"OI{letters}" if self.outputs_first else f"{letters}IO", data

    def function(self, jax: Any, first: Any, second: Any) -> Any:
        """The computation, of the jax module and the arguments."""
        rank = len(self.sizes)

        def convolve(x: Any, kernel: Any) -> Any:
            return jax.lax.conv_general_dilated(
                x, kernel, (self.stride,) * rank, self.pads,
                rhs_dilation=(self.dilation,) * rank,
                dimension_numbers=self._numbers, feature_group_count=self.groups,
                preferred_element_type=np.int32 if self.kind == "int8" else None,
            )  # fmt: skip

        if self.gradient == "weights":
            like = jax.ShapeDtypeStruct(self._kernel_shape(), np.float32)
            return jax.linear_transpose(lambda k: convolve(first, k), like)(second)[0]
        if self.gradient == "input" or self.transposed:
            like = jax.ShapeDtypeStruct(self._data(self.sizes, self.inputs), np.float32)
            return jax.linear_transpose(lambda x: convolve(x, second), like)(first)[0]
        return convolve(first, second)

    def _kernel_shape(self) -> tuple[int, ...]:
        window, inputs = (self.window,) * len(self.sizes), self.inputs // self.groups
        if self.outputs_first:
            return (self.outputs, inputs, *window)
        return (*window, inputs, self.outputs)

    def torch(self, torch: Any, first: Array, second: Array) -> Run | None:
        """A run of torch's own operation; None where it has none."""
        rank = len(self.sizes)
        if self.kind == "int8":
            return None

        def tensor(array: Array) -> Any:
            value = torch.from_numpy(array.astype(np.float32))
            return value.to(getattr(torch, self.kind))

        def data(array: Array) -> Any:
            value = tensor(array)
            return value if self.planes else value.movedim(-1, 1)

        def kernel(array: Array) -> Any:
            value = tensor(array)
            if self.outputs_first:
                return value
            return value.permute(rank + 1, rank, *range(rank)).contiguous()

        pad = [low for low, _ in self.pads]
        common = ([self.stride] * rank, pad, [self.dilation] * rank)
        backward = torch.ops.aten.convolution_backward
        x = torch.empty(self.batch, self.inputs, *self.sizes)
        if not self.planes:
            x = x.movedim(1, -1).contiguous().movedim(-1, 1)
        if self.gradient == "weights":
            x, dy = data(first), data(second)
            w = torch.empty(self.outputs, self.inputs // self.groups, *(self.window,) * rank)
            mask = [False, True, False]
        elif self.gradient == "input" or self.transposed:
            dy, w = data(first), kernel(second)
            mask = [True, False, False]
        else:
            x, w = data(first), kernel(second)
            return lambda: torch.convolution(x, w, None, *common, False, [0] * rank, self.groups)
        return lambda: backward(dy, x, w, None, *common, False, [0] * rank, self.groups, mask)


@dataclass(frozen=True)
class Pool:
    """Pooling by windows of `window` with `stride`, padded by half a window where that is odd."""

    name: str
    shape: tuple[int, int, int, int]
    window: int
    stride: int
    kind: str  # max, average, gradient of max
    planes: bool = False
    fast: ClassVar[bool] = False
    tolerance: ClassVar[float] = TOLERANCE

    @property
    def flops(self) -> int:
        """One an element of each window."""
        batch, height, width, features = self.shape
        return (
            batch * features * -(-height // self.stride) * -(-width // self.stride) * self.window**2
        )

    @property
    def pad(self) -> int:
        return self.window // 2 if self.window % 2 else 0

    def _order(self, array: Array) -> Array:
        return np.ascontiguousarray(np.moveaxis(array, -1, 1)) if self.planes else array

    def arguments(self) -> list[Array]:
        """The input; for the gradient that of the result too."""
        rng = np.random.default_rng(0)
        batch, height, width, features = self.shape
        x = self._order(rng.standard_normal(self.shape, np.float32))
        if self.kind != "gradient of max":
            return [x]
        sizes = [(n + 2 * self.pad - self.window) // self.stride + 1 for n in (height, width)]
        return [x, self._order(rng.standard_normal((batch, *sizes, features), np.float32))]

    def function(self, jax: Any, x: Any, *rest: Any) -> Any:
        """The computation, of the jax module and the arguments."""
        spatial = (2, 3) if self.planes else (1, 2)

        def along(value: Any, other: Any) -> tuple[Any, ...]:
            return tuple(value if d in spatial else other for d in range(4))

        sizes = along(self.window, 1), along(self.stride, 1), along((self.pad, self.pad), (0, 0))

        def pool(x: Any) -> Any:
            if self.kind == "average":
                return jax.lax.reduce_window(x, 0.0, jax.lax.add, *sizes) / self.window**2
            return jax.lax.reduce_window(x, -np.inf, jax.lax.max, *sizes)

        return jax.vjp(pool, x)[1](rest[0])[0] if rest else pool(x)

    def torch(self, torch: Any, x: Array, *rest: Array) -> Run:
        """A run of torch's own operation; of the gradient the part behind the forward pass."""
        functional = torch.nn.functional
        size = (self.window, self.stride, self.pad)

        def data(array: Array) -> Any:
            value = torch.from_numpy(array)
            return value if self.planes else value.movedim(-1, 1)

        value = data(x)
        if self.kind == "average":
            return lambda: functional.avg_pool2d(value, *size)
        if not rest:
            return lambda: functional.max_pool2d(value, *size)
        dy = data(rest[0])
        _, at = functional.max_pool2d(value, *size, return_indices=True)
        pairs = [[n, n] for n in size]
        return lambda: torch.ops.aten.max_pool2d_with_indices_backward(
            dy, value, *pairs, [1, 1], False, at
        )


Case = Convolution | Pool


@dataclass(frozen=True)
class Figure:
    """Medians of one case, in microseconds; `torch_us` is None where torch did not run."""

    name: str
    ours_us: float
    jax_us: float
    torch_us: float | None
    gigaflops: float


def cases() -> Iterator[Case]:
    """What networks have: forward, backward, pooling; common and less common shapes."""
    for size, features in ((56, 64), (28, 128), (14, 256), (7, 512)):
        yield Convolution(f"3x3 {features} at {size}", (size,) * 2, features, features, 3)
    yield Convolution("3x3 64 at 56, batch 8", (56, 56), 64, 64, 3, batch=8)
    yield Convolution("3x3 64 at 56, planes", (56, 56), 64, 64, 3, planes=True)
    yield Convolution("3x3 128 to 256 at 28, strided", (28, 28), 128, 256, 3, stride=2)
    yield Convolution("1x1 256 to 64 at 56", (56, 56), 256, 64, 1)
    yield Convolution("1x1 512 to 1024 at 28, strided", (28, 28), 512, 1024, 1, stride=2)
    yield Convolution("stem 7x7 3 to 64 at 224, strided", (224, 224), 3, 64, 7, stride=2)
    yield Convolution("patches 16x16 3 to 768 at 224", (224, 224), 3, 768, 16, stride=16)
    for size, features, window in ((112, 96, 3), (56, 144, 5), (14, 512, 3), (7, 960, 3)):
        name = f"depthwise {window}x{window} {features} at {size}"
        yield Convolution(name, (size,) * 2, features, features, window, groups=features)
    yield Convolution(
        "depthwise 3x3 144 at 56, strided", (56, 56), 144, 144, 3, stride=2, groups=144
    )
    yield Convolution("depthwise 3x3 96 at 56, planes", (56, 56), 96, 96, 3, groups=96, planes=True)
    yield Convolution("depthwise 7x7 96 at 56", (56, 56), 96, 96, 7, groups=96)
    yield Convolution("3x3 128 at 28, 32 groups", (28, 28), 128, 128, 3, groups=32)
    yield Convolution("3x3 256 at 14, 4 groups", (14, 14), 256, 256, 3, groups=4)
    yield Convolution("3x3 64 at 56, taps 2 apart", (56, 56), 64, 64, 3, dilation=2)
    yield Convolution("3x3 3 to 8 at 128", (128, 128), 3, 8, 3)
    yield Convolution("3x3 64 to 3 at 128", (128, 128), 64, 3, 3)
    yield Convolution("9x9 32 to 3 at 128", (128, 128), 32, 3, 9)
    yield Convolution("3x3 512 at 14", (14, 14), 512, 512, 3)
    yield Convolution("3x3 512 at 28, taps 2 apart", (28, 28), 512, 512, 3, dilation=2)
    yield Convolution(
        "4x4 128 to 64, 32 to 64, transposed", (64, 64), 64, 128, 4, stride=2, transposed=True
    )
    yield Convolution("audio 3 80 to 384 at 3000", (3000,), 80, 384, 3)
    yield Convolution("audio 3 384 at 1500", (1500,), 384, 384, 3)
    yield Convolution("causal depthwise 4 1024 at 512", (512,), 1024, 1024, 4, groups=1024)
    yield Convolution("3x3x3 32 at 16x56x56", (16, 56, 56), 32, 32, 3)
    yield Convolution("3x3x3 1 to 16 at 32x64x64", (32, 64, 64), 1, 16, 3)
    for planes, order in ((False, ""), (True, ", planes")):
        yield Convolution(
            f"3x3 64 at 56{order}, PyTorch's kernel", (56, 56), 64, 64, 3, planes=planes,
            outputs_first=True,
        )  # fmt: skip
    for size, features in ((56, 64), (14, 256)):
        common = ((size, size), features, features, 3)
        name = f"3x3 {features} at {size}"
        yield Convolution(f"{name}, int8", *common, kind="int8")
        yield Convolution(f"{name}, bfloat16", *common, kind="bfloat16")
        yield Convolution(f"{name}, bfloat16, fast", *common, kind="bfloat16", fast=True)
        yield Convolution(f"{name}, fast", *common, fast=True)
    for by in ("input", "weights"):
        end = f", gradient by the {by}"
        for size, features, batch in (
            (56, 64, 1),
            (16, 64, 8),
            (14, 256, 1),
            (7, 512, 1),
            (2, 512, 8),
        ):
            name = f"3x3 {features} at {size}, batch {batch}{end}"
            yield Convolution(name, (size,) * 2, features, features, 3, batch=batch, gradient=by)
        yield Convolution(
            f"3x3 128 to 256 at 28, strided{end}", (28, 28), 128, 256, 3, stride=2, gradient=by
        )
        yield Convolution(
            f"stem 7x7 3 to 64 at 64, batch 8, strided{end}",
            (64, 64),
            3,
            64,
            7,
            batch=8,
            stride=2,
            gradient=by,
        )
        yield Convolution(f"1x1 256 to 64 at 56{end}", (56, 56), 256, 64, 1, gradient=by)
        yield Convolution(
            f"depthwise 3x3 144 at 56{end}", (56, 56), 144, 144, 3, groups=144, gradient=by
        )
        yield Convolution(
            f"3x3 128 at 28, 32 groups{end}", (28, 28), 128, 128, 3, groups=32, gradient=by
        )
        yield Convolution(
            f"3x3 64 at 56, planes{end}", (56, 56), 64, 64, 3, planes=True, gradient=by
        )
        yield Convolution(f"audio 3 80 to 384 at 3000{end}", (3000,), 80, 384, 3, gradient=by)
    yield from _more_gradients()
    for kind in ("max", "average", "gradient of max"):
        yield Pool(f"{kind} pool 3x3 64 at 112, strided", (1, 112, 112, 64), 3, 2, kind)
        yield Pool(
            f"{kind} pool 3x3 64 at 112, strided, planes", (1, 112, 112, 64), 3, 2, kind, True
        )
        yield Pool(f"{kind} pool 2x2 32 at 28, batch 32", (32, 28, 28, 32), 2, 2, kind)


def _more_gradients() -> Iterator[Case]:
    """By the weights: many positions, few features, windows apart, depthwise in planes."""
    for name, size, inputs, outputs, window, stride, dilation in (
        ("3x3 64", 128, 64, 64, 3, 1, 1),
        ("3x3 3 to 64", 224, 3, 64, 3, 1, 1),
        ("stem 7x7 3 to 64", 224, 3, 64, 7, 2, 1),
        ("11x11 3 to 64, 4 apart,", 224, 3, 64, 11, 4, 1),
        ("3x3 320 to 4", 64, 320, 4, 3, 1, 1),
        ("3x3 64 to 12", 64, 64, 12, 3, 1, 1),
        ("1x1 64 to 128, strided,", 56, 64, 128, 1, 2, 1),
        ("3x3 256, taps 6 apart,", 28, 256, 256, 3, 1, 6),
    ):
        yield Convolution(
            f"{name} at {size}, gradient by the weights", (size, size), inputs, outputs, window,
            stride=stride, dilation=dilation, gradient="weights",
        )  # fmt: skip
    yield Convolution(
        "depthwise 3x3 144 at 56, planes, gradient by the weights", (56, 56), 144, 144, 3,
        groups=144, planes=True, outputs_first=True, gradient="weights",
    )  # fmt: skip
    yield Convolution(
        "audio 3 512 at 1600, strided, gradient by the weights", (1600,), 512, 512, 3, stride=2,
        gradient="weights",
    )  # fmt: skip


def main() -> int:
    args = parser(__doc__).parse_args()
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
        text = machine()["text"]
        heading = _HEADING.format(counted=counted(args), peak=peak, machine=text)
        rows = "".join(row_of(figure, peak) + "\n" for figure in figures)
        PAGE.write_text(heading + rows + f"\n{summary(figures)}\n")
    print(summary(figures))
    return 0


def measure(case: Case, clock: Clock, threads: int, rounds: int) -> Figure:
    """Compiles a case for every side, compares the results, and times them."""
    import jax

    from hlo.driver.compile import compile as compile_program

    arguments = case.arguments()
    lowered = jax.jit(lambda *a: case.function(jax, *a)).lower(*arguments)
    compiled = compile_program(lowered.as_text(), threads=threads, fast=case.fast)
    executable, on_device = lowered.compile(), [jax.device_put(a) for a in arguments]
    expected = np.asarray(executable(*on_device), np.float64)
    found = np.asarray(compiled(*arguments)[0], np.float64)
    error = np.abs(found - expected).max() / np.abs(expected).max()
    if not error <= case.tolerance:
        print(f"{case.name}: results differ from jax's by {error:.2g}", file=sys.stderr)
    runs: list[Run] = [
        lambda: compiled(*arguments),
        lambda: jax.block_until_ready(executable(*on_device)),
    ]
    if (torch := torch_of(threads)) is not None:
        run = case.torch(torch, *arguments)
        runs += [] if run is None else [run]
    seconds = time_in_turn(runs, clock, rounds)
    torch_us = 1e6 * seconds[2] if len(seconds) > 2 else None
    rate = case.flops / seconds[0] / 1e9
    return Figure(case.name, 1e6 * seconds[0], 1e6 * seconds[1], torch_us, rate)


def row_of(figure: Figure, peak: float) -> str:
    """One row of the table."""
    torch = "" if figure.torch_us is None else f"{figure.torch_us / figure.ours_us:.2f}"
    return (
        f"| {figure.name} | {figure.ours_us:.3g} | {figure.gigaflops:.1f} "
        f"| {100 * figure.gigaflops / peak:.0f}% | {figure.jax_us / figure.ours_us:.2f} | {torch} |"
    )


def summary(figures: list[Figure]) -> str:
    """Geometric means of the peers' times over ours."""
    jax_mean = geometric_mean(figure.jax_us / figure.ours_us for figure in figures)
    pairs = [(figure.torch_us, figure.ours_us) for figure in figures]
    torch_mean = geometric_mean(peer / ours for peer, ours in pairs if peer is not None)
    behind = [figure.name for figure in figures if figure.jax_us < figure.ours_us]
    behind_torch = [f.name for f in figures if f.torch_us is not None and f.torch_us < f.ours_us]
    return (
        f"Geometric mean of jax's time / ours: {jax_mean:.2f}, of torch's: {torch_mean:.2f}. "
        f"Behind jax: {names_of(behind)}. Behind torch: {names_of(behind_torch)}."
    )


if __name__ == "__main__":
    sys.exit(main())
