"""Evaluation of a module in the `hlo` dialect, operation by operation, with the functions of this
package.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from hlo import ir
from hlo.diagnostics import ArgumentError, CompileError, UnsupportedError
from hlo.reference.custom_calls import build_custom_call
from hlo.reference.element_types import Array
from hlo.reference.op_reader import OpReader, is_tensor, quantization_of, storage_dtype_of
from hlo.reference.op_table import ELEMENTWISE, ELEMENTWISE_WITH_ATTRIBUTES, OPERATIONS
from hlo.reference.program import Block, Execute, Frame, Function, Step
from hlo.reference.quantization import uniform_dequantize, uniform_quantize
from hlo.reference.region_table import REGION_OPERATIONS

# Operations that take and give quantized values as their stored integers.
_QUANTIZATION_AWARE = frozenset(
    {
        "hlo.constant",
        "hlo.bitcast_convert",
        "hlo.optimization_barrier",
        "hlo.tuple",
        "hlo.get_tuple_element",
        "hlo.uniform_quantize",
        "hlo.uniform_dequantize",
    }
)
_CALLS = frozenset({"func.call", "hlo.composite"})


class _FunctionBuilder:
    """Prepares one function: numbers its values and turns its operations into steps."""

    def __init__(self, evaluator: Evaluator, operation: Any) -> None:
        self._evaluator = evaluator
        self._operation = operation
        self._slots: dict[Any, int] = {}

    def build(self) -> Function:
        blocks = self._operation.regions[0].blocks
        name = ir.StringAttr(self._operation.attributes["sym_name"]).value
        if len(blocks) != 1:
            raise UnsupportedError(
                f"expected one block in function @{name}, found {len(blocks)}",
                location=str(self._operation.location),
            )
        body, _ = self._block(blocks[0])
        types = tuple(argument.type for argument in blocks[0].arguments)
        return Function(name, body, len(self._slots), types)

    def _slot(self, value: Any) -> int:
        return self._slots.setdefault(value, len(self._slots))

    def _block(self, block: Any) -> tuple[Block, set[int]]:
        """The prepared block, and the slots it reads that it does not define."""
        arguments = tuple(self._slot(argument) for argument in block.arguments)
        *operations, terminator = (operation.operation for operation in block.operations)
        steps: list[Step] = []
        defined, reads = set(arguments), list[set[int]]()
        for operation in operations:
            step, captured = self._step(operation)
            defined.update(step.results)
            reads.append({*step.operands, *captured})
            steps.append(step)
        outputs = tuple(self._slot(value) for value in terminator.operands)
        result = Block(
            arguments,
            _with_lifetimes(steps, reads, defined, outputs),
            outputs,
            tuple(_dtype_or_none(value.type) for value in terminator.operands),
            _single_operation(block, operations, terminator),
            _is_scalar(block, operations),
        )
        return result, set[int]().union(*reads, outputs) - defined

    def _step(self, operation: Any) -> tuple[Step, set[int]]:
        operands = tuple(self._slot(value) for value in operation.operands)
        reader = OpReader(operation)
        captured: set[int] = set()
        if operation.name in REGION_OPERATIONS:
            blocks: list[Block] = []
            for region in operation.regions:
                block, outside = self._block(region.blocks[0])
                blocks.append(block)
                captured |= outside
            execute = REGION_OPERATIONS[operation.name](reader, blocks)
        else:
            execute = self._leaf(reader)
        results = tuple(self._slot(value) for value in operation.results)
        return Step(execute, operands, results), captured

    def _leaf(self, reader: OpReader) -> Execute:
        if reader.name in _CALLS:
            return self._call(reader)
        if reader.name == "hlo.custom_call":
            function = build_custom_call(reader, self._evaluator.function)
        elif reader.name in OPERATIONS:
            function = OPERATIONS[reader.name](reader)
        else:
            raise reader.unsupported("the reference evaluator does not know this operation")
        plain: Execute = lambda frame, operands: function(*operands)  # noqa: E731
        return plain if reader.name in _QUANTIZATION_AWARE else _quantized(reader, plain)

    def _call(self, reader: OpReader) -> Execute:
        callee = reader.string("callee" if reader.name == "func.call" else "decomposition")
        evaluator = self._evaluator
        return lambda frame, operands: evaluator.function(callee)(operands)


def _dtype_or_none(mlir_type: Any) -> Any:
    return storage_dtype_of(mlir_type) if is_tensor(mlir_type) else None


def _with_lifetimes(
    steps: Sequence[Step], reads: Sequence[set[int]], defined: set[int], outputs: Sequence[int]
) -> tuple[Step, ...]:
    """Steps that forget each value defined in the block after its last use."""
    seen = set(outputs)
    result: list[Step] = []
    for step, read in zip(reversed(steps), reversed(reads), strict=True):
        dead = ((read & defined) | set(step.results)) - seen
        seen |= read
        result.append(Step(step.execute, step.operands, step.results, tuple(sorted(dead))))
    return tuple(reversed(result))


def _single_operation(block: Any, operations: Sequence[Any], terminator: Any) -> str | None:
    """Name of the binary operation a two-argument block applies to its arguments and returns, if
    that is all it does.
    """
    if len(operations) != 1 or len(block.arguments) != 2:
        return None
    (first,) = operations
    arguments = list(block.arguments)
    in_order = list(first.operands) in (arguments, arguments[::-1])
    returned = list(terminator.operands) == list(first.results)
    if not (in_order and returned and first.name in ELEMENTWISE):
        return None
    return first.name.removeprefix("hlo.")


def _is_scalar(block: Any, operations: Iterable[Any]) -> bool:
    """Whether the block may be run on whole arrays, one element of each value a position."""
    values = list(block.arguments)
    for operation in operations:
        if operation.name not in ELEMENTWISE and operation.name not in ELEMENTWISE_WITH_ATTRIBUTES:
            return False
        values.extend(operation.results)
    return all(is_tensor(v.type) and ir.RankedTensorType(v.type).rank == 0 for v in values)


def _quantized(reader: OpReader, plain: Execute) -> Execute:
    """An operation on quantized values as the specification has it: dequantize, compute,
    quantize.
    """
    sources = [quantization_of(value.type) for value in reader.op.operands]
    targets = [quantization_of(value.type) for value in reader.op.results]
    if not any(sources) and not any(targets):
        return plain

    def execute(frame: Frame, operands: Sequence[Any]) -> Sequence[Any]:
        real = [
            operand if source is None else uniform_dequantize(operand, quantization=source)
            for operand, source in zip(operands, sources, strict=True)
        ]
        return [
            result if target is None else uniform_quantize(result, quantization=target)
            for result, target in zip(plain(frame, real), targets, strict=True)
        ]

    return execute


class Evaluator:
    """A module prepared for evaluation; functions are prepared at their first call, once."""

    def __init__(self, module: Any) -> None:
        self._module = module  # Keeps its operations alive.
        self._operations = {
            ir.StringAttr(operation.attributes["sym_name"]).value: operation.operation
            for operation in module.body.operations
            if operation.operation.name == "func.func"
        }
        self._functions: dict[str, Function] = {}

    def function(self, name: str) -> Function:
        """The function of this name.

        Raises:
            CompileError: the module has no function of this name.
            UnsupportedError: the function holds an operation that cannot be evaluated.
        """
        if name not in self._functions:
            if name not in self._operations:
                known = ", ".join(f"@{known}" for known in self._operations) or "none"
                raise CompileError(f"the module has no function @{name}; it has {known}")
            self._functions[name] = _FunctionBuilder(self, self._operations[name]).build()
        return self._functions[name]

    def __call__(self, args: Sequence[Any], entry: str = "main") -> list[Array]:
        """Results of function `entry` for these arguments."""
        function = self.function(entry)
        _check_arguments(function, args)
        values = [
            np.asarray(x) if is_tensor(t) else x
            for x, t in zip(args, function.argument_types, strict=True)
        ]
        return [np.array(x) if isinstance(x, np.ndarray) else x for x in function(values)]


def _check_arguments(function: Function, args: Sequence[Any]) -> None:
    expected = function.argument_types
    if len(args) != len(expected):
        raise ArgumentError(f"@{function.name} takes {len(expected)} arguments, found {len(args)}")
    for index, (argument, mlir_type) in enumerate(zip(args, expected, strict=True)):
        if not is_tensor(mlir_type):
            continue
        array = np.asarray(argument)
        shaped = ir.RankedTensorType(mlir_type)
        dtype = storage_dtype_of(mlir_type)
        fits = array.ndim == shaped.rank and all(
            shaped.is_dynamic_dim(axis) or shaped.get_dim_size(axis) == extent
            for axis, extent in enumerate(array.shape)
        )
        if array.dtype != dtype or not fits:
            raise ArgumentError(
                f"argument {index} of @{function.name} is {mlir_type}, "
                f"found an array of {array.dtype} with shape {array.shape}"
            )


def evaluate(module: ir.Module, args: Sequence[Any], entry: str = "main") -> list[Array]:
    """Results of a function of an `hlo` module by the reference semantics.

    Args:
        module: a verified module of `hlo` and `func` operations.
        args: one array for each argument of the entry function, of its shape and NumPy (or
        ml_dtypes) element type;
            stored integers for quantized tensors, tuples of arrays for tuples.
        entry: name of the function.

    Raises:
        ArgumentError: the arguments do not fit the function.
        UnsupportedError: an operation cannot be evaluated in one process, such as infeed.
        CompileError: there is no such function.
    """
    return Evaluator(module)(args, entry)
