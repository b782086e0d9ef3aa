"""Reductions, running sums, and normalisations of a line by itself."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Final

import numpy as np

from hlo import lax, nn
from hlo import numpy as hnp
from hlo.frontend.dtypes import iinfo, is_float
from hlo.frontend.operands import convert
from hlo.frontend.tracer import Tracer
from hlo.model_ops import INT64, widened
from hlo.onnx.ops.elementwise import number
from hlo.onnx.ops.registry import Array, Call, integers, op

Fold = Callable[[Tracer, tuple[int, ...]], Tracer]


def _sum(x: Tracer, axes: tuple[int, ...]) -> Tracer:
    return hnp.sum(x, axis=axes, keepdims=True, dtype=x.dtype)


def _mean(x: Tracer, axes: tuple[int, ...]) -> Tracer:
    total = _sum(x, axes)
    count = number(prod(x.shape[a] for a in axes), total)
    return (
        hnp.divide(total, count)
        if is_float(x.dtype)
        else lax.div(total, hnp.broadcast_to(count, total.shape))
    )


_REDUCTIONS: Final[dict[str, Fold]] = {
    "ReduceL1": lambda x, axes: _sum(hnp.abs(x), axes),
    "ReduceL2": lambda x, axes: _root(_sum(hnp.square(x), axes)),
    "ReduceLogSum": lambda x, axes: hnp.log(_sum(x, axes)),
    "ReduceLogSumExp": lambda x, axes: nn.logsumexp(x, axis=axes, keepdims=True),
    "ReduceMax": lambda x, axes: hnp.amax(x, axis=axes, keepdims=True),
    "ReduceMean": _mean,
    "ReduceMin": lambda x, axes: hnp.amin(x, axis=axes, keepdims=True),
    "ReduceProd": lambda x, axes: hnp.prod(x, axis=axes, keepdims=True, dtype=x.dtype),
    "ReduceSum": _sum,
    "ReduceSumSquare": lambda x, axes: _sum(hnp.square(x), axes),
}


def _root(x: Tracer) -> Tracer:
    return (
        lax.sqrt(x)
        if is_float(x.dtype)
        else convert(lax.sqrt(convert(x, np.dtype(np.float64))), x.dtype)
    )


def _enter_reduction(name: str, fold: Fold) -> None:
    @op(name, static=(1,))
    def call(call: Call, x: Tracer, axes: Array | None = None) -> Tracer:
        named = call.get("axes") if axes is None else integers(axes)
        if not named and call.get("noop_with_empty_axes", 0):
            return x if name in _OF_ONE else fold(x, ())
        over = tuple(a % x.ndim for a in named) if named else tuple(range(x.ndim))
        empty = prod(x.shape[a] for a in over) == 0
        found = _of_none(name, x, over) if empty else fold(widened(x), over)
        found = convert(found, x.dtype)
        return found if call.get("keepdims", 1) else hnp.squeeze(found, over)

    del call


_OF_ONE: Final = frozenset({"ReduceMax", "ReduceMin", "ReduceMean", "ReduceProd", "ReduceSum"})
"""Reductions that give an element back if it is alone."""


def _of_none(name: str, x: Tracer, axes: tuple[int, ...]) -> Tracer:
    """What a reduction of no elements gives."""
    shape = tuple(1 if i in axes else e for i, e in enumerate(x.shape))
    low, high = (-np.inf, np.inf) if is_float(x.dtype) else _range(x.dtype)
    values = {"ReduceProd": 1, "ReduceMax": low, "ReduceMin": high, "ReduceLogSum": -np.inf,
              "ReduceLogSumExp": -np.inf, "ReduceMean": np.nan}  # fmt: skip
    return hnp.broadcast_to(number(values.get(name, 0), x), shape)


def _range(dtype: np.dtype[Any]) -> tuple[int, int]:
    return (0, 1) if dtype.kind == "b" else (iinfo(dtype).min, iinfo(dtype).max)


for _name, _fold in _REDUCTIONS.items():
    _enter_reduction(_name, _fold)


def _extreme(call: Call, x: Tracer, find: Callable[..., Tracer]) -> Tracer:
    axis = call.get("axis", 0) % x.ndim
    if call.get("select_last_index", 0):
        found = hnp.subtract(
            np.int64(x.shape[axis] - 1), convert(find(hnp.flip(x, axis), axis=axis), INT64)
        )
    else:
        found = convert(find(x, axis=axis), INT64)
    return hnp.expand_dims(found, axis) if call.get("keepdims", 1) else found


@op("ArgMax")
def argmax(call: Call, x: Tracer) -> Tracer:
    """Where the largest element is, the first or last of equals."""
    return _extreme(call, x, hnp.argmax)


@op("ArgMin")
def argmin(call: Call, x: Tracer) -> Tracer:
    """Where the smallest element is, the first or last of equals."""
    return _extreme(call, x, hnp.argmin)


def _running(call: Call, x: Tracer, axis: Array, fold: Callable[..., Tracer], unit: int) -> Tracer:
    along = int(axis.item()) % x.ndim
    reverse = bool(call.get("reverse", 0))
    if call.get("exclusive", 0):
        around = [(0, 0, 0)] * x.ndim
        around[along] = (-1, 1, 0) if reverse else (1, -1, 0)
        x = lax.pad(x, number(unit, x), around)
    return fold(x, axis=along, reverse=reverse)


@op("CumSum", static=(1,))
def running_sum(call: Call, x: Tracer, axis: Array) -> Tracer:
    """The sum of the elements up to each, with or without it."""
    return _running(call, x, axis, lax.cumsum, 0)


@op("CumProd", static=(1,))
def running_product(call: Call, x: Tracer, axis: Array) -> Tracer:
    """The product of the elements up to each, with or without it."""
    return _running(call, x, axis, lax.cumprod, 1)


# --- lines ------------------------------------------------------------------------------------


def _of_line(call: Call, x: Tracer, function: Callable[..., Tracer]) -> Tracer:
    """A function of lines along an axis; before version 13 of all from the axis on together."""
    if call.version >= 13:
        return function(x, axis=call.get("axis", -1))
    axis = call.get("axis", 1) % max(x.ndim, 1)
    flat = lax.reshape(x, (prod(x.shape[:axis]), prod(x.shape[axis:])))
    return lax.reshape(function(flat, axis=-1), x.shape)


@op("Softmax")
def softmax(call: Call, x: Tracer) -> Tracer:
    """exp(x) over its sum."""
    return convert(_of_line(call, widened(x), nn.softmax), x.dtype)


@op("LogSoftmax")
def log_softmax(call: Call, x: Tracer) -> Tracer:
    """The logarithm of softmax."""
    return convert(_of_line(call, widened(x), nn.log_softmax), x.dtype)


@op("Hardmax")
def hardmax(call: Call, x: Tracer) -> Tracer:
    """1 where the first largest element is, else 0."""

    def hot(line: Tracer, axis: int) -> Tracer:
        best = hnp.argmax(line, axis=axis, keepdims=True)
        places = lax.broadcasted_iota(best.dtype, line.shape, axis % line.ndim)
        return convert(hnp.equal(places, best), line.dtype)

    return _of_line(call, x, hot)


@op("LpNormalization")
def lp_normalization(call: Call, x: Tracer) -> Tracer:
    """Lines over their norm, the first or second; a line of zeros stays."""
    axis = call.get("axis", -1)
    wide = widened(x)
    first = call.get("p", 2) == 1
    total = hnp.sum(hnp.abs(wide) if first else hnp.square(wide), axis=axis, keepdims=True)
    norm = total if first else lax.sqrt(total)
    safe = hnp.where(hnp.equal(norm, number(0, norm)), number(1, norm), norm)
    return convert(hnp.divide(wide, safe), x.dtype)
