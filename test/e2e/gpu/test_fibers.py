"""LLVM code of GPU kernels as machine code, a fiber a thread: a second witness beside the PTX."""

from __future__ import annotations

import numpy as np
import pytest
from test_mutations import PROGRAMS, arguments_of

import hlo
from hlo.diagnostics import CompileError, UnsupportedError
from hlo.driver.gpu_compile import GpuCompiled
from hlo.executable import runtime
from hlo.gpu.bitcode.host_code import host_code
from hlo.gpu.device import DeviceBuffer
from hlo.gpu.emulated_device import EmulationError
from hlo.gpu.fiber_device import FiberDevice
from hlo.gpu.plan import KernelModule, LaunchPlan
from hlo.gpu.plan_program import PlanProgram
from hlo.importers.program import load_program
from hlo.reference.evaluate import evaluate

SCHEDULES = (0, 1, 2, 3, 4, 5)
# A kernel with a variable of shared memory, to be filled in.
MODULE = """
@k__shared0 = private addrspace(3) global [64 x i32] undef, align 16
define ptx_kernel void @k(ptr align 16 %in, ptr align 16 %out) #0 {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
{body}
  ret void
}}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
{declarations}
attributes #0 = {{ "nvvm.reqntid"="64,1,1" }}
"""


def plan_of(name: str) -> LaunchPlan:
    program = hlo.compile(PROGRAMS[name], target="nvptx:sm_80", emulator="fibers")
    assert isinstance(program, GpuCompiled)
    return program.plan


def is_right(name: str, plan: LaunchPlan, schedule: int) -> bool:
    arguments = arguments_of(plan)
    expected = evaluate(load_program(PROGRAMS[name]), arguments)
    found = PlanProgram(plan, FiberDevice(schedule))(*arguments)
    wide = [np.asarray(array, np.float64) for array in (*found, *expected)]
    return all(
        np.allclose(a, b, rtol=1e-2, atol=1e-2, equal_nan=True)
        for a, b in zip(wide[: len(found)], wide[len(found) :], strict=True)
    )


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_programs_are_right_under_every_schedule(name: str) -> None:
    plan = plan_of(name)
    assert all(is_right(name, plan, schedule) for schedule in SCHEDULES)


def test_hlo_compile_runs_programs_on_it() -> None:
    text = PROGRAMS["gelu"]
    program = hlo.compile(
        text, target="nvptx:sm_90", emulate=True, emulator="fibers", schedule=3
    )  # fmt: skip
    x = np.linspace(-3, 3, 1000).astype(np.float32)
    np.testing.assert_allclose(program(x)[0], x * np.tanh(x), rtol=1e-5, atol=1e-6)
    assert isinstance(program, GpuCompiled)
    np.testing.assert_array_equal(program.on_fibers(1)(x)[0], program(x)[0])
    with pytest.raises(CompileError, match="option emulator: expected ptx or fibers"):
        hlo.compile(text, target="nvptx:sm_90", emulator="spirv")


def test_a_plan_without_bitcode_is_refused() -> None:
    program = hlo.compile(PROGRAMS["gelu"], target="nvptx:sm_80")
    with pytest.raises(CompileError, match="holds no bitcode: compile with emulator='fibers'"):
        PlanProgram(program.plan, FiberDevice())


def run(body: str, declarations: str = "", schedule: int = 0) -> np.ndarray:
    """Runs a kernel of 64 threads on 0, 1, ..., 63."""
    device = FiberDevice(schedule)
    code = MODULE.format(body=body, declarations=declarations)
    module = device.load(KernelModule("m", "", code.encode()))
    source, target = device.allocate(256), device.allocate(256)
    device.write(source, np.arange(64, dtype=np.int32).view(np.uint8))
    buffers = [DeviceBuffer(source, 256, False), DeviceBuffer(target, 256)]
    device.launch(module, "k", (1, 1, 1), (64, 1, 1), 0, buffers)
    result = np.empty(256, np.uint8)
    device.read(target, result)
    return result.view(np.int32)


COPY = """
  %p = getelementptr i32, ptr %in, i64 %FROM
  %v = load i32, ptr %p, align 4
  %q = getelementptr i32, ptr %out, i64 %TO
  store i32 %v, ptr %q, align ALIGN
"""


def copy(source: str = "%i", target: str = "%i", align: str = "4") -> str:
    return COPY.replace("%FROM", source).replace("%TO", target).replace("ALIGN", align)


def test_threads_run_once_each() -> None:
    np.testing.assert_array_equal(run(copy()), np.arange(64))


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("  %n = add i64 %i, 64\n" + copy("%n"), "bounds"),
        ("  %n = add i64 %i, 1\n" + copy(target="%n"), "bounds"),
        (copy(align="8"), "alignment"),
        ("  store i32 1, ptr %in, align 4", "bounds"),  # the launch lets it only read
    ],
)
def test_wrong_accesses_are_found(body: str, kind: str) -> None:
    with pytest.raises(EmulationError, match="kernel 'k', thread") as caught:
        run(body)
    assert caught.value.kind == kind


DIVERGENT = """
  %c = icmp ult i32 %t, {count}
  br i1 %c, label %yes, label %no
yes:
  {call}
  br label %no
no:
"""


@pytest.mark.parametrize(
    ("call", "declaration", "kind"),
    [
        ("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",
         "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)", "barrier"),
        ("call void @llvm.nvvm.bar.warp.sync(i32 -1)",
         "declare void @llvm.nvvm.bar.warp.sync(i32)", "collective"),
    ],
)  # fmt: skip
def test_what_not_all_threads_come_to_is_found(call: str, declaration: str, kind: str) -> None:
    with pytest.raises(EmulationError) as caught:
        run(DIVERGENT.format(count=40, call=call), declaration)
    assert caught.value.kind == kind


# Each lane reads what the next one wrote to shared memory.
NEIGHBOUR = """
  %a = getelementptr i32, ptr addrspace(3) @k__shared0, i64 %i
  store i32 %t, ptr addrspace(3) %a, align 4
  BARRIER
  %n = xor i64 %i, 1
  %b = getelementptr i32, ptr addrspace(3) @k__shared0, i64 %n
  %v = load i32, ptr addrspace(3) %b, align 4
  %q = getelementptr i32, ptr %out, i64 %i
  store i32 %v, ptr %q, align 4
"""
WARP_BARRIER = "call void @llvm.nvvm.bar.warp.sync(i32 -1)"


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_lanes_of_a_warp_are_ordered_by_barriers_alone(schedule: int) -> None:
    ordered = NEIGHBOUR.replace("BARRIER", WARP_BARRIER)
    declaration = "declare void @llvm.nvvm.bar.warp.sync(i32)"
    np.testing.assert_array_equal(run(ordered, declaration, schedule), np.arange(64) ^ 1)
    assert not np.array_equal(
        run(NEIGHBOUR.replace("BARRIER", ""), "", schedule), np.arange(64) ^ 1
    )


ASYNC = """
  %a = getelementptr i32, ptr addrspace(3) @k__shared0, i64 %i
  %p = getelementptr i32, ptr %in, i64 %i
  %g = addrspacecast ptr %p to ptr addrspace(1)
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %a, ptr addrspace(1) %g)
  call void @llvm.nvvm.cp.async.commit.group()
  WAIT
  %v = load i32, ptr addrspace(3) %a, align 4
  %q = getelementptr i32, ptr %out, i64 %i
  store i32 %v, ptr %q, align 4
"""
ASYNC_NAMES = """
declare void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.wait.group(i32)
"""


def test_copies_happen_when_they_are_waited_for() -> None:
    wait = "call void @llvm.nvvm.cp.async.wait.group(i32 0)"
    np.testing.assert_array_equal(run(ASYNC.replace("WAIT", wait), ASYNC_NAMES), np.arange(64))
    early = run(ASYNC.replace("WAIT", wait.replace("i32 0", "i32 1")), ASYNC_NAMES)
    assert np.all(early.view(np.uint32) == 0xA5A5A5A5)


def test_unknown_intrinsics_are_named() -> None:
    with pytest.raises(UnsupportedError, match=r"llvm\.nvvm\.nanosleep"):
        run("  call void @llvm.nvvm.nanosleep(i32 1)", "declare void @llvm.nvvm.nanosleep(i32)")


def test_shared_variables_are_those_that_a_kernel_names() -> None:
    code = host_code(runtime.llvm_text(MODULE.format(body=NEIGHBOUR.replace("BARRIER", ""),
                                                     declarations="").encode()))  # fmt: skip
    assert code.kernels["k"].shared_bytes == 256
    assert code.kernels["k"].required_block == (64, 1, 1)
