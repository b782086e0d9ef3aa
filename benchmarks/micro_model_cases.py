"""Micro-benchmarks of what models are made of beside their products: losses, norms, positions,
masks, images, quantisation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from micro_cases import Array, Case, Function, floats


def _integers(below: int, *shape: int, dtype: Any = np.int32) -> Array:
    return np.random.default_rng(below).integers(0, below, shape).astype(dtype)


def _cross_entropy(jax: Any, x: Any, labels: Any) -> Any:
    chosen = jax.numpy.take_along_axis(x, labels[:, None], 1)[:, 0]
    return (jax.nn.logsumexp(x, 1) - chosen).mean()


def _rms_norm(jax: Any, x: Any, weight: Any) -> Any:
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * weight


def _rotary(jax: Any, x: Any, cosine: Any, sine: Any) -> Any:
    half = x.shape[-1] // 2
    turned = jax.numpy.concatenate([-x[..., half:], x[..., :half]], -1)
    return x * cosine + turned * sine


def _torch_rotary(torch: Any, x: Any, cosine: Any, sine: Any) -> Any:
    half = x.shape[-1] // 2
    return x * cosine + torch.cat([-x[..., half:], x[..., :half]], -1) * sine


def _quantise(jax: Any, x: Any) -> Any:
    return jax.numpy.clip(jax.numpy.round(x * 31.7), -128, 127).astype(np.int8)


def _image(jax: Any, x: Any, mean: Any, scale: Any) -> Any:
    return (x.astype(np.float32) / 255 - mean) / scale


def model_cases() -> Iterator[Case]:
    """The cases, in the order of the table."""
    image = (8, 224, 224, 3)
    table: list[tuple[str, Function, list[Array], Function | None]] = [
        ("variance of rows 256x1024", lambda jax, x: x.var(1), [floats(256, 1024)],
         lambda torch, x: x.var(1, correction=0)),
        ("log-softmax 256x1024", lambda jax, x: jax.nn.log_softmax(x, 1), [floats(256, 1024)],
         lambda torch, x: torch.log_softmax(x, 1)),
        ("cross-entropy 512x10000", _cross_entropy, [floats(512, 10000), _integers(10000, 512)],
         lambda torch, x, y: torch.nn.functional.cross_entropy(x, y.long())),
        ("RMS norm 512x1024", _rms_norm, [floats(512, 1024), floats(1024)],
         lambda torch, x, w: torch.nn.functional.rms_norm(x, (1024,), w, 1e-6)),
        ("SwiGLU 256x4096", lambda jax, x, y: jax.nn.silu(x) * y,
         [floats(256, 4096), floats(4096, 256).reshape(256, 4096)],
         lambda torch, x, y: torch.nn.functional.silu(x) * y),
        ("rotary 4x12x128x64", _rotary,
         [floats(4, 12, 128, 64), floats(128, 64), floats(128, 64)], _torch_rotary),
        ("where 1048576", lambda jax, x, y: jax.numpy.where(x > 0, x, y),
         [floats(1 << 20), floats(1, 1 << 20)[0]],
         lambda torch, x, y: torch.where(x > 0, x, y)),
        ("f32 to i8, scaled and clipped 1048576", _quantise, [floats(1 << 20)],
         lambda torch, x: torch.clamp(torch.round(x * 31.7), -128, 127).to(torch.int8)),
        ("any of rows 1024x1024", lambda jax, x: (x > 3.5).any(1), [floats(1024, 1024)],
         lambda torch, x: (x > 3.5).any(1)),
        ("image, channels last 8x224x224x3", _image,
         [_integers(256, *image, dtype=np.uint8), floats(3), 1 + abs(floats(3))],
         lambda torch, x, m, s: (x.float() / 255 - m) / s),
        ("image, channels first 8x224x224x3",
         lambda jax, x, m, s: _image(jax, x, m, s).transpose(0, 3, 1, 2),
         [_integers(256, *image, dtype=np.uint8), floats(3), 1 + abs(floats(3))],
         lambda torch, x, m, s: ((x.float() / 255 - m) / s).permute(0, 3, 1, 2).contiguous()),
        ("flip 1024x1024", lambda jax, x: x[:, ::-1] * 1.0, [floats(1024, 1024)],
         lambda torch, x: x.flip(1)),
        ("every second of 2048x2048", lambda jax, x: x[::2, ::2] + 0, [floats(2048, 2048)],
         lambda torch, x: x[::2, ::2].contiguous()),
        ("batched product 512x8x8", lambda jax, x, y: x @ y,
         [floats(512, 8, 8), floats(512, 8, 8)], lambda torch, x, y: x @ y),
        ("running log-sum-exp 64x1024", lambda jax, x: jax.lax.cumlogsumexp(x, 1),
         [floats(64, 1024)], lambda torch, x: torch.logcumsumexp(x, 1)),
    ]  # fmt: skip
    for name, function, arguments, torch in table:
        yield Case(
            "models", name, function, lambda made=arguments: made,
            sum(a.nbytes for a in arguments), torch, bandwidth=False,
        )  # fmt: skip
