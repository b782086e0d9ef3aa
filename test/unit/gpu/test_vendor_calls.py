"""Matrix products by cuBLASLt: which kernels it may stand for, and who is chosen."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from fake_driver import FakeDriver, build_cublaslt
from vendor_programs import Function, calls, compiled, seem

from hlo.gpu.cuda import vendor
from hlo.gpu.cuda.device import CudaDevice
from hlo.gpu.cuda.program import CudaProgram
from hlo.passes.hlo_to_gpu import vendor_products

M, N, K = 40, 24, 32


@pytest.fixture(autouse=True)
def _small_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vendor_products, "SMALLEST_FLOPS", 1)


@pytest.fixture(scope="session")
def cublaslt_path(library: FakeDriver, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_cublaslt(tmp_path_factory.mktemp("fake_cublaslt"))


@pytest.fixture
def cublaslt(
    fake: FakeDriver, cublaslt_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Any]:
    """The library is installed, and as fast as it is made to seem."""
    monkeypatch.setattr(vendor, "find_cublaslt", lambda: cublaslt_path)
    library = ctypes.CDLL(str(cublaslt_path))
    library.fake_cublaslt_refuse(0)
    yield library
    library.fake_cublaslt_refuse(0)


def factors(dtype: Any = np.float32, *batch: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = ((*batch, M, K), (*batch, K, N), (N,))
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def product(a: jax.Array, b: jax.Array, _: jax.Array) -> jax.Array:
    return a @ b


FUNCTIONS: dict[str, Function] = {
    "plain": product,
    "bias": lambda a, b, c: a @ b + c,
    "relu": lambda a, b, _: jax.nn.relu(a @ b),
    "bias relu": lambda a, b, c: jnp.maximum(a @ b + c, 0),
    "gelu": lambda a, b, _: jax.nn.gelu(a @ b),
    "bias gelu": lambda a, b, c: jax.nn.gelu(a @ b + c, approximate=True),
}


def check(f: Function, arguments: list[np.ndarray], fake: FakeDriver, tolerance: float) -> None:
    program = CudaProgram(compiled(f, *arguments).plan, CudaDevice())
    fake.reset(3)
    for _ in range(3):  # the third call is a graph's
        (found,) = program(*arguments)
        wide = [np.asarray(x).astype(np.float64) for x in (found, f(*arguments))]
        np.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance)
    assert any(line.startswith("cublasLtMatmul") for line in fake.log)
    assert not any(line.startswith("cuLaunchKernel") for line in fake.log)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_products_with_epilogues_are_one_call(
    name: str, fake: FakeDriver, cublaslt: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seem(monkeypatch, library=1, kernels=2)
    check(FUNCTIONS[name], factors(), fake, 1e-4)


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(np.float16, 1e-2), (ml_dtypes.bfloat16, 5e-2), (np.float32, 1e-4)],
    ids=["f16", "bf16", "f32"],
)
@pytest.mark.parametrize("left", ["mk", "km"])
@pytest.mark.parametrize("right", ["kn", "nk"])
def test_factors_may_lie_either_way(
    dtype: Any, tolerance: float, left: str, right: str, fake: FakeDriver, cublaslt: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    seem(monkeypatch, library=1, kernels=2)
    a, b, _ = factors(dtype, 3)
    if left == "km":
        a = np.ascontiguousarray(a.swapaxes(1, 2))
    if right == "nk":
        b = np.ascontiguousarray(b.swapaxes(1, 2))

    def f(a: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.einsum(f"z{left},z{right}->zmn", a, b)

    check(f, [a, b], fake, tolerance)


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b, c: jnp.tanh(a @ b),
        lambda a, b, c: jax.nn.relu6(a @ b),
        lambda a, b, c: (a @ b) * c,
        lambda a, b, c: jax.nn.gelu(a @ b, approximate=False),
        lambda a, b, c: jax.nn.gelu(a @ b) + c,
        lambda a, b, c: (a @ b) * 2 + c,
    ],
)
def test_what_the_library_has_not_is_a_kernel(f: Function) -> None:
    assert not calls(compiled(f, *factors()))


def test_small_products_and_vendor_false_are_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    assert calls(compiled(product, *factors()))
    assert not calls(compiled(product, *factors(), vendor=False))
    # 2 x 40 x 24 x 32 = 61440
    monkeypatch.setattr(vendor_products, "SMALLEST_FLOPS", 61441)
    assert not calls(compiled(product, *factors()))


@pytest.mark.parametrize("why", ["slower", "no algorithm", "not installed"])
def test_kernels_stand_in_for_the_library(
    why: str, fake: FakeDriver, cublaslt: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seem(monkeypatch, library=2 if why == "slower" else 1, kernels=1.5)
    if why == "no algorithm":
        cublaslt.fake_cublaslt_refuse(1)
    if why == "not installed":
        monkeypatch.setattr(vendor, "find_cublaslt", lambda: None)
    arguments = factors()
    program = CudaProgram(compiled(FUNCTIONS["bias gelu"], *arguments).plan, CudaDevice())
    fake.reset()
    (found,) = program(*arguments)
    np.testing.assert_allclose(found, FUNCTIONS["bias gelu"](*arguments), rtol=1e-4, atol=1e-4)
    assert any(line.startswith("cuLaunchKernel") for line in fake.log)
    assert not any(line.startswith("cublasLtMatmul") for line in fake.log)


def test_the_emulated_device_runs_the_kernels() -> None:
    arguments = factors()
    program = compiled(FUNCTIONS["bias relu"], *arguments)
    assert calls(program)
    expected = FUNCTIONS["bias relu"](*arguments)
    for run in (program.emulated(), program.on_fibers()):
        np.testing.assert_allclose(run(*arguments)[0], expected, rtol=1e-4, atol=1e-4)
