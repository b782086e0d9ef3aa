"""Micro-benchmarks of numerical programs: batches of small matrices, scans by halves, difference
schemes, weights in groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from micro_cases import Array, Case, Function, floats


def _definite(*shape: int) -> Array:
    x = floats(*shape)
    return x @ x.swapaxes(-1, -2) + shape[-1] * np.eye(shape[-1], dtype=np.float32)


def _recurrence(jax: Any, a: Any, b: Any) -> Any:
    """x' = a x + b at each step, from all steps at once."""

    def joined(first: Any, second: Any) -> Any:
        return first[0] * second[0], second[0] * first[1] + second[1]

    return jax.lax.associative_scan(joined, (a, b))[1]


def _heat(jax: Any, u: Any) -> Any:
    def step(_: Any, u: Any) -> Any:
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        return u.at[1:-1, 1:-1].add(0.1 * (around - 4 * u[1:-1, 1:-1]))

    return jax.lax.fori_loop(0, 100, step, u)


def _grouped(jax: Any, x: Any, weights: Any, scales: Any) -> Any:
    rows, columns = weights.shape
    groups = scales.shape[1]
    wide = weights.astype(np.float32).reshape(rows, groups, columns // groups)
    return x @ (wide * scales[:, :, None]).reshape(rows, columns)


def _torch_grouped(torch: Any, x: Any, weights: Any, scales: Any) -> Any:
    wide = weights.float().reshape(weights.shape[0], scales.shape[1], -1)
    return x @ (wide * scales[:, :, None]).reshape(weights.shape)


def _weights(rows: int, columns: int) -> list[Array]:
    """Of 8 bits, and the scales of their groups of 64."""
    integers = np.random.default_rng(rows).integers(-127, 128, (rows, columns)).astype(np.int8)
    return [integers, floats(rows, columns // 64) / 127]


def numeric_cases() -> Iterator[Case]:
    """The cases, in the order of the table."""
    table: list[tuple[str, Function, list[Array], Function | None]] = [
        ("inverses of 4096 of 3x3", lambda jax, x: jax.numpy.linalg.inv(x), [_definite(4096, 3, 3)],
         lambda torch, x: torch.linalg.inv(x)),
        ("determinants of 4096 of 4x4", lambda jax, x: jax.numpy.linalg.det(x),
         [_definite(4096, 4, 4)], lambda torch, x: torch.linalg.det(x)),
        ("solutions of 1000 of 6x6", lambda jax, x, y: jax.numpy.linalg.solve(x, y),
         [_definite(1000, 6, 6), floats(1000, 6, 2)],
         lambda torch, x, y: torch.linalg.solve(x, y)),
        ("Cholesky of 1000 of 6x6", lambda jax, x: jax.numpy.linalg.cholesky(x),
         [_definite(1000, 6, 6)], lambda torch, x: torch.linalg.cholesky(x)),
        ("recurrence of 10000, associative", _recurrence,
         [np.abs(floats(10_000)).clip(0, 0.9), floats(10_000)], None),
        ("100 steps of heat on 128x128", _heat, [floats(128, 128)], None),
        ("1x4096x4096, 8 bits in groups of 64", _grouped, [floats(1, 4096), *_weights(4096, 4096)],
         _torch_grouped),
        ("64x512x512, 8 bits in groups of 64", _grouped, [floats(64, 512), *_weights(512, 512)],
         _torch_grouped),
    ]  # fmt: skip
    for name, function, arguments, torch in table:
        yield Case(
            "numerics", name, function, lambda made=arguments: made,
            sum(a.nbytes for a in arguments), torch, bandwidth=False,
        )  # fmt: skip
