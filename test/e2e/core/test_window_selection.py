"""select_and_scatter: what windows choose, and the order in which sources are combined."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from core_programs import Program, Value, number, reducer, tensor
from test_data_movement import ints

import hlo

Pads = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Case:
    """Windows over a tensor of `shape`."""

    shape: tuple[int, ...]
    window: tuple[int, ...]
    strides: tuple[int, ...]
    pads: Pads

    @property
    def sources(self) -> tuple[int, ...]:
        """The shape of the sources: one for each window."""
        dims = zip(self.shape, self.window, self.strides, self.pads, strict=True)
        return tuple((n + low + high - w) // s + 1 for n, w, s, (low, high) in dims)


NO = (0, 0)
CASES = {
    "windows apart": Case((6, 8), (2, 2), (2, 2), (NO, NO)),
    "windows over one another": Case((5, 7), (3, 3), (1, 2), ((1, 1), (1, 1))),
    "single elements": Case((6, 8), (1, 1), (1, 1), (NO, NO)),
    "channels last": Case((2, 9, 8, 32), (1, 3, 3, 1), (1, 2, 2, 1), (NO, (1, 1), (1, 0), NO)),
    "cut vectors": Case((1, 6, 7, 37), (1, 2, 3, 1), (1, 1, 2, 1), (NO, (1, 0), (1, 1), NO)),
    "few channels": Case((3, 6, 6, 5), (1, 2, 2, 1), (1, 2, 2, 1), (NO, NO, NO, NO)),
    "three channels": Case((2, 6, 6, 3), (1, 3, 3, 1), (1, 2, 2, 1), (NO, (1, 1), (1, 1), NO)),
    "three channels of long lines": Case(
        (2, 5, 41, 3), (1, 3, 3, 1), (1, 2, 2, 1), (NO, (1, 1), (0, 2), NO)
    ),
    "two channels of a line": Case((3, 40, 2), (1, 4, 1), (1, 1, 1), (NO, (2, 1), NO)),
    "one channel": Case((2, 7, 40, 1), (1, 2, 3, 1), (1, 2, 1, 1), (NO, (1, 0), (1, 1), NO)),
    "channels between and behind": Case(
        (6, 3, 37, 2), (3, 1, 2, 1), (1, 1, 2, 1), ((1, 1), NO, (0, 1), NO)
    ),
    "windows of padding alone": Case(
        (1, 4, 4, 16), (1, 2, 2, 1), (1, 1, 2, 1), (NO, (3, 3), (4, 5), NO)
    ),
    "large windows": Case((1, 9, 9, 16), (1, 6, 6, 1), (1, 3, 3, 1), (NO, (2, 1), (1, 2), NO)),
    "planes": Case((2, 3, 9, 70), (1, 1, 3, 3), (1, 1, 2, 2), (NO, NO, (1, 1), (1, 1))),
    "planes, every element": Case(
        (2, 2, 5, 40), (1, 1, 2, 3), (1, 1, 1, 1), (NO, NO, (1, 0), (2, 2))
    ),
    "planes, far apart": Case((1, 2, 8, 90), (1, 1, 2, 2), (1, 1, 5, 5), (NO, NO, NO, (0, 4))),
    "planes of padding": Case((1, 2, 2, 36), (1, 1, 2, 2), (1, 1, 1, 2), (NO, NO, (4, 2), (9, 0))),
    "planes of one element": Case((3, 8, 1), (1, 2, 3), (1, 2, 1), (NO, NO, (2, 1))),
    "a window a line": Case((3, 8, 5), (1, 2, 3), (1, 2, 2), (NO, NO, (0, -1))),
    "a line": Case((100,), (4,), (3,), ((2, 3),)),
    "volumes": Case((1, 5, 4, 6, 16), (1, 2, 2, 2, 1), (1, 1, 2, 2, 1), (NO, (1, 1), NO, NO, NO)),
    "batches walked": Case((5, 3, 16), (2, 1, 1), (1, 1, 1), (NO, NO, NO)),
}  # fmt: skip


def choosing(direction: str, kind: str) -> str:
    """A region that compares two scalars."""
    scalar = tensor((), kind)
    order = f"{{comparison_direction = #hlo<comparison_direction {direction}>}}"
    return (
        f'{{^bb0(%a: {scalar}, %b: {scalar}): %c = "hlo.compare"(%a, %b) {order} : '
        f'({scalar}, {scalar}) -> tensor<i1> "hlo.return"(%c) : (tensor<i1>) -> ()}}'
    )


def chosen(
    p: Program, x: Value, source: Value, case: Case, direction: str, combine: str | None = None
) -> Value:
    """`combine`: the region of the sources; sums if None."""
    rows = ", ".join(f"[{low}, {high}]" for low, high in case.pads)
    return p.op(
        "select_and_scatter", [x, source, p.constant(number(1, x.kind), (), x.kind)],
        case.shape, None,
        f"window_dimensions = {ints(case.window)}, window_strides = {ints(case.strides)}, "
        f"padding = dense<[{rows}]> : tensor<{len(case.shape)}x2xi64>",
        f"{choosing(direction, x.kind)}, {combine or reducer('add', x.kind)}",
    )  # fmt: skip


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("kind", ["f32", "f64", "bf16", "i8", "i64"])
def test_select_and_scatter(name: str, kind: str) -> None:
    """Few distinct values: many elements of a window are equal."""
    p, case = Program(), CASES[name]
    x, source = p.sample(case.shape, kind), p.sample(case.sources, kind)
    p.result(chosen(p, x, source, case, "GE"), chosen(p, x, source, case, "LT"))
    p.check()


@pytest.mark.parametrize("name", list(CASES))
def test_sources_are_combined_in_order(name: str) -> None:
    """Of several sources of an element the last one stays."""
    p, case = Program(), CASES[name]
    scalar = tensor((), "f32")
    last = f'{{^bb0(%a: {scalar}, %b: {scalar}): "hlo.return"(%b) : ({scalar}) -> ()}}'
    x = p.sample(case.shape, "f32")
    source = p.argument(np.random.default_rng(0).standard_normal(case.sources, np.float32))
    p.result(chosen(p, x, source, case, "GE", last))
    p.check()


@pytest.mark.parametrize(
    "name", ["channels last", "three channels", "planes", "large windows", "a line"]
)
def test_special_values(name: str) -> None:
    """A NaN is chosen over nothing, and nothing over it: comparisons with it do not hold."""
    p, case = Program(), CASES[name]
    rng = np.random.default_rng(1)
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0], np.float32)
    x = p.argument(rng.choice(special, case.shape))
    source = p.argument(rng.standard_normal(case.sources, np.float32))
    p.result(chosen(p, x, source, case, "GE"), chosen(p, x, source, case, "LE"))
    p.check(ulps=8)


PADDED = [
    "windows over one another", "channels last", "cut vectors", "planes", "planes, every element",
    "volumes", "a line", "three channels", "two channels of a line", "channels between and behind",
]  # fmt: skip


@pytest.mark.parametrize("name", PADDED)
@pytest.mark.parametrize("filler", ["0xFF800000", "0.5", "0x7FC00000"])
def test_padding_and_slice_are_in_the_kernel(name: str, filler: str) -> None:
    """As JAX writes the gradient of a maximum over padded windows: sources of windows that choose
    an element of the padding are lost. Infinities and NaNs are among the elements.
    """
    p, case = Program(), CASES[name]
    rng = np.random.default_rng(2)
    special = np.array([np.nan, -np.inf, -np.inf, 0.0, -0.0, 1.0, 2.0, 3.0], np.float32)
    x = p.argument(rng.choice(special, case.shape))
    source = p.sample(case.sources, "f32")
    low, high = zip(*case.pads, strict=True)
    sizes = tuple(n + a + b for n, a, b in zip(case.shape, low, high, strict=True))
    none = ints((0,) * len(sizes))
    padded = p.op(
        "pad", [x, p.constant(filler, (), "f32")], sizes, None,
        f"edge_padding_low = {ints(low)}, edge_padding_high = {ints(high)}, "
        f"interior_padding = {none}",
    )  # fmt: skip
    inner = Case(sizes, case.window, case.strides, ((0, 0),) * len(sizes))
    whole = chosen(p, padded, source, inner, "GE")
    ends = tuple(a + n for a, n in zip(low, case.shape, strict=True))
    p.result(
        p.op(
            "slice", [whole], case.shape, None,
            f"start_indices = {ints(low)}, limit_indices = {ints(ends)}, "
            f"strides = {ints((1,) * len(sizes))}",
        )
    )  # fmt: skip
    p.check()
    names = [kernel.name for kernel in hlo.compile(p.text).cost_analysis().kernels]
    [name] = [name for name in names if not name.startswith("transpose")]  # of few channels
    assert name.startswith("pad_select_and_scatter_slice")
