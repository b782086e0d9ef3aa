"""What a kernel computes of a product's elements, as functions that vendors' libraries have.

An epilogue is known by its values: it is computed in double precision on a grid of points and
compared with the functions that a library has. Only ops that are smooth, or cut off, are
followed, so that what agrees on the grid is the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor, splat_of

Points = np.ndarray[Any, np.dtype[np.float64]]

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


class _UnknownError(Exception):
    """An op that is not followed."""


class Epilogue:
    """What is computed of the elements of a product, or of another op's result.

    Attributes:
        bias: a vector along some dimensions of the result, of its type, that is added.
        residual: a tensor like the result that is added.
    """

    def __init__(
        self, region: Region, product: Node, bias_dims: Sequence[int], *, residual: bool = False
    ) -> None:
        """Args:
        bias_dims: dimensions of the result that a bias may run along.
        residual: whether there may be one.
        """
        self._region, self._bias_dims = region, tuple(bias_dims)
        self._may_have_residual = residual
        self.bias: Tensor | None = None
        self.residual: Tensor | None = None
        x = np.concatenate([np.linspace(-8, 8, 65), [-1e4, -30.0, 30.0, 1e4]])
        grid = np.meshgrid(x, [-3.0, -0.5, 0.25, 2.0], [-1.75, 0.125, 3.5])
        self._x, self._b, self._r = (points.ravel() for points in grid)
        self._values: dict[Tensor, Points] = {product.results[0]: self._x}

    def activation(self, known: Sequence[str]) -> str | None:
        """Which of the functions is applied to the sum of all; None if none is."""
        try:
            found = self._value(self._region.results[0])
        except _UnknownError:
            return None
        added = self._x
        if self.bias is not None:
            added = added + self._b
        if self.residual is not None:
            added = added + self._r
        for name in known:
            function, tolerance = _ACTIVATIONS[name]
            exact = tolerance or 1e-12  # sums may be formed in another order
            if np.allclose(found, function(added), rtol=exact, atol=exact):
                return name
        return None

    def _value(self, tensor: Tensor) -> Points:
        if tensor not in self._values:
            self._values[tensor] = self._computed(tensor)
        return self._values[tensor]

    def _computed(self, tensor: Tensor) -> Points:
        node = tensor.producer
        if node is None or tensor in self._region.arguments:
            return self._residual_of(tensor)
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
        """There may be one."""
        (vector,) = node.operands
        dims = tuple(node.attributes.get("broadcast_dimensions", ()))
        fits = vector.rank == 1 and dims == self._bias_dims
        same = vector.type.name == self._region.results[0].type.name
        if not fits or not same or self.bias not in (None, vector):
            raise _UnknownError
        self.bias = vector
        return self._b

    def _residual_of(self, tensor: Tensor) -> Points:
        """There may be one."""
        result = self._region.results[0]
        fits = tensor.shape == result.shape and tensor.type.name == result.type.name
        if not (self._may_have_residual and fits) or self.residual not in (None, tensor):
            raise _UnknownError
        self.residual = tensor
        return self._r
