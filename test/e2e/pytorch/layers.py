"""Families of operators that are layers of networks: attention, convolutions, pools."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812

aten = torch.ops.aten


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor, bias: torch.Tensor
) -> list[torch.Tensor]:
    """Attention: plain, causal, masked (one row sees nothing), grouped, in bfloat16; gradients."""
    found = [
        F.scaled_dot_product_attention(q, k, v),
        F.scaled_dot_product_attention(q, k, v, is_causal=True),
    ]
    found += [
        F.scaled_dot_product_attention(q, k, v, mask),
        F.scaled_dot_product_attention(q, k, v, bias),
    ]
    found += [F.scaled_dot_product_attention(q, k, v, scale=0.2)]
    found += [F.scaled_dot_product_attention(q, k[:, :2], v[:, :2], enable_gqa=True)]
    found += [F.scaled_dot_product_attention(q.bfloat16(), k.bfloat16(), v.bfloat16())]
    out, total = aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, True)
    backward = aten._scaled_dot_product_flash_attention_for_cpu_backward
    found += [out, total, *backward(out * 2, q, k, v, out, total, 0.0, True)]
    few = (k[:, 2:], v[:, 2:])
    out, total = aten._scaled_dot_product_flash_attention_for_cpu(q, *few, 0.0, False)
    return [*found, out, total, *backward(out * 2, q, *few, out, total, 0.0, False)]


def convolutions(
    x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor, line: torch.Tensor, u: torch.Tensor
) -> list[torch.Tensor]:
    """Convolutions and gradients; x is (2, 4, 8, 9), w is (6, 4, 3, 3), line is (2, 4, 10)."""
    found = [
        F.conv2d(x, w, bias),
        F.conv2d(x, w, stride=2, padding=1),
        F.conv2d(x, w, padding="same"),
    ]
    found += [F.conv2d(x, w[:, :2], groups=2, dilation=2), F.conv2d(x, w[:4, :1], groups=4)]
    found += [F.conv2d(x[0], w, padding="valid"), F.conv1d(line, w[..., 0], bias, 2, 1)]
    found += [F.conv3d(x[:, None], w[:, :1, None]), F.conv1d(line, w[..., 0], padding="same")]
    found += [F.conv_transpose2d(x, u, stride=2, padding=1, output_padding=1)]
    found += [
        F.conv_transpose2d(x, u[:, :2], groups=2),
        F.conv_transpose1d(line, u[..., 0], dilation=2),
    ]
    found += [F.conv_transpose3d(x[:, :, None], u[:, :, None])]
    mask = [True, True, True]
    for weight, stride, pad, gap, groups in (
        (w, 1, 1, 1, 1),
        (w, 2, 1, 1, 1),
        (w[:, :2], 1, 2, 2, 2),
        (w[:4, :1], 2, 0, 1, 4),
    ):
        out = F.conv2d(x, weight, stride=stride, padding=pad, dilation=gap, groups=groups)
        found += aten.convolution_backward(
            out,
            x,
            weight,
            [weight.shape[0]],
            [stride] * 2,
            [pad] * 2,
            [gap] * 2,
            False,
            [0, 0],
            groups,
            mask,
        )
    out = aten.convolution(x, u, None, [2, 2], [1, 1], [1, 1], True, [1, 1], 1)
    found += aten.convolution_backward(
        out, x, u, [u.shape[1]], [2, 2], [1, 1], [1, 1], True, [1, 1], 1, mask
    )
    return found


def normalization(
    x: torch.Tensor, w: torch.Tensor, m: torch.Tensor, r: torch.Tensor
) -> list[torch.Tensor]:
    """Normalisations; x is (3, 4, 5, 6), w, m and r are (4,)."""
    found = [
        F.layer_norm(x, (5, 6)),
        F.layer_norm(x, (6,), r, r * 2),
        *aten.native_layer_norm(x, [6], r, None, 1e-5),
    ]
    found += [F.rms_norm(x, (6,), r), F.rms_norm(x, (5, 6)), *aten._fused_rms_norm(x, [6], r, 1e-6)]
    found += [F.batch_norm(x, m, w.abs(), w, m), F.batch_norm(x, None, None, w, m, training=True)]
    found += aten._native_batch_norm_legit_no_training(x, w, m, m, w.abs(), 0.1, 1e-5)[:1]
    found += aten._native_batch_norm_legit_functional(x, w, m, m, w.abs(), True, 0.1, 1e-5)
    found += aten._native_batch_norm_legit_functional(x, w, m, m, w.abs(), False, 0.1, 1e-5)[:1]
    found += aten._native_batch_norm_legit.no_stats(x, w, m, True, 0.1, 1e-5)
    found += [F.group_norm(x, 2, w, m), *aten.native_group_norm(x, w, m, 3, 4, 30, 2, 1e-5)]
    found += [F.instance_norm(x, weight=w, bias=m), F.layer_norm(x.bfloat16(), (6,))]
    return found


def pooling(x: torch.Tensor, line: torch.Tensor) -> list[torch.Tensor]:
    """Pools and their gradients; x is (2, 3, 8, 9), line is (2, 3, 10)."""
    found = [F.max_pool2d(x, 2), F.max_pool2d(x, 3, 2, 1), F.max_pool2d(x, 3, 2, 1, ceil_mode=True)]
    found += [F.max_pool2d(x, 2, 1, 0, 2), F.max_pool1d(line, 3), F.max_pool3d(x[None], 2)]
    found += [
        F.avg_pool2d(x, 2),
        F.avg_pool2d(x, 3, 2, 1),
        F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    ]
    found += [F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), F.avg_pool2d(x, 2, divisor_override=3)]
    found += [F.avg_pool1d(line, 4, 3), F.avg_pool3d(x[None], 2), F.adaptive_avg_pool2d(x, 1)]
    found += [
        F.adaptive_avg_pool2d(x, (4, 3)),
        F.adaptive_avg_pool2d(x, (3, None)),
        F.adaptive_avg_pool1d(line, 5),
    ]
    found += [aten._adaptive_avg_pool2d(x, [2, 2]), *aten.adaptive_max_pool2d(x, [3, 2])]
    for args in (([2, 2], [2, 2], [0, 0], [1, 1], False), ([3, 3], [2, 2], [1, 1], [1, 1], True)):
        out, index = aten.max_pool2d_with_indices(x, *args)
        found += [out, index, aten.max_pool2d_with_indices_backward(out, x, *args, index)]
    out, index = aten.max_pool2d_with_indices(x, [2, 2], [1, 1], [0, 0], [2, 2], False)
    found += [
        index,
        aten.max_pool2d_with_indices_backward(out, x, [2, 2], [1, 1], [0, 0], [2, 2], False, index),
    ]
    for pool in (
        ([2, 2], [2, 2], [0, 0], False, True, None),
        ([3, 3], [2, 2], [1, 1], True, False, None),
    ):
        found.append(aten.avg_pool2d_backward(aten.avg_pool2d(x, *pool), x, *pool))
    for size in ([1, 1], [4, 3], [3, 2]):
        found.append(aten._adaptive_avg_pool2d_backward(aten._adaptive_avg_pool2d(x, size), x))
    grad = line[:, :, :4].contiguous()
    return [*found, aten.embedding_dense_backward(grad, grad[..., 0].abs().long() % 3, 5, 1, False)]


def resampling(
    x: torch.Tensor, line: torch.Tensor, grid: torch.Tensor, volume: torch.Tensor
) -> list[torch.Tensor]:
    """Interpolation; x is (2, 3, 5, 6), line is (2, 3, 7), the last are grids of two and three
    coordinates."""
    found = [
        F.interpolate(x, scale_factor=2),
        F.interpolate(x, size=(3, 9)),
        F.interpolate(line, size=4),
    ]
    found += [
        F.interpolate(x, size=(7, 4), mode="nearest-exact"),
        F.interpolate(x, size=(8, 11), mode="bilinear"),
    ]
    found += [F.interpolate(x, scale_factor=(1.5, 2.0), mode="bilinear", align_corners=True)]
    found += [
        F.interpolate(x, scale_factor=0.6, mode="bilinear"),
        F.interpolate(line, size=13, mode="linear"),
    ]
    found += [
        F.interpolate(x, size=(9, 9), mode="bicubic"),
        F.interpolate(x, size=(9, 9), mode="bicubic", align_corners=True),
    ]
    found += [F.interpolate(x[None], size=(4, 7, 8), mode="trilinear")]
    for mode in ("bilinear", "bicubic"):
        found += [
            F.interpolate(x, size=(3, 4), mode=mode, antialias=True),
            F.interpolate(x, size=(7, 2), mode=mode, antialias=True, align_corners=True),
        ]
    for padding in ("zeros", "border", "reflection"):
        for mode in ("bilinear", "nearest", "bicubic"):
            found += [F.grid_sample(x, grid, mode, padding, align_corners=c) for c in (True, False)]
        found.append(F.grid_sample(x[None], volume, "bilinear", padding, align_corners=False))
    return found
