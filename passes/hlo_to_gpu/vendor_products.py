"""Which kernels a matrix product of cuBLASLt could stand for: plain dots, and those with an
epilogue that the library fuses too.

An epilogue is known by its values: it is computed in double precision on a grid of points and
compared with the functions that the library has. Only ops that are smooth, or cut off, are
followed, so that what agrees on the grid is the function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hlo.passes.hlo_to_gpu.contraction_space import ContractionSpace, InMemory, contraction_space
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor, splat_of
from hlo.passes.hlo_to_loops.loop_kernel import argument_buffers

SMALLEST_FLOPS = 1 << 26  # below, a launch takes as long as the product
Points = np.ndarray[Any, np.dtype[np.float64]]

_TYPES = {  # of the factors, of the result
    ("f32", "f32"), ("f64", "f64"), ("f16", "f16"), ("f16", "f32"), ("bf16", "bf16"),
    ("bf16", "f32"),
}  # fmt: skip
_OPS: dict[str, Callable[..., Points]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "negate": np.negative,
    "tanh": np.tanh,
    "maximum": np.maximum,
    "convert": lambda x: x,
}


def _gelu(x: Points) -> Points:
    """By tanh: Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016."""
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


_ACTIVATIONS: dict[str, tuple[Callable[[Points], Points], float]] = {
    "": (lambda x: x, 0.0),
    "relu": (lambda x: np.maximum(x, 0), 0.0),
    "gelu": (_gelu, 1e-6),  # the program's constants are rounded
}


@dataclass(frozen=True)
class VendorProduct:
    """A product that a library has: D[b, m, n] = activation(A[b, m, k] B[b, k, n] + bias[n]).

    Attributes:
        inputs: positions of the kernel's inputs: A, B and, if there is one, the bias.
        left_along_depth: A is stored as [m, k], else as [k, m].
        right_along_depth: B is stored as [n, k], else as [k, n].
        factor, result: element types.
        activation: `relu`, `gelu` or none.
        tf32: whether f32 factors may be rounded to tf32.
    """

    inputs: tuple[int, ...]
    batch: int
    m: int
    n: int
    k: int
    left_along_depth: bool
    right_along_depth: bool
    factor: str
    result: str
    activation: str
    tf32: bool = False

    def parameters(self) -> tuple[tuple[str, int | str], ...]:
        """As a launch plan has them."""
        return (
            ("batch", self.batch), ("m", self.m), ("n", self.n), ("k", self.k),
            ("left_along_depth", int(self.left_along_depth)),
            ("right_along_depth", int(self.right_along_depth)), ("factor", self.factor),
            ("result", self.result), ("activation", self.activation),
            ("tf32", int(self.tf32)),
        )  # fmt: skip


def vendor_product(region: Region) -> VendorProduct | None:
    """The product that a kernel is; None if the library has none like it, or it is small."""
    dots = [node for node in region.nodes if node.name == "dot_general"]
    if len(dots) != 1 or len(region.results) != 1:
        return None
    (node,), (result,) = dots, region.results
    if result.shape != node.results[0].shape:
        return None
    space = contraction_space(node)
    if 2 * space.batches * space.rows * space.columns * space.depth < SMALLEST_FLOPS:
        return None
    kinds = {operand.type.name for operand in node.operands}
    factor = kinds.pop()
    if kinds or (factor, result.type.name) not in _TYPES:
        return None
    inputs, _ = argument_buffers(region)
    left, right = space.in_memory(True, inputs), space.in_memory(False, inputs)
    if left is None or right is None or not (_is_matrix(left) and _is_matrix(right)):
        return None
    epilogue = _Epilogue(region, node, space)
    activation = epilogue.activation()
    if activation is None:
        return None
    tensors = [left.tensor, right.tensor, *([epilogue.bias] if epilogue.bias is not None else [])]
    return VendorProduct(
        tuple(region.arguments.index(t) for t in tensors), space.batches, space.rows,
        space.columns, space.depth, left.along_depth, right.along_depth, factor,
        result.type.name, activation,
    )  # fmt: skip


def _is_matrix(operand: InMemory) -> bool:
    """Whether batches come first, and the free and the summed dimensions are together."""
    inner = (
        (*operand.free, *operand.summed)
        if operand.along_depth
        else (*operand.summed, *operand.free)
    )
    return (*operand.batch, *inner) == tuple(range(operand.tensor.rank))


class _UnknownError(Exception):
    """An op that is not followed."""


class _Epilogue:
    """What is computed of a dot's elements."""

    def __init__(self, region: Region, dot: Node, space: ContractionSpace) -> None:
        self._region, self._dot, self._space = region, dot, space
        self.bias: Tensor | None = None
        x = np.concatenate([np.linspace(-8, 8, 65), [-1e4, -30.0, 30.0, 1e4]])
        self._x, self._b = (grid.ravel() for grid in np.meshgrid(x, [-3.0, -0.5, 0.25, 2.0]))
        self._values: dict[Tensor, Points] = {dot.results[0]: self._x}

    def activation(self) -> str | None:
        """The name of the function that is applied to the dot and the bias; None if none is."""
        try:
            found = self._value(self._region.results[0])
        except _UnknownError:
            return None
        added = self._x if self.bias is None else self._x + self._b
        for name, (function, tolerance) in _ACTIVATIONS.items():
            if np.allclose(found, function(added), rtol=tolerance, atol=tolerance):
                return name
        return None

    def _value(self, tensor: Tensor) -> Points:
        if tensor not in self._values:
            self._values[tensor] = self._computed(tensor)
        return self._values[tensor]

    def _computed(self, tensor: Tensor) -> Points:
        node = tensor.producer
        if node is None:
            raise _UnknownError
        if node.name == "constant":
            splat = splat_of(node)
            if splat is None:
                raise _UnknownError
            return np.full_like(self._x, float(splat))
        if node.name == "broadcast_in_dim" and node.operands[0] in self._region.arguments:
            return self._bias_of(node)
        if node.name == "broadcast_in_dim" and node.operands[0].size == 1:
            return self._value(node.operands[0])
        function = _OPS.get(node.name)
        if function is None or not tensor.type.is_float:
            raise _UnknownError
        return function(*(self._value(operand) for operand in node.operands))

    def _bias_of(self, node: Node) -> Points:
        """A vector along the columns, of the result's type, is the bias; there may be one."""
        (vector,) = node.operands
        dims = tuple(node.attributes.get("broadcast_dimensions", ()))
        fits = vector.rank == 1 and dims == self._space.column_dims
        same = vector.type.name == self._region.results[0].type.name
        if not fits or not same or self.bias not in (None, vector):
            raise _UnknownError
        self.bias = vector
        return self._b
