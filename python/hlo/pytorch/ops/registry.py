"""The table of operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

OPERATORS: Final[dict[str, Callable[..., Any]]] = {}
"""From ``aten.add.Tensor`` to a function of the schema's arguments, by name; tensors are traced."""

F = TypeVar("F", bound=Callable[..., Any])


def aten(*overloads: str) -> Callable[[F], F]:
    """Enters a function as the meaning of these overloads (``add.Tensor``; alone, ``.default``)."""

    def enter(function: F) -> F:
        for overload in overloads:
            name = f"aten.{overload}" if "." in overload else f"aten.{overload}.default"
            if name in OPERATORS:
                raise ValueError(f"{name} is entered twice")
            OPERATORS[name] = function
        return function

    return enter
