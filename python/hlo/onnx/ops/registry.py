"""The table of operators, and what an operator's function is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np

from hlo.diagnostics import UnsupportedError
from hlo.frontend.tracer import Tracer
from hlo.onnx.model import STANDARD, Graph, Node

Array = np.ndarray[Any, Any]


class UnknownValueError(UnsupportedError):
    """An operator must know a value that is computed, or given, when the program runs.

    Attributes:
        value: its name in the graph.
    """

    def __init__(self, value: str, *, op: str | None = None, location: str | None = None) -> None:
        self.value = value
        super().__init__(
            f"the value {value!r} decides about shapes and must be known when the program is "
            f"compiled; if it is an input of the model, give it as constants={{{value!r}: array}}",
            op=op,
            location=location,
        )


@dataclass(frozen=True)
class Call:
    """A node that is being translated.

    Attributes:
        node: the node; references to attributes of a function are resolved.
        evaluate: the outputs of a graph of an attribute for values of its inputs; it also reads
            the values around the node.
    """

    node: Node
    evaluate: Callable[[Graph, Sequence[Any]], list[Any]]

    @property
    def version(self) -> int:
        """Of the node's set of operators."""
        return self.node.version

    @property
    def outputs(self) -> int:
        """How many outputs the node has, down to the last that is read."""
        return len(self.node.outputs)

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute, or its default."""
        return self.node.attributes.get(name, default)

    def wants(self, output: int) -> bool:
        """Whether the output is read."""
        return output < len(self.node.outputs) and bool(self.node.outputs[output])

    def known(self, position: int, value: Any) -> Array:
        """An input that must be known when the program is compiled.

        Raises:
            UnknownValueError: it is not.
        """
        if isinstance(value, Tracer):
            raise UnknownValueError(self.node.inputs[position])
        return np.asarray(value)

    def refuse(self, message: str) -> UnsupportedError:
        """The error for what this operator does not take."""
        return UnsupportedError(message)


@dataclass(frozen=True)
class Operator:
    """How an operator is translated.

    Attributes:
        function: from a `Call` and the inputs to the output, or a tuple of all. Inputs are traced
            arrays, None for those left out.
        static: inputs that must be known when the program is compiled; they come as NumPy arrays.
        raw: whether all inputs come as they are: arrays that are known as NumPy arrays, traced
            ones, and lists for sequences.
    """

    function: Callable[..., Any]
    static: tuple[int, ...]
    raw: bool


OPERATORS: Final[dict[tuple[str, str], Operator]] = {}
"""By domain and type."""

F = TypeVar("F", bound=Callable[..., Any])


def op(
    *names: str, static: Sequence[int] = (), raw: bool = False, domain: str = STANDARD
) -> Callable[[F], F]:
    """Enters a function as the meaning of these operators."""

    def enter(function: F) -> F:
        for name in names:
            if (domain, name) in OPERATORS:
                raise ValueError(f"{name} is entered twice")
            OPERATORS[domain, name] = Operator(function, tuple(static), raw)
        return function

    return enter


def integers(values: Any) -> list[int]:
    """A known array, a list or a number as a list of Python integers."""
    return [int(value) for value in np.asarray(values).ravel()]
