"""Convolutions by cuDNN: which kernels it may stand for, what it is told, and who is chosen."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from fake_driver import FakeDriver, build_cudnn
from jax import lax
from vendor_programs import Function, calls, compiled, seem

import hlo
from hlo.diagnostics import UnsupportedError
from hlo.driver.gpu_compile import GpuCompiled
from hlo.gpu.convolution import Convolution
from hlo.gpu.cuda import cudnn, vendor
from hlo.gpu.cuda.cudnn_graph import CudnnError, CudnnLibrary, Note
from hlo.gpu.cuda.device import CudaDevice
from hlo.gpu.cuda.program import CudaProgram
from hlo.gpu.plan_json import from_json, to_json
from hlo.passes.fusion import join_last_steps
from hlo.passes.hlo_to_gpu import vendor_convolutions

Arrays = list[np.ndarray]


@pytest.fixture(autouse=True)
def _small_convolutions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vendor_convolutions, "SMALLEST_FLOPS", 1)
    monkeypatch.setattr(join_last_steps, "LARGEST_PRODUCT", 1)


@pytest.fixture(scope="session")
def cudnn_path(library: FakeDriver, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_cudnn(tmp_path_factory.mktemp("fake_cudnn"))


@pytest.fixture
def library_of(
    fake: FakeDriver, cudnn_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Any]:
    """The library is installed, with what it needs, and as fast as it is made to seem."""
    monkeypatch.setattr(vendor, "find_cudnn", lambda: cudnn_path)
    monkeypatch.setattr(cudnn, "load_needed", lambda major: None)
    opened = ctypes.CDLL(str(cudnn_path))

    def as_it_was() -> None:
        opened.fake_cudnn_refuse(0)
        opened.fake_cudnn_set_version(91002)

    as_it_was()
    yield opened
    as_it_was()


def numbers(*shape: int, dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if np.dtype(dtype) == np.int8:
        return rng.integers(-8, 8, shape, np.int8)
    return rng.standard_normal(shape).astype(dtype)


def convolution(layout: str = "NHWC", **options: Any) -> Function:
    """Of x by w; the window is in memory as programs of the layout have it."""
    windows = {"NHWC": "HWIO", "NCHW": "OIHW", "NWC": "WIO", "NDHWC": "DHWIO"}
    spatial = len(layout) - 2
    options.setdefault("window_strides", (1,) * spatial)
    options.setdefault("padding", ((1, 1),) * spatial)
    names = (layout, windows[layout], layout)
    return lambda x, w: lax.conv_general_dilated(x, w, dimension_numbers=names, **options)


def check(
    f: Function, arguments: Arrays, fake: FakeDriver, tolerance: float = 1e-4, **options: Any
) -> Convolution:
    """Runs the program by the library alone; what was called."""
    program = compiled(f, *arguments, **options)
    (call,) = calls(program)
    run = CudaProgram(program.plan, CudaDevice())
    fake.reset(3)
    for _ in range(3):  # the third call may be a graph's
        (found,) = run(*arguments)
        wide = [np.asarray(x).astype(np.float64) for x in (found, f(*arguments))]
        np.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance)
    assert sum(line.startswith("cudnnBackendExecute") for line in fake.log) >= 1
    launched = {line.split()[1] for line in fake.log if line.startswith("cuLaunchKernel ")}
    assert not launched & {launch.kernel for launch in call.fallback}
    return Convolution.of(call.parameters)


X, W = (2, 9, 10, 8), (3, 3, 8, 16)


@pytest.fixture
def faster(library_of: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The library, which takes half of the kernels' time."""
    seem(monkeypatch, library=1, kernels=2)
    return library_of


EPILOGUES: dict[str, Function] = {
    "plain": lambda y, b, z: y,
    "bias": lambda y, b, z: y + b,
    "relu": lambda y, b, z: jnp.maximum(y, 0),
    "bias relu": lambda y, b, z: jax.nn.relu(b + y),
    "residual": lambda y, b, z: z + y,
    "residual relu": lambda y, b, z: jax.nn.relu(y + z),
    "bias residual relu": lambda y, b, z: jax.nn.relu((y + b) + z),
    "residual bias": lambda y, b, z: (y + z) + b,
}


@pytest.mark.parametrize("name", EPILOGUES)
def test_convolutions_with_epilogues_are_one_call(name: str, fake: FakeDriver, faster: Any) -> None:
    f = convolution()

    def whole(x: jax.Array, w: jax.Array, b: jax.Array, z: jax.Array) -> jax.Array:
        return EPILOGUES[name](f(x, w), b, z)

    arguments = [numbers(*X), numbers(*W), numbers(16, seed=1), numbers(2, 9, 10, 16, seed=2)]
    found = check(whole, arguments, fake)
    assert (found.bias, found.residual) == ("bias" in name, "residual" in name)
    assert found.activation == ("relu" if "relu" in name else "")


def test_relu_keeps_nan(fake: FakeDriver, faster: Any) -> None:
    f = convolution()
    x = numbers(*X)
    x[0, 3, 4, 5] = np.nan
    found = check(lambda x, w: jax.nn.relu(f(x, w)), [x, numbers(*W)], fake)
    assert found.activation == "relu"


FORWARD: dict[str, tuple[str, tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "strides": ("NHWC", X, W, {"window_strides": (2, 1)}),
    "dilation": ("NHWC", X, W, {"rhs_dilation": (2, 3), "padding": ((2, 2), (3, 3))}),
    "zeros behind": ("NHWC", X, W, {"padding": ((0, 2), (1, 3))}),
    "groups": ("NHWC", X, (3, 3, 2, 16), {"feature_group_count": 4}),
    "each feature": ("NHWC", X, (3, 3, 1, 8), {"feature_group_count": 8}),
    "features first": ("NCHW", (2, 8, 9, 10), (16, 8, 3, 3), {}),
    "one dimension": ("NWC", (2, 20, 8), (3, 8, 16), {"window_strides": (2,)}),
    "three dimensions": ("NDHWC", (1, 4, 5, 6, 8), (3, 3, 3, 8, 16), {}),
}


@pytest.mark.parametrize("name", FORWARD)
def test_windows_are_told_as_they_are(name: str, fake: FakeDriver, faster: Any) -> None:
    layout, x, w, options = FORWARD[name]
    found = check(convolution(layout, **options), [numbers(*x), numbers(*w, seed=1)], fake)
    assert found.direction == "forward"


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("groups", [1, 4, 8])
def test_input_gradients(layout: str, groups: int, fake: FakeDriver, faster: Any) -> None:
    f = convolution(layout, feature_group_count=groups, padding=((1, 1), (0, 2)))
    first = layout == "NCHW"
    x = numbers(*((8, 32, 9, 10) if first else (8, 9, 10, 32)))
    inner, outer = 32 // groups, 16
    w = numbers(*((outer, inner, 3, 3) if first else (3, 3, inner, outer)), seed=1)
    dy = numbers(*f(x, w).shape, seed=2)
    found = check(lambda w, dy: jax.vjp(f, x, w)[1](dy)[0], [w, dy], fake)
    assert found.direction == "input" and not found.turned
    assert found.w[:2] == (16, inner)
    assert (found.before, found.after) == ((1, 0), (1, 2))


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize("stride", [1, 2])
def test_weight_gradients(
    layout: str, groups: int, stride: int, fake: FakeDriver, faster: Any
) -> None:
    f = convolution(layout, feature_group_count=groups, window_strides=(stride, stride))
    first = layout == "NCHW"
    x = numbers(*((2, 8, 9, 10) if first else X))
    w = numbers(*((16, 8 // groups, 3, 3) if first else (3, 3, 8 // groups, 16)), seed=1)
    dy = numbers(*f(x, w).shape, seed=2)
    found = check(lambda x, dy: jax.vjp(f, x, w)[1](dy)[1], [x, dy], fake)
    assert found.direction == "weights"
    assert (found.strides, found.before, found.after) == ((stride,) * 2, (1, 1), (1, 1))


def test_a_window_that_is_turned_around(fake: FakeDriver, faster: Any) -> None:
    f = convolution("NHWC", window_strides=(2, 2))
    found = check(lambda x, w: f(x, w[::-1, ::-1]), [numbers(*X), numbers(*W, seed=1)], fake)
    assert found.direction == "forward"


@pytest.mark.parametrize(
    ("dtype", "result", "tolerance"),
    [
        (np.float16, None, 1e-2),
        (ml_dtypes.bfloat16, None, 1e-1),
        (np.float16, jnp.float32, 1e-2),
        (np.int8, jnp.int32, 0),
    ],
    ids=["f16", "bf16", "f16 to f32", "i8"],
)
def test_element_types(
    dtype: Any, result: Any, tolerance: float, fake: FakeDriver, faster: Any
) -> None:
    f = convolution("NHWC", preferred_element_type=result)
    found = check(f, [numbers(*X, dtype=dtype), numbers(*W, dtype=dtype)], fake, tolerance)
    assert found.result == {None: found.factor, jnp.float32: "f32", jnp.int32: "i32"}[result]


@pytest.mark.parametrize("tf32", [False, True])
def test_f32_is_rounded_to_tf32_where_it_may_be(tf32: bool, fake: FakeDriver, faster: Any) -> None:
    f, arguments = convolution(), [numbers(*X), numbers(*W, seed=1)]
    run = CudaProgram(compiled(f, *arguments, tf32=tf32).plan, CudaDevice())
    error = np.max(np.abs(run(*arguments)[0] - f(*arguments)))
    # 72 products of factors of about 1, rounded by 2^-11
    assert (1e-3 < error < 2e-2) if tf32 else error < 1e-4


def test_engines_that_change_results_are_left_out() -> None:
    shape = {"x": (1, 8, 9, 9), "w": (8, 8, 3, 3), "y": (1, 8, 9, 9), "layout": "last"}
    window = dict.fromkeys(("strides", "dilation", "before", "after"), (1, 1))

    def unwanted(**options: Any) -> frozenset[int]:
        given = {"factor": "f32", "result": "f32", "turned": False, **shape, **window, **options}
        return cudnn.unwanted(Convolution(direction="forward", **given))

    always = {Note.REDUCED_PRECISION_REDUCTION, Note.FFT, Note.WINOGRAD}
    strict = {Note.TENSOR_CORE, Note.DOWN_CONVERT_INPUTS, Note.NONDETERMINISTIC}
    assert unwanted() == always | strict
    assert unwanted(tf32=True) == always | {Note.NONDETERMINISTIC}
    assert unwanted(factor="f16", result="f16", deterministic=False) == always


FOLLOWED: dict[str, Function] = {
    "tanh": lambda x, w, b: jnp.tanh(convolution()(x, w)),
    "a factor": lambda x, w, b: convolution()(x, w) * b,
    "after the ReLU": lambda x, w, b: jax.nn.relu(convolution()(x, w)) + b,
    "a bias twice": lambda x, w, b: convolution()(x, w) + 2 * b,
    "an input gradient": lambda x, w, b: (
        convolution("NHWC")(x[..., :8], jnp.swapaxes(w[::-1, ::-1], 2, 3)[:, :, :8, :]) * 3
    ),
    "a new window": lambda x, w, b: w - 0.1 * lax.conv_general_dilated(
        x, jnp.tanh(x[..., :1]) * b, (1, 1), ((1, 1), (1, 1)),
        dimension_numbers=("CHWN", "IHWO", "HWNC"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLLOWED)
def test_what_the_library_has_not_is_done_behind_it(
    name: str, fake: FakeDriver, faster: Any
) -> None:
    f, arguments = FOLLOWED[name], [numbers(*X), numbers(*W), numbers(16)]
    program = compiled(f, *arguments)
    (call,) = calls(program)
    assert call.after
    run = CudaProgram(program.plan, CudaDevice())
    fake.reset(3)
    for _ in range(3):
        found = run(*arguments)
        expected = jax.tree.leaves(f(*arguments))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
    launched = [line.split()[1] for line in fake.log if line.startswith("cuLaunchKernel ")]
    assert not {launch.kernel for launch in call.fallback} & set(launched)


def test_a_donated_window_is_updated_in_place(fake: FakeDriver, faster: Any) -> None:
    """The result's memory is an input's, which only the stage behind the call may write."""
    x, w, dy = numbers(*X), numbers(*W), numbers(2, 9, 10, 16, seed=2)

    def update(w: Any, x: Any, dy: Any) -> Any:
        return w - 0.1 * jax.vjp(convolution(), x, w)[1](dy)[1]

    text = jax.jit(update, donate_argnums=0).lower(w, x, dy).as_text()
    program = hlo.compile(text, target="nvptx:sm_80", donate=(0,))
    assert isinstance(program, GpuCompiled)
    assert program.plan.aliases == ((0, 0),)
    assert len(calls(program)) == 1
    expected = update(w, x, dy)
    (found,) = CudaProgram(program.plan, CudaDevice())(w, x, dy)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert any(line.startswith("cudnnBackendExecute") for line in fake.log)


def test_a_residual_that_the_result_replaces_is_a_kernel() -> None:
    """The library would write over it before it has read it all."""
    x, w, z = numbers(*X), numbers(*W), numbers(2, 9, 10, 16)
    f = convolution()
    text = jax.jit(lambda z, x, w: f(x, w) + z, donate_argnums=0).lower(z, x, w).as_text()
    program = hlo.compile(text, target="nvptx:sm_80", donate=(0,))
    assert isinstance(program, GpuCompiled)
    assert program.plan.aliases == ((0, 0),)
    assert not calls(program)


def test_windows_past_the_input_are_kernels() -> None:
    f = convolution("NHWC", padding=((-1, 0), (0, 0)))
    assert not calls(compiled(f, numbers(*X), numbers(*W)))


def test_small_convolutions_and_vendor_false_are_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    f, arguments = convolution(), (numbers(*X), numbers(*W))
    assert calls(compiled(f, *arguments))
    assert not calls(compiled(f, *arguments, vendor=False))
    # 2 * (2 * 9 * 10 * 16) * (3 * 3 * 8) = 414720
    monkeypatch.setattr(vendor_convolutions, "SMALLEST_FLOPS", 414721)
    assert not calls(compiled(f, *arguments))


WHY_NOT = {
    "slower": "cudnn 2000000.0 us, kernels 1500000.0 us",
    "no graph": "the graph is not supported",
    "no heuristic": "no heuristic",
    "no plan": "no plan",
    "does not run": "cuDNN fails",
    "another version": "cuDNN 8.9.7; what is called is of cuDNN 9",
    "not installed": "cuDNN 9 is not installed",
    "no cuBLASLt": "cuDNN needs cuBLASLt of CUDA 12: install nvidia-cublas",
}


@pytest.mark.parametrize("why", WHY_NOT)
def test_kernels_stand_in_for_the_library(
    why: str, fake: FakeDriver, library_of: Any, cudnn_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    seem(monkeypatch, library=2 if why == "slower" else 1, kernels=1.5)
    kinds = ("", "no graph", "no heuristic", "no plan", "does not run")
    library_of.fake_cudnn_refuse(kinds.index(why) if why in kinds else 0)
    if why == "another version":
        library_of.fake_cudnn_set_version(8907)
    if why == "not installed":
        monkeypatch.setattr(vendor, "find_cudnn", lambda: None)
    if why == "no cuBLASLt":
        monkeypatch.undo()
        monkeypatch.setattr(vendor_convolutions, "SMALLEST_FLOPS", 1)
        monkeypatch.setattr(vendor, "find_cudnn", lambda: cudnn_path)
        monkeypatch.setattr(cudnn, "find_cublaslt", lambda majors: None)
    f, arguments = convolution(), [numbers(*X), numbers(*W)]
    run = CudaProgram(compiled(f, *arguments).plan, CudaDevice())
    ((_, choice),) = run.library_calls
    assert not choice.by_library and WHY_NOT[why] in choice.reason
    fake.reset()
    (found,) = run(*arguments)
    np.testing.assert_allclose(found, f(*arguments), rtol=1e-4, atol=1e-4)
    assert any(line.startswith("cuLaunchKernel") for line in fake.log)
    assert not any(line.startswith("cudnnBackendExecute") for line in fake.log)


def test_a_call_is_measured_once_on_a_gpu(
    fake: FakeDriver, library_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[str] = []

    def seconds(_: object, work: Any) -> float:
        measured.append(work.__name__)
        return {"library": 1, "kernels": 2}[work.__name__]

    monkeypatch.setattr(vendor.VendorCalls, "seconds", seconds)
    device, arguments = CudaDevice(), [numbers(*X), numbers(*W)]
    plan = compiled(convolution(), *arguments).plan
    for _ in range(2):
        CudaProgram(plan, device)
    assert measured == ["library", "kernels"]
    CudaProgram(plan, CudaDevice())  # another one
    assert measured == ["library", "kernels"] * 2


def test_the_fastest_engine_is_taken(
    fake: FakeDriver, library_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """f16 may be computed by two of the fake library's engines."""
    times = iter([3.0, 4.0, 2.0])  # the first engine, the kernels, the second engine
    monkeypatch.setattr(vendor.VendorCalls, "seconds", lambda _, work: (work(), next(times))[1])
    arguments = [numbers(*X, dtype=np.float16), numbers(*W, dtype=np.float16)]
    run = CudaProgram(compiled(convolution(), *arguments).plan, CudaDevice())
    ((_, choice),) = run.library_calls
    assert choice.seconds == (2.0, 4.0)


def test_a_stored_plan_has_the_call_and_its_kernels(fake: FakeDriver, faster: Any) -> None:
    arguments = [numbers(*X), numbers(*W)]
    plan = compiled(convolution(), *arguments).plan
    stored = from_json(to_json(plan))
    assert stored == plan
    expected = convolution()(*arguments)
    (found,) = CudaProgram(stored, CudaDevice())(*arguments)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_a_call_without_kernels_says_what_to_install(
    fake: FakeDriver, library_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vendor, "find_cudnn", lambda: None)
    program = compiled(convolution(), numbers(*X), numbers(*W))
    (call,) = calls(program)
    bare = replace(program.plan, steps=(replace(call, fallback=()),))
    with pytest.raises(UnsupportedError, match="install nvidia-cudnn-cu13"):
        CudaProgram(bare, CudaDevice())


def test_the_emulated_device_runs_the_kernels() -> None:
    f, arguments = convolution(), [numbers(*X), numbers(*W)]
    program = compiled(f, *arguments)
    assert calls(program)
    for run in (program.emulated(), program.on_fibers()):
        np.testing.assert_allclose(run(*arguments)[0], f(*arguments), rtol=1e-4, atol=1e-4)


def test_parameters_that_do_not_fit_are_refused() -> None:
    call = Convolution(
        "forward", (1, 8, 9, 9), (8, 8, 3, 3), (1, 8, 9, 9), "last", (1, 1), (1, 1), (1, 1), (1, 1),
        False, "f32", "f32",
    )  # fmt: skip
    assert Convolution.of(call.parameters()) == call
    for name, value in (("y", (1, 8, 9, 8)), ("w", (8, 3, 3, 3)), ("strides", (1,)), ("k", 1)):
        with pytest.raises(ValueError):
            Convolution.of([*((k, v) for k, v in call.parameters() if k != name), (name, value)])


def test_errors_of_the_library_are_told(library_of: Any, cudnn_path: Path) -> None:
    opened = CudnnLibrary.open(str(cudnn_path))
    assert opened.version_text == "9.10.2"
    with pytest.raises(CudnnError, match="cudnnSetStream fails: cudnnStatus_t 2000; handle"):
        opened.call("cudnnSetStream", ctypes.c_void_p(1), ctypes.c_void_p(2))


def side_by_side(x: Any, w: Any, v: Any) -> Any:
    f = convolution()
    return f(x, w), f(x, v)


def test_streams_have_workspaces_of_their_own(
    fake: FakeDriver, faster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows are copied in two streams at once; were it to one place, one of them would be lost.

    The fake driver runs what is put into its streams in any order that they allow.
    """
    arguments = [numbers(*X), numbers(*W, seed=1), numbers(*W, seed=2)]
    program = compiled(side_by_side, *arguments, optimize=False)  # they are no one kernel
    assert [len(call.before) for call in calls(program)] == [1, 1]
    expected = side_by_side(*arguments)

    def wrong_runs() -> int:
        run = CudaProgram(program.plan, CudaDevice(), graphs=False)
        wrong = 0
        for seed in range(12):
            fake.reset(seed)
            found = run(*arguments)
            pairs = zip(found, expected, strict=True)
            wrong += not all(np.allclose(a, b, rtol=1e-4, atol=1e-4) for a, b in pairs)
        return wrong

    assert wrong_runs() == 0

    def one_place(calls: vendor.VendorCalls, size: int, name: str) -> dict[int, int]:
        streams = calls._streams  # pyright: ignore[reportPrivateUsage]
        device = calls._device  # pyright: ignore[reportPrivateUsage]
        return dict.fromkeys(streams, device.allocate(max(size, 1), name))

    monkeypatch.setattr(vendor.VendorCalls, "_for_streams", one_place)
    assert wrong_runs() > 0
