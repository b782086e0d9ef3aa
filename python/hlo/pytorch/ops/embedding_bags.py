"""Rows of a table summed, averaged or compared in bags, and their gradients."""

from __future__ import annotations

from hlo import lax
from hlo import numpy as hnp
from hlo.frontend.dtypes import lowest
from hlo.frontend.operands import convert
from hlo.frontend.tracer import Tracer
from hlo.model_ops import tensor, widened
from hlo.pytorch.ops.registry import aten


@aten("_embedding_bag", "_embedding_bag_forward_only", "embedding_bag", "embedding_bag.padding_idx")
def embedding_bag(
    weight: Tracer,
    indices: Tracer,
    offsets: Tracer,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tracer | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = -1,
) -> tuple[Tracer | None, ...]:
    """Rows of a table summed (mode 0), averaged (1) or compared (2) in bags.

    Returns:
        (bags, columns), and what gradients read: the bag of each index, how many each bag has, and
        which row each element of the largest is of.
    """
    bags = offsets.shape[0] - include_last_offset
    into = _bags_of(indices, offsets, bags, padding_idx)
    rows = widened(hnp.take(weight, indices, axis=0))
    if per_sample_weights is not None:
        rows = hnp.multiply(rows, hnp.expand_dims(per_sample_weights, 1))
    sizes = hnp.zeros((bags,), offsets.dtype).at[into].add(1)
    shape = (bags, weight.shape[1])
    filled = hnp.greater(hnp.expand_dims(sizes, 1), 0)
    if mode == 2:
        least = hnp.broadcast_to(tensor(lowest(rows.dtype), rows.dtype), shape)
        found = hnp.where(filled, least.at[into].max(rows), 0)
    else:
        found = hnp.zeros(shape, rows.dtype).at[into].add(rows)
    if mode == 1:
        counts = convert(hnp.maximum(sizes, 1), rows.dtype)
        found = hnp.divide(found, hnp.expand_dims(counts, 1))
    largest = _rows_of_largest(rows, found, indices, into) if mode == 2 else sizes
    if mode == 0 and padding_idx in (None, -1) and weight.dtype.name in ("float32", "float16"):
        into = into[:0]  # PyTorch's quick path has no use for it
    if include_last_offset:  # PyTorch has a size for the end of the last bag as well
        sizes = hnp.concatenate([sizes, hnp.zeros((1,), sizes.dtype)])
    tables = [convert(table, indices.dtype) for table in (into, sizes, largest)]
    return convert(found, weight.dtype), *tables


def _bags_of(indices: Tracer, offsets: Tracer, bags: int, padding_idx: int | None) -> Tracer:
    """The bag of each index; of one that is not counted, one past the end, where updates are
    dropped.
    """
    place = lax.iota(offsets.dtype, indices.shape[0])
    bag = hnp.subtract(hnp.searchsorted(offsets, place, side="right"), 1)
    return hnp.where(hnp.equal(indices, -1 if padding_idx is None else padding_idx), bags, bag)


def _rows_at(table: Tracer, places: Tracer) -> Tracer:
    """Rows of a table, the last one for places past its end."""
    return hnp.take(table, hnp.minimum(places, table.shape[0] - 1), axis=0)


def _rows_of_largest(rows: Tracer, found: Tracer, indices: Tracer, into: Tracer) -> Tracer:
    """The row that the first of the largest elements of a bag is of, for each column."""
    count = indices.shape[0]
    held = hnp.equal(rows, _rows_at(found, into))
    place = lax.broadcasted_iota(indices.dtype, rows.shape, 0)
    none = hnp.broadcast_to(tensor(count, indices.dtype), found.shape)
    first = none.at[into].min(hnp.where(held, place, count))
    return _rows_at(indices, first)


@aten("_embedding_bag_backward")
def embedding_bag_backward(
    grad: Tracer,
    indices: Tracer,
    offsets: Tracer,
    offset2bag: Tracer,
    bag_size: Tracer,
    maximum_indices: Tracer,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tracer | None,
    padding_idx: int = -1,
) -> Tracer:
    """Gradients of a table's rows, added once for each bag that they are in."""
    bags, columns = grad.shape
    table = hnp.broadcast_to(tensor(0, grad.dtype), (num_weights, columns))
    if mode == 2:
        filled = hnp.greater(lax.expand_dims(bag_size[:bags], (1,)), 0)
        column = lax.broadcasted_iota(maximum_indices.dtype, grad.shape, 1)
        given = hnp.where(filled, grad, tensor(0, grad.dtype))
        return table.at[(maximum_indices, column)].add(given)
    into = _bags_of(indices, offsets, bags, padding_idx)
    if mode == 1:
        sizes = hnp.zeros((bags,), into.dtype).at[into].add(1)
        counts = convert(hnp.maximum(sizes, 1), grad.dtype)
        grad = hnp.divide(grad, hnp.expand_dims(counts, 1))
    counted = hnp.expand_dims(hnp.less(into, bags), 1)
    rows = _rows_at(grad, into)
    rows = hnp.where(counted, rows, tensor(0, grad.dtype))
    if per_sample_weights is not None:
        rows = hnp.multiply(rows, hnp.expand_dims(per_sample_weights, 1))
    if scale_grad_by_freq:
        uses = hnp.take(hnp.bincount(indices, length=num_weights), indices, axis=0)
        rows = hnp.divide(rows, hnp.expand_dims(convert(uses, rows.dtype), 1))
    return table.at[indices].add(rows)


@aten("_embedding_bag_per_sample_weights_backward")
def embedding_bag_weights_backward(
    grad: Tracer,
    weight: Tracer,
    indices: Tracer,
    offsets: Tracer,
    offset2bag: Tracer,
    mode: int,
    padding_idx: int = -1,
) -> Tracer:
    """Gradients of the weights that rows of bags are summed by."""
    bags = grad.shape[0]
    into = _bags_of(indices, offsets, bags, padding_idx)
    rows = _rows_at(grad, into)
    along = hnp.sum(hnp.multiply(rows, hnp.take(weight, indices, axis=0)), axis=1)
    return hnp.where(hnp.less(into, bags), along, tensor(0, along.dtype))
