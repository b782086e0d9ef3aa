"""Micro-benchmarks of what is done with tables, graphs and signals: messages along edges, groups,
histograms, look-ups in sorted tables, encodings of positions, transforms.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from micro_cases import Array, Case, Function, floats

NODES, EDGES = 2708, 13264


def _integers(below: int, count: int) -> Array:
    return np.random.default_rng(below).integers(0, below, count).astype(np.int32)


def _messages(jax: Any, x: Any, source: Any, target: Any, weight: Any) -> Any:
    return jax.ops.segment_sum(x[source] * weight[:, None], target, NODES)


def _torch_messages(torch: Any, x: Any, source: Any, target: Any, weight: Any) -> Any:
    return torch.zeros_like(x).index_add_(0, target, x[source] * weight[:, None])


def _encoding(jax: Any, x: Any) -> Any:
    functions = (jax.numpy.sin, jax.numpy.cos)
    return jax.numpy.concatenate([f(x * 2.0**i) for i in range(6) for f in functions], -1)


def _torch_encoding(torch: Any, x: Any) -> Any:
    return torch.cat([f(x * 2.0**i) for i in range(6) for f in (torch.sin, torch.cos)], -1)


def table_cases() -> Iterator[Case]:
    """The cases, in the order of the table."""
    scalars = floats(100_000)
    table: list[tuple[str, Function, list[Array], Function | None]] = []
    for columns in (64, 7):
        table.append(
            (f"messages along {EDGES} edges, {columns} columns", _messages,
             [floats(NODES, columns), _integers(NODES, EDGES), _integers(NODES - 1, EDGES),
              floats(EDGES)], _torch_messages)
        )  # fmt: skip
    table += [
        ("segment sum of 100000 into 1000",
         lambda jax, x, i: jax.ops.segment_sum(x, i, num_segments=1000),
         [scalars, _integers(1000, 100_000)],
         lambda torch, x, i: torch.zeros(1000).index_add_(0, i, x)),
        ("segment maximum of 100000 into 1000",
         lambda jax, x, i: jax.ops.segment_max(x, i, num_segments=1000),
         [scalars, _integers(1000, 100_000)], None),
        ("bincount of 100000 into 256", lambda jax, x: jax.numpy.bincount(x, length=256),
         [_integers(256, 100_000)], lambda torch, x: torch.bincount(x, minlength=256)),
        ("histogram of 100000, 64 bins",
         lambda jax, x: jax.numpy.histogram(x, bins=64, range=(-4, 4))[0], [scalars],
         lambda torch, x: torch.histc(x, 64, -4, 4)),
        ("100000 look-ups in 1000 sorted", lambda jax, a, x: jax.numpy.searchsorted(a, x),
         [np.sort(floats(1000)), scalars], lambda torch, a, x: torch.searchsorted(a, x)),
        ("interpolation of 100000 in 128", lambda jax, x, a, y: jax.numpy.interp(x, a, y),
         [scalars, np.sort(floats(128)), floats(128)], None),
        ("repeat 25000 by 4", lambda jax, x: jax.numpy.repeat(x, 4), [floats(25_000)],
         lambda torch, x: x.repeat_interleave(4)),
        ("tile 25000 by 4", lambda jax, x: jax.numpy.tile(x, 4), [floats(25_000)],
         lambda torch, x: x.repeat(4)),
        ("roll 316x316", lambda jax, x: jax.numpy.roll(x, (3, 5), (0, 1)), [floats(316, 316)],
         lambda torch, x: torch.roll(x, (3, 5), (0, 1))),
        ("trace 1000x1000", lambda jax, x: jax.numpy.trace(x), [floats(1000, 1000)],
         lambda torch, x: torch.trace(x)),
        ("lower triangle 1000x1000", lambda jax, x: jax.numpy.tril(x), [floats(1000, 1000)],
         lambda torch, x: torch.tril(x)),
        ("powers of 12500, 8 each", lambda jax, x: jax.numpy.vander(x, 8), [floats(12_500)],
         lambda torch, x: torch.linalg.vander(x, N=8).flip(1)),
        ("encoding of 2777 positions", _encoding, [floats(2777, 3)], _torch_encoding),
        ("rows of 3 normalised, 33333",
         lambda jax, x: x / jax.numpy.linalg.norm(x, axis=-1, keepdims=True), [floats(33_333, 3)],
         lambda torch, x: x / torch.linalg.norm(x, dim=-1, keepdim=True)),
        ("median of rows 100x1000", lambda jax, x: jax.numpy.median(x, 1), [floats(100, 1000)],
         None),
        ("top-8 of rows 100x1000", lambda jax, x: jax.lax.top_k(x, 8)[0], [floats(100, 1000)],
         lambda torch, x: torch.topk(x, 8)[0]),
        ("FFT of 97 lines of 1024", lambda jax, x: jax.numpy.abs(jax.numpy.fft.rfft(x)),
         [floats(97, 1024)], lambda torch, x: torch.fft.rfft(x).abs()),
        ("31 taps over 100000", lambda jax, x, w: jax.numpy.convolve(x, w, mode="same"),
         [scalars, floats(31)], None),
    ]  # fmt: skip
    for name, function, arguments, torch in table:
        yield Case(
            "tables", name, function, lambda made=arguments: made,
            sum(a.nbytes for a in arguments), torch, bandwidth=False,
        )  # fmt: skip
