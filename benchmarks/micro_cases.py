"""The micro-benchmarks: one operation or a small fusion each, at sizes from the caches to DRAM."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]
# (jax.numpy, jax.lax or a module with its names) -> results
Function = Callable[..., Any]


@dataclass(frozen=True)
class Case:
    """One measurement.

    Attributes:
        group: the row group in the table.
        name: operation and shape.
        function: (jax, *arguments) -> result; lowered to StableHLO for all compilers.
        arguments: makes the arguments.
        moved: bytes that must move between memory and cores, arguments and results once each.
        torch: (torch, *arguments) -> result, where the operation is one of torch's.
        bandwidth: whether memory bandwidth is the limit, so that GB/s means something.
    """

    group: str
    name: str
    function: Function
    arguments: Callable[[], list[Array]]
    moved: int
    torch: Function | None = None
    bandwidth: bool = True


def floats(*shape: int, dtype: Any = np.float32) -> Array:
    """Of a normal distribution; the same ones for the same shape."""
    rng = np.random.default_rng(sum(shape))
    return rng.standard_normal(shape, dtype=np.float32).astype(dtype)


def _indices(count: int, below: int) -> Array:
    return np.random.default_rng(count).integers(0, below, count, dtype=np.int32)


def _chain(jax: Any, x: Any) -> Any:
    return jax.numpy.sin(2 * x) + 1


def _layernorm(jax: Any, x: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    centred = x - mean
    variance = (centred * centred).mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + 1e-5)


def _scatter_add(jax: Any, table: Any, at: Any, rows: Any) -> Any:
    return table.at[at].add(rows)


def _torch_scatter_add(torch: Any, table: Any, at: Any, rows: Any) -> Any:
    return table.index_add(0, at.long(), rows)


def _top_k(jax: Any, x: Any) -> Any:
    return jax.lax.top_k(x, 64)


ELEMENTWISE = (4096, 262144, 16777216)
MATRICES = ((128, 128), (512, 512), (4096, 4096))
ROWS = ((32, 128), (256, 1024), (4096, 1024), (16384, 1024))


def _label(shape: tuple[int, ...]) -> str:
    return "x".join(str(size) for size in shape)


def cases() -> Iterator[Case]:
    """All cases, in the order of the table."""
    yield from _elementwise_cases()
    yield from _row_cases()
    yield from _reduction_cases()
    yield from _movement_cases()
    yield from _indexing_cases()
    yield from _ordering_cases()
    yield from _conversion_cases()
    yield from _attention_cases()


def _elementwise_cases() -> Iterator[Case]:
    functions: list[tuple[str, Function, Function, int]] = [
        ("add", lambda jax, x: x + x, lambda torch, x: x + x, 8),
        ("sin(2x)+1", _chain, lambda torch, x: torch.sin(2 * x) + 1, 8),
        (
            "sum(sin(2x)+1)",
            lambda jax, x: _chain(jax, x).sum(),
            lambda torch, x: (torch.sin(2 * x) + 1).sum(),
            4,
        ),
        (
            "GELU (tanh)",
            lambda jax, x: jax.nn.gelu(x, approximate=True),
            lambda torch, x: torch.nn.functional.gelu(x, approximate="tanh"),
            8,
        ),
        (
            "GELU (erf)",
            lambda jax, x: jax.nn.gelu(x, approximate=False),
            lambda torch, x: torch.nn.functional.gelu(x),
            8,
        ),
    ]
    for name, function, torch, width in functions:
        for n in ELEMENTWISE:
            yield Case(
                "elementwise", f"{name} {n}", function, lambda n=n: [floats(n)], width * n, torch
            )


def _row_cases() -> Iterator[Case]:
    for shape in ROWS:
        size, make = shape[0] * shape[1], lambda shape=shape: [floats(*shape)]
        yield Case(
            "rows", f"softmax {_label(shape)}", lambda jax, x: jax.nn.softmax(x, -1), make,
            8 * size, lambda torch, x: torch.softmax(x, -1),
        )  # fmt: skip
    for shape in ROWS:
        size, make = shape[0] * shape[1], lambda shape=shape: [floats(*shape)]
        yield Case(
            "rows", f"layernorm {_label(shape)}", _layernorm, make, 8 * size,
            lambda torch, x: torch.nn.functional.layer_norm(x, x.shape[-1:]),
        )  # fmt: skip


def _reduction_cases() -> Iterator[Case]:
    reductions: list[tuple[str, Function, Function]] = [
        ("sum of rows", lambda jax, x: x.sum(1), lambda torch, x: x.sum(1)),
        ("sum of columns", lambda jax, x: x.sum(0), lambda torch, x: x.sum(0)),
        ("sum of all", lambda jax, x: x.sum(), lambda torch, x: x.sum()),
        ("max of columns", lambda jax, x: x.max(0), lambda torch, x: x.amax(0)),
        ("argmax of rows", lambda jax, x: x.argmax(1), lambda torch, x: x.argmax(1)),
        ("argmax of columns", lambda jax, x: x.argmax(0), lambda torch, x: x.argmax(0)),
    ]
    for name, function, torch in reductions:
        for shape in MATRICES:
            yield Case(
                "reductions", f"{name} {_label(shape)}", function,
                lambda shape=shape: [floats(*shape)], 4 * shape[0] * shape[1], torch,
            )  # fmt: skip


def _movement_cases() -> Iterator[Case]:
    for shape in (*MATRICES, (1000, 777)):
        yield Case(
            "movement", f"transpose {_label(shape)}", lambda jax, x: x.T,
            lambda shape=shape: [floats(*shape)], 8 * shape[0] * shape[1],
            lambda torch, x: x.t().contiguous(),
        )  # fmt: skip
    yield Case(
        "movement", "transpose 32x128x12x64 (0213)",
        lambda jax, x: x.transpose(0, 2, 1, 3), lambda: [floats(32, 128, 12, 64)],
        8 * 32 * 128 * 12 * 64, lambda torch, x: x.permute(0, 2, 1, 3).contiguous(),
    )  # fmt: skip
    yield Case(
        "movement", "transpose 32x3x224x224 (0231)",
        lambda jax, x: x.transpose(0, 2, 3, 1), lambda: [floats(32, 3, 224, 224)],
        8 * 32 * 3 * 224 * 224, lambda torch, x: x.permute(0, 2, 3, 1).contiguous(),
    )  # fmt: skip
    for shape in ((128, 128), (1024, 1024), (2048, 4096)):
        yield Case(
            "movement", f"concatenate 2 of {_label(shape)} (axis 1)",
            lambda jax, x, y: jax.numpy.concatenate([x, y], 1),
            lambda shape=shape: [floats(*shape), floats(*shape)], 16 * shape[0] * shape[1],
            lambda torch, x, y: torch.cat([x, y], 1),
        )  # fmt: skip
        yield Case(
            "movement", f"pad {_label(shape)} by 1",
            lambda jax, x: jax.numpy.pad(x, 1), lambda shape=shape: [floats(*shape)],
            8 * shape[0] * shape[1], lambda torch, x: torch.nn.functional.pad(x, (1, 1, 1, 1)),
        )  # fmt: skip


def _indexing_cases() -> Iterator[Case]:
    for count, rows, width in ((128, 1000, 64), (8192, 8192, 256), (65536, 30000, 768)):
        moved = 8 * count * width
        yield Case(
            "indexing", f"gather {count} rows of {rows}x{width}",
            lambda jax, t, i: jax.numpy.take(t, i, axis=0, mode="clip"),
            lambda c=count, r=rows, w=width: [floats(r, w), _indices(c, r)], moved,
            lambda torch, t, i: t[i.long()],
        )  # fmt: skip
    for count, rows, width in ((128, 1000, 64), (8192, 8192, 256), (65536, 8192, 16)):
        yield Case(
            "indexing", f"scatter-add {count} rows into {rows}x{width}", _scatter_add,
            lambda c=count, r=rows, w=width: [floats(r, w), _indices(c, r), floats(c, w)],
            4 * (2 * rows + 3 * count) * width, _torch_scatter_add,
        )  # fmt: skip
    yield Case(
        "indexing", "scatter-add 1048576 scalars into 65536", _scatter_add,
        lambda: [floats(65536), _indices(1048576, 65536), floats(1048576)],
        8 * 1048576, _torch_scatter_add, bandwidth=False,
    )  # fmt: skip


def _ordering_cases() -> Iterator[Case]:
    for n in (1000, 65536, 1000000):
        make = lambda n=n: [floats(n)]  # noqa: E731
        yield Case("ordering", f"sort {n}", lambda jax, x: jax.numpy.sort(x), make, 8 * n,
                   lambda torch, x: torch.sort(x).values, bandwidth=False)  # fmt: skip
        yield Case("ordering", f"argsort {n}", lambda jax, x: jax.numpy.argsort(x), make, 8 * n,
                   lambda torch, x: torch.argsort(x, stable=True), bandwidth=False)  # fmt: skip
    yield Case("ordering", "sort 4096x256 (rows)", lambda jax, x: jax.numpy.sort(x, axis=1),
               lambda: [floats(4096, 256)], 8 << 20,
               lambda torch, x: torch.sort(x, 1).values, bandwidth=False)  # fmt: skip
    yield Case("ordering", "top-64 of 64x50257", _top_k, lambda: [floats(64, 50257)],
               4 * 64 * 50257, lambda torch, x: torch.topk(x, 64), bandwidth=False)  # fmt: skip
    for shape, axis in (((1000000,), 0), ((1024, 1024), 1), ((1024, 1024), 0), ((64, 65536), 1)):
        size = int(np.prod(shape))
        yield Case("ordering", f"cumsum {_label(shape)} axis {axis}",
                   lambda jax, x, a=axis: jax.numpy.cumsum(x, a),
                   lambda shape=shape: [floats(*shape)], 8 * size,
                   lambda torch, x, a=axis: torch.cumsum(x, a))  # fmt: skip


def _conversion_cases() -> Iterator[Case]:
    pairs = [
        ("f32", "bf16", np.float32, ml_dtypes.bfloat16),
        ("bf16", "f32", ml_dtypes.bfloat16, np.float32),
        ("f32", "f16", np.float32, np.float16),
        ("f16", "f32", np.float16, np.float32),
        ("f32", "i8", np.float32, np.int8),
    ]
    for source, target, start, end in pairs:
        for n in ELEMENTWISE:
            width = np.dtype(start).itemsize + np.dtype(end).itemsize
            yield Case("conversions", f"{source} to {target} {n}",
                       lambda jax, x, t=end: x.astype(t),
                       lambda n=n, t=start: [floats(n, dtype=t)], n * width)  # fmt: skip
    for n in ELEMENTWISE:
        yield Case("conversions", f"bf16 GELU (tanh) {n}",
                   lambda jax, x: jax.nn.gelu(x, approximate=True),
                   lambda n=n: [floats(n, dtype=ml_dtypes.bfloat16)], 4 * n)  # fmt: skip
        yield Case("conversions", f"f16 add {n}", lambda jax, x: x + x,
                   lambda n=n: [floats(n, dtype=np.float16)], 4 * n)  # fmt: skip
        yield Case("conversions", f"i32 // 7 {n}", lambda jax, x: x // 7,
                   lambda n=n: [_indices(n, 1 << 30)], 8 * n)  # fmt: skip


def _attention(jax: Any, q: Any, k: Any, v: Any, *, causal: bool) -> Any:
    np_ = jax.numpy
    scores = np_.einsum("hqd,hkd->hqk", q, k) * q.shape[-1] ** -0.5
    if causal:
        before = np_.arange(k.shape[1])[None, :] <= np_.arange(q.shape[1])[:, None]
        scores = np_.where(before, scores, -np_.inf)
    return np_.einsum("hqk,hkd->hqd", jax.nn.softmax(scores, -1), v)


def _attention_cases() -> Iterator[Case]:
    """Heads of 64: prefill, with and without a causal mask, and one query against many keys."""
    sizes = [(12, 128, 128, False), (12, 512, 512, False), (12, 512, 512, True)]
    for heads, queries, keys, causal in [*sizes, (12, 1, 1024, False)]:
        q, kv = (heads, queries, 64), (heads, keys, 64)
        yield Case(
            "attention", f"{'causal ' * causal}attention {queries} on {keys}, {heads} heads",
            lambda jax, *qkv, c=causal: _attention(jax, *qkv, causal=c),
            lambda q=q, kv=kv: [floats(*q), floats(*kv), floats(*kv)],
            4 * 64 * heads * 2 * (queries + keys),
            lambda torch, *qkv, c=causal: torch.nn.functional.scaled_dot_product_attention(
                *(x[None] for x in qkv), is_causal=c
            ),
            bandwidth=False,
        )  # fmt: skip
