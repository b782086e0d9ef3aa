"""A family of products of groups, such as tokens sorted by the expert that they go to."""

from __future__ import annotations

import torch

aten = torch.ops.aten


@torch.library.custom_op("transformers::grouped_mm_fallback", mutates_args=())
def grouped_mm_fallback(
    input: torch.Tensor, weight: torch.Tensor, offs: torch.Tensor
) -> torch.Tensor:
    """The operator of the package transformers; zeros past the last group."""
    found = input.new_zeros(input.shape[0], weight.shape[2])
    for matrix, (start, end) in zip(weight, _ranges(offs), strict=True):
        found[start:end] = input[start:end] @ matrix
    return found


@grouped_mm_fallback.register_fake
def _(input: torch.Tensor, weight: torch.Tensor, offs: torch.Tensor) -> torch.Tensor:
    return input.new_empty(input.shape[0], weight.shape[2])


@torch.library.custom_op("transformers::grouped_mm_fallback_backward", mutates_args=())
def grouped_mm_fallback_backward(
    input: torch.Tensor, weight: torch.Tensor, offs: torch.Tensor, grad_output: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Its gradients."""
    by_input = grouped_mm_fallback(grad_output, weight.mT, offs)
    ranges = _ranges(offs)
    return by_input, torch.stack([input[s:e].T @ grad_output[s:e] for s, e in ranges])


@grouped_mm_fallback_backward.register_fake
def _(
    input: torch.Tensor, weight: torch.Tensor, offs: torch.Tensor, grad_output: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.empty_like(input), torch.empty_like(weight)


def _ranges(ends: torch.Tensor) -> list[tuple[int, int]]:
    listed = ends.tolist()
    return list(zip([0, *listed[:-1]], listed, strict=True))


def grouped_products(
    rows: torch.Tensor, matrices: torch.Tensor, ends: torch.Tensor
) -> list[torch.Tensor]:
    """Rows are (8, 16), matrices (4, 16, 8); groups end at the ends, the second is empty."""
    transformers = torch.ops.transformers
    last = ends + torch.tensor([0, 0, 0, 1], dtype=torch.int32)
    # PyTorch infers shapes for this type alone.
    lhs, rhs = rows.bfloat16(), matrices.bfloat16()
    found = [
        aten._grouped_mm(lhs, rhs, last),
        aten._grouped_mm(rhs.mT, lhs.T, last),
        aten._grouped_mm(lhs.T, lhs, last),
        aten._grouped_mm(rhs, rhs.mT),
        transformers.grouped_mm_fallback(rows, matrices, ends.long()),
    ]
    backward = transformers.grouped_mm_fallback_backward
    return [*found, *backward(rows, matrices, ends, found[-1])]
