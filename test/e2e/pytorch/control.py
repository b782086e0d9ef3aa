"""Families of what is not one operator after another: branches, loops, changes in place."""

from __future__ import annotations

import torch
from torch._higher_order_ops.scan import scan


def control_flow(x: torch.Tensor, count: torch.Tensor) -> list[torch.Tensor]:
    """Branches and loops; x is (3, 4) of positive numbers, count a number of 3."""

    def steps(i: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return i < count

    def step(i: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return i + 1, y * 0.5 + x

    def both(y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        inner = torch.cond(y.sum() > 100, lambda z: z - 1, lambda z: z + 1, (y,))
        return inner.sin(), y.sum()

    taken = torch.cond(x.sum() > 0, both, lambda y: (y.cos(), y.mean()), (x,))
    other = torch.cond(x.sum() < 0, lambda y: y * 2, lambda y: y - 1, (x,))
    looped = torch.while_loop(steps, step, (torch.zeros((), dtype=torch.int64), x + 0))
    return [*taken, other, *looped]


def scans(x: torch.Tensor) -> list[torch.Tensor]:
    """Loops over rows; x is (3, 4)."""

    def add(carry: torch.Tensor, row: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return carry + row, carry * row

    carry, rows = scan(add, torch.zeros(4), x)
    return [carry, rows]


def in_place(x: torch.Tensor) -> list[torch.Tensor]:
    """Tensors that change where nothing else shows them, and a region; x is (3, 4)."""
    with torch.enable_grad():
        plain = x.tanh()
    y = x * 2
    y.add_(1).mul_(x)
    wide = y.exp()
    wide.unsqueeze_(0)
    wide.clamp_min_(0.5)
    wide.transpose_(0, 2)
    filled = torch.zeros(3, 4)
    filled.copy_(y)
    filled.masked_fill_(x > 0, 7.0)
    seen = filled.relu_()
    return [y, wide, seen, filled, plain]
