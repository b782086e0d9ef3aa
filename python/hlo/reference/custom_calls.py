"""Custom calls with a known meaning: those that do nothing in one process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hlo.reference.op_reader import OpReader
from hlo.reference.op_table import Evaluator, Values

_IDENTITIES = frozenset(
    {
        "LayoutConstraint",
        "MoveToDevice",
        "MoveToHost",
        "SPMDFullToShardShape",
        "SPMDShardToFullShape",
        "Sharding",
        "annotate_device_placement",
        "xla.sdy.FuncResultSharding",
        "xla.sdy.GlobalToLocalShape",
        "xla.sdy.LocalToGlobalShape",
    }
)


def build_custom_call(reader: OpReader, function: Callable[[str], Any]) -> Evaluator:
    """Evaluator of a custom call, by its target name.

    Raises:
        UnsupportedError: the target is unknown.
    """
    del function
    target = reader.string("call_target_name")
    if target in _IDENTITIES:

        def identity(*operands: Any) -> Values:
            return operands

        return identity
    raise reader.unsupported(f"the reference evaluator does not know the custom call @{target}")
