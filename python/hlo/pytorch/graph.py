"""A PyTorch graph as plain data: what live `torch.fx` graphs and stored archives are read into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.source_location import SourceLine


@dataclass(frozen=True)
class Ref:
    """A value of the graph: an input, or a result of a node."""

    name: str


@dataclass(frozen=True)
class Node:
    """One operator call.

    Attributes:
        target: the operator's overload, as ``aten.add.Tensor``; ``higher_order.`` and a name, whose
            arguments count by place; ``constant`` and ``graph``, whose ``value`` is the result.
        arguments: by the names of the operator's schema; those left at their default are absent.
            Values are numbers, strings, dtypes, None, `Ref`s, `Graph`s (branches and bodies of
            loops), and lists of them.
        results: what each result is called; a list stands for a result that is a list of tensors,
            None for one that nobody reads.
        line: the user's line.
        scope: the module that made the call, as ``layers.0.attention``.
    """

    target: str
    arguments: Mapping[str, Any]
    results: tuple[str | tuple[str | None, ...] | None, ...]
    line: SourceLine | None = None
    scope: str = ""


@dataclass(frozen=True)
class Input:
    """An input of the graph.

    Attributes:
        name: what the graph calls it.
        role: ``parameter``, ``buffer``, ``constant`` or ``argument`` (the user's).
        target: the state's name in the model (``layers.0.weight``), or the argument's.
        aval: shape and dtype; None for a number.
    """

    name: str
    role: str
    target: str
    aval: ShapeDtype | None


@dataclass(frozen=True)
class Output:
    """A result of the graph.

    Attributes:
        value: a `Ref`, a number or None.
        role: ``result``, or ``mutation`` of the buffer or argument called `target`.
        target: the state's name in the model.
    """

    value: Any
    role: str = "result"
    target: str = ""


@dataclass(frozen=True)
class Graph:
    """A graph in execution order.

    Attributes:
        inputs: state first, then the user's arguments.
        nodes: each reads inputs and results of earlier ones only.
        outputs: mutated state first, then the user's results.
        avals: shape and dtype of the tensors that are known, by name.
        name: the model's class.
        numbers: inputs that are numbers, by name.
    """

    inputs: tuple[Input, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Output, ...]
    avals: Mapping[str, ShapeDtype] = field(default_factory=dict[str, ShapeDtype])
    name: str = "model"
    numbers: Mapping[str, Any] = field(default_factory=dict[str, Any])
