"""Loops over the leading dimension of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hlo.frontend.dtypes import INT32
from hlo.frontend.operands import shape_error, to_tracer
from hlo.frontend.operation import operation
from hlo.frontend.pytree import TreeDef, leaf_paths, tree_flatten, tree_unflatten
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.source_location import user_line
from hlo.frontend.trace import constant, create, resumed, splat, wrap
from hlo.frontend.tracer import Tracer
from hlo.lax import elementwise as ew
from hlo.lax import indexed, shapes
from hlo.lax.control_flow import BodyResult, Carry, finish_loop

Step = Callable[[Any, Any], tuple[Any, Any]]


@operation
def scan(
    f: Step,
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Any, Any]:
    """Runs ``carry, y = f(carry, x)`` over slices x of `xs` and stacks the y.

    Args:
        f: the step; the carry keeps its structure, shapes and dtypes.
        init: the first carry, a pytree.
        xs: a pytree of arrays with one leading extent, or None.
        length: number of steps; needed where `xs` has no arrays.
        reverse: whether to go from the last slice to the first.
        unroll: steps of one iteration of the loop; True for all of them.

    Returns:
        The last carry, and a pytree of the y stacked along a new leading dimension.

    Raises:
        ShapeError: if leading extents differ, or the carry changes shape or dtype.
        TreeError: if the carry changes structure.
    """
    leaves, definition = tree_flatten(xs)
    arrays = [to_tracer(leaf) for leaf in leaves]
    count = _length(arrays, definition, length)
    if count and (unroll is True or unroll >= count):
        return _unrolled(f, init, arrays, definition, range(count), reverse)
    return _Scan(f, arrays, definition, count, reverse).run(init, max(1, int(unroll)))


def _length(arrays: Sequence[Tracer], definition: TreeDef, length: int | None) -> int:
    extents: dict[str, int] = {} if length is None else {"length": int(length)}
    for path, array in zip(leaf_paths(definition, "xs"), arrays, strict=True):
        if not array.shape:
            raise shape_error("scan", f"expected a leading dimension, found {path} of {array.aval}")
        extents[path] = array.shape[0]
    if len(set(extents.values())) != 1:
        found = ", ".join(f"{path}: {extent}" for path, extent in extents.items())
        raise shape_error("scan", f"expected one leading extent, found {found or 'none'}")
    return next(iter(extents.values()))


def _unrolled(
    f: Step,
    init: Any,
    arrays: Sequence[Tracer],
    definition: TreeDef,
    steps: range,
    reverse: bool,
) -> tuple[Any, Any]:
    carry, outputs, structure = init, [], None
    for i in reversed(steps) if reverse else steps:
        x = tree_unflatten(definition, [array[i] for array in arrays])
        carry, y = f(carry, x)
        found, structure = tree_flatten(y)
        outputs.append([to_tracer(leaf) for leaf in found])
    if reverse:
        outputs.reverse()
    assert structure is not None
    stacked = [
        shapes.concatenate([shapes.expand_dims(y, (0,)) for y in ys], 0)
        for ys in zip(*outputs, strict=True)
    ]
    carried, carry_structure = tree_flatten(carry)
    final = tree_unflatten(carry_structure, [to_tracer(leaf) for leaf in carried])
    return final, tree_unflatten(structure, stacked)


class _Scan:
    """A scan as ``hlo.while``: its carry is (index, the user's carry, the stacked outputs)."""

    def __init__(
        self, f: Step, arrays: Sequence[Tracer], definition: TreeDef, count: int, reverse: bool
    ) -> None:
        self.f = f
        self.arrays = arrays
        self.definition = definition
        self.count = count
        self.reverse = reverse
        self.outputs: list[list[Tracer]] = []
        self.output_structure: TreeDef | None = None

    def run(self, init: Any, unroll: int) -> tuple[Any, Any]:
        """Traces the loop and what remains of the steps after it."""
        looped = self.count - self.count % unroll
        carry_leaves, carry_structure = tree_flatten(init)
        carry = Carry((constant(np.asarray(0, INT32)),), carry_leaves, carry_structure)

        def body(index: Tracer, *values: Tracer) -> BodyResult:
            self.outputs = []
            state = tree_unflatten(carry_structure, values)
            for step in range(unroll):
                state = self._step(ew.add(index, step) if step else index, state)
            return (ew.add(index, unroll),), state

        holder = create("hlo.while", (), (), regions=2)
        frame, leaves = carry.trace(holder.regions[1], body)
        stacks = self._add_stacks(frame, carry, leaves)
        condition = _below(looped)
        results = finish_loop(holder, condition, carry, frame, [*leaves, *stacks])
        state = tree_unflatten(carry_structure, results[1 : 1 + len(carry_leaves)])
        stacked = list(results[1 + len(carry_leaves) :])
        for i in range(looped, self.count):
            self.outputs = []
            state = self._step(constant(np.asarray(i, INT32)), state)
            stacked = self._store(stacked, constant(np.asarray(i, INT32)), self.outputs[0])
        assert self.output_structure is not None
        return state, tree_unflatten(self.output_structure, stacked)

    def _place(self, index: Tracer) -> Tracer:
        return ew.sub(self.count - 1, index) if self.reverse else index

    def _step(self, index: Tracer, state: Any) -> Any:
        place = self._place(index)
        slices = [_slice(array, place) for array in self.arrays]
        state, y = self.f(state, tree_unflatten(self.definition, slices))
        leaves, structure = tree_flatten(y)
        self.output_structure = structure
        self.outputs.append([to_tracer(leaf) for leaf in leaves])
        return state

    def _add_stacks(self, frame: Any, carry: Carry, leaves: Sequence[Any]) -> list[Tracer]:
        """Carries an array for each output, once the traced step shows how many there are."""
        avals = [ShapeDtype((self.count, *y.shape), y.dtype) for y in self.outputs[0]]
        trace = frame.trace
        location = trace.location("scan", user_line())
        with resumed(frame):
            added = [frame.block.add_argument(trace.tensor_type(a), location) for a in avals]
            stacks = list(wrap(added, avals))
            (index,) = wrap([frame.block.arguments[0]], [ShapeDtype((), INT32)])
            for step, ys in enumerate(self.outputs):
                stacks = self._store(stacks, ew.add(index, step) if step else index, ys)
        carry.init += [splat(a.dtype.type(0), a.shape) for a in avals]
        carry.avals += avals
        return stacks

    def _store(self, stacks: Sequence[Tracer], index: Tracer, ys: Sequence[Tracer]) -> list[Tracer]:
        if not self.count:
            return list(stacks)
        place = self._place(index)
        return [
            indexed.dynamic_update_slice(
                stack,
                shapes.expand_dims(y, (0,)),
                [place] + [0] * y.ndim,
                allow_negative_indices=False,
            )
            for stack, y in zip(stacks, ys, strict=True)
        ]


def _below(limit: int) -> Callable[..., Tracer]:
    def condition(index: Tracer, *_: Tracer) -> Tracer:
        return ew.lt(index, limit)

    return condition


def _slice(array: Tracer, place: Tracer) -> Tracer:
    if not array.shape[0]:
        # The body of a loop without iterations still has a type.
        return splat(array.dtype.type(0), array.shape[1:])
    sizes = (1, *array.shape[1:])
    starts = [place] + [0] * (array.ndim - 1)
    taken = indexed.dynamic_slice(array, starts, sizes, allow_negative_indices=False)
    return shapes.reshape(taken, array.shape[1:])


@operation
def map(f: Callable[[Any], Any], xs: Any) -> Any:
    """Applies a function to the slices of `xs` along its leading dimension, one after another."""
    return scan(lambda _, x: ((), f(x)), (), xs)[1]
