"""Operations that move elements at places known when running: dynamic slices, gather, scatter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from hlo.frontend import attributes
from hlo.frontend.dtypes import INT32, dtype_name, iinfo, is_integer, is_python_scalar, kind
from hlo.frontend.operands import dtype_error, normalized_axis, shape_error, to_tracer
from hlo.frontend.operation import operation
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.trace import emit
from hlo.frontend.tracer import ArrayLike, Tracer
from hlo.lax import elementwise as ew


def _start_indices(
    op: str, indices: Sequence[ArrayLike] | ArrayLike, shape: Sequence[int], negative: bool
) -> list[Tracer]:
    """Start indices of one type; negative ones counted from the end if asked."""
    rank = len(shape)
    if isinstance(indices, Tracer):
        if indices.shape != (rank,):
            raise shape_error(op, f"expected {rank} start indices, found {indices.aval}")
        indices = [indices[i] for i in range(rank)]
    if len(indices) != rank:
        raise shape_error(op, f"expected {rank} start indices, found {len(indices)}")
    if negative:
        indices = [_from_end(index, extent) for index, extent in zip(indices, shape, strict=True)]
    arrays = [to_tracer(index) for index in indices if not is_python_scalar(index)]
    dtypes = {array.dtype for array in arrays} or {INT32}
    if len(dtypes) > 1:
        found = ", ".join(dtype_name(array.dtype) for array in arrays)
        raise dtype_error(op, f"expected start indices of one element type, found {found}")
    (dtype,) = dtypes
    starts = [to_tracer(index, dtype) for index in indices]
    for start in starts:
        if start.shape != () or not is_integer(start.dtype):
            raise shape_error(op, f"expected scalar integer start indices, found {start.aval}")
    return starts


def _from_end(index: ArrayLike, extent: int) -> ArrayLike:
    """A negative index counts from the end."""
    if not isinstance(index, Tracer):
        return index + extent if index < 0 else index
    if kind(index.dtype) != "i" or index.shape != () or extent > iinfo(index.dtype).max:
        return index
    return ew.select(ew.lt(index, 0), ew.add(index, extent), index)


@operation
def dynamic_slice(
    operand: ArrayLike,
    start_indices: Sequence[ArrayLike] | Tracer,
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool = True,
) -> Tracer:
    """A block of this size; its starts are clamped so that it lies inside.

    Args:
        operand: the array.
        start_indices: one integer a dimension; Python's numbers take the others' type.
        slice_sizes: extents of the block.
        allow_negative_indices: whether negative starts count from the end, before they are clamped.
    """
    x = to_tracer(operand)
    starts = _start_indices("hlo.dynamic_slice", start_indices, x.shape, allow_negative_indices)
    sizes = [int(size) for size in slice_sizes]
    if len(sizes) != x.ndim or any(
        not 0 <= size <= extent for size, extent in zip(sizes, x.shape, strict=True)
    ):
        raise shape_error(
            "hlo.dynamic_slice", f"expected slice sizes within {x.shape}, found {sizes}"
        )
    attribute = {"slice_sizes": attributes.i64s(sizes)}
    return emit("dynamic_slice", (x, *starts), (x.aval.with_shape(sizes),), attribute)[0]


@operation
def dynamic_update_slice(
    operand: ArrayLike,
    update: ArrayLike,
    start_indices: Sequence[ArrayLike] | Tracer,
    *,
    allow_negative_indices: bool = True,
) -> Tracer:
    """The operand with a block replaced; starts as in `dynamic_slice`."""
    x, block = to_tracer(operand), to_tracer(update)
    negative = allow_negative_indices
    starts = _start_indices("hlo.dynamic_update_slice", start_indices, x.shape, negative)
    fits = block.ndim == x.ndim and all(a <= b for a, b in zip(block.shape, x.shape, strict=True))
    if not fits or block.dtype != x.dtype:
        raise shape_error(
            "hlo.dynamic_update_slice", f"an update {block.aval} does not fit into {x.aval}"
        )
    return emit("dynamic_update_slice", (x, block, *starts), (x.aval,))[0]


@operation
def dynamic_index_in_dim(
    operand: ArrayLike, index: ArrayLike, axis: int = 0, keepdims: bool = True
) -> Tracer:
    """The slice at one index of a dimension; a negative index counts from the end."""
    x = to_tracer(operand)
    axis = normalized_axis("hlo.dynamic_slice", axis, x.ndim)
    taken = dynamic_slice_in_dim(x, index, 1, axis)
    return taken if keepdims else taken.reshape(x.shape[:axis] + x.shape[axis + 1 :])


@operation
def dynamic_slice_in_dim(
    operand: ArrayLike, start_index: ArrayLike, slice_size: int, axis: int = 0
) -> Tracer:
    """`dynamic_slice` along one dimension; a negative start counts from the end."""
    x = to_tracer(operand)
    axis = normalized_axis("hlo.dynamic_slice", axis, x.ndim)
    sizes = list(x.shape)
    sizes[axis] = slice_size
    starts: list[ArrayLike] = [0] * x.ndim
    starts[axis] = start_index
    return dynamic_slice(x, starts, sizes)


@operation
def dynamic_update_slice_in_dim(
    operand: ArrayLike, update: ArrayLike, start_index: ArrayLike, axis: int
) -> Tracer:
    """`dynamic_update_slice` along one dimension; a negative start counts from the end."""
    x = to_tracer(operand)
    axis = normalized_axis("hlo.dynamic_update_slice", axis, x.ndim)
    starts: list[ArrayLike] = [0] * x.ndim
    starts[axis] = start_index
    return dynamic_update_slice(x, update, starts)


@operation
def dynamic_update_index_in_dim(
    operand: ArrayLike, update: ArrayLike, index: ArrayLike, axis: int
) -> Tracer:
    """The operand with the slice at one index of a dimension replaced."""
    x, block = to_tracer(operand), to_tracer(update)
    axis = normalized_axis("hlo.dynamic_update_slice", axis, x.ndim)
    if block.ndim != x.ndim:
        block = block.reshape((*block.shape[:axis], 1, *block.shape[axis:]))
    return dynamic_update_slice_in_dim(x, block, index, axis)


@dataclass(frozen=True)
class GatherDimensionNumbers:
    """How the dimensions of `gather`'s operand, indices and result correspond (StableHLO spec).

    Attributes:
        offset_dims: result dimensions that run over a slice.
        collapsed_slice_dims: operand dimensions of slice size 1 that the result lacks.
        start_index_map: operand dimension of each component of an index vector.
        operand_batching_dims: operand dimensions that are batched.
        start_indices_batching_dims: indices' dimensions of the same batches.

    Index vectors lie along the last dimension of the indices.
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


@dataclass(frozen=True)
class ScatterDimensionNumbers:
    """How the dimensions of `scatter`'s operand, indices and updates correspond (StableHLO spec).

    Attributes:
        update_window_dims: update dimensions that run over a window.
        inserted_window_dims: operand dimensions of window size 1 that the updates lack.
        scatter_dims_to_operand_dims: operand dimension of each component of an index vector.
        operand_batching_dims: operand dimensions that are batched.
        scatter_indices_batching_dims: indices' dimensions of the same batches.

    Index vectors lie along the last dimension of the indices.
    """

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()


def _numbers(kind: str, fields: dict[str, tuple[int, ...]], index_vector_dim: int) -> str:
    parts = [f"{name} = {list(value)}" for name, value in fields.items() if value]
    return f"#hlo.{kind}<{', '.join([*parts, f'index_vector_dim = {index_vector_dim}'])}>"


@operation
def gather(
    operand: ArrayLike,
    start_indices: ArrayLike,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    indices_are_sorted: bool = False,
) -> Tracer:
    """Slices at many places; starts are clamped so that each slice lies inside the operand."""
    x, indices = to_tracer(operand), to_tracer(start_indices)
    if not is_integer(indices.dtype) or not indices.ndim:
        raise shape_error("hlo.gather", f"expected integer index vectors, found {indices.aval}")
    numbers, sizes = dimension_numbers, [int(size) for size in slice_sizes]
    dropped = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    offsets = iter([size for axis, size in enumerate(sizes) if axis not in dropped])
    batch = iter(indices.shape[:-1])
    rank = indices.ndim - 1 + len(numbers.offset_dims)
    shape = [next(offsets if axis in numbers.offset_dims else batch) for axis in range(rank)]
    fields = {
        "offset_dims": numbers.offset_dims,
        "collapsed_slice_dims": numbers.collapsed_slice_dims,
        "operand_batching_dims": numbers.operand_batching_dims,
        "start_indices_batching_dims": numbers.start_indices_batching_dims,
        "start_index_map": numbers.start_index_map,
    }
    attribute = {
        "dimension_numbers": attributes.parsed(_numbers("gather", fields, indices.ndim - 1)),
        "slice_sizes": attributes.i64s(sizes),
        "indices_are_sorted": attributes.boolean(indices_are_sorted),
    }
    return emit("gather", (x, indices), (x.aval.with_shape(shape),), attribute)[0]


Combiner = Callable[[Tracer, Tracer], Tracer]

_COMBINERS: Final[dict[str, Combiner]] = {
    "set": lambda _, new: new,
    "add": ew.add,
    "sub": ew.sub,
    "mul": ew.mul,
    "min": ew.min,
    "max": ew.max,
}


@operation
def scatter(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    combine: str | Combiner = "set",
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Tracer:
    """The operand with windows combined with updates; windows that do not lie inside are skipped.

    Args:
        operand: the array to start from. scatter_indices: integer index vectors. updates: one
        window an index vector, of the operand's dtype. dimension_numbers: how dimensions
        correspond. combine: ``set``, ``add``, ``sub``, ``mul``, ``min``, ``max``, or a function
        (old, update) ->
            new.
        indices_are_sorted: promise that index vectors are in order.
        unique_indices: promise that windows do not overlap.
    """
    x, indices, new = to_tracer(operand), to_tracer(scatter_indices), to_tracer(updates)
    if not is_integer(indices.dtype) or not indices.ndim:
        raise shape_error("hlo.scatter", f"expected integer index vectors, found {indices.aval}")
    if new.dtype != x.dtype:
        raise dtype_error(
            "hlo.scatter",
            f"expected updates of {dtype_name(x.dtype)}, found {dtype_name(new.dtype)}",
        )
    function = _COMBINERS[combine] if isinstance(combine, str) else combine
    numbers = dimension_numbers
    fields = {
        "update_window_dims": numbers.update_window_dims,
        "inserted_window_dims": numbers.inserted_window_dims,
        "input_batching_dims": numbers.operand_batching_dims,
        "scatter_indices_batching_dims": numbers.scatter_indices_batching_dims,
        "scatter_dims_to_operand_dims": numbers.scatter_dims_to_operand_dims,
    }
    attribute = {
        "scatter_dimension_numbers": attributes.parsed(
            _numbers("scatter", fields, indices.ndim - 1)
        ),
        "indices_are_sorted": attributes.boolean(indices_are_sorted),
        "unique_indices": attributes.boolean(unique_indices),
    }
    scalar = ShapeDtype((), x.dtype)
    return emit(
        "scatter",
        (x, indices, new),
        (x.aval,),
        attribute,
        [((scalar, scalar), lambda old, update: (function(old, update),))],
    )[0]
