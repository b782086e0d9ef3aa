"""Convolutions of (N, C, ...)."""

from __future__ import annotations

from collections.abc import Sequence

from hlo import lax
from hlo import numpy as hnp
from hlo.frontend.tracer import Tracer


def conv_transposed(
    x: Tracer,
    weight: Tracer,
    strides: Sequence[int],
    cut: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    extra: Sequence[int],
    groups: int,
) -> Tracer:
    """The gradient of a convolution by its input.

    Args:
        x: (N, C, ...).
        weight: (C, O / groups, ...).
        strides, dilation: of the convolution, a number a dimension.
        cut: elements taken off the result at either end of a dimension.
        extra: elements more at the end of a dimension.
        groups: of features.

    Returns:
        (N, O, ...).
    """
    inputs, outputs, *window = weight.shape
    parts = lax.reshape(weight, (groups, inputs // groups, outputs, *window))
    kernel = lax.reshape(hnp.swapaxes(parts, 1, 2), (groups * outputs, inputs // groups, *window))
    reach = [d * (k - 1) for d, k in zip(dilation, window, strict=True)]
    around = [
        (r - low, r - high + more) for r, (low, high), more in zip(reach, cut, extra, strict=True)
    ]
    return lax.conv_general_dilated(
        x,
        kernel,
        (1,) * len(window),
        around,
        lhs_dilation=strides,
        rhs_dilation=dilation,
        feature_group_count=groups,
        window_reversal=(True,) * len(window),
    )
