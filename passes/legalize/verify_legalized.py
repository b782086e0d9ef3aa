"""Checks that a program is of core ops alone."""

from __future__ import annotations

from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.legalize.drop_no_op_custom_calls import is_runtime_target
from hlo.passes.rewrite.elementwise import ELEMENTWISE
from hlo.passes.rewrite.tensor_types import has_static_shape, is_tensor
from hlo.passes.rewrite.walk import (
    CONTROL_FLOW,
    malformed,
    operations,
    operations_named,
    unsupported,
)
from hlo.recursion import frames_left

# What the passes nest of Python's calls for a level of control flow, and inside the last one for a
# kernel and what leads to it.
_FRAMES_PER_LEVEL = 3
_FRAMES_INSIDE = 800

LEGAL_OPS: frozenset[str] = (
    ELEMENTWISE
    | {
        f"hlo.{name}"
        for name in [
            "bitcast_convert",
            "broadcast_in_dim",
            "concatenate",
            "constant",
            "convolution",
            "copy",
            "custom_call",
            "dot_general",
            "dynamic_slice",
            "dynamic_update_slice",
            "fft",
            "fusion",
            "gather",
            "iota",
            "optimization_barrier",
            "pad",
            "reduce",
            "reduce_window",
            "reshape",
            "reverse",
            "scatter",
            "select_and_scatter",
            "slice",
            "sort",
            "transpose",
            "case",
            "if",
            "while",
            "return",
        ]
    }
    | {"builtin.module", "func.func", "func.return"}
)
"""What the passes after legalization understand."""


@dataclass(frozen=True)
class VerifyLegalized(Pass):
    """Closes legalization: every op is in `LEGAL_OPS`, every value is a tensor of static shape,
    every constant has its elements, every custom call is one of the runtime's, loops and branches
    nest no deeper than the passes can follow, and there is one function with a body, `main`.

    Changes nothing.
    """

    def run(self, module: ir.Module) -> bool:
        """Raises for the first op that is left over."""
        checked: set[ir.Type] = set()
        for op in operations(module):
            if op.name not in LEGAL_OPS:
                raise unsupported(op, "cannot be compiled for the CPU")
            if op.name == "hlo.custom_call":
                _check_target(op)
            if op.name == "hlo.constant":
                _check_elements(op)
            if op.name == "func.func" and not op.regions[0].blocks:
                raise unsupported(op, "is declared without a body; expected one to compile")
            values = op.regions[0].blocks[0].arguments if op.name == "func.func" else op.results
            for value in values:
                kind = value.type
                if kind not in checked:
                    _check_type(op, kind)
                    checked.add(kind)
        _check_depth(module)
        return False


def _check_depth(module: ir.Module) -> None:
    most = max(frames_left() - _FRAMES_INSIDE, 0) // _FRAMES_PER_LEVEL
    around: list[ir.Operation] = []
    for op in operations_named(module, CONTROL_FLOW):
        parent = op.parent
        while around and around[-1] != parent:
            around.pop()
        around.append(op)
        if len(around) > most:
            raise unsupported(
                op, f"loops and branches nest too deep to compile: expected at most {most} levels"
            )


def _check_elements(op: ir.Operation) -> None:
    """Raises if a constant names a resource that is missing or of another size than its type."""
    value = op.attributes["value"]
    if isinstance(value, ir.DenseElementsAttr):
        return
    try:
        ir.constants.to_numpy(value)
    except ValueError as error:
        raise malformed(op, str(error)) from None


def _check_target(op: ir.Operation) -> None:
    target = ir.attributes.string(op, "call_target_name")
    if not is_runtime_target(target):
        raise unsupported(op, f"the custom call @{target} is not known")


def _check_type(op: ir.Operation, kind: ir.Type) -> None:
    if not is_tensor(kind):
        raise malformed(op, f"expected tensors, found a value of type {kind}")
    if not has_static_shape(kind):
        raise unsupported(
            op,
            f"expected a static shape, found {kind}: its sizes depend on values that are known "
            "only when the program runs",
        )
    element = ir.types.name_of(ir.RankedTensorType(kind).element_type)
    if element.startswith("!quant") or element == "index":
        raise unsupported(op, f"elements of type {element} cannot be compiled")
