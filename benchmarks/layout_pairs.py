"""One computation in two orders of dimensions, ours beside jax; writes docs/benchmark_layouts.md.

python benchmarks/layout_pairs.py [PATTERN ...] [--threads=N] [--rounds=N] [--cpu-time]

A compiler that assigns layouts makes both forms of a pair take about as long: the gap is the time
of the slower form / that of the faster one. All four runs alternate; figures are medians.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

import numpy as np
from timing import Run, clock_of, counted, geometric_mean, is_chosen, parser, time_in_turn

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmark_layouts.md"
TOLERANCE = 1e-4
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Form:
    """One side of a pair: a function of arrays, given jax, and their shapes."""

    name: str
    function: Callable[..., Any]
    shapes: tuple[Shape, ...]


@dataclass(frozen=True)
class Pair:
    """Two forms of a computation."""

    name: str
    first: Form
    second: Form


@dataclass(frozen=True)
class Figure:
    """Medians of a pair's two forms, in microseconds."""

    pair: Pair
    ours: tuple[float, float]
    jax: tuple[float, float]
    error: float


def gap(times: tuple[float, float]) -> float:
    """The slower form's time / the faster one's."""
    return max(times) / min(times)


def main(argv: Sequence[str] | None = None) -> int:
    args = parser(__doc__).parse_args(argv)
    clock = clock_of(args)
    figures: list[Figure] = []
    for pair in pairs():
        if not is_chosen(pair.name, args.patterns):
            continue
        figures.append(_measure(pair, clock, args))
        print(_row(figures[-1]), flush=True)
    if not args.patterns:
        PAGE.write_text(page(figures, counted(args)))
    return 0 if all(f.error <= TOLERANCE for f in figures) else 1


def _measure(pair: Pair, clock: Any, args: Any) -> Figure:
    runs: list[Run] = []
    worst = 0.0
    for form in (pair.first, pair.second):
        ours, peer, error = _sides(form, args.threads)
        runs += [ours, peer]
        worst = max(worst, error)
    times = [1e6 * t for t in time_in_turn(runs, clock, args.rounds)]
    return Figure(pair, (times[0], times[2]), (times[1], times[3]), worst)


def _sides(form: Form, threads: int) -> tuple[Run, Run, float]:
    """(ours, jax's, the largest error relative to the largest element)."""
    import jax

    from hlo.driver.compile import compile as compile_program

    rng = np.random.default_rng(3)
    arguments = [rng.standard_normal(shape, dtype=np.float32) for shape in form.shapes]
    lowered = jax.jit(lambda *a: form.function(jax, *a)).lower(*arguments)
    compiled = compile_program(lowered.as_text(), threads=threads)
    executable, on_device = lowered.compile(), [jax.device_put(a) for a in arguments]
    wanted = jax.tree.leaves(executable(*on_device))
    found = compiled(*arguments)
    error = max(_error(f, np.asarray(w)) for f, w in zip(found, wanted, strict=True))
    return (
        lambda: compiled(*arguments),
        lambda: jax.block_until_ready(executable(*on_device)),
        error,
    )


def _error(found: Any, wanted: Any) -> float:
    return float(np.abs(found - wanted).max() / max(np.abs(wanted).max(), 1e-30))


def _row(figure: Figure) -> str:
    pair, ours, peer = figure.pair, figure.ours, figure.jax
    return (
        f"| {pair.name} | {pair.first.name} | {ours[0]:.4g} | {peer[0] / ours[0]:.2f} "
        f"| {pair.second.name} | {ours[1]:.4g} | {peer[1] / ours[1]:.2f} "
        f"| {gap(ours):.2f} | {gap(peer):.2f} |"
    )


def page(figures: Sequence[Figure], what: str) -> str:
    """The page in Markdown.

    Args:
        what: the figures are, in words.
    """
    ours = geometric_mean(gap(f.ours) for f in figures)
    peer = geometric_mean(gap(f.jax) for f in figures)
    over = [p / o for f in figures for o, p in zip(f.ours, f.jax, strict=True)]
    behind = sum(ratio < 1 for ratio in over)
    return f"""# Pairs of layouts
Written by `benchmarks/layout_pairs.py`: one computation in two orders of dimensions (f32, {what},
runs alternating, medians; load of the machine {os.getloadavg()[0]:.1f}). x is jax's time / ours.
The gap is the slower form's time / the faster one's: 1 where the order does not matter. Geometric
means: gap {ours:.2f}, jax's {peer:.2f}; {geometric_mean(over):.2f} x jax over all {len(over)}
forms, {behind} of them behind it.

| computation | form | ours us | x jax | form | ours us | x jax | gap | gap of jax |
|---|---|---|---|---|---|---|---|---|
""" + "".join(f"{_row(figure)}\n" for figure in figures)


# -- pairs -----------------------------------------------------------------------------------------
def pairs() -> list[Pair]:
    """All of them."""
    return [*_convolutions(), *_planes(), *_dots(), *_attentions(), *_rows(), *_recurrences()]


def _conv(jax: Any, x: Any, w: Any, planes: bool, groups: int = 1) -> Any:
    numbers = ("NCHW", "OIHW", "NCHW") if planes else ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=numbers, feature_group_count=groups
    )


def _block(planes: bool) -> Callable[..., Any]:
    """A residual block with batch normalisation in training."""
    axes = (0, 2, 3) if planes else (0, 1, 2)

    def normal(jax: Any, x: Any) -> Any:
        mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5)

    def block(jax: Any, x: Any, v: Any, w: Any) -> Any:
        hidden = jax.nn.relu(normal(jax, _conv(jax, x, v, planes)))
        return jax.nn.relu(x + normal(jax, _conv(jax, hidden, w, planes)))

    return block


def _gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    def gradients(jax: Any, *arguments: Any) -> Any:
        def loss(*inner: Any) -> Any:
            return jax.numpy.sin(function(jax, *inner)).sum()

        return jax.grad(loss, argnums=tuple(range(len(arguments))))(*arguments)

    return gradients


def _convolutions() -> list[Pair]:
    def both(
        name: str, make: Callable[[bool], Callable[..., Any]], *shapes: Sequence[Shape]
    ) -> Pair:
        planes, last = shapes
        return Pair(
            name,
            Form("NCHW", make(True), tuple(planes)),
            Form("NHWC", make(False), tuple(last)),
        )

    image = ((4, 64, 28, 28), (4, 28, 28, 64))
    kernel = ((64, 64, 3, 3), (3, 3, 64, 64))
    deep = ((64, 1, 3, 3), (3, 3, 1, 64))

    def plain(planes: bool) -> Callable[..., Any]:
        return lambda jax, x, w: _conv(jax, x, w, planes)

    def depthwise(planes: bool) -> Callable[..., Any]:
        return lambda jax, x, w: _conv(jax, x, w, planes, groups=64)

    twice = [(image[i], kernel[i], kernel[i]) for i in range(2)]
    return [
        both("convolution 3x3", plain, *zip(image, kernel, strict=True)),
        both("depthwise 3x3", depthwise, *zip(image, deep, strict=True)),
        both("residual block", _block, *twice),
        both("residual block, gradient", lambda planes: _gradient(_block(planes)), *twice),
    ]


def _planes() -> list[Pair]:
    def pool(planes: bool) -> Callable[..., Any]:
        window = (1, 1, 2, 2) if planes else (1, 2, 2, 1)

        def largest(jax: Any, x: Any) -> Any:
            return jax.lax.reduce_window(x, -np.inf, jax.lax.max, window, window, "VALID")

        return largest

    def normalise(axis: int) -> Callable[..., Any]:
        def instance(jax: Any, x: Any) -> Any:
            axes = tuple(d for d in (1, 2, 3) if d != axis)
            mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
            return (x - mean) * jax.lax.rsqrt(variance + 1e-5)

        return instance

    def over_features(axis: int) -> Callable[..., Any]:
        return lambda jax, x: jax.nn.softmax(x, axis=axis)

    shapes = ((4, 64, 56, 56),), ((4, 56, 56, 64),)
    makers = [
        ("largest of 2x2", pool(True), pool(False)),
        ("instance normalisation", normalise(1), normalise(3)),
        ("softmax over features", over_features(1), over_features(3)),
    ]
    return [
        Pair(name, Form("NCHW", first, shapes[0]), Form("NHWC", second, shapes[1]))
        for name, first, second in makers
    ]


def _dots() -> list[Pair]:
    m, n, k = 256, 512, 768

    def layers(turned: bool) -> Callable[..., Any]:
        def network(jax: Any, x: Any, v: Any, w: Any) -> Any:
            v, w = (v.T, w.T) if turned else (v, w)
            return jax.nn.gelu(x @ v) @ w

        return network

    return [
        Pair(
            "product, right operand",
            Form("x w", lambda jax, x, w: x @ w, ((m, k), (k, n))),
            Form("x w^T", lambda jax, x, w: x @ w.T, ((m, k), (n, k))),
        ),
        Pair(
            "product, left operand",
            Form("x w", lambda jax, x, w: x @ w, ((m, k), (k, n))),
            Form("x^T w", lambda jax, x, w: x.T @ w, ((k, m), (k, n))),
        ),
        Pair(
            "product, result",
            Form("x w", lambda jax, x, w: x @ w, ((m, k), (k, n))),
            Form("(x w)^T", lambda jax, x, w: (x @ w).T, ((m, k), (k, n))),
        ),
        Pair(
            "two layers",
            Form("in, out", layers(False), ((m, k), (k, n), (n, k))),
            Form("out, in", layers(True), ((m, k), (n, k), (k, n))),
        ),
        Pair(
            "two layers, gradient",
            Form("in, out", _gradient(layers(False)), ((m, k), (k, n), (n, k))),
            Form("out, in", _gradient(layers(True)), ((m, k), (n, k), (k, n))),
        ),
    ]


def _attentions() -> list[Pair]:
    def attend(order: str) -> Callable[..., Any]:
        def attention(jax: Any, q: Any, k: Any, v: Any) -> Any:
            numpy = jax.numpy
            heads = order.replace("S", "K")
            scores = numpy.einsum(f"{order}D,{heads}D->BHSK", q, k) * 0.125
            return numpy.einsum(f"BHSK,{heads}D->{order}D", jax.nn.softmax(scores), v)

        return attention

    rows, heads = (2, 256, 8, 64), (2, 8, 256, 64)
    return [
        Pair(
            name,
            Form("BSHD", change(attend("BSH")), (rows,) * 3),
            Form("BHSD", change(attend("BHS")), (heads,) * 3),
        )
        for name, change in (("attention", lambda f: f), ("attention, gradient", _gradient))
    ]


def _rows() -> list[Pair]:
    def normalise(axis: int) -> Callable[..., Any]:
        def layer(jax: Any, x: Any) -> Any:
            mean, variance = x.mean(axis, keepdims=True), x.var(axis, keepdims=True)
            return (x - mean) * jax.lax.rsqrt(variance + 1e-5)

        return layer

    rows, columns = ((1024, 768),), ((768, 1024),)
    cases: list[tuple[str, Callable[[int], Callable[..., Any]]]] = [
        ("layer normalisation", normalise),
        ("softmax", lambda axis: lambda jax, x: jax.nn.softmax(x, axis=axis)),
        ("sum", lambda axis: lambda jax, x: x.sum(axis)),
        ("position of the largest", lambda axis: lambda jax, x: x.argmax(axis)),
        ("running sum", lambda axis: lambda jax, x: x.cumsum(axis)),
    ]
    return [
        Pair(name, Form("rows", make(1), rows), Form("columns", make(0), columns))
        for name, make in cases
    ]


def _recurrences() -> list[Pair]:
    def network(time: int) -> Callable[..., Any]:
        def recurrent(jax: Any, x: Any, u: Any, w: Any) -> Any:
            numpy = jax.numpy
            inputs = numpy.moveaxis(x @ u, time, 0)

            def step(state: Any, now: Any) -> tuple[Any, Any]:
                state = numpy.tanh(now + state @ w)
                return state, state

            start = numpy.zeros(inputs.shape[1:], x.dtype)
            return numpy.moveaxis(jax.lax.scan(step, start, inputs)[1], 0, time)

        return recurrent

    weights = ((64, 128), (128, 128))
    return [
        Pair(
            "recurrent network",
            Form("time first", network(0), ((64, 16, 64), *weights)),
            Form("batch first", network(1), ((16, 64, 64), *weights)),
        )
    ]


if __name__ == "__main__":
    sys.exit(main())
