"""Products of 8-bit floats by `mma.sync` of them, on chips that have it."""

from __future__ import annotations

import numpy as np
import pytest
from test_warpgroup_products import dot, product, values_for

import hlo
from hlo.driver.gpu_compile import GpuCompiled


def compiled(kind: str, chip: str, right: str = "", along: tuple[int, int] = (1, 1)) -> GpuCompiled:
    text = dot(72, 80, 208, kind, "f32", along=along, right=right)
    program = hlo.compile(text, target=f"nvptx:{chip}", vendor=False)
    assert isinstance(program, GpuCompiled)
    return program


# Along the depth operands are copied as they are, else fetched byte by byte.
@pytest.mark.parametrize("along", [(1, 1), (0, 0)])
@pytest.mark.parametrize(("kind", "name"), [("f8E4M3FN", "e4m3"), ("f8E5M2", "e5m2")])
def test_products_on_both_devices(kind: str, name: str, along: tuple[int, int]) -> None:
    program = compiled(kind, "sm_89", along=along)
    ptx = program.as_text("ptx")
    assert f"m16n8k32.row.col.f32.{name}.{name}.f32" in ptx
    assert ".version 8.4" in ptx
    arguments = values_for(program.plan)
    expected = product(*arguments, along)
    for run in (program.emulated(2), program.on_fibers(3)):
        (found,) = run(*arguments)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("kind", "right", "chip"),
    [
        ("f8E4M3FN", "f8E5M2", "sm_89"),  # of two types
        ("f8E4M3FNUZ", "f8E4M3FNUZ", "sm_89"),  # a type of others' tensor cores
        ("f8E4M3FN", "f8E4M3FN", "sm_80"),
        ("f8E4M3FN", "f8E4M3FN", "sm_90"),
    ],
)
def test_others_go_through_f16(kind: str, right: str, chip: str) -> None:
    ptx = compiled(kind, chip, right).as_text("ptx")
    assert "m16n8k16.row.col.f32.f16.f16.f32" in ptx
    assert ".e4m3." not in ptx and ".version 8.4" not in ptx


def test_infinities_and_nans() -> None:
    program = compiled("f8E5M2", "sm_89")
    left, right = values_for(program.plan)
    left[3, 5], left[4, 7], right[2, 9] = np.inf, np.nan, -np.inf
    with np.errstate(invalid="ignore"):
        expected = product(left, right, (1, 1))
    (found,) = program.emulated(0)(left, right)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
