"""Gradients that PyTorch leaves whole, by its own operators."""

from __future__ import annotations

from math import inf

import torch

aten = torch.ops.aten


def scattered_gradients(
    x: torch.Tensor, line: torch.Tensor, volume: torch.Tensor, rows: torch.Tensor
) -> list[torch.Tensor]:
    """Of resizing, pads, pools, masks, norms, distances and bags; x is (2, 3, 6, 4), line is
    (2, 3, 8), volume is (1, 2, 4, 2, 6), rows is (5, 4).
    """
    planes, cube = [2, 3, 3, 2], [1, 2, 2, 2, 3]
    found = [
        aten.upsample_nearest1d_backward(line, [8], [2, 3, 4]),
        aten.upsample_nearest2d_backward(x, [6, 4], planes),
        aten.upsample_nearest2d_backward(x, [6, 4], [2, 3, 4, 9]),
        aten.upsample_nearest2d_backward(x, [6, 4], planes, 1.9, None),
        aten.upsample_nearest3d_backward(volume, [4, 2, 6], cube),
        aten._upsample_nearest_exact1d_backward(line, [8], [2, 3, 5]),
        aten._upsample_nearest_exact2d_backward(x, [6, 4], [2, 3, 4, 9]),
        aten._upsample_nearest_exact3d_backward(volume, [4, 2, 6], cube),
        aten._upsample_bilinear2d_aa_backward(x, [6, 4], [2, 3, 9, 3], False),
        aten._upsample_bicubic2d_aa_backward(x, [6, 4], [2, 3, 9, 3], True),
        aten.replication_pad1d_backward(line, line[..., :5], [1, 2]),
        aten.replication_pad2d_backward(x, x[..., :3, :3], [1, 0, 2, 1]),
        aten.replication_pad3d_backward(volume, volume[:, :, :2, :1, :3], [1, 2, 1, 0, 0, 2]),
    ]
    largest, where = aten.adaptive_max_pool2d(x, [4, 3])
    deepest, places = aten.adaptive_max_pool3d(volume, [2, 2, 4])
    found += [
        aten.adaptive_max_pool2d_backward(largest, x, where),
        aten.adaptive_max_pool3d_backward(deepest, volume, places),
        aten.masked_scatter_backward(x, x > 0, [12, 12]),
    ]
    for dim, shape in ((0, (5, 1)), (1, (1, 4))):
        norms = rows.norm(2, 1 - dim, keepdim=True)
        found += aten._weight_norm_interface_backward(rows + 1, rows, norms * 2, norms, dim)
        assert norms.shape == shape
    for p in (0.0, 1.0, 2.0, 3.0, inf):
        apart = torch.cdist(rows, rows[:3] + 1, p)
        found.append(aten._cdist_backward(apart + 1, rows, rows[:3] + 1, p, apart))
    indices, offsets = torch.tensor([0, 2, 2, 1, 4]), torch.tensor([0, 3, 3])
    for mode in (0, 1, 2):
        for padding in (-1, 2):
            held = aten._embedding_bag(
                rows, indices, offsets, False, mode, False, None, False, padding
            )
            found.append(held[0])
            found.append(
                aten._embedding_bag_backward(
                    held[0] + 1, indices, offsets, *held[1:], 5, False, mode, False, None, padding
                )
            )
    weights = rows.flatten()[:5]
    held = aten._embedding_bag(rows, indices, offsets, False, 0, False, weights)
    found.append(
        aten._embedding_bag_per_sample_weights_backward(
            held[0] + 1, rows, indices, offsets, held[1], 0
        )
    )
    return found


def grid_gradients(
    x: torch.Tensor, grid: torch.Tensor, volume: torch.Tensor, cube: torch.Tensor
) -> list[torch.Tensor]:
    """Of images read at the places of a grid, some of them outside; x is (2, 3, 5, 6)."""
    found: list[torch.Tensor] = []
    for padding in range(3):
        for corners in (False, True):
            for mode in range(3 if corners == (padding == 1) else 2):
                seen = aten.grid_sampler_2d(x, grid, mode, padding, corners)
                options = (mode, padding, corners, [True, True])
                found += aten.grid_sampler_2d_backward(seen + 1, x, grid, *options)
            if corners != (padding == 1):
                continue
            seen = aten.grid_sampler_3d(volume, cube, 0, padding, corners)
            options = (0, padding, corners, [True, True])
            found += aten.grid_sampler_3d_backward(seen + 1, volume, cube, *options)
    return found
