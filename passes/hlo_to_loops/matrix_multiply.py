"""dot_general as calls of the vendor's matrix product, where its operands are matrices in memory.

An operand is a matrix in memory when its batch, free and contracted dimensions each walk it with
one stride, and the free or the contracted one with stride 1. Outer batch dimensions that do not
merge become loops around batched calls.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_loops.affine import suffix_products
from hlo.passes.hlo_to_loops.buffer import Buffer, pointer_to
from hlo.passes.hlo_to_loops.builder import Builder
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.kernel_function import Kernel, argument_buffers, kernel_of

SUFFIX = {"f32": "f32", "f64": "f64", "complex<f32>": "c64", "complex<f64>": "c128"}


@dataclass(frozen=True)
class Axis:
    """A merged dimension of an operand: extent, and stride in elements."""

    extent: int
    stride: int


@dataclass(frozen=True)
class MatrixOperand:
    """An operand as a batch of matrices.

    Attributes:
        batch: outer to inner, in the order of the result's batch dimensions.
        free: its own dimension of the result.
        summed: the contracted dimension.
    """

    batch: tuple[Axis, ...]
    free: Axis
    summed: Axis

    @property
    def transposed(self) -> bool | None:
        """Whether the contracted dimension is outer in memory; None if neither has stride 1."""
        if self.summed.stride == 1 or self.summed.extent == 1:
            return False
        return True if self.free.stride == 1 or self.free.extent == 1 else None

    @property
    def leading(self) -> int:
        """Elements between rows in memory."""
        outer, inner = (self.summed, self.free) if self.transposed else (self.free, self.summed)
        return max(outer.stride if outer.extent > 1 else inner.extent, inner.extent, 1)


def merged(shape: Sequence[int], dims: Sequence[int]) -> Axis | None:
    """Dimensions of a tensor as one axis, if they are adjacent in memory in this order."""
    strides = suffix_products(shape)
    wide = [d for d in dims if shape[d] != 1]
    if not wide:
        return Axis(1, 1)
    for outer, inner in itertools.pairwise(wide):
        if strides[outer] != strides[inner] * shape[inner]:
            return None
    return Axis(math.prod(shape[d] for d in wide), strides[wide[-1]])


def matrix_operands(node: Node) -> tuple[MatrixOperand, MatrixOperand] | None:
    """Both operands of a dot_general as batches of matrices, or None where one is not."""
    numbers = node.attributes["dot_dimension_numbers"]
    found: list[MatrixOperand] = []
    order: Sequence[int] | None = None
    for tensor, side in zip(node.operands, ("lhs", "rhs"), strict=True):
        batch = tuple(numbers.get(f"{side}_batching_dimensions", ()))
        summed = tuple(numbers.get(f"{side}_contracting_dimensions", ()))
        if order is None:
            order = sorted(range(len(summed)), key=summed.__getitem__)
        operand = _matrix_operand(tensor.shape, batch, tuple(summed[k] for k in order))
        if operand is None:
            return None
        found.append(operand)
    return found[0], found[1]


def operands_by_rows(node: Node) -> tuple[MatrixOperand, MatrixOperand] | None:
    """As `matrix_operands`, but where the left operand's own dimensions are no one axis the outer
    ones are a batch, in which the right operand takes steps of 0; None where an operand is no batch
    of matrices even so.
    """
    if (operands := matrix_operands(node)) is not None:
        return operands
    numbers, (left, right) = node.attributes["dot_dimension_numbers"], node.operands
    batch = tuple(numbers.get("lhs_batching_dimensions", ()))
    summed = tuple(numbers.get("lhs_contracting_dimensions", ()))
    free = [d for d in range(left.rank) if d not in batch and d not in summed]
    for outer in range(1, len(free)):
        if merged(left.shape, free[outer:]) is None:
            continue
        rows = _matrix_operand(left.shape, (*batch, *free[:outer]), summed)
        columns = _matrix_operand(
            right.shape, tuple(numbers.get("rhs_batching_dimensions", ())),
            tuple(numbers.get("rhs_contracting_dimensions", ())),
        )  # fmt: skip
        if rows is None or columns is None:
            return None
        steps = tuple(Axis(left.shape[d], 0) for d in free[:outer])
        return rows, MatrixOperand((*columns.batch, *steps), columns.free, columns.summed)
    return None


@functools.lru_cache(maxsize=1024)
def _matrix_operand(
    shape: tuple[int, ...], batch: tuple[int, ...], summed: tuple[int, ...]
) -> MatrixOperand | None:
    """A tensor as a batch of matrices; asked for the same shapes over and over by fusion."""
    free = [d for d in range(len(shape)) if d not in batch and d not in summed]
    free_axis, sum_axis = merged(shape, free), merged(shape, summed)
    if free_axis is None or sum_axis is None:
        return None
    strides = suffix_products(shape)
    operand = MatrixOperand(tuple(Axis(shape[d], strides[d]) for d in batch), free_axis, sum_axis)
    return None if operand.transposed is None else operand


def library_operands(node: Node) -> tuple[MatrixOperand, MatrixOperand] | None:
    """The operands of a dot_general that the vendor's library has a routine for, or None."""
    result = node.results[0]
    if result.type.name not in SUFFIX or result.size == 0:
        return None
    if any(operand.type != result.type for operand in node.operands):
        return None
    return matrix_operands(node)


def emit_matrix_multiply(region: Region, node: Node) -> Kernel:
    """A kernel that calls the vendor's library, for a dot that `library_operands` knows."""
    operands = library_operands(node)
    assert operands is not None, "product_choice has asked"
    lhs, rhs = operands
    result = node.results[0]
    suffix = SUFFIX[result.type.name]
    inputs, outputs = argument_buffers(region)
    buffers = [inputs[node.operands[0]], inputs[node.operands[1]], outputs[0]]
    emitter = _Call(Builder(), lhs, rhs, suffix, result.type.part_type.register, result.type.parts)
    emitter.emit(buffers)
    return kernel_of(
        emitter.b, inputs.values(), outputs, 1, runtime=True, declarations=[declaration(suffix)]
    )


def declaration(suffix: str) -> str:
    kinds = (
        "!llvm.ptr, i32, i32, i64, i64, i64, !llvm.ptr, !llvm.ptr, i64, i64, "
        "!llvm.ptr, i64, i64, !llvm.ptr, !llvm.ptr, i64, i64, i64"
    )
    return f"llvm.func @hlo_rt_gemm_batched_{suffix}({kinds}) -> i32"


class _Call:
    """Emission of one batched call inside loops over outer batch dimensions."""

    def __init__(
        self,
        b: Builder,
        lhs: MatrixOperand,
        rhs: MatrixOperand,
        suffix: str,
        scalar: str,
        parts: int,
    ) -> None:
        self.b, self.lhs, self.rhs = b, lhs, rhs
        self.suffix, self.scalar, self.parts = suffix, scalar, parts

    def emit(self, buffers: Sequence[Buffer]) -> None:
        b = self.b
        self.alpha, self.beta = self._scalar(1.0), self._scalar(0.0)
        pointers = [pointer_to(b, buffer) for buffer in buffers]
        m, n = self.lhs.free.extent, self.rhs.free.extent
        batch = [
            (p.extent, p.stride, q.stride)
            for p, q in zip(self.lhs.batch, self.rhs.batch, strict=True)
        ]
        axes: list[tuple[int, int, int, int]] = []
        stride = m * n
        for extent, left, right in reversed(batch):
            if extent != 1:
                axes.insert(0, (extent, left, right, stride))
            stride *= extent
        while len(axes) > 1 and _merge(axes[-2], axes[-1]) is not None:
            joined = _merge(axes[-2], axes[-1])
            assert joined is not None
            axes[-2:] = [joined]
        inner = axes.pop() if axes else (1, 0, 0, 0)
        with b.loop("%begin", "%end", b.index(1)):
            self._loops(axes, inner, pointers)

    def _scalar(self, value: float) -> str:
        b = self.b
        one = b.op(f"llvm.mlir.constant({self.parts} : i64) : i64")
        at = b.load(f"llvm.alloca {one} x {self.scalar} : (i64) -> !llvm.ptr")
        b.effect(f"llvm.store {b.constant(value, self.scalar)}, {at} : {self.scalar}, !llvm.ptr")
        if self.parts == 2:
            second = b.op(f"llvm.getelementptr {at}[1] : (!llvm.ptr) -> !llvm.ptr, {self.scalar}")
            b.effect(
                f"llvm.store {b.constant(0.0, self.scalar)}, {second} : {self.scalar}, !llvm.ptr"
            )
        return at

    def _loops(
        self,
        axes: Sequence[tuple[int, int, int, int]],
        inner: tuple[int, int, int, int],
        pointers: list[str],
    ) -> None:
        b = self.b
        if not axes:
            self._call(inner, pointers)
            return
        extent, *strides = axes[0]
        with b.loop(b.index(0), b.index(extent), b.index(1)) as loop:
            index = b.op(f"arith.index_cast {loop.iv} : index to i64")
            moved: list[str] = []
            for pointer, stride in zip(pointers, strides, strict=True):
                offset = b.op(f"arith.muli {index}, {b.constant(stride * self.parts, 'i64')} : i64")
                moved.append(
                    b.op(
                        f"llvm.getelementptr {pointer}[{offset}] : "
                        f"(!llvm.ptr, i64) -> !llvm.ptr, {self.scalar}"
                    )
                )
            self._loops(axes[1:], inner, moved)

    def _call(self, inner: tuple[int, int, int, int], pointers: list[str]) -> None:
        b = self.b
        batch, *strides = inner
        lhs, rhs = self.lhs, self.rhs

        def i64(value: int) -> str:
            return b.constant(value, "i64")

        # The library sees rows of the result: op(A) is [m, k], op(B) is [k, n]; for B a contracted
        # dimension of stride 1 is the transposed form.
        trans_a, trans_b = bool(lhs.transposed), not rhs.transposed
        arguments = [
            "%runtime", b.constant(int(trans_a), "i32"), b.constant(int(trans_b), "i32"),
            i64(lhs.free.extent), i64(rhs.free.extent), i64(lhs.summed.extent), self.alpha,
            pointers[0], i64(lhs.leading), i64(strides[0]),
            pointers[1], i64(rhs.leading), i64(strides[1]),
            self.beta, pointers[2], i64(rhs.free.extent), i64(strides[2]), i64(batch),
        ]  # fmt: skip
        kinds = declaration(self.suffix).split("(", 1)[1]
        b.load(f"llvm.call @hlo_rt_gemm_batched_{self.suffix}({', '.join(arguments)}) : ({kinds}")


def _merge(
    outer: tuple[int, int, int, int], inner: tuple[int, int, int, int]
) -> tuple[int, int, int, int] | None:
    """Two batch axes as one, where every operand walks them with one stride."""
    extent = inner[0]
    if all(o == i * extent for o, i in zip(outer[1:], inner[1:], strict=True)):
        return (outer[0] * extent, *inner[1:])
    return None
