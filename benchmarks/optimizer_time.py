"""How the optimizer's time grows with the program; writes docs/optimizer_time.md and .svg.

python benchmarks/optimizer_time.py [--ops=1000,2000,4000,8000,16000] [--passes] [SHAPE...]

CPU time of all passes from the program as it is read to the fused one, for programs of several
shapes. The slope is that of a straight line through the points on logarithmic axes: 1 is linear.
"""

from __future__ import annotations

import argparse
import gc
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from hlo import ir
from hlo.driver.pass_pipeline import run_pass
from hlo.driver.phases import Phase
from hlo.driver.pipeline import passes_to
from hlo.importers import load_program

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "optimizer_time.md"
SIZES = (1000, 2000, 4000, 8000, 16000)
V, M, S = "tensor<64xf32>", "tensor<64x64xf32>", "tensor<f32>"
_ELEMENTWISE = ("sine", "exponential", "tanh", "negate", "abs", "floor")


def chain(ops: int) -> Iterator[str]:
    """One value through op after op, now and then a row sum."""
    name = "x"
    for i in range(ops):
        kind = _ELEMENTWISE[i % 5]
        yield f"%v{i} = hlo.{kind} %{name} : {M}"
        name = f"v{i}"
        if i % 40 == 39:
            yield from _row_sum(f"s{i}", name)
            yield f"%n{i} = hlo.subtract %{name}, %s{i} : {M}"
            name = f"n{i}"
    yield f"return %{name} : {M}"


def wide(ops: int) -> Iterator[str]:
    """Many independent values of their own, added up as a tree."""
    leaves: list[str] = []
    for i in range(ops // 4):
        yield f"%k{i} = hlo.constant dense<{i + 1}.5> : {M}"
        yield f"%a{i} = hlo.multiply %x, %k{i} : {M}"
        yield f"%b{i} = hlo.{_ELEMENTWISE[i % 6]} %a{i} : {M}"
        leaves.append(f"b{i}")
    level = 0
    while len(leaves) > 1:
        pairs = [leaves[i : i + 2] for i in range(0, len(leaves), 2)]
        for k, pair in enumerate(pairs):
            if len(pair) == 2:
                yield f"%t{level}_{k} = hlo.add %{pair[0]}, %{pair[1]} : {M}"
        leaves = [f"t{level}_{k}" if len(p) == 2 else p[0] for k, p in enumerate(pairs)]
        level += 1
    yield f"return %{leaves[0]} : {M}"


def layers(ops: int) -> Iterator[str]:
    """Layers of dots, bias, normalisation and residual, as in a transformer."""
    name = "x"
    for i in range(ops // 13):
        yield f"%w{i} = hlo.add %x, %{name} : {M}"
        kinds = f"({M}, {M}) -> {M}"
        yield f"%d{i} = hlo.dot_general %{name}, %w{i}, contracting_dims = [1] x [0] : {kinds}"
        yield f"%g{i} = hlo.tanh %d{i} : {M}"
        yield f"%t{i} = hlo.transpose %g{i}, dims = [1, 0] : ({M}) -> {M}"
        yield f"%r{i} = hlo.add %t{i}, %{name} : {M}"
        yield from _row_sum(f"s{i}", f"r{i}")
        yield f"%c{i} = hlo.subtract %r{i}, %s{i} : {M}"
        yield f"%q{i} = hlo.multiply %c{i}, %c{i} : {M}"
        yield from _row_sum(f"e{i}", f"q{i}")
        yield f"%o{i} = hlo.divide %c{i}, %e{i} : {M}"
        name = f"o{i}"
    yield f"return %{name} : {M}"


def loops(ops: int) -> Iterator[str]:
    """Loops one after another, each with a body of 20 ops."""
    name, i32 = "x", "tensor<i32>"
    yield f"%n = hlo.constant dense<10> : {i32}"
    yield f"%zero = hlo.constant dense<0> : {i32}"
    for i in range(ops // 24):
        yield f'%w{i}:2 = "hlo.while"(%zero, %{name}) ({{'
        yield f"^bb0(%i: {i32}, %a: {M}):"
        yield f"%c = hlo.compare LT, %i, %n : ({i32}, {i32}) -> tensor<i1>"
        yield "hlo.return %c : tensor<i1> }, {"
        yield f"^bb0(%i: {i32}, %a: {M}): %one = hlo.constant dense<1> : {i32}"
        yield f"%j = hlo.add %i, %one : {i32}"
        inner = "a"
        for k in range(18):
            yield f"%b{k} = hlo.{_ELEMENTWISE[(k + i) % 5]} %{inner} : {M}"
            inner = f"b{k}"
        yield f"hlo.return %j, %{inner} : {i32}, {M} }}) : ({i32}, {M}) -> ({i32}, {M})"
        name = f"w{i}#1"
    yield f"return %{name} : {M}"


def pieces(ops: int) -> Iterator[str]:
    """Slices computed with apart and put together again, as in simulations of many bodies."""
    name = "x"
    half = "tensor<32x64xf32>"
    for i in range(ops // 6):
        yield f"%a{i} = hlo.slice %{name} [0:32, 0:64] : ({M}) -> {half}"
        yield f"%b{i} = hlo.slice %{name} [32:64, 0:64] : ({M}) -> {half}"
        yield f"%c{i} = hlo.multiply %a{i}, %b{i} : {half}"
        yield f"%d{i} = hlo.{_ELEMENTWISE[i % 3]} %b{i} : {half}"
        yield f"%e{i} = hlo.concatenate %d{i}, %c{i}, dim = 0 : ({half}, {half}) -> {M}"
        yield f"%f{i} = hlo.add %e{i}, %x : {M}"
        name = f"f{i}"
    yield f"return %{name} : {M}"


SHAPES: dict[str, Callable[[int], Iterator[str]]] = {
    f.__name__: f for f in (chain, wide, layers, loops, pieces)
}


def _row_sum(name: str, value: str) -> Iterator[str]:
    yield f"%z{name} = hlo.constant dense<0.0> : {S}"
    yield (
        f"%y{name} = hlo.reduce(%{value} init: %z{name}) applies hlo.add across dimensions = [1] : "
        f"({M}, {S}) -> {V}"
    )
    yield f"%{name} = hlo.broadcast_in_dim %y{name}, dims = [0] : ({V}) -> {M}"


def program(shape: str, ops: int) -> ir.Module:
    """A program of about so many ops."""
    body = "\n  ".join(SHAPES[shape](ops))
    return load_program(f"func.func @main(%x: {M}) -> {M} {{\n  {body}\n}}")


def seconds(shape: str, ops: int, runs: int = 1) -> dict[str, float]:
    """CPU seconds of each pass, the least of some runs, and of all under ``."""
    best: dict[str, float] = {}
    for _ in range(runs):
        module = program(shape, ops)
        gc.collect()
        spent: dict[str, float] = {}
        for step in passes_to(Phase.FUSED):
            start = time.thread_time()
            run_pass(step, module)
            spent[step.name] = spent.get(step.name, 0.0) + time.thread_time() - start
        spent[""] = sum(spent.values())
        if not best or spent[""] < best[""]:
            best = spent
    return best


def calls(shape: str, ops: int) -> int:
    """Calls of functions, Python's and native, that all passes make: no clock and no noise."""
    module, count = program(shape, ops), 0

    def count_calls(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    steps = passes_to(Phase.FUSED)
    before = sys.getprofile()
    sys.setprofile(count_calls)
    try:
        for step in steps:
            run_pass(step, module)
    finally:
        sys.setprofile(before)
    return count


def slope(sizes: Sequence[int], times: Sequence[float]) -> float:
    """Of the least-squares line through (log size, log time)."""
    x, y = [math.log(n) for n in sizes], [math.log(t) for t in times]
    mx, my = sum(x) / len(x), sum(y) / len(y)
    above = sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True))
    return above / sum((a - mx) ** 2 for a in x)


_COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b")
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP, _RIGHT = 640, 420, 60, 46, 16, 110


def plot(sizes: Sequence[int], curves: dict[str, list[float]]) -> str:
    """An SVG of seconds over ops, both axes logarithmic; a dashed line has slope 1."""
    values = [t for times in curves.values() for t in times]
    low, high = min(values) * 0.8, max(values) * 1.25

    def x(ops: float) -> float:
        part = math.log(ops / sizes[0]) / math.log(sizes[-1] / sizes[0])
        return _LEFT + part * (_WIDTH - _LEFT - _RIGHT)

    def y(time_: float) -> float:
        return (
            _HEIGHT
            - _BOTTOM
            - math.log(time_ / low) / math.log(high / low) * (_HEIGHT - _BOTTOM - _TOP)
        )

    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {_HEIGHT}' "
        "font-family='sans-serif' font-size='12'><rect width='100%' height='100%' fill='white'/>",
    ]
    for ops in sizes:
        parts.append(
            f"<path d='M{x(ops):.1f} {_TOP}V{_HEIGHT - _BOTTOM}' stroke='#ddd'/>"
            f"<text x='{x(ops):.1f}' y='{_HEIGHT - _BOTTOM + 16}' text-anchor='middle'>{ops}</text>"
        )
    ticks = [m * 10.0**e for e in range(-3, 3) for m in (1, 2, 5)]
    for tick in [t for t in ticks if low <= t <= high]:
        parts.append(
            f"<path d='M{_LEFT} {y(tick):.1f}H{_WIDTH - _RIGHT}' stroke='#ddd'/>"
            f"<text x='{_LEFT - 6}' y='{y(tick) + 4:.1f}' text-anchor='end'>{tick:g}</text>"
        )
    start = math.exp(sum(math.log(times[0]) for times in curves.values()) / len(curves))
    end = min(high, start * sizes[-1] / sizes[0])
    last = sizes[0] * end / start
    parts.append(
        f"<path d='M{x(sizes[0]):.1f} {y(start):.1f}L{x(last):.1f} {y(end):.1f}' "
        "stroke='#888' stroke-dasharray='5 4'/>"
    )
    for times, colour in zip(curves.values(), _COLOURS, strict=False):
        points = " ".join(f"{x(n):.1f},{y(t):.1f}" for n, t in zip(sizes, times, strict=True))
        parts.append(
            f"<polyline points='{points}' fill='none' stroke='{colour}' stroke-width='2'/>"
        )
    ends = sorted(((y(times[-1]), name) for name, times in curves.items()), reverse=True)
    under = float(_HEIGHT)
    for at, name in ends:
        under = min(at, under - 14)
        colour = _COLOURS[list(curves).index(name) % len(_COLOURS)]
        parts.append(
            f"<text x='{_WIDTH - _RIGHT + 8}' y='{under + 4:.1f}' fill='{colour}'>{name} "
            f"{slope(sizes, curves[name]):.2f}</text>"
        )
    parts.append(
        f"<text x='{(_LEFT + _WIDTH - _RIGHT) / 2}' y='{_HEIGHT - 8}' text-anchor='middle'>"
        f"ops</text><text x='14' y='{_HEIGHT / 2}' transform='rotate(-90 14 {_HEIGHT / 2})' "
        "text-anchor='middle'>seconds</text></svg>\n"
    )
    return "\n".join(parts)


# Of whole compilations without the cache, too long for the test suite: measured by hand.
WHOLE = """
A chain of 100,000 ops is compiled, machine code included, in 27 s of processor time with a peak of
385 MB of memory: 438 kernels, 8 of them distinct.
"""


def page(sizes: Sequence[int], curves: dict[str, list[float]]) -> str:
    """The text of docs/optimizer_time.md."""
    head = "".join(f" {n} ops |" for n in sizes)
    rows = [
        f"| {name} | {' | '.join(f'{t:.2f}' for t in times)} | {slope(sizes, times):.2f} |"
        for name, times in curves.items()
    ]
    lines = [f"- {name}: {(SHAPES[name].__doc__ or '').strip()}" for name in curves]
    return (
        "# The optimizer's time\n"
        "Written by `python benchmarks/optimizer_time.py`: CPU seconds of all passes from the\n"
        "program as it is read to the fused one, for programs of several shapes. The slope is\n"
        "that of a straight line through the points on logarithmic axes; 1 is linear.\n"
        "`test/e2e/test_optimizer_time.py` bounds the growth of the calls of functions.\n\n"
        "![seconds over ops, logarithmic; the dashed line is linear](optimizer_time.svg)\n\n"
        f"| shape |{head} slope |\n|{'---|' * (len(sizes) + 2)}\n"
        + "\n".join(rows)
        + "\n\n"
        + "\n".join(lines)
        + "\n"
        + WHOLE
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("shapes", nargs="*", choices=[[], *SHAPES])
    parser.add_argument("--ops", default=",".join(map(str, SIZES)))
    parser.add_argument("--passes", action="store_true", help="print the time of each pass")
    args = parser.parse_args()
    sizes = [int(n) for n in args.ops.split(",")]
    curves: dict[str, list[float]] = {}
    for shape in args.shapes or SHAPES:
        spent = [seconds(shape, n, runs=2) for n in sizes]
        curves[shape] = [times[""] for times in spent]
        text = " ".join(f"{t:.2f}" for t in curves[shape])
        print(f"{shape}: {text}, slope {slope(sizes, curves[shape]):.2f}", flush=True)
        for name in spent[-1] if args.passes else ():
            if name:
                print(f"  {name}: {' '.join(f'{times[name]:.3f}' for times in spent)}")
    if not args.shapes and len(sizes) > 2:
        PAGE.write_text(page(sizes, curves))
        PAGE.with_suffix(".svg").write_text(plot(sizes, curves))
    return 0


if __name__ == "__main__":
    sys.exit(main())
