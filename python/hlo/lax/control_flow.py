"""Conditionals and loops, as operations with regions.

Branches and bodies may use arrays of the functions around them. The carry of a loop keeps its
structure, shapes and dtypes; where it starts as a Python number it takes the dtype the body
gives it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hlo.frontend.dtypes import BOOL, INT32, is_integer, is_python_scalar, promote_types
from hlo.frontend.errors import DtypeError, TreeError
from hlo.frontend.operands import convert, dtype_of, shape_error, shape_of, to_tracer
from hlo.frontend.operation import operation
from hlo.frontend.pytree import TreeDef, leaf_paths, tree_flatten, tree_unflatten
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.source_location import user_line
from hlo.frontend.trace import Frame, create, resolve, resumed, return_from, trace_region, wrap
from hlo.frontend.tracer import ArrayLike, Tracer
from hlo.lax import elementwise as ew

BodyResult = tuple[Sequence[Tracer], Any]
"""Next values of a loop: its own, and the user's carry."""


class _Branch(NamedTuple):
    frame: Frame
    leaves: list[Any]
    definition: TreeDef


@operation
def cond(
    pred: ArrayLike, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any
) -> Any:
    """``true_fun(*operands)`` if a scalar is true, else ``false_fun(*operands)``; only one is run.

    Both must return one structure, shapes and dtypes.

    Raises:
        ShapeError: if `pred` is not a scalar, or the branches' results differ.
        TreeError: if the structures of the branches' results differ.
    """
    scalar = to_tracer(pred)
    if scalar.shape != ():
        raise shape_error("hlo.if", f"expected a scalar predicate, found {scalar.aval}")
    if scalar.dtype != BOOL:
        scalar = ew.ne(scalar, to_tracer(0, scalar.dtype))
    return _branches("hlo.if", scalar, (true_fun, false_fun), operands)


@operation
def switch(index: ArrayLike, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """``branches[index](*operands)``, the index clamped into range; only one branch is run."""
    scalar = to_tracer(index)
    if scalar.shape != () or not is_integer(scalar.dtype):
        raise shape_error("hlo.case", f"expected a scalar integer index, found {scalar.aval}")
    if not branches:
        raise shape_error("hlo.case", "expected at least one branch, found none")
    last = min(len(branches) - 1, 2**31 - 1)
    clamped = ew.clamp(to_tracer(0, scalar.dtype), scalar, to_tracer(last, scalar.dtype))
    return _branches("hlo.case", convert(clamped, INT32), tuple(branches), operands)


def _branches(
    op: str, selector: Tracer, functions: Sequence[Callable[..., Any]], operands: tuple[Any, ...]
) -> Any:
    arguments = _as_tracers(operands)
    # The result types are known once the branches are traced, so these are traced into the regions
    # of a first operation and moved into those of the final one.
    holder = create(op, [resolve(selector)], (), regions=len(functions))
    traced: list[_Branch] = []
    for region, function in zip(holder.regions, functions, strict=True):
        frame, result = trace_region(region, (), lambda f=function: f(*arguments))
        traced.append(_Branch(frame, *tree_flatten(result)))
    avals = _common_results(op, traced)
    for branch in traced:
        with resumed(branch.frame):
            results = [
                _to_aval(leaf, aval) for leaf, aval in zip(branch.leaves, avals, strict=True)
            ]
        return_from(branch.frame, results)
    final = create(op, [resolve(selector)], avals, regions=len(functions))
    for region, branch in zip(final.regions, traced, strict=True):
        branch.frame.block.append_to(region)
    holder.erase()
    return tree_unflatten(traced[0].definition, wrap(final.results, avals))


def _common_results(op: str, branches: Sequence[_Branch]) -> list[ShapeDtype]:
    first = branches[0]
    for position, branch in enumerate(branches):
        if branch.definition != first.definition:
            raise TreeError(
                f"expected all branches to return one structure; branch 0 returns "
                f"{first.definition}, branch {position} {branch.definition}",
                op=op,
                location=str(user_line()),
            )
    paths = leaf_paths(first.definition, "result")
    columns = zip(*(branch.leaves for branch in branches), strict=True)
    return [_common_aval(op, path, column) for path, column in zip(paths, columns, strict=True)]


def _common_aval(op: str, path: str, leaves: tuple[Any, ...]) -> ShapeDtype:
    found = [ShapeDtype(shape_of(leaf), dtype_of(leaf)) for leaf in leaves]
    strong = {a for a, leaf in zip(found, leaves, strict=True) if not is_python_scalar(leaf)}
    weak = [leaf for leaf in leaves if is_python_scalar(leaf)]
    if not strong:
        return ShapeDtype((), promote_types(type(leaf) for leaf in weak))
    if len(strong) == 1:
        (aval,) = strong
        if all(aval.shape == () and _takes(aval, leaf) for leaf in weak):
            return aval
    raise shape_error(
        op,
        f"expected all branches to return one shape and dtype, found for {path}: "
        f"{', '.join(map(str, found))}",
    )


def _takes(aval: ShapeDtype, number: Any) -> bool:
    """Whether a Python number takes an array's dtype without changing it."""
    try:
        return promote_types((type(number), aval.dtype)) == aval.dtype
    except DtypeError:
        return False


def _to_aval(leaf: Any, aval: ShapeDtype) -> Tracer:
    return to_tracer(leaf, aval.dtype)


def _as_tracers(tree: Any) -> Any:
    leaves, definition = tree_flatten(tree)
    return tree_unflatten(definition, [to_tracer(leaf) for leaf in leaves])


@operation
def while_loop(
    cond_fun: Callable[[Any], ArrayLike], body_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """Runs ``val = body_fun(val)`` while ``cond_fun(val)``, a scalar bool, is true."""
    leaves, definition = tree_flatten(init_val)

    def condition(*carry: Tracer) -> ArrayLike:
        return cond_fun(tree_unflatten(definition, carry))

    def body(*carry: Tracer) -> BodyResult:
        return (), body_fun(tree_unflatten(definition, carry))

    results = _loop(condition, body, Carry((), leaves, definition))
    return tree_unflatten(definition, results)


@operation
def fori_loop(
    lower: ArrayLike, upper: ArrayLike, body_fun: Callable[[Tracer, Any], Any], init_val: Any
) -> Any:
    """Runs ``val = body_fun(i, val)`` for i from `lower` to `upper` - 1.

    The index is int32 where both bounds are Python's, else of the bounds' type.
    """
    dtype = promote_types((dtype_of(lower), dtype_of(upper)))
    if not is_integer(dtype) or shape_of(lower) != () or shape_of(upper) != ():
        raise shape_error("hlo.while", "expected scalar integer bounds")
    first, limit = (convert(to_tracer(bound, dtype), dtype) for bound in (lower, upper))
    leaves, definition = tree_flatten(init_val)

    def condition(index: Tracer, *_: Tracer) -> Tracer:
        return ew.lt(index, limit)

    def body(index: Tracer, *carry: Tracer) -> BodyResult:
        return (ew.add(index, 1),), body_fun(index, tree_unflatten(definition, carry))

    results = _loop(condition, body, Carry((first,), leaves, definition))
    return tree_unflatten(definition, results[1:])


def _loop(
    condition: Callable[..., ArrayLike], body: Callable[..., BodyResult], carry: Carry
) -> tuple[Tracer, ...]:
    holder = create("hlo.while", (), (), regions=2)
    frame, leaves = carry.trace(holder.regions[1], body)
    return finish_loop(holder, condition, carry, frame, leaves)


def finish_loop(
    holder: Any,
    condition: Callable[..., ArrayLike],
    carry: Carry,
    frame: Frame,
    leaves: Sequence[Any],
) -> tuple[Tracer, ...]:
    """Makes the loop of a traced body: its condition, its initial values, its results."""
    avals = carry.avals
    with resumed(frame):
        results = [_to_aval(leaf, aval) for leaf, aval in zip(leaves, avals, strict=True)]
    return_from(frame, results)
    inner, verdict = trace_region(
        holder.regions[0], avals, lambda *values: _scalar_bool(condition(*values))
    )
    return_from(inner, (verdict,))
    init = [_to_aval(leaf, aval) for leaf, aval in zip(carry.init, avals, strict=True)]
    final = create("hlo.while", [resolve(value) for value in init], avals, regions=2)
    inner.block.append_to(final.regions[0])
    frame.block.append_to(final.regions[1])
    holder.erase()
    return wrap(final.results, avals)


def _scalar_bool(verdict: ArrayLike) -> Tracer:
    found = to_tracer(verdict)
    if found.shape != () or found.dtype != BOOL:
        raise shape_error(
            "hlo.while", f"expected the condition to return a scalar bool, found {found.aval}"
        )
    return found


class Carry:
    """The values a loop carries: where they start, and their shapes and dtypes.

    The first are the loop's own, such as its index; the others are leaves of the user's carry.
    """

    def __init__(self, own: Sequence[Tracer], leaves: Sequence[Any], definition: TreeDef) -> None:
        self.definition = definition
        self.paths = ["index"] * len(own) + leaf_paths(definition, "carry")
        init = [*own, *leaves]
        self.weak = [is_python_scalar(leaf) for leaf in init]
        self.init = [
            leaf if weak else to_tracer(leaf) for leaf, weak in zip(init, self.weak, strict=True)
        ]
        self.avals = [to_tracer(leaf).aval for leaf in self.init]

    def trace(self, region: Any, body: Callable[..., BodyResult]) -> tuple[Frame, list[Any]]:
        """Traces a body into a region, again if Python numbers must start as another dtype."""
        while True:
            frame, (own, result) = trace_region(region, self.avals, body)
            leaves, definition = tree_flatten(result)
            leaves = [*own, *leaves]
            # A widened start is not weak any more, so this ends. The blocks of earlier attempts
            # stay behind in the holder and go with it.
            if not self._widened(leaves, definition):
                self._check(leaves, definition)
                return frame, leaves

    def _widened(self, leaves: Sequence[Any], definition: TreeDef) -> bool:
        if definition != self.definition:
            return False
        changed = False
        for i, (leaf, aval) in enumerate(zip(leaves, self.avals, strict=True)):
            if not self.weak[i] or shape_of(leaf) != aval.shape:
                continue
            dtype = promote_types((type(self.init[i]), dtype_of(leaf)))
            if dtype != aval.dtype:
                self.avals[i] = aval.with_dtype(dtype)
                self.weak[i] = False
                changed = True
        return changed

    def _check(self, leaves: Sequence[Any], definition: TreeDef) -> None:
        if definition != self.definition:
            raise TreeError(
                f"expected the loop's body to return its carry's structure {self.definition}, "
                f"found {definition}",
                op="hlo.while",
                location=str(user_line()),
            )
        wrong = [
            f"{path} is {aval} and becomes {ShapeDtype(shape_of(leaf), dtype_of(leaf))}"
            for path, leaf, aval in zip(self.paths, leaves, self.avals, strict=True)
            if not _fits(leaf, aval)
        ]
        if wrong:
            raise shape_error(
                "hlo.while",
                "expected the loop's body to keep shapes and dtypes of its carry; "
                f"{'; '.join(wrong)}; convert with .astype where it starts or ends",
            )


def _fits(leaf: Any, aval: ShapeDtype) -> bool:
    if is_python_scalar(leaf):
        return aval.shape == () and _takes(aval, leaf)
    return shape_of(leaf) == aval.shape and dtype_of(leaf) == aval.dtype
