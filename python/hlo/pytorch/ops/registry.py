"""The table of operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

OPERATORS: Final[dict[str, Callable[..., Any]]] = {}
"""From ``aten.add.Tensor`` to a function of the schema's arguments, by name; tensors are traced."""

F = TypeVar("F", bound=Callable[..., Any])


def aten(*overloads: str) -> Callable[[F], F]:
    """Enters a function as the meaning of these overloads (``add.Tensor``; alone, ``.default``)."""

    full = (f"aten.{o}" if "." in o else f"aten.{o}.default" for o in overloads)
    return _entering(list(full))


def of_library(*operators: str) -> Callable[[F], F]:
    """Enters a function as the meaning of a library's own operators (``transformers.name``)."""
    return _entering([f"{operator}.default" for operator in operators])


def higher_order(name: str) -> Callable[[F], F]:
    """Enters a function as the meaning of an operator on graphs; its arguments count by place."""
    return _entering([f"higher_order.{name}"])


def _entering(names: Sequence[str]) -> Callable[[F], F]:
    def enter(function: F) -> F:
        for name in names:
            if name in OPERATORS:
                raise ValueError(f"{name} is entered twice")
            OPERATORS[name] = function
        return function

    return enter
