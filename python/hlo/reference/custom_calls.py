"""Custom calls with a known meaning: no-ops in one process, CHLO operations by another name,
LAPACK, approximate top-k.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hlo.executable import callbacks, runtime
from hlo.reference import sorting
from hlo.reference.element_types import Array
from hlo.reference.lapack import is_lapack_target, lapack_call
from hlo.reference.op_reader import OpReader
from hlo.reference.op_table import ELEMENTWISE, Evaluator, Values, call
from hlo.reference.perturbed_solve import perturbed_solve
from hlo.reference.program import Function, RegionComputation

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


def _identity(*operands: Any) -> Values:
    return operands


def _lapack(reader: OpReader, target: str) -> Evaluator:
    config = reader.backend_config()
    count = len(reader.op.results)
    shapes = [reader.result_shape(index=index) for index in range(count)]
    dtypes = [reader.result_dtype(index=index) for index in range(count)]

    def evaluate(*operands: Array) -> Values:
        return lapack_call(
            operands, target=target, config=config, result_shapes=shapes, result_dtypes=dtypes
        )

    return evaluate


def _approx_top_k(reader: OpReader, function: Callable[[str], Function]) -> Evaluator:
    """The exact top k by the call's comparator: all of the recall that is asked for, and more."""
    config = reader.backend_config()
    dimension = config["reduction_dim"]
    extent = reader.result_shape()[dimension]
    (comparator,) = reader.symbols("called_computations")

    def evaluate(*operands: Array) -> Values:
        callee = function(comparator)
        compare = RegionComputation(callee.body, [None] * callee.frame_size)
        inputs = operands[: len(operands) // 2]
        ordered = sorting.sort(inputs, compare, dimension=dimension)
        bounds = [slice(None)] * inputs[0].ndim
        bounds[dimension] = slice(0, extent)
        return [x[tuple(bounds)] for x in ordered]

    return evaluate


def _top_k(reader: OpReader) -> Evaluator:
    """CHLO's top_k as older portable artifacts have it."""
    attributes = reader.dictionary("mhlo.attributes")
    if not attributes.get("largest", 1):
        raise reader.unsupported("the reference evaluator has only the largest elements' top_k")
    return call(lambda operand: sorting.top_k(operand, k=attributes["k"]))(reader)


def _python_callback(reader: OpReader) -> Evaluator:
    number = reader.backend_config()["callback"]
    function = callbacks.find(number)
    if function is None:
        raise reader.unsupported(f"the Python callback {number} is not of this process")

    def evaluate(*operands: Any) -> Values:
        # An operand beyond the function's only says what the call comes after.
        used = operands[: len(function.operands)]
        arrays = [np.int32(0) if isinstance(x, tuple) else np.array(x) for x in used]
        return function(*arrays) or [np.int32(0)]

    return evaluate


def build_custom_call(reader: OpReader, function: Callable[[str], Function]) -> Evaluator:
    """Evaluator of a custom call, by its target name; `function` finds the module's functions.

    Raises:
        UnsupportedError: the target is unknown.
    """
    target = reader.string("call_target_name")
    if target in _IDENTITIES:
        return _identity
    if is_lapack_target(target):
        return _lapack(reader, target)
    if target == "tridiagonal_solve_perturbed_ffi":
        return call(perturbed_solve)(reader)
    if target == callbacks.TARGET:
        return _python_callback(reader)
    if target == runtime.RANDOM_STATE:
        return lambda: (np.array(runtime.next_random_state(), np.uint64),)
    if target == "ApproxTopK":
        return _approx_top_k(reader, function)
    if target == "mhlo.topk":
        return _top_k(reader)
    # CHLO operations in portable artifacts.
    namespace, _, operation = target.partition(".")
    if namespace in ("mhlo", "chlo") and f"hlo.{operation}" in ELEMENTWISE:
        return call(ELEMENTWISE[f"hlo.{operation}"])(reader)
    raise reader.unsupported(f"the reference evaluator does not know the custom call @{target}")
