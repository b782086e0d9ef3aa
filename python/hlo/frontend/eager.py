"""Operations called outside of `jit`: each is compiled on its own, and run at once."""

from __future__ import annotations

import cmath
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from hlo.frontend.lowering import aval_of, function_name, lower_module
from hlo.frontend.pytree import TreeDef, tree_flatten, tree_unflatten
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.stages import Compiled, Lowered
from hlo.frontend.tracer import Tracer


class _Static(NamedTuple):
    """A leaf that is part of the program. Equal numbers of different types or signs differ."""

    kind: type
    text: str
    value: Any


def _is_array(leaf: Any) -> bool:
    if isinstance(leaf, np.generic):
        return not isinstance(leaf, np.integer)
    return isinstance(leaf, (np.ndarray, Tracer)) or hasattr(leaf, "__dlpack__")


def run(function: Callable[..., Any], args: Sequence[Any], options: dict[str, Any]) -> Any:
    """Runs a function of traced arrays on NumPy arrays."""
    leaves, tree = tree_flatten((tuple(args), options))
    arrays = [leaf for leaf in leaves if _is_array(leaf)]
    template = tuple(
        aval_of(leaf, "argument") if _is_array(leaf) else _static(leaf) for leaf in leaves
    )
    return _program(function, tree, template).run(arrays)


def _static(leaf: Any) -> Hashable:
    if not isinstance(leaf, (float, complex)):
        return _Static(type(leaf), "", leaf)
    text = repr(leaf)
    return _Static(type(leaf), text, text if cmath.isnan(leaf) else leaf)


@lru_cache(maxsize=4096)
def _program(
    function: Callable[..., Any], tree: TreeDef, template: tuple[ShapeDtype | _Static, ...]
) -> Compiled:
    avals = [entry for entry in template if isinstance(entry, ShapeDtype)]

    def flat(tracers: Sequence[Tracer]) -> Any:
        arrays = iter(tracers)
        leaves = [
            next(arrays) if isinstance(entry, ShapeDtype) else _value(entry) for entry in template
        ]
        args, options = tree_unflatten(tree, leaves)
        return function(*args, **options)

    module, signature = lower_module(flat, avals, function_name(function), [""] * len(avals), ())
    return Lowered(module, signature, tree).compile()


def _value(entry: _Static) -> Any:
    # A NaN is not equal to itself, so its text stands for it in the key.
    return entry.kind(entry.value) if entry.value is entry.text and entry.text else entry.value
