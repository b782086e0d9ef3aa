"""`hlo.cholesky` and `hlo.triangular_solve` become calls of LAPACK."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import (
    bit_width,
    element_of,
    is_complex,
    shape_of,
    size_of,
)
from hlo.passes.rewrite.walk import expand

_TRANSPOSES = {"NO_TRANSPOSE": "N", "TRANSPOSE": "T", "ADJOINT": "C"}


@dataclass(frozen=True)
class ExpandLinearAlgebra(Pass):
    """Replaces factorisation and triangular solution by `lapack_*potrf_ffi` and `lapack_*trsm_ffi`,
    called as jaxlib calls them: matrices column-major, flags as characters.

    f16, bf16 and f8 go through f32. The other triangle of a Cholesky factor is zero, and the factor
    of a matrix that is not positive definite is NaN.

        %1 = hlo.cholesky %0, lower = true : tensor<3x3xf32>
      ==>
        %1:2 = hlo.custom_call @lapack_spotrf_ffi(%0) {mhlo.backend_config = {uplo = 76 : ui8}, ...}
        selections of the triangle and, where %1#1 is not 0, of NaN
    """

    def run(self, module: ir.Module) -> bool:
        """Expands both ops."""
        return expand(
            module, {"hlo.cholesky": _cholesky, "hlo.triangular_solve": _triangular_solve}
        )


def _letter(element: ir.Type) -> str:
    if is_complex(element):
        return "z" if bit_width(element) == 128 else "c"
    return "d" if bit_width(element) == 64 else "s"


def _working_type(builder: Builder, element: ir.Type) -> ir.Type:
    return element if bit_width(element) >= 32 else builder.parse_type("f32")


def _column_major(rank: int, matrix: bool = True) -> str:
    """A batch of matrices whose columns are contiguous; a batch of scalars."""
    order = list(range(rank - 1, -1, -1))
    if matrix:
        order[0], order[1] = order[1], order[0]
    if not order:
        return "dense<> : tensor<0xindex>"
    return f"dense<{order}> : tensor<{rank}xindex>"


def lapack_call(
    builder: Builder,
    routine: str,
    operands: Sequence[ir.Value],
    results: Sequence[ir.Type],
    flags: Mapping[str, str],
    overwritten: int,
) -> list[ir.Value]:
    """A call whose first result takes the place of operand `overwritten`; results of lower rank are
    one number a matrix."""
    element = element_of(operands[0])
    rank = len(shape_of(operands[0]))
    shapes = [ir.RankedTensorType(kind).rank for kind in results]
    layouts = ", ".join(_column_major(r, r == rank) for r in shapes)
    config = ", ".join(f"{name} = {ord(flag)} : ui8" for name, flag in sorted(flags.items()))
    tuple_index = "[0]" if len(results) > 1 else "[]"
    alias = (
        f"#hlo.output_operand_alias<output_tuple_indices = {tuple_index}, "
        f"operand_index = {overwritten}, operand_tuple_indices = []>"
    )
    attributes = {
        "call_target_name": builder.string(f"lapack_{_letter(element)}{routine}_ffi"),
        "backend_config": builder.string(""),
        "mhlo.backend_config": builder.parse(f"{{{config}}}"),
        "operand_layouts": builder.parse(f"[{', '.join([_column_major(rank)] * len(operands))}]"),
        "result_layouts": builder.parse(f"[{layouts}]"),
        "output_operand_aliases": builder.parse(f"[{alias}]"),
    }
    return list(builder.create("hlo.custom_call", operands, results, attributes).results)


def _cholesky(op: ir.Operation, builder: Builder) -> Sequence[ir.Value]:
    operand = op.operands[0]
    element, shape = element_of(operand), shape_of(operand)
    if size_of(shape) == 0:
        return [operand]
    lower = ir.attributes.boolean(op, "lower")
    matrix = builder.convert(operand, _working_type(builder, element))
    rank, batch = len(shape), shape[:-2]
    info_type = builder.tensor(batch, builder.integer_type(32))
    factor, info = lapack_call(
        builder,
        "potrf",
        [matrix],
        [matrix.type, info_type],
        {"uplo": "L" if lower else "U"},
        0,
    )
    index = builder.integer_type(32)
    kept = builder.compare(
        builder.iota(shape, index, rank - 2),
        builder.iota(shape, index, rank - 1),
        "GE" if lower else "LE",
    )
    succeeded = builder.broadcast_in_dim(
        builder.compare(info, builder.constant_like(0, info), "EQ"), shape, range(rank - 2)
    )
    nan = complex(math.nan, math.nan) if is_complex(element) else math.nan
    factor = builder.select(succeeded, factor, builder.constant_like(nan, factor))
    factor = builder.select(kept, factor, builder.constant_like(0, factor))
    return [builder.convert(factor, element)]


def _triangular_solve(op: ir.Operation, builder: Builder) -> Sequence[ir.Value]:
    element = element_of(op.operands[1])
    if size_of(shape_of(op.operands[1])) == 0:
        return [op.operands[1]]
    matrix, right = (
        builder.convert(operand, _working_type(builder, element)) for operand in op.operands
    )
    flags = {
        "side": "L" if ir.attributes.boolean(op, "left_side") else "R",
        "uplo": "L" if ir.attributes.boolean(op, "lower") else "U",
        "trans_x": _TRANSPOSES[ir.attributes.enum(op, "transpose_a")],
        "diag": "U" if ir.attributes.boolean(op, "unit_diagonal") else "N",
    }
    (solution,) = lapack_call(builder, "trsm", [matrix, right], [right.type], flags, 1)
    return [builder.convert(solution, element)]
