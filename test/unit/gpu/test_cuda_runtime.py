"""The CUDA runtime against a fake driver, which runs what is put into streams as late as it may."""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import inspect
import re
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from fake_driver import FakeDriver

import hlo
from hlo.diagnostics import ArgumentError, CompileError, UnsupportedError
from hlo.driver.gpu_compile import GpuCompiled
from hlo.gpu.cuda import dlpack, tensor_maps
from hlo.gpu.cuda.array import DeviceArray
from hlo.gpu.cuda.device import CudaDevice
from hlo.gpu.cuda.driver import CudaError, NoDeviceError, OutOfMemoryError, driver
from hlo.gpu.cuda.program import CudaProgram

# Four independent chains; without optimization every op is a launch of its own.
PARTS = 4


def chains(size: int = 4096) -> str:
    lines: list[str] = []
    for i in range(PARTS):
        lines.append(f"""
  %c{i} = "hlo.constant"() {{value = dense<{i + 1}.0> : tensor<{size}xf32>}}
    : () -> tensor<{size}xf32>
  %m{i} = "hlo.multiply"(%x, %c{i}) : (tensor<{size}xf32>, tensor<{size}xf32>) -> tensor<{size}xf32>
  %s{i} = "hlo.reduce"(%m{i}, %zero) ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %r = "hlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "hlo.return"(%r) : (tensor<f32>) -> ()
  }}) {{dimensions = array<i64: 0>}} : (tensor<{size}xf32>, tensor<f32>) -> tensor<f32>
  %b{i} = "hlo.broadcast_in_dim"(%s{i}) {{broadcast_dimensions = array<i64>}}
    : (tensor<f32>) -> tensor<{size}xf32>
  %d{i} = "hlo.add"(%x, %b{i}) : (tensor<{size}xf32>, tensor<{size}xf32>) -> tensor<{size}xf32>""")
    results = ", ".join(f"%d{i}" for i in range(PARTS))
    types = ", ".join([f"tensor<{size}xf32>"] * PARTS)
    return f"""
func.func @main(%x: tensor<{size}xf32>) -> ({types}) {{
  %zero = "hlo.constant"() {{value = dense<0.0> : tensor<f32>}} : () -> tensor<f32>
{"".join(lines)}
  return {results} : {types}
}}
"""


INCREMENT = """
func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
  %c = "hlo.constant"() {value = dense<1.0> : tensor<6xf32>} : () -> tensor<6xf32>
  %0 = "hlo.add"(%x, %c) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}
"""
LOOP = """
func.func @main(%limit: tensor<i32>) -> tensor<i32> {
  %one = "hlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
  %r:2 = "hlo.while"(%one, %limit) ({
    ^bb0(%x: tensor<i32>, %l: tensor<i32>):
      %c = "hlo.compare"(%x, %l) {comparison_direction = #hlo<comparison_direction LT>}
        : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "hlo.return"(%c) : (tensor<i1>) -> ()
  }, {
    ^bb0(%x: tensor<i32>, %l: tensor<i32>):
      %y = "hlo.add"(%x, %x) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "hlo.return"(%y, %l) : (tensor<i32>, tensor<i32>) -> ()
  }) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  return %r#0 : tensor<i32>
}
"""


def compiled(text: str, target: str = "nvptx:sm_80", **options: Any) -> GpuCompiled:
    program = hlo.compile(text, target=target, **options)
    assert isinstance(program, GpuCompiled)
    return program


def test_host_arrays_go_to_the_gpu_and_back(fake: FakeDriver) -> None:
    (found,) = compiled(INCREMENT)(np.arange(6, dtype=np.float32))
    np.testing.assert_array_equal(found, np.arange(1, 7))
    assert isinstance(found, np.ndarray)
    assert sum(line.startswith("cuLaunchKernel") for line in fake.log) == 1


@pytest.mark.parametrize("seed", range(6))
def test_independent_kernels_run_in_streams_in_any_order(fake: FakeDriver, seed: int) -> None:
    x = np.random.default_rng(seed).standard_normal(4096).astype(np.float32)
    program = CudaProgram(
        compiled(chains(), optimize=False, reuse=False).plan, CudaDevice(), graphs=False
    )
    fake.reset(seed)
    found = program(x)
    assert len({line.split()[3] for line in fake.log if line.startswith("cuLaunchKernel")}) > 1
    for i, one in enumerate(found):
        np.testing.assert_allclose(one, x + (i + 1) * x.sum(), rtol=1e-3, atol=1e-3)


def test_the_third_call_launches_one_graph(fake: FakeDriver) -> None:
    program = CudaProgram(compiled(chains(), optimize=False, reuse=False).plan, CudaDevice())
    x = np.random.default_rng(0).standard_normal(4096).astype(np.float32)
    device = program.device
    place = device.allocate(x.nbytes)
    device.write(place, x.view(np.uint8))
    results = [device.allocate(x.nbytes) for _ in range(PARTS)]
    for number in range(4):
        fake.reset(number)
        program.run([place], results)
        found = np.empty(x.nbytes, np.uint8)
        device.read(results[1], found)
        np.testing.assert_allclose(found.view(np.float32), x + 2 * x.sum(), rtol=1e-3, atol=1e-3)
        launches = sum(line.startswith("cuLaunchKernel") for line in fake.log)
        # Launched, captured and launched as a graph, then launched as a graph only.
        assert (launches > 0, "cuGraphLaunch" in fake.log) == (number < 2, number > 0)


def test_a_loop_reads_its_predicate_from_the_device(fake: FakeDriver) -> None:
    (found,) = compiled(LOOP)(np.array(1000, np.int32))
    assert found == 1024


def test_nothing_is_left_behind(fake: FakeDriver) -> None:
    program = compiled(INCREMENT)
    program(np.zeros(6, np.float32))
    before = fake.live
    for _ in range(5):
        program(np.zeros(6, np.float32))
    gc.collect()
    assert fake.live == before


def on_gpu(device: CudaDevice, array: np.ndarray[Any, Any]) -> DeviceArray:
    address = device.allocate(array.nbytes)
    device.write(address, array.reshape(-1).view(np.uint8))
    return DeviceArray(device, address, array.shape, array.dtype)


class Foreign:
    """Another library's array on the GPU: all we may use is DLPack."""

    def __init__(self, array: DeviceArray, strides: tuple[int, ...] | None = None) -> None:
        self._array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()

    def __dlpack__(self, *, stream: int | None = None) -> object:
        return self._array.__dlpack__(stream=stream)


def test_arrays_on_the_gpu_are_not_copied(fake: FakeDriver) -> None:
    program = CudaProgram(compiled(INCREMENT).plan, CudaDevice())
    x = on_gpu(program.device, np.arange(6, dtype=np.float32))
    fake.reset()
    (y,) = program(x)
    (z,) = program(Foreign(y))
    assert isinstance(z, DeviceArray)
    assert not any("Memcpy" in line for line in fake.log)
    np.testing.assert_array_equal(np.asarray(z), np.arange(2, 8))


def test_memory_lent_by_dlpack_lives_as_long_as_it_is_used(fake: FakeDriver) -> None:
    gc.collect()
    device = CudaDevice()
    x = on_gpu(device, np.ones(5, ml_dtypes.bfloat16))
    before = fake.live
    borrowed = dlpack.borrow(Foreign(x), int(device.stream))
    assert (borrowed.address, borrowed.shape, borrowed.dtype) == (x.address, (5,), x.dtype)
    assert borrowed.is_row_major
    del x
    gc.collect()
    assert fake.live == before
    borrowed.release()
    gc.collect()
    assert fake.live == before - 1
    # A capsule that nobody takes gives the memory back as well.
    capsule = on_gpu(device, np.ones(5, np.float32)).__dlpack__()
    gc.collect()
    assert fake.live == before
    del capsule
    gc.collect()
    assert fake.live == before - 1


def test_a_donated_array_becomes_the_result(fake: FakeDriver) -> None:
    program = CudaProgram(compiled(INCREMENT, donate=(0,)).plan, CudaDevice())
    x = on_gpu(program.device, np.arange(6, dtype=np.float32))
    address = x.address
    (y,) = program(x)
    assert y.address == address
    with pytest.raises(ArgumentError, match="was donated"):
        program(x)
    with pytest.raises(ArgumentError, match="was donated"):
        np.asarray(x)
    # What is not ours is copied, and stays as it was.
    (z,) = program(Foreign(y))
    assert z.address != address
    np.testing.assert_array_equal(np.asarray(y), np.arange(1, 7))
    np.testing.assert_array_equal(np.asarray(z), np.arange(2, 8))


def test_wrong_arguments_are_refused(fake: FakeDriver) -> None:
    program = CudaProgram(compiled(INCREMENT).plan, CudaDevice())
    with pytest.raises(
        ArgumentError, match=r"argument 0: expected .* dtype float32, found .* int32"
    ):
        program(on_gpu(program.device, np.zeros(6, np.int32)))
    with pytest.raises(ArgumentError, match=r"expected an array of shape \(6,\)"):
        program(Foreign(on_gpu(program.device, np.zeros(7, np.float32))))


def test_too_little_memory_is_named(fake: FakeDriver) -> None:
    program = CudaProgram(compiled(INCREMENT).plan, CudaDevice())
    fake.c.fake_set_memory(0)
    with pytest.raises(OutOfMemoryError, match=r"no 24 bytes for 'argument 0': .* are free"):
        program(np.zeros(6, np.float32))


def test_an_older_gpu_is_refused(fake: FakeDriver) -> None:
    with pytest.raises(UnsupportedError, match=r"compiled for sm_90, the GPU .* is sm_80"):
        compiled(INCREMENT, "nvptx:sm_90").on_device()


def test_an_old_driver_is_refused(fake: FakeDriver) -> None:
    fake.c.fake_set_load_error(222)
    with pytest.raises(UnsupportedError, match=r"CUDA 13.0\) is too old for PTX 7.0"):
        compiled(INCREMENT).on_device()
    fake.c.fake_set_load_error(218)
    with pytest.raises(CompileError, match="line 7: what the assembler says"):
        compiled(INCREMENT).on_device()
    fake.c.fake_set_driver_version(10020)
    driver.cache_clear()
    with pytest.raises(NoDeviceError, match=r"is for CUDA 10.2; at least 11.0"):
        CudaDevice()


def test_a_machine_without_a_gpu_is_named(fake: FakeDriver) -> None:
    fake.c.fake_set_init_error(100)
    with pytest.raises(NoDeviceError, match="finds no GPU"):
        CudaDevice()
    fake.c.fake_set_init_error(803)
    driver.cache_clear()
    with pytest.raises(NoDeviceError, match="install a newer driver"):
        CudaDevice()


def test_a_failing_kernel_is_reported(fake: FakeDriver, capfd: pytest.CaptureFixture[str]) -> None:
    plan = compiled(INCREMENT).plan
    broken = {
        name: replace(module, ptx=module.ptx.replace("ret;", "st.global.b32 [0], 1;\n ret;"))
        for name, module in plan.modules.items()
    }
    program = CudaProgram(replace(plan, modules=broken), CudaDevice())
    with pytest.raises(CudaError, match="LAUNCH_FAILED"):
        program(np.zeros(6, np.float32))
    assert "bounds" in capfd.readouterr().err


def test_without_a_driver_the_message_says_what_to_do() -> None:
    script = (
        "from hlo.gpu.cuda.driver import driver, NoDeviceError\n"
        "try:\n    driver()\nexcept NoDeviceError as error:\n    print(error)\n"
        "else:\n    print('a driver')\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "emulate=True" in run.stdout or "a driver" in run.stdout


def test_the_host_computes_between_kernels(fake: FakeDriver) -> None:
    f = jax.jit(lambda a: jnp.linalg.cholesky(a + a) * 2)
    a = np.eye(4, dtype=np.float32) * 8 + 1
    program = CudaProgram(compiled(f.lower(a).as_text()).plan, CudaDevice())
    for seed in range(4):  # the third call would launch graphs
        fake.reset(seed)
        np.testing.assert_allclose(program(a)[0], f(a), rtol=1e-5)


def test_tensor_maps_are_the_kernels_last_parameters(fake: FakeDriver) -> None:
    text = """
func.func @main(%x: tensor<512x512xbf16>, %y: tensor<512x512xbf16>) -> tensor<512x512xbf16> {
  %0 = "hlo.dot_general"(%x, %y) {dot_dimension_numbers = #hlo.dot<
      lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}
    : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xbf16>
  return %0 : tensor<512x512xbf16>
}
"""
    fake.set_capability(9, 0)
    program = compiled(text, "nvptx:sm_90a", vendor=False).on_device()
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((512, 512)).astype(ml_dtypes.bfloat16) for _ in range(2))
    (found,) = program(x, y)
    expected = x.astype(np.float32) @ y.astype(np.float32)
    np.testing.assert_allclose(found.astype(np.float32), expected, rtol=1e-2, atol=0.5)
    assert fake.log.count("cuTensorMapEncodeTiled") == 2
    asked = [line for line in fake.log if line.startswith("cuFuncSetAttribute")]
    assert [line.split()[-1] for line in asked] == ["65600"]  # 4 x 16384 + 8 barriers of 8 bytes


def test_the_numbers_of_tensor_maps_are_cuda_s() -> None:
    cuda = pytest.importorskip("cuda.bindings.driver")
    kinds = {"u8": "UINT8", "f16": "FLOAT16", "bf16": "BFLOAT16", "tf32": "TFLOAT32"}
    prefix = "CU_TENSOR_MAP_DATA_TYPE_"
    assert {
        name: int(getattr(cuda.CUtensorMapDataType, prefix + kind)) for name, kind in kinds.items()
    } == tensor_maps.TYPES
    swizzle = cuda.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_128B
    promotion = cuda.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_256B
    assert (int(swizzle), int(promotion)) == (tensor_maps.SWIZZLE_128, tensor_maps.PROMOTION_256)


def test_a_driver_without_memory_pools_is_good_enough(fake: FakeDriver) -> None:
    fake.c.fake_set_pools(0)
    program = compiled(INCREMENT)
    for _ in range(3):
        np.testing.assert_array_equal(program(np.zeros(6, np.float32))[0], np.ones(6))
    assert not any("Async" in line for line in fake.log if "Free" in line)


def test_a_forked_process_is_told_so(fake: FakeDriver) -> None:
    fake.c.fake_set_init_error(3)
    with pytest.raises(NoDeviceError, match="CUDA_ERROR_NOT_INITIALIZED"):
        CudaDevice()


def test_every_function_that_is_called_is_one_of_the_driver_s() -> None:
    cuda = importlib.import_module("cuda.bindings.driver")
    folder = Path(inspect.getfile(CudaDevice)).parent
    text = "".join(path.read_text() for path in folder.glob("*.py"))
    named = set(re.findall(r'"(cu[A-Z]\w+)"', text))
    by_ctypes = set(re.findall(r"cu[A-Z]\w+", inspect.getsource(tensor_maps)))
    assert len(named) > 30
    assert {name for name in named - by_ctypes if not hasattr(cuda, name)} == set()


def test_one_program_sees_what_another_has_computed(fake: FakeDriver) -> None:
    first, second = compiled(INCREMENT).on_device(), compiled(INCREMENT).on_device()
    x = on_gpu(first.device, np.arange(6, dtype=np.float32))
    for seed in range(8):
        fake.reset(seed)
        (y,) = first(x)
        (z,) = second(y)
        del y
        np.testing.assert_array_equal(np.asarray(z), np.arange(2, 8))


@pytest.mark.parametrize("seed", range(4))
def test_arrays_of_another_stream_are_waited_for(fake: FakeDriver, seed: int) -> None:
    first, second = (CudaProgram(compiled(INCREMENT).plan, CudaDevice()) for _ in range(2))
    x = on_gpu(first.device, np.arange(6, dtype=np.float32))
    fake.reset(seed)
    (z,) = second(*first(x))
    np.testing.assert_array_equal(np.asarray(z), np.arange(2, 8))


def test_any_thread_may_call_a_program_and_read_its_results(fake: FakeDriver) -> None:
    program = compiled(INCREMENT)
    x = on_gpu(program.on_device().device, np.arange(6, dtype=np.float32))
    found: list[np.ndarray[Any, Any]] = []

    def work() -> None:
        (y,) = program(x)
        found.append(np.asarray(y))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for one in found:
        np.testing.assert_array_equal(one, np.arange(1, 7))
    current = ctypes.c_void_p()
    fake.c.cuCtxGetCurrent(ctypes.byref(current))
    assert current.value is None  # the thread's own context, of which it had none


def test_a_part_of_another_array_may_begin_anywhere(fake: FakeDriver) -> None:
    program = CudaProgram(compiled(INCREMENT).plan, CudaDevice())
    whole = on_gpu(program.device, np.arange(8, dtype=np.float32))
    part = DeviceArray(program.device, whole.address + 4, (6,), np.dtype(np.float32))
    (z,) = program(Foreign(part))
    np.testing.assert_array_equal(np.asarray(z), np.arange(2, 8))
    part._finalizer.detach()  # pyright: ignore[reportPrivateUsage] - its memory is the whole's


def test_arrays_that_die_while_a_graph_is_recorded_are_no_part_of_it(fake: FakeDriver) -> None:
    device = CudaDevice()
    dying = [on_gpu(device, np.ones(4, np.float32))]
    place = device.allocate(64)
    before = fake.live

    def work() -> None:
        device.fill(place, 64, 1, 1)
        dying.clear()

    with device.entered():
        graph = device.capture(work)
        assert fake.live == before - 1
        for _ in range(2):
            device.launch_graph(graph)
        device.synchronize()


def test_a_program_that_dies_while_a_graph_is_recorded_is_freed_after_it(fake: FakeDriver) -> None:
    device = CudaDevice()
    place = device.allocate(64)
    dying = [CudaProgram(compiled(chains(), optimize=False, reuse=False).plan, device)]
    alive = [fake.log.count(f"cuModule{what}") for what in ("LoadDataEx", "Unload")]

    def work() -> None:
        device.fill(place, 64, 1, 1)
        dying.clear()
        gc.collect()
        assert fake.log.count("cuModuleUnload") == alive[1]

    with device.entered():
        device.launch_graph(device.capture(work))
        device.synchronize()
    assert fake.log.count("cuModuleUnload") == alive[0]


def test_a_program_that_is_gone_leaves_nothing(fake: FakeDriver) -> None:
    device = CudaDevice()
    before = fake.live
    program = CudaProgram(compiled(chains(), optimize=False, reuse=False).plan, device)
    x = on_gpu(device, np.ones(4096, np.float32))
    for _ in range(3):
        program(Foreign(x))
    streams = fake.log.count("cuStreamCreate") - 1
    assert streams > 0
    events = fake.log.count("cuEventCreate")
    for _ in range(20):
        program(Foreign(x))
    device.synchronize()
    assert fake.log.count("cuEventCreate") <= events + 1  # of calls that are over at once
    del program, x
    gc.collect()
    assert fake.live == before
    assert fake.log.count("cuStreamDestroy") == streams
    assert fake.log.count("cuModuleUnload") == fake.log.count("cuModuleLoadDataEx")


@pytest.mark.parametrize("capability", [(8, 0), (9, 0), (12, 0)])
def test_the_benchmark_script_runs(
    fake: FakeDriver, capability: tuple[int, int], capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    path = Path(__file__).resolve().parents[3] / "benchmarks" / "gpu.py"
    specification = importlib.util.spec_from_file_location("gpu_benchmark", path)
    assert specification is not None
    assert specification.loader is not None
    script = importlib.util.module_from_spec(specification)
    monkeypatch.setitem(sys.modules, "gpu_benchmark", script)
    specification.loader.exec_module(script)
    fake.set_capability(*capability)
    assert script.main(["--small", "--only=softmax,dense_relu_f16"]) == 0
    out = capsys.readouterr().out
    chip = "sm_90a" if capability == (9, 0) else f"sm_{capability[0]}{capability[1]}"
    assert f"code for nvptx:{chip}" in out
    assert re.search(r"\| softmax \| .*e-\d\d \| 1 \| \d+\.\d+ \|", out)
