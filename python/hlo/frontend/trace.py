"""The trace: the module under construction and the stack of regions that operations go into."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo import ir
from hlo.frontend.errors import LeakedTracerError, TracerError
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.source_location import SourceLine, scope_path, user_line
from hlo.ir import constants, types

if TYPE_CHECKING:
    from hlo.frontend.tracer import Tracer

_SHARED_AS_BYTES = 64

RegionBody = Callable[..., "Sequence[Tracer]"]


@dataclass(eq=False)
class Frame:
    """One region that operations are being added to.

    A function's region cannot see the values around it, so values of outer frames that its body
    uses become further arguments: `captures` maps them to these, in order of first use.
    """

    trace: Trace
    block: ir.Block
    parent: Frame | None
    is_function: bool
    closed: bool = False
    captures: dict[ir.Value, ir.Value] = field(default_factory=dict)
    constants: dict[Hashable, ir.Value] = field(default_factory=dict)


@dataclass(eq=False)
class Trace:
    """A module under construction.

    Attributes:
        context: its MLIR context, active while tracing.
        module: the module.
        private_functions: functions traced for nested `jit` calls, by their cache key.
    """

    context: ir.Context
    module: ir.Module
    private_functions: dict[Any, Any] = field(default_factory=dict)
    _names: dict[str, int] = field(default_factory=dict)
    _locations: dict[tuple[SourceLine, str], ir.Location] = field(default_factory=dict)
    _element_types: dict[np.dtype[Any], ir.Type] = field(default_factory=dict)
    _tensor_types: dict[ShapeDtype, ir.Type] = field(default_factory=dict)

    def unique_name(self, name: str) -> str:
        """A symbol name not used in the module yet."""
        count = self._names.get(name, 0)
        self._names[name] = count + 1
        return name if count == 0 else self.unique_name(f"{name}_{count}")

    def location(self, op: str, line: SourceLine) -> ir.Location:
        """A line of the user's source, under the active scopes."""
        scopes = scope_path()
        key = (line, f"{scopes}/{op}" if scopes else "")
        found = self._locations.get(key)
        if found is None:
            found = ir.Location.file(*line, context=self.context)
            if scopes:
                found = ir.Location.name(key[1], found, context=self.context)
            self._locations[key] = found
        return found

    def element_type(self, dtype: np.dtype[Any]) -> ir.Type:
        """MLIR's type for elements of a dtype."""
        found = self._element_types.get(dtype)
        if found is None:
            found = self._element_types[dtype] = types.element_type(dtype, self.context)
        return found

    def tensor_type(self, aval: ShapeDtype) -> ir.Type:
        """MLIR's tensor type for a shape and dtype."""
        found = self._tensor_types.get(aval)
        if found is None:
            found = ir.RankedTensorType.get(
                aval.shape,
                self.element_type(aval.dtype),
                loc=ir.Location.unknown(self.context),
            )
            self._tensor_types[aval] = found
        return found


class _Stack(threading.local):
    def __init__(self) -> None:
        self.frames: list[Frame] = []


_stack = _Stack()


def is_tracing() -> bool:
    """Whether a function is being traced on this thread."""
    return bool(_stack.frames)


def current_frame() -> Frame:
    """The region that operations go into.

    Raises:
        TracerError: if nothing is being traced on this thread.
    """
    if not _stack.frames:
        raise TracerError(
            "this operation needs a function being traced; call it inside a function under hlo.jit",
            location=str(user_line()),
        )
    return _stack.frames[-1]


@contextmanager
def frame(trace: Trace, block: ir.Block, *, is_function: bool) -> Generator[Frame]:
    """Makes a block the place operations go into; values made there are unusable afterwards."""
    parent = _stack.frames[-1] if _stack.frames else None
    made = Frame(trace, block, parent, is_function)
    _stack.frames.append(made)
    try:
        yield made
    finally:
        made.closed = True
        _stack.frames.pop()


@contextmanager
def resumed(inner: Frame) -> Generator[None]:
    """Goes on adding to a region whose frame was left."""
    inner.closed = False
    _stack.frames.append(inner)
    try:
        yield
    finally:
        inner.closed = True
        _stack.frames.pop()


def resolve(tracer: Tracer) -> ir.Value:
    """The SSA value of a traced array, visible from the current frame.

    Raises:
        LeakedTracerError: if the region the array belongs to is complete.
    """
    here = current_frame()
    owner = tracer.frame
    if owner is here:
        return tracer.value
    if owner.closed or owner.trace is not here.trace or owner not in _stack.frames:
        raise LeakedTracerError(
            f"a traced array {tracer.aval}, made at {tracer.line}, outlived the function or loop "
            "body that made it; return it from there instead of storing it in a global, an "
            "attribute or an enclosing variable",
            location=str(user_line()),
        )
    value = tracer.value
    for crossed in _stack.frames[_stack.frames.index(owner) + 1 :]:
        if crossed.is_function:
            value = _capture(crossed, value)
    return value


def _capture(function: Frame, value: ir.Value) -> ir.Value:
    found = function.captures.get(value)
    if found is None:
        location = ir.Location.unknown(function.trace.context)
        found = function.block.add_argument(value.type, location)
        function.captures[value] = found
    return found


def create(
    name: str,
    operands: Sequence[ir.Value],
    results: Sequence[ShapeDtype],
    attributes: Mapping[str, ir.Attribute] | None = None,
    regions: int = 0,
    line: SourceLine | None = None,
) -> ir.Operation:
    """Adds an operation, whose regions are still empty, to the current region."""
    here = current_frame()
    trace = here.trace
    return ir.Operation.create(
        name,
        results=[trace.tensor_type(aval) for aval in results],
        operands=list(operands),
        attributes=dict(attributes) if attributes else None,
        regions=regions,
        loc=trace.location(name.removeprefix("hlo."), line or user_line()),
        ip=ir.InsertionPoint(here.block),
    )


def wrap(
    values: Iterable[ir.Value], avals: Sequence[ShapeDtype], line: SourceLine | None = None
) -> tuple[Tracer, ...]:
    """Traced arrays for values of the current region."""
    from hlo.frontend.tracer import Tracer

    here = current_frame()
    line = line or user_line()
    return tuple([Tracer(v, aval, here, line) for v, aval in zip(values, avals, strict=True)])


def emit(
    name: str,
    operands: Sequence[Tracer],
    results: Sequence[ShapeDtype],
    attributes: Mapping[str, ir.Attribute] | None = None,
    regions: Sequence[tuple[Sequence[ShapeDtype], RegionBody]] = (),
) -> tuple[Tracer, ...]:
    """Adds an operation to the current region.

    Args:
        name: its name without the dialect's, such as ``add``.
        operands: traced arrays.
        results: shape and dtype of each result.
        attributes: by name.
        regions: for each region the types of its arguments and a function from traced arguments
            to traced results.
    """
    values = [resolve(operand) for operand in operands]
    line = user_line()
    operation = create(f"hlo.{name}", values, results, attributes, len(regions), line)
    for region, (arguments, body) in zip(operation.regions, regions, strict=True):
        inner, outputs = trace_region(region, arguments, body)
        return_from(inner, outputs)
    return wrap(operation.results, results, line)


def trace_region(
    region: ir.Region, arguments: Sequence[ShapeDtype], body: Callable[..., Any]
) -> tuple[Frame, Any]:
    """Calls a function with the arguments of a new block of a region.

    Returns:
        The frame, without a terminator yet, and what the function returned.
    """
    trace = current_frame().trace
    location = trace.location("region", user_line())
    block = region.blocks.append(
        *[trace.tensor_type(aval) for aval in arguments], arg_locs=[location] * len(arguments)
    )
    with frame(trace, block, is_function=False) as inner:
        return inner, body(*wrap(block.arguments, arguments))


def return_from(inner: Frame, results: Sequence[Tracer], terminator: str = "hlo.return") -> None:
    """Ends a region with its results."""
    with resumed(inner):
        create(terminator, [resolve(result) for result in results], ())


def constant(value: np.ndarray[Any, Any]) -> Tracer:
    """A traced array with known contents; equal ones are one constant."""
    aval = ShapeDtype(value.shape, value.dtype)
    # By content, not by identity: the user may change an array between two uses.
    if value.nbytes <= _SHARED_AS_BYTES:
        content = value.tobytes()
    else:
        raw = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        content = hashlib.blake2b(raw.data).digest()
    key = (aval, content)
    return _shared_constant(key, aval, lambda: value)


def splat(value: Any, shape: Sequence[int]) -> Tracer:
    """A traced array that holds one NumPy scalar everywhere."""
    aval = ShapeDtype(shape, value.dtype)
    key = (aval, "splat", value.tobytes())
    return _shared_constant(key, aval, lambda: np.broadcast_to(value, aval.shape))


def _shared_constant(
    key: Hashable, aval: ShapeDtype, value: Callable[[], np.ndarray[Any, Any]]
) -> Tracer:
    from hlo.frontend.tracer import Tracer

    here = current_frame()
    scope: Frame | None = here
    while scope is not None:
        found = scope.constants.get(key)
        if found is not None:
            return Tracer(found, aval, scope, user_line())
        scope = None if scope.is_function else scope.parent
    attribute = constants.from_numpy(value(), here.trace.element_type(aval.dtype))
    (made,) = emit("constant", (), (aval,), {"value": attribute})
    here.constants[key] = made.value
    return made
