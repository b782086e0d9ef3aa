"""`jit`: a Python function compiled for the shapes and dtypes it is called with."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from hlo.diagnostics import ArgumentError
from hlo.executable.runtime import call_signature
from hlo.frontend.dtypes import canonical_dtype
from hlo.frontend.fast_calls import FastCalls
from hlo.frontend.lowering import (
    abstract_results,
    aval_of,
    call_private,
    function_name,
    lower_module,
)
from hlo.frontend.operands import to_tracer
from hlo.frontend.pytree import TreeDef, tree_flatten, tree_unflatten
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.source_location import user_line
from hlo.frontend.stages import Compiled, Lowered, argument_labels
from hlo.frontend.torch_tensors import dtype_of, is_tensor
from hlo.frontend.trace import is_tracing
from hlo.frontend.tracer import Tracer

P = ParamSpec("P")
R = TypeVar("R")


class _Call:
    """Arguments of one call: the arrays, flat, and everything else, hashable."""

    __slots__ = ("in_tree", "key", "leaves", "statics", "types")

    def __init__(
        self,
        leaves: list[Any],
        types: tuple[tuple[Any, Any] | None, ...],
        in_tree: TreeDef,
        statics: tuple[tuple[int | str, Any], ...],
    ) -> None:
        self.leaves = leaves
        self.types = types
        self.in_tree = in_tree
        self.statics = statics
        self.key: Hashable = (types, in_tree, statics)

    @property
    def avals(self) -> list[ShapeDtype]:
        """Shape and dtype of the arrays."""
        return [ShapeDtype(*type_) for type_ in self.types if type_ is not None]


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return (value,) if isinstance(value, (int, str)) else tuple(value)


class JitFunction(Generic[P, R]):
    """A function compiled on its first call with each combination of argument types.

    Called while another function is traced, it becomes a call of a private function there.
    """

    def __init__(
        self,
        function: Callable[P, R],
        static_argnums: int | Iterable[int] = (),
        static_argnames: str | Iterable[str] = (),
        donate_argnums: int | Iterable[int] = (),
        donate_argnames: str | Iterable[str] = (),
        options: dict[str, Any] | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._names = _positional_names(function)
        self._static = self._resolve("static", static_argnums, static_argnames)
        self._donated = self._resolve("donate", donate_argnums, donate_argnames)
        self._options = options or {}
        self._programs: dict[Hashable, Compiled] = {}
        self._fast = FastCalls()
        self._known = self._fast.known
        self._lock = threading.RLock()

    def _resolve(self, what: str, numbers: Any, names: Any) -> frozenset[int | str]:
        """Parameters by position and by name; a positional one is found under both."""
        found: set[int | str] = set()
        count = len(self._names)
        for number in _as_tuple(numbers):
            if count and not -count <= number < count and not _takes_any_number(self._function):
                raise ArgumentError(
                    f"expected {what}_argnums within {count} positional parameters, found {number}"
                )
            position = number + count if number < 0 else number
            found.add(position)
            if position < count:
                found.add(self._names[position])
        for name in _as_tuple(names):
            found.add(name)
            if name in self._names:
                found.add(self._names.index(name))
        return frozenset(found)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<hlo.jit of {getattr(self._function, '__qualname__', self._function)!s}>"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs the function.

        Results are NumPy arrays in the structure that it returns, or tensors of PyTorch's where
        all arrays among the arguments are.
        """
        if is_tracing():
            return self._inline(args, kwargs)
        dynamic, keywords, statics = args, kwargs, ()
        if self._static:
            dynamic, keywords, statics = self._parted(args, kwargs)
        signature = call_signature(dynamic, keywords)
        if signature is not None:
            try:
                known = self._known.get((signature[0], statics) if statics else signature[0])
            except TypeError:  # a static value without a hash, which `_bind` tells about
                known = None
            if known is not None:
                return known[0](signature[1])
        return self._run(args, kwargs)

    def _parted(
        self, args: Any, kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any], tuple[Any, ...]]:
        """Positional and keyword arguments that are traced, and static ones with their types."""
        static = self._static
        if not static:
            return args, kwargs, ()
        statics = [(i, type(a), a) for i, a in enumerate(args) if i in static]
        statics += [(n, type(kwargs[n]), kwargs[n]) for n in sorted(kwargs) if n in static]
        dynamic = tuple([a for i, a in enumerate(args) if i not in static])
        return dynamic, {n: a for n, a in kwargs.items() if n not in static}, tuple(statics)

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
        call = self._bind(args, kwargs)
        program = self._programs.get(call.key)
        if program is None:
            with self._lock:
                program = self._programs.get(call.key)
                if program is None:
                    program = self._lower(call).compile(**self._options)
                    self._programs[call.key] = program
        dynamic, keywords, statics = self._parted(args, kwargs)
        self._fast.remember(dynamic, keywords, call.leaves, program.fast_run, statics)
        return program.run(call.leaves)

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Lowered:
        """Traces the function for arguments of these types (`ShapeDtype` or arrays)."""
        return self._lower(self._bind(args, kwargs))

    def eval_shape(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """The results' pytree with a `ShapeDtype` in place of each array."""
        return self.lower(*args, **kwargs).out_info

    def _bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> _Call:
        static = self._static
        if static:
            statics = (
                *((i, a) for i, a in enumerate(args) if i in static),
                *((n, kwargs[n]) for n in sorted(kwargs) if n in static),
            )
            for where, value in statics:
                _check_static(where, value)
            dynamic = tuple(a for i, a in enumerate(args) if i not in static)
            keywords = {n: a for n, a in kwargs.items() if n not in static}
        else:
            statics, dynamic, keywords = (), tuple(args), kwargs
        leaves, in_tree = tree_flatten((dynamic, keywords))
        try:
            types = tuple([(leaf.shape, leaf.dtype) for leaf in leaves])
        except AttributeError:
            types = tuple([_type_of(leaf) for leaf in leaves])
        if any(map(is_tensor, leaves)):
            types = tuple([_type_of(leaf) for leaf in leaves])
        if None in types:
            labels = self._labels(in_tree, statics)
            avals = [aval_of(leaf, label) for leaf, label in zip(leaves, labels, strict=True)]
            types = tuple((aval.shape, aval.dtype) for aval in avals)
        # 1, 1.0 and True are equal, but not the same argument.
        return _Call(leaves, types, in_tree, tuple((w, (type(v), v)) for w, v in statics))

    def _labels(self, in_tree: TreeDef, statics: Iterable[tuple[int | str, Any]]) -> list[str]:
        fixed = {where for where, _ in statics}
        names = [name for i, name in enumerate(self._names) if i not in fixed]
        return argument_labels(in_tree, names)

    def _flat_function(self, call: _Call) -> Callable[[Sequence[Tracer]], Any]:
        in_tree, statics, function = call.in_tree, call.statics, self._function

        def flat(leaves: Sequence[Tracer]) -> Any:
            args, kwargs = tree_unflatten(in_tree, leaves)
            positional = list(args)
            keywords = dict(kwargs)
            for where, (_, value) in statics:
                if isinstance(where, int):
                    positional.insert(where, value)
                else:
                    keywords[where] = value
            return cast(Any, function)(*positional, **keywords)

        return flat

    def _donated_leaves(self, call: _Call) -> list[int]:
        if not self._donated:
            return []
        fixed = {where for where, _ in call.statics}
        positional, keywords = call.in_tree.children
        open_positions = (i for i in range(len(positional.children) + len(fixed)) if i not in fixed)
        wheres = [*zip(open_positions, positional.children, strict=False)]
        found: list[int] = []
        offset = 0
        for where, child in [*wheres, *zip(keywords.data, keywords.children, strict=True)]:
            if where in self._donated:
                found += range(offset, offset + child.num_leaves)
            offset += child.num_leaves
        return found

    def _lower(self, call: _Call) -> Lowered:
        labels = self._labels(call.in_tree, call.statics)
        donated = self._donated_leaves(call)
        module, signature = lower_module(
            self._flat_function(call),
            call.avals,
            function_name(self._function),
            labels,
            donated,
        )
        return Lowered(module, signature, call.in_tree, tuple(donated))

    def _inline(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        call = self._bind(args, kwargs)
        return call_private(
            (id(self), call.key),
            self._flat_function(call),
            [to_tracer(leaf) for leaf in call.leaves],
            function_name(self._function),
            self._labels(call.in_tree, call.statics),
        )


_NUMBERS = {kind: ((), canonical_dtype(kind)) for kind in (bool, int, float, complex)}


def _type_of(leaf: Any) -> tuple[Any, Any] | None:
    """Shape and dtype of an array or number; None for what may not be one."""
    found = _NUMBERS.get(type(leaf))
    if is_tensor(leaf):
        return tuple(leaf.shape), dtype_of(leaf.dtype)
    if found is None and hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        return leaf.shape, leaf.dtype
    return found


def _check_static(where: int | str, value: Any) -> None:
    if isinstance(value, Tracer):
        raise ArgumentError(
            f"expected a known value for static argument {where}, found a traced {value.aval}",
            location=str(user_line()),
        )
    try:
        hash(value)
    except TypeError as error:
        raise ArgumentError(
            f"expected a hashable value for static argument {where}, found {type(value).__name__}; "
            "pass arrays as ordinary arguments and lists as tuples",
            location=str(user_line()),
        ) from error


def _positional_names(function: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [parameter.name for parameter in parameters if parameter.kind in kinds]


def _takes_any_number(function: Callable[..., Any]) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)


@overload
def jit(function: Callable[P, R], /) -> JitFunction[P, R]: ...


@overload
def jit(
    function: Callable[P, R],
    /,
    *,
    static_argnums: int | Iterable[int] = ...,
    static_argnames: str | Iterable[str] = ...,
    donate_argnums: int | Iterable[int] = ...,
    donate_argnames: str | Iterable[str] = ...,
    **options: Any,
) -> JitFunction[P, R]: ...


@overload
def jit(
    *,
    static_argnums: int | Iterable[int] = ...,
    static_argnames: str | Iterable[str] = ...,
    donate_argnums: int | Iterable[int] = ...,
    donate_argnames: str | Iterable[str] = ...,
    **options: Any,
) -> Callable[[Callable[P, R]], JitFunction[P, R]]: ...


def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
    donate_argnums: int | Iterable[int] = (),
    donate_argnames: str | Iterable[str] = (),
    **options: Any,
) -> Any:
    """Compiles a function of arrays; also usable as a decorator, with or without options.

    The function is run once for each combination of shapes, dtypes, structures and static values of
    its arguments, on traced arrays; the operations it does on them are compiled.

    Args:
        function: takes and returns pytrees of arrays.
        static_argnums: positions of arguments that are hashable Python values, known when tracing.
        static_argnames: names of such arguments.
        donate_argnums: positions of arguments whose memory the program may use for results: they
            must not be used afterwards.
        donate_argnames: names of such arguments.
        **options: of `hlo.compile`.
    """

    def wrap(function: Callable[..., Any]) -> JitFunction[..., Any]:
        if not callable(function):
            raise ArgumentError(f"expected a function, found {type(function).__name__}")
        return JitFunction(
            function, static_argnums, static_argnames, donate_argnums, donate_argnames, options
        )

    return wrap if function is None else wrap(function)


def eval_shape(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The results' pytree with a `ShapeDtype` in place of each array; nothing is compiled.

    Args:
        function: a function of arrays.
        *args: pytrees of arrays or `ShapeDtype`.
        **kwargs: the same.
    """
    leaves, tree = tree_flatten((args, kwargs))
    labels = argument_labels(tree)
    avals = [aval_of(leaf, label) for leaf, label in zip(leaves, labels, strict=True)]

    def flat(tracers: Sequence[Tracer]) -> Any:
        positional, keywords = tree_unflatten(tree, tracers)
        return function(*positional, **keywords)

    out_avals, out_tree = abstract_results(flat, avals)
    return tree_unflatten(out_tree, out_avals)
