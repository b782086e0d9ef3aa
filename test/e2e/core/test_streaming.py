"""Results larger than the caches are written by the host's non-temporal stores, of every type."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import hlo
import hlo.numpy as hnp
from hlo.executable import runtime
from hlo.passes.hlo_to_loops import emitter, streaming
from hlo.passes.hlo_to_loops.elementwise.host_instructions import host_features

# vmovntps, vmovntpd and vmovntdq with an EVEX prefix.
NON_TEMPORAL = re.compile(
    rb"\x62[\x31\x71\xb1\xf1\x61\xe1\xc1\x41\xd1\x51\xa1\x21]..[\x2b\xe7]", re.DOTALL
)
HAS_AVX512 = {"avx512f", "avx512vl"} <= host_features()


def stores_past_caches(dtype: type, elements: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Non-temporal stores in the machine code of x + x."""
    objects: list[bytes] = []
    compile_text = runtime.compile_text

    def recorded(*arguments: object) -> bytes:
        objects.append(compile_text(*arguments))  # type: ignore[arg-type]
        return objects[-1]

    monkeypatch.setattr(runtime, "compile_text", recorded)
    x = np.broadcast_to(np.zeros((), dtype), (elements,))
    hlo.jit(lambda x: x + x, cache=False).lower(x).compile()
    assert objects
    return sum(len(NON_TEMPORAL.findall(code)) for code in objects)


@pytest.mark.parametrize(
    "dtype",
    [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.int8, np.int16, np.complex64],
)
def test_large_results(dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 16 MiB and more; where the host has no such instructions, of no type."""
    found = stores_past_caches(dtype, (16 << 20) // np.dtype(dtype).itemsize, monkeypatch)
    assert (found > 0) == HAS_AVX512


def test_small_results(monkeypatch: pytest.MonkeyPatch) -> None:
    assert stores_past_caches(np.float16, 1 << 20, monkeypatch) == 0


@pytest.mark.parametrize("moved", [0, 1])
def test_f16_stored_past_the_caches_is_whole(moved: int) -> None:
    """Every element, the last ones behind whole vectors as well, and where a result begins beside a
    cache line.
    """
    elements = (8 << 20) + 37
    x = (np.arange(elements + moved) % 2000).astype(np.float16)[moved:]
    np.testing.assert_array_equal(hlo.jit(lambda x: x + x)(x), x + x)


@pytest.mark.parametrize("elements", [4, 8, 17, 5003])
def test_f16_of_several_registers_and_parts_of_one(
    elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as are computed together, and fewer than a register has."""
    monkeypatch.setattr(streaming, "SHARED_BYTES", 0)
    x = np.linspace(-4, 4, elements).astype(np.float16)
    found = hlo.jit(hnp.exp)(x)
    monkeypatch.undo()
    np.testing.assert_array_equal(found, hlo.jit(hnp.exp)(x))


def _rows(name: str) -> tuple[Callable[..., Any], list[np.ndarray]]:
    """A function and arguments, whose result has rows that begin anywhere in a line."""
    rng = np.random.default_rng(7)
    x = rng.standard_normal((70, 301)).astype(np.float32)
    row = x[0]
    return {
        "pad": (lambda x: hnp.pad(x, 1), [x]),
        "slice": (lambda x: x[1:-1, 1:-1], [x]),
        "joined": (lambda x, y: hnp.concatenate([x, y], axis=1), [x, x[:, :5]]),
        "bias": (operator.add, [x, row]),
        "wide": (lambda x, r: hnp.exp(x + r), [x, row]),
        "double": (operator.add, [x.astype(np.float64), row.astype(np.float64)]),
        "bf16": (operator.add, [t.astype(ml_dtypes.bfloat16) for t in (x, row)]),
        "bytes": (operator.add, [np.tile(t.astype(np.int8), 3) for t in (x, row)]),
        "fold": (lambda x: x - hnp.max(x, axis=1, keepdims=True), [x]),
        "kept": (lambda x: hlo.nn.softmax(x, axis=1), [x]),
    }[name]


ROWS = ("pad", "slice", "joined", "bias", "wide", "double", "bf16", "bytes", "fold", "kept")


@pytest.mark.parametrize("name", ROWS)
def test_rows_that_begin_anywhere(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past the caches in whole lines, with the bits of plain stores."""
    function, arguments = _rows(name)
    expected = hlo.jit(function)(*arguments)
    alignments: list[int] = []
    store = emitter.store_past_caches

    def recorded(*arguments: Any) -> None:
        alignments.append(arguments[-1])
        store(*arguments)

    monkeypatch.setattr(emitter, "store_past_caches", recorded)
    monkeypatch.setattr(streaming, "SHARED_BYTES", 0)
    np.testing.assert_array_equal(hlo.jit(function)(*arguments), expected)
    assert set(alignments) == {emitter.LINE_BYTES}
