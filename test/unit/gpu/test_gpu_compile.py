"""Programs become launch plans with PTX."""

from __future__ import annotations

import pytest

import hlo
from hlo.diagnostics import UnsupportedError
from hlo.driver.gpu_compile import GpuCompiled
from hlo.gpu.plan import BufferSlice, Launch

ADD = """
func.func @main(%a: tensor<8192xf32>, %b: tensor<8192xf32>) -> tensor<8192xf32> {
  %0 = "hlo.add"(%a, %b) : (tensor<8192xf32>, tensor<8192xf32>) -> tensor<8192xf32>
  return %0 : tensor<8192xf32>
}
"""


def compiled(text: str, target: str = "nvptx:sm_80") -> GpuCompiled:
    program = hlo.compile(text, target=target)
    assert isinstance(program, GpuCompiled)
    return program


def test_elementwise_code_moves_16_bytes_at_a_time() -> None:
    program = compiled(ADD)
    (launch,) = program.plan.steps
    assert isinstance(launch, Launch)
    # 8192 elements / 4 of a vector / 256 threads of a block
    assert (launch.grid, launch.block) == ((8, 1, 1), (256, 1, 1))
    assert launch.arguments == (
        BufferSlice("argument", 0, 0, 32768),
        BufferSlice("argument", 1, 0, 32768),
        BufferSlice("result", 0, 0, 32768),
    )
    assert program.plan.kernels[launch.kernel].written == (2,)
    ptx = program.as_text("ptx")
    assert ptx.count("ld.global.v4.b32") == 2
    assert ptx.count("st.global.v4.b32") == 1
    assert ".target sm_80" in ptx


@pytest.mark.parametrize("chip", ["sm_80", "sm_90", "sm_90a", "sm_100", "sm_120"])
def test_code_is_for_the_chip_asked_for(chip: str) -> None:
    assert f".target {chip}\n" in compiled(ADD, f"nvptx:{chip}").as_text("ptx")


def test_unknown_chips_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="known targets: cpu, nvptx:sm_80"):
        hlo.compile(ADD, target="nvptx:sm_35")
