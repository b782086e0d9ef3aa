"""Which kernels a matrix product of cuBLASLt could stand for: plain dots, and those with an
epilogue that the library fuses too.
"""

from __future__ import annotations

from dataclasses import dataclass

from hlo.passes.hlo_to_gpu.contraction_space import InMemory, contraction_space
from hlo.passes.hlo_to_gpu.gpu_kernel import LibraryCall
from hlo.passes.hlo_to_gpu.vendor_epilogue import Epilogue
from hlo.passes.hlo_to_loops.graph import Region
from hlo.passes.hlo_to_loops.kernel_function import argument_buffers

SMALLEST_FLOPS = 1 << 26  # below, a launch takes as long as the product

_TYPES = {  # of the factors, of the result
    ("f32", "f32"), ("f64", "f64"), ("f16", "f16"), ("f16", "f32"), ("bf16", "bf16"),
    ("bf16", "f32"),
}  # fmt: skip
_ACTIVATIONS = ("", "relu", "gelu")


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

    def call(self, outputs: int) -> LibraryCall:
        """As a kernel has it, whose first output is its buffer `outputs`."""
        parameters = (
            ("batch", self.batch), ("m", self.m), ("n", self.n), ("k", self.k),
            ("left_along_depth", int(self.left_along_depth)),
            ("right_along_depth", int(self.right_along_depth)), ("factor", self.factor),
            ("result", self.result), ("activation", self.activation),
            ("tf32", int(self.tf32)),
        )  # fmt: skip
        return LibraryCall("cublasLt", "matmul", self.inputs, (outputs,), parameters)


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
    epilogue = Epilogue(region, node, space.column_dims)
    activation = epilogue.activation(_ACTIVATIONS)
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
