"""Dot products and convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hlo.frontend import attributes
from hlo.frontend.dtypes import DtypeLike, canonical_dtype, dtype_name
from hlo.frontend.operands import dtype_error, shape_error, to_tracer
from hlo.frontend.operation import operation
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.trace import emit
from hlo.frontend.tracer import ArrayLike, Tracer
from hlo.lax.reductions import dilated, padded, window_padding, windows

PRECISIONS = ("DEFAULT", "HIGH", "HIGHEST")

DotDimensionNumbers = tuple[
    tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]
]
"""((lhs contracting, rhs contracting), (lhs batch, rhs batch))."""


def _precision(op: str, precision: str | None) -> Any:
    name = (precision or "DEFAULT").upper()
    if name not in PRECISIONS:
        raise dtype_error(op, f"expected a precision among {PRECISIONS}, found {precision!r}")
    return attributes.precision_config(name)


@operation
def dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: DotDimensionNumbers,
    precision: str | None = None,
    preferred_element_type: DtypeLike = None,
) -> Tracer:
    """Products summed over contracting dimensions, for each index of the batch dimensions.

    The result has the batch dimensions, then the left operand's others, then the right's.

    Args:
        lhs: left operand.
        rhs: right operand.
        dimension_numbers: ((lhs contracting, rhs contracting), (lhs batch, rhs batch)).
        precision: ``DEFAULT``, ``HIGH`` or ``HIGHEST``.
        preferred_element_type: dtype of the result and of the sum; the operands' by default.
    """
    a, b = to_tracer(lhs), to_tracer(rhs)
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = (
        tuple(tuple(int(d) for d in dims) for dims in pair) for pair in dimension_numbers
    )
    for name, left, right in (
        ("contracting", lhs_contract, rhs_contract),
        ("batch", lhs_batch, rhs_batch),
    ):
        if not _dimensions_fit(a, b, left, right):
            raise shape_error(
                "hlo.dot_general",
                f"{name} dimensions {left} of {a.aval} and {right} of {b.aval} do not match",
            )
    if a.dtype != b.dtype and preferred_element_type is None:
        raise dtype_error(
            "hlo.dot_general",
            f"expected operands of one element type or a preferred_element_type, found "
            f"{dtype_name(a.dtype)} and {dtype_name(b.dtype)}",
        )
    dtype = a.dtype if preferred_element_type is None else canonical_dtype(preferred_element_type)
    lhs_free = [d for d in range(a.ndim) if d not in lhs_contract + lhs_batch]
    rhs_free = [d for d in range(b.ndim) if d not in rhs_contract + rhs_batch]
    shape = [
        *(a.shape[d] for d in lhs_batch),
        *(a.shape[d] for d in lhs_free),
        *(b.shape[d] for d in rhs_free),
    ]
    numbers = (
        f"#hlo.dot<lhs_batching_dimensions = {list(lhs_batch)}, "
        f"rhs_batching_dimensions = {list(rhs_batch)}, "
        f"lhs_contracting_dimensions = {list(lhs_contract)}, "
        f"rhs_contracting_dimensions = {list(rhs_contract)}>"
    )
    attribute = {
        "dot_dimension_numbers": attributes.parsed(numbers),
        "precision_config": _precision("hlo.dot_general", precision),
    }
    return emit("dot_general", (a, b), (ShapeDtype(shape, dtype),), attribute)[0]


def _dimensions_fit(a: Tracer, b: Tracer, left: Sequence[int], right: Sequence[int]) -> bool:
    in_range = all(0 <= d < a.ndim for d in left) and all(0 <= d < b.ndim for d in right)
    return (
        in_range
        and len(left) == len(right)
        and len(set(left)) == len(left)
        and len(set(right)) == len(right)
        and all(a.shape[i] == b.shape[j] for i, j in zip(left, right, strict=True))
    )


@operation
def ragged_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    precision: str | None = None,
    preferred_element_type: DtypeLike = None,
) -> Tracer:
    """Product of a matrix whose rows, or columns, come in groups of different sizes.

    Args:
        lhs: (m, k).
        rhs: (groups, k, n), a matrix for each group of rows, and the result is (m, n), with zeros
            in rows past the last group; or (k, n), and the groups are of columns of `lhs` and rows
            of `rhs`, and the result is (groups, m, n).
        group_sizes: integers (groups,).
        precision: ``DEFAULT``, ``HIGH`` or ``HIGHEST``.
        preferred_element_type: dtype of the result and of the sum; the operands' by default.
    """
    a, b, sizes = to_tracer(lhs), to_tracer(rhs), to_tracer(group_sizes)
    op = "hlo.ragged_dot"
    if a.ndim != 2 or b.ndim not in (2, 3) or sizes.ndim != 1 or a.shape[1] != b.shape[-2]:
        raise shape_error(
            op,
            "expected (m, k), (groups, k, n) or (k, n), and (groups,), found "
            f"{a.aval}, {b.aval} and {sizes.aval}",
        )
    if b.ndim == 3 and b.shape[0] != sizes.shape[0]:
        raise shape_error(op, f"expected {b.shape[0]} group sizes, found {sizes.aval}")
    if a.dtype != b.dtype and preferred_element_type is None:
        raise dtype_error(op, f"expected operands of one type, found {a.aval} and {b.aval}")
    ragged, group, contracting = (0, "[0]", 1) if b.ndim == 3 else (1, "[]", 0)
    numbers = (
        "#hlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], "
        f"lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [{contracting}], "
        f"lhs_ragged_dimensions = [{ragged}], rhs_group_dimensions = {group}>"
    )
    attribute = {
        "ragged_dot_dimension_numbers": attributes.parsed(numbers),
        "precision_config": _precision(op, precision),
    }
    dtype = a.dtype if preferred_element_type is None else canonical_dtype(preferred_element_type)
    shape = (a.shape[0], b.shape[-1])
    shape = shape if b.ndim == 3 else (sizes.shape[0], *shape)
    return emit("ragged_dot", (a, b, sizes), (ShapeDtype(shape, dtype),), attribute)[0]


@operation
def dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    precision: str | None = None,
    preferred_element_type: DtypeLike = None,
) -> Tracer:
    """Product of vectors and matrices: the left's last dimension with the right's first."""
    a, b = to_tracer(lhs), to_tracer(rhs)
    if a.ndim not in (1, 2) or b.ndim not in (1, 2):
        raise shape_error("hlo.dot", f"expected vectors or matrices, found {a.aval} and {b.aval}")
    numbers = (((a.ndim - 1,), (0,)), ((), ()))
    return dot_general(a, b, numbers, precision, preferred_element_type)


@dataclass(frozen=True)
class ConvDimensionNumbers:
    """Which dimension of each array is what; spatial dimensions in matching order.

    Attributes:
        lhs_spec: batch, feature, then spatial dimensions of the input.
        rhs_spec: output feature, input feature, then spatial dimensions of the kernel.
        out_spec: batch, feature, then spatial dimensions of the result.
    """

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


def conv_dimension_numbers(
    rank: int, spec: ConvDimensionNumbers | tuple[str, str, str] | None
) -> ConvDimensionNumbers:
    """Dimension numbers of letters such as ("NHWC", "HWIO", "NHWC"); None is NC.., OI.., NC...

    Raises:
        ShapeError: if a letter is missing or there twice.
    """
    if isinstance(spec, ConvDimensionNumbers):
        return spec
    if spec is None:
        identity = tuple(range(rank))
        return ConvDimensionNumbers(identity, identity, identity)
    lhs, rhs, out = spec
    spatial = [c for c in rhs if c not in "OI"]
    expected = ({"N", "C", *spatial}, {"O", "I", *spatial}, {"N", "C", *spatial})
    for letters, needed in zip(spec, expected, strict=True):
        if len(letters) != rank or set(letters) != needed:
            raise shape_error(
                "hlo.convolution", f"dimension letters {spec} do not describe rank {rank}"
            )
    return ConvDimensionNumbers(
        tuple(lhs.index(c) for c in ("N", "C", *spatial)),
        tuple(rhs.index(c) for c in ("O", "I", *spatial)),
        tuple(out.index(c) for c in ("N", "C", *spatial)),
    )


def _letters(spec: Sequence[int], names: str) -> str:
    places = dict(zip(spec[:2], names, strict=True))
    places.update({dimension: str(i) for i, dimension in enumerate(spec[2:])})
    return "[" + ", ".join(places[d] for d in range(len(spec))) + "]"


@operation
def conv_general_dilated(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvDimensionNumbers | tuple[str, str, str] | None = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: str | None = None,
    preferred_element_type: DtypeLike = None,
    window_reversal: Sequence[bool] | None = None,
) -> Tracer:
    """Convolution (cross-correlation, unless reversed) over any number of spatial dimensions.

    Args:
        lhs: input.
        rhs: kernel, of the input's dtype.
        window_strides: steps between windows, one a spatial dimension.
        padding: ``VALID``, ``SAME``, or (low, high) a spatial dimension.
        lhs_dilation: spacing of the input's elements (transposed convolution).
        rhs_dilation: spacing of the kernel's elements.
        dimension_numbers: which dimension is what.
        feature_group_count: groups of input features, each with kernels of its own.
        batch_group_count: groups of the batch, each with output features of its own.
        precision: ``DEFAULT``, ``HIGH`` or ``HIGHEST``.
        preferred_element_type: dtype of the result and of the sum.
        window_reversal: spatial dimensions along which the kernel is reversed.
    """
    x, kernel = to_tracer(lhs), to_tracer(rhs)
    op = "hlo.convolution"
    if x.ndim != kernel.ndim or x.ndim < 2:
        raise shape_error(op, f"expected operands of one rank >= 2, found {x.aval}, {kernel.aval}")
    if x.dtype != kernel.dtype and preferred_element_type is None:
        raise dtype_error(op, f"expected operands of one type, found {x.aval} and {kernel.aval}")
    numbers = conv_dimension_numbers(x.ndim, dimension_numbers)
    rank = x.ndim - 2
    ones = (1,) * rank
    strides = tuple(window_strides)
    spacing, kernel_spacing = tuple(lhs_dilation or ones), tuple(rhs_dilation or ones)
    if any(len(v) != rank or any(e < 1 for e in v) for v in (strides, spacing, kernel_spacing)):
        raise shape_error(op, f"expected {rank} positive strides and dilations")
    _check_features(op, x, kernel, numbers, feature_group_count, batch_group_count)
    extents = dilated([x.shape[d] for d in numbers.lhs_spec[2:]], spacing)
    window = dilated([kernel.shape[d] for d in numbers.rhs_spec[2:]], kernel_spacing)
    pads = window_padding(padding, extents, window, strides)
    spatial = windows(padded(extents, pads), window, strides)
    shape = [0] * x.ndim
    shape[numbers.out_spec[0]] = x.shape[numbers.lhs_spec[0]] // batch_group_count
    shape[numbers.out_spec[1]] = kernel.shape[numbers.rhs_spec[0]]
    for dimension, extent in zip(numbers.out_spec[2:], spatial, strict=True):
        shape[dimension] = extent
    text = (
        f"#hlo.conv<{_letters(numbers.lhs_spec, 'bf')}x{_letters(numbers.rhs_spec, 'oi')}"
        f"->{_letters(numbers.out_spec, 'bf')}>"
    )
    attribute = {
        "window_strides": attributes.i64s(strides),
        "padding": attributes.pairs(pads),
        "lhs_dilation": attributes.i64s(spacing),
        "rhs_dilation": attributes.i64s(kernel_spacing),
        "window_reversal": attributes.booleans(window_reversal or (False,) * rank),
        "dimension_numbers": attributes.parsed(text),
        "feature_group_count": attributes.i64(feature_group_count),
        "batch_group_count": attributes.i64(batch_group_count),
        "precision_config": _precision(op, precision),
    }
    dtype = x.dtype if preferred_element_type is None else canonical_dtype(preferred_element_type)
    return emit("convolution", (x, kernel), (ShapeDtype(shape, dtype),), attribute)[0]


def _check_features(
    op: str, x: Tracer, kernel: Tracer, numbers: ConvDimensionNumbers, groups: int, batches: int
) -> None:
    features, batch = x.shape[numbers.lhs_spec[1]], x.shape[numbers.lhs_spec[0]]
    out_features, in_features = (kernel.shape[d] for d in numbers.rhs_spec[:2])
    if groups < 1 or batches < 1 or (groups > 1 and batches > 1):
        raise shape_error(op, f"expected positive groups of one kind, found {groups}, {batches}")
    if features != in_features * groups:
        raise shape_error(
            op,
            f"expected {features // groups} input features in the kernel for {features} features "
            f"in {groups} groups, found {in_features}",
        )
    if out_features % groups or out_features % batches or batch % batches:
        raise shape_error(op, f"groups do not divide batch {batch} and {out_features} features")


@operation
def conv(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str,
    precision: str | None = None,
    preferred_element_type: DtypeLike = None,
) -> Tracer:
    """`conv_general_dilated` of NC... input and OI... kernel without dilation or groups."""
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def kernel_padding(kernel: int, stride: int, padding: str) -> tuple[int, int]:
    """Padding of a transposed convolution's dilated input that undoes a forward ``padding``."""
    if padding.upper() == "SAME":
        total = kernel + stride - 2
        low = kernel - 1 if stride > kernel - 1 else int(np.ceil(total / 2))
    else:
        total = kernel + stride - 2 + max(kernel - stride, 0)
        low = kernel - 1
    return low, total - low


@operation
def conv_transpose(
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    dimension_numbers: ConvDimensionNumbers | tuple[str, str, str] | None = None,
) -> Tracer:
    """Transposed ("fractionally strided") convolution; kernel dimensions are kept as given."""
    x, kernel = to_tracer(lhs), to_tracer(rhs)
    numbers = conv_dimension_numbers(x.ndim, dimension_numbers)
    if isinstance(padding, str):
        sizes = [kernel.shape[d] for d in numbers.rhs_spec[2:]]
        pads = [kernel_padding(k, s, padding) for k, s in zip(sizes, strides, strict=True)]
    else:
        pads = list(padding)
    ones = (1,) * (x.ndim - 2)
    return conv_general_dilated(x, kernel, ones, pads, strides, None, numbers)
