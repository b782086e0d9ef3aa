"""Dynamic slices that dots read where they are: starts out of range, types of starts, updates."""

from __future__ import annotations

import numpy as np
import pytest
from core_programs import Program, Value
from test_contractions import dot

from hlo.driver.program_analysis import analyse
from hlo.importers import load_program


def part_of(p: Program, whole: Value, starts: list[Value], sizes: tuple[int, ...]) -> Value:
    attributes = f"slice_sizes = array<i64: {', '.join(map(str, sizes))}>"
    return p.op("dynamic_slice", [whole, *starts], sizes, attributes=attributes)


@pytest.mark.parametrize("start", [-3, 0, 1, 3, 100])
@pytest.mark.parametrize("kind", ["int8", "int32", "int64", "uint8", "uint64"])
def test_starts_are_brought_into_range(kind: str, start: int) -> None:
    p = Program()
    w, x = p.sample((4, 16, 20), "f32"), p.sample((5, 16), "f32")
    number = np.array(start).astype(kind)  # -3 is the largest but two of the unsigned ones
    at, zero = p.argument(number), p.argument(np.array(0, kind))
    layer = part_of(p, w, [at, zero, zero], (1, 16, 20))
    p.result(dot(p, x, p.op("reshape", [layer], (16, 20)), ([1], [0])))
    host = analyse(load_program(p.text)).host.text
    assert "memref.subview" in host and "memref.alloc" not in host
    p.check(ulps=16)


@pytest.mark.parametrize("shape", [(3, 4, 16), (1, 3, 16), (1, 1, 8), (2, 1, 16)])
def test_several_starts(shape: tuple[int, int, int]) -> None:
    """A part is a view if it is whole behind its last cut dimension, and 1 ahead of it."""
    p = Program()
    w = p.sample((3, 4, 16), "f32")
    starts = [p.argument(np.array(n, np.int32)) for n in (2, 1, 8)]
    part = part_of(p, w, starts, shape)
    flat = p.op("reshape", [part], (int(np.prod(shape)),))
    p.result(dot(p, flat, flat, ([0], [0])))
    p.check(ulps=16)


def test_a_part_of_what_an_update_changes() -> None:
    """The slice is read after the buffer it lies in was changed: the old elements count."""
    p = Program()
    x, u = p.sample((4, 8, 8), "f32"), p.sample((1, 8, 8), "f32")
    starts = [p.argument(np.array(n, np.int32)) for n in (1, 0, 0)]
    m = p.op("negate", [x], x.shape)
    part = part_of(p, m, starts, (1, 8, 8))
    new = p.op("dynamic_update_slice", [m, u, *starts], m.shape)
    matrix = p.op("reshape", [part], (8, 8))
    p.result(p.op("abs", [new], new.shape), dot(p, matrix, matrix, ([1], [0])))
    p.check(ulps=16)
