"""Calls of compiled functions that are recognised by their arguments' structure and types alone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeAlias, cast

from hlo.executable.runtime import call_signature
from hlo.frontend.pytree import tree_flatten

MOST_SIGNATURES = 256

# From the leaves in the order of `call_signature` to the function's result.
Run: TypeAlias = Callable[[list[Any]], Any]
# From the places of a function's flat arguments among such leaves, and these leaves, to what runs
# others of the same types.
MakeRun: TypeAlias = Callable[[Sequence[int], Sequence[Any]], Run]


class FastCalls:
    """What runs calls that were met before.

    Attributes:
        known: by the key that `call_signature` gives, paired with the static arguments if there
            are any. Beside each are the objects that its key names, whose addresses must not be
            others' meanwhile.
    """

    def __init__(self) -> None:
        self.known: dict[Hashable, tuple[Run, object]] = {}

    def find(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Run, list[Any]] | None:
        """What runs a call without static arguments, and its leaves; None of a new one."""
        signature = call_signature(args, kwargs)
        known = None if signature is None else self.known.get(signature[0])
        return None if signature is None or known is None else (known[0], signature[1])

    def remember(
        self,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        leaves: Sequence[Any],
        make: MakeRun,
        statics: tuple[Any, ...] = (),
    ) -> None:
        """Has calls with arguments of the same structure and types found in `known`.

        Args:
            args: the positional arguments of a call, without static ones.
            kwargs: the named ones.
            leaves: its flat arguments, as the function takes them.
            make: gives what runs such calls.
            statics: the static arguments.
        """
        signature = call_signature(args, dict(kwargs), with_kept=True)
        if signature is None:
            return
        key, found, kept = signature
        order = _order_of(args, kwargs)
        # A node of a registered type looks like an array if it has a shape and a dtype.
        if len(order) != len(leaves) or len(order) != len(found):
            return
        if any(found[i] is not leaf for i, leaf in zip(order, leaves, strict=True)):
            return
        if len(self.known) >= MOST_SIGNATURES:
            self.known.clear()
        self.known[(key, statics) if statics else key] = make(order, found), kept


def arranged(order: Sequence[int], run: Run) -> Run:
    """What runs leaves that stand in another order."""
    if list(order) == list(range(len(order))):
        return run
    pick = itemgetter(*order)
    return lambda leaves: run(list(pick(leaves)))


def _order_of(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[int]:
    """Where each leaf of the pytree `(args, kwargs)` is among the leaves of `call_signature`."""
    count = itertools.count()

    def numbered(tree: Any) -> Any:
        if type(tree) is dict:
            return {key: numbered(value) for key, value in cast(Any, tree).items()}
        if type(tree) in (list, tuple):
            return type(tree)([numbered(value) for value in tree])
        return None if tree is None else next(count)

    return tree_flatten((numbered(args), numbered(dict(kwargs))))[0]
