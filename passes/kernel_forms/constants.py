"""Constants that a program moves around before it reads them."""

from __future__ import annotations

from typing import Any

import numpy as np

from hlo import ir
from hlo.passes.hlo_to_loops.graph import decode_attribute
from hlo.passes.layouts.physical_ops import LARGEST_CONSTANT
from hlo.passes.rewrite.tensor_types import shape_of

MOVES = ("hlo.transpose", "hlo.reverse", "hlo.reshape")


def constant_behind(value: ir.Value) -> ir.Operation | None:
    """The constant whose elements a value has, perhaps in another order.

    None where there is none, where its elements are all the same, and where it is so large that it
    is not moved around at compile time.
    """
    made = value.owner
    while not isinstance(made, ir.Block) and made.name in MOVES:
        made = made.operands[0].owner
    if isinstance(made, ir.Block) or made.name != "hlo.constant":
        return None
    attribute = made.attributes["value"]
    if ir.constants.splat_value(attribute) is not None:
        return None
    return made.operation if ir.constants.to_numpy(attribute).nbytes <= LARGEST_CONSTANT else None


def elements_of(value: ir.Value) -> np.ndarray[Any, Any]:
    """The elements of a constant, or of one that is moved around."""
    made = value.owner
    if made.name == "hlo.constant":
        return ir.constants.to_numpy(made.attributes["value"])
    array = elements_of(made.operands[0])
    if made.name == "hlo.reverse":
        return np.flip(array, decode_attribute(made.attributes["dimensions"]))
    if made.name == "hlo.transpose":
        return array.transpose(decode_attribute(made.attributes["permutation"]))
    return array.reshape(shape_of(value))
