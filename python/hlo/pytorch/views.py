"""Operators that change their operand in place, where nobody sees it under another name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from hlo.pytorch.graph import Node, Ref
from hlo.pytorch.ops import OPERATORS, views

# What may give its operand's memory, beside the operators of `ops/views.py`.
_SHARING: Final = frozenset(
    {
        *("to.dtype", "to.dtype_layout", "to.device", "to.other", "type_as", "view.dtype"),
        *("view_as_real", "view_as_complex", "real", "imag", "positive"),
        *("resolve_conj", "resolve_neg", "_conj", "dropout"),
    }
)
# Overloads that the operator without an underscore has under another name.
_RENAMED: Final = {"aten.transpose_.default": "aten.transpose.int"}


def changes_operand(target: str) -> bool:
    """Whether an operator is of those that PyTorch ends in an underscore: ``aten.add_.Tensor``."""
    name = target.split(".")[1] if target.count(".") > 1 else target
    return name.endswith("_") and not name.startswith("__")


def operand_of(node: Node) -> str:
    """The operand that an operator changes."""
    operand = next(iter(node.arguments.values()), None)
    return operand.name if isinstance(operand, Ref) else ""


class Views:
    """Which values of a graph may share memory with others, as its operators come.

    Args:
        inputs: the graph's, whose memory is the user's.
    """

    def __init__(self, inputs: Iterable[str]) -> None:
        self._shared = set(inputs)

    def without_change(self, node: Node) -> Node:
        """The operator that gives as a result what `node` makes of its operand in place; the node
        itself if it changes nothing, or something that others may see."""
        operand = operand_of(node)
        if not changes_operand(node.target):
            if _may_share(node.target):
                self._shared.update({operand, *_names(node)})
            return node
        target = _RENAMED.get(node.target) or node.target.replace("_.", ".", 1)
        function = OPERATORS.get(target)
        if function is None or node.target in OPERATORS or not operand:
            return node
        # Another shape of the same elements changes nothing for others.
        changes_shape = function.__module__ == views.__name__ and ".copy." not in target
        if operand in self._shared and not changes_shape:
            return node
        if operand in self._shared:
            self._shared.update(_names(node))
        return replace(node, target=target)


def _names(node: Node) -> list[str]:
    """Of the results."""
    parts = (result if isinstance(result, tuple) else (result,) for result in node.results)
    return [name for part in parts for name in part if name is not None]


def _may_share(target: str) -> bool:
    function = OPERATORS.get(target)
    name = target.removeprefix("aten.").removesuffix(".default")
    return name in _SHARING or (function is not None and function.__module__ == views.__name__)
