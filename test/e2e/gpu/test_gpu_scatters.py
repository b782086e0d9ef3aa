"""Scatters whose updates meet: atomic where their order makes no difference, else in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hlo
from hlo.diagnostics import CompileError
from hlo.driver.gpu_compile import GpuCompiled
from hlo.importers.program import load_program
from hlo.reference.evaluate import evaluate

SCATTER = """
func.func @main(%x: tensor<7xTYPE>, %i: tensor<300x1xi32>, %u: tensor<300xTYPE>) -> tensor<7xTYPE> {
  %0 = "hlo.scatter"(%x, %i, %u) ({
    ^bb0(%a: tensor<TYPE>, %b: tensor<TYPE>):
      %r = "hlo.OP"(%a, %b) : (tensor<TYPE>, tensor<TYPE>) -> tensor<TYPE>
      "hlo.return"(%r) : (tensor<TYPE>) -> ()
  }) {scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
    : (tensor<7xTYPE>, tensor<300x1xi32>, tensor<300xTYPE>) -> tensor<7xTYPE>
  return %0 : tensor<7xTYPE>
}
"""
DTYPES: dict[str, Any] = {
    "i32": np.int32, "ui32": np.uint32, "i64": np.int64, "ui64": np.uint64, "i16": np.int16,
    "f32": np.float32, "f64": np.float64,
}  # fmt: skip
ATOMIC = [
    (kind, op)
    for kind in ("i32", "ui32", "i64", "ui64")
    for op in ("add", "minimum", "maximum", "and", "or", "xor")
]
# No order of sums of floats is another's; there is no narrow atomic; a product has none.
ORDERED = [("f32", "add"), ("f64", "add"), ("i16", "add"), ("i32", "multiply")]


def compiled(kind: str, op: str, **options: Any) -> tuple[GpuCompiled, str]:
    text = SCATTER.replace("TYPE", kind).replace("OP", op)
    program = hlo.compile(text, target="nvptx:sm_80", **options)
    assert isinstance(program, GpuCompiled)
    return program, text


def arguments(kind: str) -> list[np.ndarray]:
    """Indices of which some are out of bounds; of each element, many."""
    rng = np.random.default_rng(1)
    dtype = DTYPES[kind]
    values = [
        rng.integers(0, 100, size).astype(dtype) if np.dtype(dtype).kind != "f"
        else rng.standard_normal(size).astype(dtype)
        for size in (7, 300)
    ]  # fmt: skip
    return [values[0], rng.integers(-1, 9, (300, 1)).astype(np.int32), values[1]]


def check(kind: str, op: str, program: GpuCompiled, text: str, *, same: bool = True) -> None:
    """Compares with the reference, and results of several orders with each other if `same`."""
    given = arguments(kind)
    expected = evaluate(load_program(text), given)[0]
    found = [program.emulated(schedule)(*given)[0] for schedule in (0, 1, 2, 5)]
    found += [program.on_fibers(schedule)(*given)[0] for schedule in (0, 1, 2, 5)]
    for result in found:
        if same:
            np.testing.assert_array_equal(result, found[0])
        # 300 sums in another order than the reference's
        np.testing.assert_allclose(result, expected, rtol=1e-4 if kind[0] == "f" else 0)


@pytest.mark.parametrize(("kind", "op"), ATOMIC)
def test_integers_are_updated_atomically(kind: str, op: str) -> None:
    program, text = compiled(kind, op)
    assert "atom.global" in program.as_text("ptx")
    check(kind, op, program, text)


@pytest.mark.parametrize(("kind", "op"), ORDERED)
def test_other_updates_are_in_order(kind: str, op: str) -> None:
    program, text = compiled(kind, op)
    assert "atom." not in program.as_text("ptx")
    check(kind, op, program, text)


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_sums_of_floats_are_atomic_where_order_does_not_matter(kind: str) -> None:
    program, text = compiled(kind, "add", deterministic=False)
    assert "atom.global.add" in program.as_text("ptx")
    check(kind, "add", program, text, same=False)


def test_the_option_is_a_flag() -> None:
    with pytest.raises(CompileError, match="option deterministic: expected True or False"):
        compiled("f32", "add", deterministic="no")
