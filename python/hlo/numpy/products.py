"""Products of vectors, matrices and tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hlo import lax
from hlo.frontend.dtypes import DtypeLike, canonical_dtype, promote_types
from hlo.frontend.operands import (
    broadcast_shapes,
    broadcast_to,
    convert,
    dtype_of,
    normalized_axes,
    shape_error,
    to_tracer,
)
from hlo.frontend.operation import operation
from hlo.frontend.tracer import ArrayLike, Tracer


def _promoted(*xs: ArrayLike) -> list[Tracer]:
    dtype = promote_types(map(dtype_of, xs))
    return [convert(to_tracer(x, dtype), dtype) for x in xs]


@operation
def matmul(
    a: ArrayLike,
    b: ArrayLike,
    precision: str | None = None,
    preferred_element_type: DtypeLike = None,
) -> Tracer:
    """Matrix product of the last two dimensions; the others are broadcast.

    A vector on the left is a row, one on the right a column; that dimension is not in the result.

    Raises:
        ShapeError: if the dimensions that are summed over differ, or an operand is a scalar.
    """
    lhs, rhs = _promoted(a, b)
    if not lhs.ndim or not rhs.ndim or lhs.shape[-1] != rhs.shape[-2 if rhs.ndim > 1 else 0]:
        raise shape_error(
            "matmul",
            f"expected the last dimension of {lhs.aval} to equal the "
            f"{'last but one' if rhs.ndim > 1 else 'only one'} of {rhs.aval}",
        )
    if rhs.ndim <= 2:
        numbers = (((lhs.ndim - 1,), (rhs.ndim - 2 if rhs.ndim > 1 else 0,)), ((), ()))
        return lax.dot_general(lhs, rhs, numbers, precision, preferred_element_type)
    row = lhs.ndim == 1
    lhs = lax.expand_dims(lhs, (0,)) if row else lhs
    batch = broadcast_shapes("matmul", (lhs.shape[:-2], rhs.shape[:-2]))
    lhs = broadcast_to(lhs, lhs.dtype, (*batch, *lhs.shape[-2:]))
    rhs = broadcast_to(rhs, rhs.dtype, (*batch, *rhs.shape[-2:]))
    batched = tuple(range(len(batch)))
    numbers = (((len(batch) + 1,), (len(batch),)), (batched, batched))
    product = lax.dot_general(lhs, rhs, numbers, precision, preferred_element_type)
    return lax.squeeze(product, (len(batch),)) if row else product


@operation
def dot(a: ArrayLike, b: ArrayLike, precision: str | None = None) -> Tracer:
    """The last dimension of the left with the last but one (or only one) of the right."""
    lhs, rhs = _promoted(a, b)
    if not lhs.ndim or not rhs.ndim:
        scalar, other = (lhs, rhs) if not lhs.ndim else (rhs, lhs)
        return lax.mul(broadcast_to(scalar, scalar.dtype, other.shape), other)
    right = rhs.ndim - 2 if rhs.ndim > 1 else 0
    return lax.dot_general(lhs, rhs, (((lhs.ndim - 1,), (right,)), ((), ())), precision)


@operation
def vdot(a: ArrayLike, b: ArrayLike) -> Tracer:
    """Dot product of flattened arrays, the left one conjugated."""
    lhs, rhs = _promoted(a, b)
    return dot(lax.conj(lax.reshape(lhs, (lhs.size,))), lax.reshape(rhs, (rhs.size,)))


@operation
def vecdot(a: ArrayLike, b: ArrayLike, axis: int = -1) -> Tracer:
    """Dot products along an axis, the left operand conjugated."""
    from hlo.numpy.manipulation import moveaxis

    lhs, rhs = (moveaxis(x, axis, -1) for x in _promoted(a, b))
    shape = broadcast_shapes("vecdot", (lhs.shape, rhs.shape))
    lhs, rhs = (broadcast_to(x, x.dtype, shape) for x in (lhs, rhs))
    batch = tuple(range(len(shape) - 1))
    numbers = (((len(shape) - 1,), (len(shape) - 1,)), (batch, batch))
    return lax.dot_general(lax.conj(lhs), rhs, numbers)


@operation
def inner(a: ArrayLike, b: ArrayLike) -> Tracer:
    """The last dimension of the left with the last of the right."""
    lhs, rhs = _promoted(a, b)
    if not lhs.ndim or not rhs.ndim:
        return dot(lhs, rhs)
    return lax.dot_general(lhs, rhs, (((lhs.ndim - 1,), (rhs.ndim - 1,)), ((), ())))


@operation
def outer(a: ArrayLike, b: ArrayLike) -> Tracer:
    """Products of all elements of the left with all of the right."""
    lhs, rhs = _promoted(a, b)
    shape = (lhs.size, rhs.size)
    column = lax.broadcast_in_dim(lax.reshape(lhs, (lhs.size,)), shape, (0,))
    row = lax.broadcast_in_dim(lax.reshape(rhs, (rhs.size,)), shape, (1,))
    return lax.mul(column, row)


@operation
def kron(a: ArrayLike, b: ArrayLike) -> Tracer:
    """Kronecker product."""
    lhs, rhs = _promoted(a, b)
    rank = max(lhs.ndim, rhs.ndim)
    left = (1,) * (rank - lhs.ndim) + lhs.shape
    right = (1,) * (rank - rhs.ndim) + rhs.shape
    pairs = [e for pair in zip(left, right, strict=True) for e in pair]
    wide = lax.broadcast_in_dim(lax.reshape(lhs, left), pairs, range(0, 2 * rank, 2))
    narrow = lax.broadcast_in_dim(lax.reshape(rhs, right), pairs, range(1, 2 * rank, 2))
    return lax.reshape(lax.mul(wide, narrow), [p * q for p, q in zip(left, right, strict=True)])


@operation
def cross(a: ArrayLike, b: ArrayLike, axis: int = -1) -> Tracer:
    """Cross product of vectors of three components along an axis."""
    from hlo.numpy.manipulation import moveaxis, stack

    lhs, rhs = (moveaxis(x, axis, -1) for x in _promoted(a, b))
    if lhs.shape[-1] != 3 or rhs.shape[-1] != 3:
        raise shape_error("cross", f"expected 3 components, found {lhs.aval} and {rhs.aval}")
    (a0, a1, a2), (b0, b1, b2) = ([x[..., i] for i in range(3)] for x in (lhs, rhs))
    return stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis)


@operation
def tensordot(
    a: ArrayLike,
    b: ArrayLike,
    axes: int | tuple[int | Sequence[int], int | Sequence[int]] = 2,
    precision: str | None = None,
) -> Tracer:
    """Sum of products over pairs of dimensions: the last n with the first n, or given ones."""
    lhs, rhs = _promoted(a, b)
    if isinstance(axes, int):
        left = tuple(range(lhs.ndim - axes, lhs.ndim))
        right = tuple(range(axes))
    else:
        left = normalized_axes("tensordot", axes[0], lhs.ndim)
        right = normalized_axes("tensordot", axes[1], rhs.ndim)
    return lax.dot_general(lhs, rhs, ((left, right), ((), ())), precision)


@operation
def trace(x: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tracer:
    """Sum of a diagonal."""
    from hlo.numpy.manipulation import diagonal
    from hlo.numpy.reductions import sum as sum_

    return sum_(diagonal(x, offset, axis1, axis2), -1)


@operation
def einsum(
    subscripts: str,
    *operands: ArrayLike,
    precision: str | None = None,
    preferred_element_type: DtypeLike = None,
) -> Tracer:
    """Einstein's summation convention, such as ``bij,bjk->bik``; ``...`` is broadcast.

    Operands are contracted in pairs, in the order of `numpy.einsum_path`.

    Raises:
        ShapeError: if subscripts and operands do not fit each other.
    """
    arrays = _promoted(*operands)
    terms, result = _parse_subscripts(subscripts, arrays)
    target = None if preferred_element_type is None else canonical_dtype(preferred_element_type)
    remaining = [_diagonalized(x, term) for x, term in zip(arrays, terms, strict=True)]
    for positions in _path(terms, result, arrays):
        chosen = [remaining.pop(i) for i in sorted(positions, reverse=True)]
        needed = set(result).union(*(term for _, term in remaining))
        joined, *others = chosen[::-1]
        while others:
            other = others.pop(0)
            later = needed.union(*(term for _, term in others))
            joined = _contract(joined, other, later, precision, target)
        remaining.append(_summed(*joined, needed))
    x, term = remaining[0]
    if target is not None:
        x = convert(x, target)
    return lax.transpose(x, [term.index(c) for c in result])


def _path(terms: list[str], result: str, arrays: Sequence[Tracer]) -> list[tuple[int, ...]]:
    if len(arrays) <= 2:
        return [tuple(range(len(arrays)))]
    # NumPy plans from shapes alone; arrays without storage stand for the operands.
    stand_ins = [np.broadcast_to(np.float32(0), x.shape) for x in arrays]
    plan: Any = np.einsum_path(f"{','.join(terms)}->{result}", *stand_ins, optimize="greedy")[0]
    return [tuple(step) for step in plan[1:]]


def _parse_subscripts(subscripts: str, arrays: Sequence[Tracer]) -> tuple[list[str], str]:
    text = subscripts.replace(" ", "")
    inputs, arrow, result = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(arrays):
        raise shape_error(
            "einsum", f"expected {len(terms)} operands for {subscripts!r}, found {len(arrays)}"
        )
    unused = [c for c in map(chr, range(ord("A"), ord("z") + 1)) if c.isalpha() and c not in text]
    widths = [
        x.ndim - len(term.replace("...", "")) if "..." in term else 0
        for x, term in zip(arrays, terms, strict=True)
    ]
    dots = "".join(unused[: max(widths, default=0)])
    terms = [
        term.replace("...", dots[len(dots) - width :])
        for term, width in zip(terms, widths, strict=True)
    ]
    if not arrow:
        letters = sorted(set("".join(terms)) - set(dots))
        result = "..." + "".join(c for c in letters if "".join(terms).count(c) == 1)
    result = result.replace("...", dots)
    _check_terms(subscripts, terms, result, arrays)
    return terms, result


def _check_terms(
    subscripts: str, terms: Sequence[str], result: str, arrays: Sequence[Tracer]
) -> None:
    extents: dict[str, int] = {}
    for term, x in zip(terms, arrays, strict=True):
        if len(term) != x.ndim or (not term.isalpha() and term):
            raise shape_error("einsum", f"{term!r} of {subscripts!r} does not describe {x.aval}")
        for letter, extent in zip(term, x.shape, strict=True):
            known = extents.setdefault(letter, extent)
            if known != extent and 1 not in (known, extent):
                raise shape_error(
                    "einsum", f"{letter!r} of {subscripts!r} is both {known} and {extent}"
                )
            extents[letter] = max(known, extent) if 1 in (known, extent) else extent
    if len(set(result)) != len(result) or not set(result) <= set(extents):
        raise shape_error("einsum", f"{result!r} is not a result of {subscripts!r}")


def _diagonalized(x: Tracer, term: str) -> tuple[Tracer, str]:
    """Takes the diagonal of letters that occur twice in a term."""
    from hlo.numpy.manipulation import diagonal

    while len(set(term)) < len(term):
        letter = next(c for c in term if term.count(c) > 1)
        first = term.index(letter)
        second = term.index(letter, first + 1)
        x = diagonal(x, 0, first, second)
        term = "".join(c for i, c in enumerate(term) if i not in (first, second)) + letter
    return x, term


def _summed(x: Tracer, term: str, needed: set[str]) -> tuple[Tracer, str]:
    axes = [i for i, c in enumerate(term) if c not in needed]
    return lax.reduce_sum(x, axes), "".join(c for c in term if c in needed)


def _contract(
    left: tuple[Tracer, str],
    right: tuple[Tracer, str],
    needed: set[str],
    precision: str | None,
    dtype: np.dtype[Any] | None,
) -> tuple[Tracer, str]:
    (x, a), (y, b) = left, right
    x, a = _summed(x, a, needed | set(b))
    y, b = _summed(y, b, needed | set(a))
    # An extent of 1 against a longer one is broadcast: it takes no part in the product.
    for letter in set(a) & set(b):
        if x.shape[a.index(letter)] != y.shape[b.index(letter)]:
            if x.shape[a.index(letter)] == 1:
                x, a = lax.squeeze(x, (a.index(letter),)), a.replace(letter, "")
            else:
                y, b = lax.squeeze(y, (b.index(letter),)), b.replace(letter, "")
    if (set(a) ^ set(b)) - needed:
        x, a = _summed(x, a, needed | set(b))
        y, b = _summed(y, b, needed | set(a))
    shared = [c for c in a if c in b]
    batch = [c for c in shared if c in needed]
    summed = [c for c in shared if c not in needed]
    numbers = (
        ([a.index(c) for c in summed], [b.index(c) for c in summed]),
        ([a.index(c) for c in batch], [b.index(c) for c in batch]),
    )
    product = lax.dot_general(x, y, numbers, precision, dtype)
    free = [c for c in a if c not in shared] + [c for c in b if c not in shared]
    return product, "".join(batch + free)
