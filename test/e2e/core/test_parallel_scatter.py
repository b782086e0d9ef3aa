"""Scatters large enough for several threads: each element is updated in order, by one of them."""

from __future__ import annotations

import numpy as np
import pytest
from core_programs import Program, reducer


def _scatter(program: Program, rows: int, columns: int, count: int, kind: str, body: str) -> None:
    rng = np.random.default_rng([rows, columns])
    shape = (rows, columns) if columns else (rows,)
    operand = program.sample(shape, kind)
    # Out of range on both sides: such updates are left out.
    at = program.argument(rng.integers(-3, rows + 3, (count, 1)).astype(np.int32))
    updates = program.sample((count, *shape[1:]), kind)
    window = "update_window_dims = [1], " if columns else ""
    numbers = (
        f"{window}inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
        "index_vector_dim = 1"
    )
    program.result(
        program.op(
            "scatter", [operand, at, updates], shape,
            attributes=f"scatter_dimension_numbers = #hlo.scatter<{numbers}>",
            regions=reducer(body, kind) if body != "last" else _LAST.format(kind=kind),
        )
    )  # fmt: skip


_LAST = (
    '{{^bb0(%a: tensor<{kind}>, %b: tensor<{kind}>): "hlo.return"(%b) : (tensor<{kind}>) -> ()}}'
)


@pytest.mark.parametrize(
    "kind, body", [("f32", "add"), ("i8", "add"), ("f32", "last"), ("bf16", "last")]
)
@pytest.mark.parametrize("columns", [0, 1, 7, 97, 300, 517])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_scatter_by_several_threads(kind: str, body: str, columns: int, threads: int) -> None:
    program = Program()
    # 2 pieces of work at the least; several updates of each row.
    count = 80_000 // max(columns, 1)
    _scatter(program, 129, columns, count, kind, body)
    program.check(threads=threads)


def test_scatter_into_few_rows() -> None:
    program = Program()
    _scatter(program, 3, 0, 70_000, "i32", "add")
    program.check(threads=2)
