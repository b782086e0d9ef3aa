"""Products of matrices whose rows or columns come in groups, such as tokens sorted by expert."""

from __future__ import annotations

from typing import Any

from hlo import lax
from hlo import numpy as hnp
from hlo.diagnostics import UnsupportedError
from hlo.frontend.tracer import Tracer
from hlo.pytorch.ops.registry import aten, of_library


def _sizes(ends: Tracer) -> Tracer:
    """Of groups that end there."""
    starts = hnp.concatenate([hnp.zeros((1,), ends.dtype), ends[:-1]])
    return hnp.subtract(ends, starts)


def _transposed(value: Tracer) -> Tracer:
    return hnp.swapaxes(value, -1, -2)


@aten("_grouped_mm")
def grouped_mm(
    self: Tracer,
    mat2: Tracer,
    offs: Tracer | None = None,
    bias: Tracer | None = None,
    out_dtype: Any = None,
) -> Tracer:
    """A product for each group; `offs` says where groups end along the dimension that they share.

    Rows of a matrix by a matrix each, matrices by columns of one, and columns by rows; without
    `offs`, matrices by matrices. Rows and columns past the last group give zeros.
    """
    if bias is not None:
        raise UnsupportedError(
            "expected no bias, as in PyTorch itself; add it to the product",
            op="aten._grouped_mm.default",
        )
    dtype = out_dtype or self.dtype
    if offs is None:
        numbers = (((2,), (1,)), ((0,), (0,)))
        return lax.dot_general(self, mat2, numbers, preferred_element_type=dtype)
    sizes = _sizes(offs)
    if self.ndim == 3:
        turned = lax.ragged_dot(
            _transposed(mat2), _transposed(self), sizes, preferred_element_type=dtype
        )
        return _transposed(turned)
    return lax.ragged_dot(self, mat2, sizes, preferred_element_type=dtype)


@of_library("transformers.grouped_mm_fallback")
def grouped_mm_fallback(input: Tracer, weight: Tracer, offs: Tracer) -> Tracer:
    """The product of each group of rows with its own matrix; zeros past the last group."""
    return lax.ragged_dot(input, weight, _sizes(offs))


@of_library("transformers.grouped_mm_fallback_backward")
def grouped_mm_fallback_backward(
    input: Tracer, weight: Tracer, offs: Tracer, grad_output: Tracer
) -> tuple[Tracer, Tracer]:
    """Its gradients by the rows and by the matrices."""
    sizes = _sizes(offs)
    by_input = lax.ragged_dot(grad_output, _transposed(weight), sizes)
    return by_input, lax.ragged_dot(_transposed(input), grad_output, sizes)
