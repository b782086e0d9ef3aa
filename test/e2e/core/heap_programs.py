"""Prints, as JSON, what calls of compiled programs ask of the heap and of the runtime's allocator.

python heap_programs.py [NAME...]: programs of shared/programs, or none for small ones with library
calls. heap_calls.c must be loaded ahead of the C library.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import hlo
from hlo.driver.arguments import from_specification
from hlo.executable import runtime

PROGRAMS = Path(__file__).resolve().parents[4] / "shared" / "programs"
CALLS = 5
Array = np.ndarray[Any, Any]


def random(*shape: int, dtype: str = "f4") -> Array:
    source = np.random.default_rng(0)
    values = source.random(shape) + (1j * source.random(shape) if dtype[0] == "c" else 0)
    return values.astype(dtype)


def spread(n: int) -> Array:
    """A matrix that is positive definite."""
    return random(n, n) @ random(n, n).T + n * np.eye(n, dtype="f4")


SMALL: dict[str, tuple[Callable[..., Any], Sequence[Array]]] = {
    "fft of lines": (jnp.fft.fft, [random(40, 96, dtype="c8")]),
    "fft of prime lengths": (jnp.fft.fft, [random(40, 1009, dtype="c8")]),
    "fft there and back": (lambda x: jnp.fft.irfft2(jnp.fft.rfft2(x) * 2), [random(64, 60)]),
    "fft back to odd lines": (lambda x: jnp.fft.irfft2(x, (64, 45)), [random(64, 23, dtype="c8")]),
    "sort": (jnp.sort, [random(100, 3000)]),
    "sort of columns": (lambda x: jnp.sort(x, axis=0), [random(3000, 20)]),
    "argsort": (jnp.argsort, [random(70_000)]),
    "argsort of many": (jnp.argsort, [random(200_000)]),
    "sort by two keys": (
        lambda x: jax.lax.sort((x, x[::-1], x), num_keys=2),
        [random(5000)],
    ),
    "top-k": (lambda x: jax.lax.top_k(x, 10), [random(50, 4000)]),
    "dot": (jnp.matmul, [random(300, 200), random(200, 500)]),
    "dots": (jnp.matmul, [random(20, 50, 40), random(20, 40, 60)]),
    "convolution": (
        lambda x, w: jax.lax.conv(x, w, (1, 1), "SAME"),
        [random(2, 16, 32, 32), random(8, 16, 3, 3)],
    ),
    "cholesky": (jnp.linalg.cholesky, [spread(50)]),
    "lu": (jax.scipy.linalg.lu_factor, [random(60, 60)]),
    "solve": (jnp.linalg.solve, [spread(60), random(60, 5)]),
    "qr": (jnp.linalg.qr, [random(60, 40)]),
    "svd": (lambda x: jnp.linalg.svd(x, full_matrices=False), [random(60, 40)]),
    "eigh": (jnp.linalg.eigh, [spread(40)]),
    "eig": (jnp.linalg.eig, [random(40, 40)]),
    "schur": (jax.scipy.linalg.schur, [random(40, 40)]),
    "tridiagonal solve": (
        lambda d, b: jax.lax.linalg.tridiagonal_solve(d, d, d, b, perturb_singular=True),
        [random(40), random(40, 6)],
    ),
    "in a loop": (
        lambda x: jax.lax.fori_loop(0, 4, lambda _, a: jnp.sort(jnp.fft.fft(a).real), x),
        [random(30, 64)],
    ),
}


def program(name: str) -> tuple[str, Sequence[Array]]:
    if name in SMALL:
        function, arguments = SMALL[name]
        return jax.jit(function).lower(*arguments).as_text(), arguments
    path = PROGRAMS / f"{name}.mlir"
    return path.read_text(), from_specification(path.with_suffix(".json"))


def asked(name: str) -> dict[str, float]:
    """A call's requests to the heap, and to the allocator beyond its results and one arena."""
    text, arguments = program(name)
    compiled = hlo.compile(text)
    for _ in range(3):
        compiled(*arguments)
    heap_calls = ctypes.CDLL(None).heap_calls
    before, blocks = heap_calls(), runtime.memory_statistics()["allocations"]
    for _ in range(CALLS):
        compiled(*arguments)
    after = heap_calls()
    blocks = (runtime.memory_statistics()["allocations"] - blocks) / CALLS
    memory = compiled.memory_analysis()
    blocks -= sum(result.shares is None for result in memory.results) + (memory.arena_bytes > 0)
    return {"heap": (after - before) / CALLS, "blocks": blocks}


if __name__ == "__main__":
    print(json.dumps({name: asked(name) for name in sys.argv[1:] or SMALL}))
