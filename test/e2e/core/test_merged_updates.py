"""Caches of all layers in one tensor, updated piece by piece and put together again."""

from __future__ import annotations

import numpy as np
import pytest
from core_programs import Program, Value
from test_attention import Case, attention
from test_data_movement import ints

import hlo

LAYERS, KEYS, HEADS, DEPTH = 3, 20, 2, 16


def piece(p: Program, cache: Value, layer: int, part: int) -> Value:
    start, limit = [layer, part, 0, 0, 0, 0], [layer + 1, part + 1, *cache.shape[2:]]
    fields = (
        f"start_indices = {ints(start)}, limit_indices = {ints(limit)}, strides = {ints([1] * 6)}"
    )
    taken = p.op("slice", [cache], (1, 1, *cache.shape[2:]), attributes=fields)
    return p.op("reshape", [taken], cache.shape[2:])


def updated(p: Program, old: Value, patch: Value, index: Value) -> Value:
    zero = p.constant("0", (), "i32")
    return p.op("dynamic_update_slice", [old, patch, zero, index, zero, zero], old.shape)


def joined(p: Program, values: list[Value], wrapped: tuple[int, ...]) -> Value:
    parts = [p.op("reshape", [v], wrapped) for v in values]
    shape = (len(values), *wrapped[1:])
    return p.op("concatenate", parts, shape, attributes="dimension = 0 : i64")


def decoder(index: int) -> Program:
    """A few layers of attention over a cache [layer, key or value, batch, keys, heads, depth]."""
    p = Program()
    shape = (LAYERS, 2, 1, KEYS, HEADS, DEPTH)
    cache, x = p.sample(shape, "f32"), p.sample((1, 1, HEADS, 1, DEPTH), "f32")
    at = p.argument(np.array(index, np.int32))
    case = Case(queries=1, keys=KEYS)
    layers: list[Value] = []
    for layer in range(LAYERS):
        patch = p.op("reshape", [x], (1, 1, HEADS, DEPTH))
        twice = p.op("add", [patch, patch], patch.shape)
        keys = updated(p, piece(p, cache, layer, 0), patch, at)
        values = updated(p, piece(p, cache, layer, 1), twice, at)
        out = attention(p, case, x, keys, values)
        x = p.op("reshape", [out], x.shape)
        layers.append(joined(p, [keys, values], (1, 1, KEYS, HEADS, DEPTH)))
    p.result(x, joined(p, layers, (1, 2, 1, KEYS, HEADS, DEPTH)))
    return p


@pytest.mark.parametrize("index", [0, 7, KEYS - 1, KEYS + 3, -2])
def test_caches_of_layers(index: int) -> None:
    """Indices out of bounds are clamped as for a piece alone; a donated cache gives the same."""
    p = decoder(index)
    p.check(ulps=256)
    kept = hlo.compile(p.text)(*p.arguments)
    donated = hlo.compile(p.text, donate=(0,))(p.arguments[0].copy(), *p.arguments[1:])
    for one, other in zip(kept, donated, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_donated_cache_is_not_copied() -> None:
    compiled = hlo.compile(decoder(3).text, donate=(0,))
    assert compiled.statistics.alias_bytes == 4 * LAYERS * 2 * KEYS * HEADS * DEPTH
    assert "memref.copy" not in compiled.as_text("host")
    assert "concatenate" not in compiled.as_text("fused")
