"""Benchmarks on a machine with an NVIDIA GPU: checks first, then times beside jax and torch.

    python benchmarks/gpu.py                checks, then times, then a table of ratios
    python benchmarks/gpu.py --only softmax,attention --json gpu.json
    python benchmarks/gpu.py --small        the same on small arrays: does everything work?
    python benchmarks/gpu.py --emulate      the checks alone, small, on the emulated device

It needs the package itself and `hlo[cuda]`, and may lie in any folder; jax and torch are timed if
they are installed and see the GPU, f32 products in f32 all of them. Every workload is one function
of an array namespace, so that all run the same program; torch runs it eagerly and through
torch.compile. A check compares with the same program compiled for the CPU. A time is the median of
runs that end with all work done, arguments on the GPU before. Where cuBLASLt or cuDNN could make a
call, the program is timed without them too, and what was measured of each call is printed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import hlo
import hlo.lax as hlax
import hlo.numpy as hnp
from hlo.diagnostics import CompileError, ExecutionError
from hlo.gpu.cuda.array import DeviceArray
from hlo.gpu.cuda.device import CudaDevice, gpu
from hlo.gpu.cuda.driver import NoDeviceError
from hlo.gpu.cuda.program import CudaProgram
from hlo.passes.hlo_to_gpu.target import PREFIX, TARGETS

EMULATED_TARGET = "nvptx:sm_80"
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Workload:
    """A program of the benchmark.

    Attributes:
        run: takes an array namespace (hlo.numpy, jax.numpy, or `TorchNamespace`) and the arguments.
        shapes: of the arguments; `small` ones for the emulated device.
        tolerance: relative and absolute, of results.
        flops, bytes: of one run, at full size.
    """

    name: str
    run: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    small: tuple[tuple[int, ...], ...]
    dtype: str = "float32"
    tolerance: float = 1e-4
    flops: float = 0
    bytes: float = 0


def softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def layer_norm(xp: Any, x: Any, scale: Any, shift: Any) -> Any:
    centered = x - xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean(centered * centered, axis=-1, keepdims=True)
    return centered / xp.sqrt(variance + 1e-5) * scale + shift


def gelu_bias(xp: Any, x: Any, bias: Any) -> Any:
    y = x + bias
    return 0.5 * y * (1 + xp.tanh(0.7978845608 * (y + 0.044715 * y * y * y)))


def column_sum(xp: Any, x: Any) -> Any:
    return xp.sum(x, axis=0)


def matmul(xp: Any, a: Any, b: Any) -> Any:
    return xp.matmul(a, b)


def dense_relu(xp: Any, x: Any, w: Any, bias: Any) -> Any:
    return xp.maximum(xp.matmul(x, w) + bias, xp.zeros_like(bias))


def attention(xp: Any, q: Any, k: Any, v: Any) -> Any:
    scores = xp.matmul(q, xp.swapaxes(k, -1, -2)) * (q.shape[-1] ** -0.5)
    return xp.matmul(softmax(xp, scores), v)


def feed_forward(xp: Any, x: Any, w1: Any, w2: Any, scale: Any, shift: Any) -> Any:
    hidden = gelu_bias(xp, xp.matmul(layer_norm(xp, x, scale, shift), w1), w1[0] * 0)
    return x + xp.matmul(hidden, w2)


def conv_relu(xp: Any, x: Any, w: Any, bias: Any) -> Any:
    return xp.maximum(xp.conv2d(x, w) + bias, xp.zeros_like(bias))


def conv(xp: Any, x: Any, w: Any) -> Any:
    return xp.conv2d(x, w)


def conv_input_gradient(xp: Any, dy: Any, w: Any) -> Any:
    return xp.conv2d_input_gradient(dy, w)


def conv_weight_gradient(xp: Any, x: Any, dy: Any) -> Any:
    return xp.conv2d_weight_gradient(x, dy)


_IMAGES, _WINDOWS = (32, 28, 28, 128), (3, 3, 128, 128)
_FEW_IMAGES, _FEW_WINDOWS = (1, 6, 5, 16), (3, 3, 16, 16)
_CONV_FLOPS = 2.0 * 32 * 28 * 28 * 128 * 3 * 3 * 128
_SQUARE = ((4096, 4096),)
WORKLOADS = (
    Workload("softmax", softmax, _SQUARE, ((8, 300),), bytes=2 * 4 * 4096**2),
    Workload(
        "layer_norm", layer_norm, (*_SQUARE, (4096,), (4096,)), ((8, 300), (300,), (300,)),
        bytes=2 * 4 * 4096**2,
    ),
    Workload(
        "gelu_bias", gelu_bias, (*_SQUARE, (4096,)), ((8, 300), (300,)), bytes=2 * 4 * 4096**2
    ),
    Workload("column_sum", column_sum, _SQUARE, ((100, 70),), tolerance=1e-3, bytes=4 * 4096**2),
    Workload(
        "matmul_f32", matmul, ((2048, 2048),) * 2, ((64, 96), (96, 64)), tolerance=1e-3,
        flops=2 * 2048**3,
    ),
    Workload(
        "matmul_f16", matmul, ((4096, 4096),) * 2, ((64, 96), (96, 64)), "float16", 2e-2,
        flops=2 * 4096**3,
    ),
    Workload(
        "dense_relu_f16", dense_relu, ((4096, 4096), (4096, 4096), (4096,)),
        ((64, 96), (96, 64), (64,)), "float16", 2e-2, flops=2 * 4096**3,
    ),
    Workload(
        "attention_f16", attention, ((8, 12, 512, 64),) * 3, ((1, 2, 32, 16),) * 3, "float16", 2e-2,
        flops=4 * 8 * 12 * 512**2 * 64,
    ),
    Workload(
        "feed_forward", feed_forward, ((2048, 768), (768, 3072), (3072, 768), (768,), (768,)),
        ((16, 48), (48, 96), (96, 48), (48,), (48,)), tolerance=1e-3, flops=4 * 2048 * 768 * 3072,
    ),
    Workload(
        "conv_f32", conv, (_IMAGES, _WINDOWS), (_FEW_IMAGES, _FEW_WINDOWS), tolerance=1e-3,
        flops=_CONV_FLOPS,
    ),
    Workload(
        "conv_relu_f16", conv_relu, (_IMAGES, _WINDOWS, (128,)),
        (_FEW_IMAGES, _FEW_WINDOWS, (16,)), "float16", 2e-2, flops=_CONV_FLOPS,
    ),
    Workload(
        "conv_input_gradient_f16", conv_input_gradient, (_IMAGES, _WINDOWS),
        (_FEW_IMAGES, _FEW_WINDOWS), "float16", 2e-2, flops=_CONV_FLOPS,
    ),
    Workload(
        "conv_weight_gradient_f16", conv_weight_gradient, (_IMAGES, _IMAGES),
        (_FEW_IMAGES, _FEW_IMAGES), "float16", 2e-2, flops=_CONV_FLOPS,
    ),
)  # fmt: skip


class WithConvolutions:
    """An array namespace and what its `lax` has of convolutions: images NHWC, windows HWIO of 3 x 3
    in steps of one, one line of zeros around."""

    def __init__(self, namespace: Any, lax: Any) -> None:
        self._namespace, self._lax = namespace, lax

    def __getattr__(self, name: str) -> Any:
        return getattr(self._namespace, name)

    def conv2d(self, x: Any, w: Any) -> Any:
        return self._conv(x, w, ("NHWC", "HWIO", "NHWC"))

    def conv2d_input_gradient(self, dy: Any, w: Any) -> Any:
        turned = self._namespace.swapaxes(self._namespace.flip(w, (0, 1)), 2, 3)
        return self._conv(dy, turned, ("NHWC", "HWIO", "NHWC"))

    def conv2d_weight_gradient(self, x: Any, dy: Any) -> Any:
        return self._conv(x, dy, ("CHWN", "IHWO", "HWNC"))

    def _conv(self, x: Any, w: Any, names: tuple[str, str, str]) -> Any:
        return self._lax.conv_general_dilated(
            x, w, (1, 1), ((1, 1), (1, 1)), dimension_numbers=names
        )


class TorchNamespace:
    """The functions of an array namespace that the workloads use, by PyTorch."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self.exp, self.tanh, self.sqrt = torch.exp, torch.tanh, torch.sqrt
        self.matmul, self.maximum, self.zeros_like = torch.matmul, torch.maximum, torch.zeros_like
        self.swapaxes = torch.swapaxes

    def max(self, x: Any, axis: int, keepdims: bool = False) -> Any:
        return self._torch.amax(x, dim=axis, keepdim=keepdims)

    def sum(self, x: Any, axis: int, keepdims: bool = False) -> Any:
        return self._torch.sum(x, dim=axis, keepdim=keepdims)

    def mean(self, x: Any, axis: int, keepdims: bool = False) -> Any:
        return self._torch.mean(x, dim=axis, keepdim=keepdims)

    def conv2d(self, x: Any, w: Any) -> Any:
        """Images in PyTorch's `channels_last` order, which is how they are in memory."""
        made = self._torch.nn.functional.conv2d(self._first(x), w.permute(3, 2, 0, 1), padding=1)
        return made.permute(0, 2, 3, 1)

    def conv2d_input_gradient(self, dy: Any, w: Any) -> Any:
        first = self._first(dy)
        made = self._torch.nn.grad.conv2d_input(
            first.shape, w.permute(3, 2, 0, 1), first, padding=1
        )
        return made.permute(0, 2, 3, 1)

    def conv2d_weight_gradient(self, x: Any, dy: Any) -> Any:
        shape = (dy.shape[3], x.shape[3], 3, 3)
        made = self._torch.nn.grad.conv2d_weight(self._first(x), shape, self._first(dy), padding=1)
        return made.permute(2, 3, 1, 0)

    def _first(self, x: Any) -> Any:
        return x.permute(0, 3, 1, 2)


@dataclass
class Row:
    """What was measured of a workload; times in milliseconds by name, errors as text, and of each
    call that a library could make who makes it, and why."""

    name: str
    kernels: int = 0
    largest_error: float | None = None
    failure: str = ""
    milliseconds: dict[str, float] = field(default_factory=dict[str, float])
    flops: float = 0
    bytes: float = 0
    calls: list[str] = field(default_factory=list[str])


def arguments_of(workload: Workload, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    rng = np.random.default_rng(0)
    scale = 0.3 if workload.dtype == "float16" else 1.0
    return [(scale * rng.standard_normal(s)).astype(workload.dtype) for s in shapes]


def module_of(workload: Workload, arguments: Sequence[Array]) -> Any:
    traced = hlo.jit(lambda *values: workload.run(WithConvolutions(hnp, hlax), *values))
    return traced.lower(*arguments).module


def largest_error(found: Array, expected: Array, tolerance: float) -> float:
    """Of all elements, |difference| / (1 + |expected|).

    Raises:
        ExecutionError: it is above the tolerance.
    """
    wide, reference = found.astype(np.float64), expected.astype(np.float64)
    error = float(np.max(np.abs(wide - reference) / (1 + np.abs(reference))))
    if not error <= tolerance:
        raise ExecutionError(f"differs from the CPU by {error:.2g}, allowed are {tolerance:.2g}")
    return error


def median_milliseconds(run: Callable[[], object], finish: Callable[[], object]) -> float:
    """Median time of one run; of several at once where one is short."""
    for _ in range(3):
        run()
    finish()
    start = time.perf_counter()
    run()
    finish()
    count = max(1, min(100, int(0.005 / max(time.perf_counter() - start, 1e-6))))
    times: list[float] = []
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(count):
            run()
        finish()
        times.append((time.perf_counter() - start) / count)
    return 1e3 * statistics.median(times)


class Bench:
    """The workloads on one GPU, or, without one, on the emulated device."""

    def __init__(self, device: CudaDevice | None, *, small: bool = False) -> None:
        self._device = device
        self._small = small or device is None
        self._target = EMULATED_TARGET if device is None else target_of(device)

    def row(self, workload: Workload, timed: bool) -> Row:
        row = Row(workload.name, flops=workload.flops, bytes=workload.bytes)
        shapes = workload.small if self._small else workload.shapes
        arguments = arguments_of(workload, shapes)
        try:
            module = module_of(workload, arguments)
            compiled = hlo.compile(module, target=self._target)
            row.kernels = compiled.statistics.kernels
            (expected,) = hlo.compile(module)(*arguments)
            if self._device is None:
                (found,) = compiled.emulated()(*arguments)
            else:
                program = CudaProgram(compiled.plan, self._device)
                places = [self._on_gpu(argument) for argument in arguments]
                found = np.asarray(program(*places)[0])
                if timed:
                    self._time(row, program, module, places)
            row.largest_error = largest_error(found, expected, workload.tolerance)
        except (CompileError, ExecutionError) as error:
            row.failure = str(error)
        if timed and self._device is not None:
            for times in (jax_times, torch_times):
                try:
                    row.milliseconds |= times(workload, arguments)
                except Exception as error:  # of theirs: their columns stay empty
                    print(f"{workload.name}: {times.__name__}: {error}", file=sys.stderr)
        return row

    def _time(
        self, row: Row, program: CudaProgram, module: Any, places: Sequence[DeviceArray]
    ) -> None:
        """Times a program, and the same without libraries where it has calls of them."""
        assert self._device is not None
        finish = self._device.synchronize
        row.milliseconds["hlo"] = median_milliseconds(lambda: program(*places), finish)
        row.calls = [
            f"{call.library} {call.name}: {choice.reason}: "
            f"by {'the library' if choice.by_library else 'kernels'}"
            for call, choice in program.library_calls
        ]
        if not row.calls:
            return
        bare = CudaProgram(
            hlo.compile(module, target=self._target, vendor=False).plan, self._device
        )
        row.milliseconds["kernels"] = median_milliseconds(lambda: bare(*places), finish)

    def _on_gpu(self, array: Array) -> DeviceArray:
        assert self._device is not None
        address = self._device.allocate(array.nbytes, "argument")
        self._device.write(address, array.reshape(-1).view(np.uint8))
        return DeviceArray(self._device, address, array.shape, array.dtype)


def target_of(device: CudaDevice) -> str:
    """The newest target that the GPU runs.

    Raises:
        NoDeviceError: there is none.
    """
    found = 10 * device.capability[0] + device.capability[1]
    if f"sm_{found}a" in TARGETS:  # with instructions that no other chip has
        return f"{PREFIX}sm_{found}a"
    plain = [int(chip[3:]) for chip in TARGETS if chip[3:].isdigit() and int(chip[3:]) <= found]
    if not plain:
        raise NoDeviceError(f"{device.name} is sm_{found}; the oldest supported chip is sm_80")
    return f"{PREFIX}sm_{max(plain)}"


def jax_times(workload: Workload, arguments: Sequence[Array]) -> dict[str, float]:
    """Of jax.jit on the GPU, where jax sees one."""
    # It would take three quarters of the GPU's memory for itself.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    try:
        jax = importlib.import_module("jax")
        numpy = WithConvolutions(
            importlib.import_module("jax.numpy"), importlib.import_module("jax.lax")
        )
        first = jax.devices("gpu")[0]
    except (ImportError, RuntimeError):
        return {}
    jax.config.update("jax_default_matmul_precision", "float32")  # it takes tf32 otherwise
    places = [jax.device_put(argument, first) for argument in arguments]
    run = jax.jit(lambda *values: workload.run(numpy, *values))
    last: list[Any] = []

    def once() -> None:
        last[:] = [run(*places)]

    def finish() -> None:
        last[0].block_until_ready()

    return {"jax": median_milliseconds(once, finish)}


def torch_times(workload: Workload, arguments: Sequence[Array]) -> dict[str, float]:
    """Of PyTorch on the GPU, eager and compiled, where it sees one."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return {}
    if not torch.cuda.is_available():
        return {}
    places = [torch.from_numpy(argument).cuda() for argument in arguments]
    namespace = TorchNamespace(torch)
    found: dict[str, float] = {}
    with torch.no_grad():
        eager = lambda: workload.run(namespace, *places)  # noqa: E731
        found["torch"] = median_milliseconds(eager, torch.cuda.synchronize)
        try:
            compiled = torch.compile(lambda *values: workload.run(namespace, *values))
            found["torch.compile"] = median_milliseconds(
                lambda: compiled(*places), torch.cuda.synchronize
            )
        except Exception as error:  # of any of its backends: the column stays empty
            print(f"{workload.name}: torch.compile fails: {type(error).__name__}", file=sys.stderr)
    return found


PEERS = ("kernels", "jax", "torch", "torch.compile")  # the first are ours, without libraries


def table(rows: Sequence[Row]) -> str:
    """Markdown: our time, its rate, and the peers' times over ours: above 1 is faster than they."""
    lines = ["| program | check | kernels | hlo ms | TFLOP/s or GB/s | "
             + " | ".join(f"{peer} / hlo" for peer in PEERS) + " |",
             "|---|---|---|---|---|" + "---|" * len(PEERS)]  # fmt: skip
    for row in rows:
        own = row.milliseconds.get("hlo")
        check = row.failure[:60] if row.failure else f"{row.largest_error:.1e}"
        rate = ""
        if own is not None:
            rate = f"{row.flops / own / 1e9:.1f} TFLOP/s" if row.flops else (
                f"{row.bytes / own / 1e6:.0f} GB/s")  # fmt: skip
        ratios = [
            f"{row.milliseconds[peer] / own:.2f}" if own and peer in row.milliseconds else ""
            for peer in PEERS
        ]
        time_text = "" if own is None else f"{own:.4f}"
        cells = [row.name, check, str(row.kernels), time_text, rate, *ratios]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0 if every check passes, 1 if one fails, 2 if there is no GPU."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--only", default="", help="names of workloads, by commas")
    parser.add_argument("--small", action="store_true", help="small arrays")
    parser.add_argument("--emulate", action="store_true", help="check on the emulated device")
    parser.add_argument("--no-times", action="store_true", help="check only")
    parser.add_argument("--json", help="write the measurements to a file as well")
    options = parser.parse_args(argv)
    wanted = [name for name in options.only.split(",") if name]
    known = {workload.name for workload in WORKLOADS}
    if unknown := [name for name in wanted if name not in known]:
        print(f"unknown workload {unknown[0]}; there are {', '.join(sorted(known))}")
        return 2
    device = None
    if not options.emulate:
        try:
            device = gpu()
        except (NoDeviceError, CompileError) as error:
            print(f"no GPU: {error}")
            return 2
        major, minor = device.capability
        print(f"{device.name}, sm_{major}{minor}, code for {target_of(device)}")
    bench = Bench(device, small=options.small)
    rows: list[Row] = []
    for workload in WORKLOADS:
        if not wanted or workload.name in wanted:
            rows.append(bench.row(workload, timed=device is not None and not options.no_times))
            verdict = rows[-1].failure or f"largest error {rows[-1].largest_error:.1e}"
            print(f"{workload.name}: {verdict}", flush=True)
            for call in rows[-1].calls:
                print(f"  {call}")
    print(table(rows))
    if options.json:
        with open(options.json, "w") as file:
            json.dump([vars(row) for row in rows], file, indent=1)
    return 1 if any(row.failure for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
