"""`jit`: arguments, caching, static and donated arguments, methods, threads, eager operations."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

import hlo
import hlo.numpy as hnp

X = np.arange(6, dtype=np.float32)


def counted() -> tuple[Any, list[int]]:
    traces: list[int] = []

    @hlo.jit
    def f(x: Any, y: Any = 1.0) -> Any:
        traces.append(1)
        return x * y

    return f, traces


def test_first_example() -> None:
    f = hlo.jit(lambda x: hnp.sum(hnp.sin(x * 2.0) + 1.0))
    np.testing.assert_allclose(f(X), np.sum(np.sin(X * 2) + 1), rtol=1e-6)


def test_traced_once_for_each_shape_and_dtype() -> None:
    f, traces = counted()
    for _ in range(3):
        f(X, X)
    assert len(traces) == 1
    f(X[:3], X[:3])
    f(X.astype(np.float64), X)
    assert len(traces) == 3
    f(X, y=X)
    f(X, 2.0)
    f(X, 3.0)
    f(X, np.float32(3))
    assert len(traces) == 5


def test_structures_of_arguments_and_results() -> None:
    @dataclass
    class State:
        w: Any
        step: Any

    @hlo.jit
    def update(state: State, batch: dict[str, Any], *extra: Any, rate: Any) -> Any:
        w = state.w - rate * batch["x"] + sum(extra)
        return State(w, state.step + 1), [w.sum(), None]

    state, (total, nothing) = update(State(X, 0), {"x": X}, X, X, rate=0.5)
    np.testing.assert_allclose(state.w, X * 2.5)
    assert state.step == 1
    assert total == X.sum() * 2.5
    assert nothing is None


def test_static_arguments() -> None:
    traces: list[Any] = []

    @partial(hlo.jit, static_argnums=1, static_argnames=("mode",))
    def f(x: Any, n: int, *, mode: str = "add") -> Any:
        traces.append((n, mode))
        return x + n if mode == "add" else x * n

    np.testing.assert_array_equal(f(X, 2), X + 2)
    np.testing.assert_array_equal(f(X, n=3), X + 3)
    np.testing.assert_array_equal(f(X, 3, mode="mul"), X * 3)
    np.testing.assert_array_equal(f(X, 2), X + 2)
    assert traces == [(2, "add"), (3, "add"), (3, "mul")]
    f(X, 2.0)
    f(X, True)
    assert len(traces) == 5  # equal, but of another type


def test_static_argument_errors() -> None:
    f = hlo.jit(lambda x, n: x, static_argnums=1)
    with pytest.raises(hlo.ArgumentError, match="expected a hashable value for static argument 1"):
        f(X, [1])
    with pytest.raises(hlo.ArgumentError, match="found a traced float32"):
        hlo.jit(lambda x: f(x, x))(X)
    with pytest.raises(hlo.ArgumentError, match="static_argnums within 2 positional"):
        hlo.jit(lambda x, n: x, static_argnums=2)


def test_argument_that_is_no_array() -> None:
    with pytest.raises(hlo.DtypeError, match=r"params\['name'\] of type str .* static_argnums"):
        hlo.jit(lambda params: params)({"name": "w"})


def test_arguments_of_every_kind() -> None:
    f = hlo.jit(lambda x: x * 2)
    assert f(3) == 6
    assert f(3).dtype == np.int32
    assert f(1.5).dtype == np.float32
    assert f(np.float64(1.5)).dtype == np.float64
    np.testing.assert_array_equal(f(X[::-2]), X[::-2] * 2)
    np.testing.assert_array_equal(f(X.astype(">f4")), X * 2)
    assert f(np.zeros((0, 3), np.float32)).shape == (0, 3)
    read_only = X.copy()
    read_only.flags.writeable = False
    np.testing.assert_array_equal(f(read_only), X * 2)


def test_results_do_not_alias_arguments() -> None:
    argument = X.copy()
    result = hlo.jit(lambda x: x)(argument)
    result[0] = 99
    assert argument[0] == 0


def test_lowered_and_compiled() -> None:
    lowered = hlo.jit(lambda x, y: {"z": x + y}).lower(X, hlo.ShapeDtype((6,), np.float32))
    assert lowered.in_avals == (hlo.ShapeDtype((6,), np.float32),) * 2
    assert lowered.out_info == {"z": hlo.ShapeDtype((6,), np.float32)}
    assert "stablehlo.add" in lowered.as_text("stablehlo")
    compiled = lowered.compile()
    np.testing.assert_array_equal(compiled(X, X)["z"], X + X)
    assert "hlo.add" in compiled.as_text("input")
    assert "llvm" in compiled.as_text("llvm")
    with pytest.raises(hlo.ArgumentError, match=r"expected float32\[6\] for argument args\[1\]"):
        compiled(X, X[:2])
    with pytest.raises(hlo.ArgumentError, match=r"found float64\[6\]"):
        compiled(X, X.astype(np.float64))
    with pytest.raises(hlo.ArgumentError, match="expected arguments of structure"):
        compiled(X)


def test_methods() -> None:
    class Model:
        scale = 3.0

        @partial(hlo.jit, static_argnums=0)
        def __call__(self, x: Any) -> Any:
            return x * self.scale

    np.testing.assert_array_equal(Model()(X), X * 3)


def test_decorated_function_keeps_its_name() -> None:
    @hlo.jit
    def documented(x: Any) -> Any:
        """Doc."""
        return x

    assert documented.__name__ == "documented"
    assert documented.__doc__ == "Doc."
    with pytest.raises(hlo.ArgumentError, match="expected a function, found int"):
        hlo.jit(3)  # type: ignore[call-overload]


def test_errors_of_the_function_pass_through_and_leave_no_trace() -> None:
    def fails(x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        hlo.jit(fails)(X)
    np.testing.assert_array_equal(hnp.add(X, X), X + X)


def test_donated_argument() -> None:
    f = hlo.jit(lambda x: x + 1, donate_argnums=0)
    np.testing.assert_array_equal(f(X.copy()), X + 1)


def test_calls_from_many_threads() -> None:
    f, _ = counted()
    arrays = [np.full(4 + i % 3, i, np.float32) for i in range(24)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda x: f(x, x), arrays))
    for array, result in zip(arrays, results, strict=True):
        np.testing.assert_array_equal(result, array * array)


def test_operations_outside_of_jit() -> None:
    np.testing.assert_allclose(hnp.sin(X), np.sin(X), rtol=1e-6)
    np.testing.assert_array_equal(hnp.where(X > 2, X, 0), np.where(X > 2, X, 0))
    np.testing.assert_array_equal(hnp.sum(X.reshape(2, 3), axis=0), X.reshape(2, 3).sum(0))
    assert hnp.power(2, 3) == 8
    assert np.signbit(hnp.multiply(np.float32(1), -0.0))
    assert not np.signbit(hnp.multiply(np.float32(1), 0.0))
    assert np.isnan(hnp.add(np.float32(1), float("nan")))
    assert isinstance(hnp.zeros((2, 3)), np.ndarray)


def test_import_is_lazy() -> None:
    code = (
        "import hlo, sys; print([m for m in ('numpy', 'mlir', 'hlo.frontend') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_compilation_loads_no_classes_of_the_host_program() -> None:
    code = (
        "import hlo, hlo.numpy as hnp, numpy as np, sys\n"
        "hlo.jit(lambda x: hnp.cumsum(hnp.sin(x)) + hnp.sum(x))(np.ones(5000, np.float32))\n"
        "print([m for m in sys.modules if m.endswith(('dialects.memref', 'dialects.arith'))])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env=os.environ | {"HLO_CACHE": "0"},
    )  # fmt: skip
    assert found.stdout.strip() == "[]"


def test_public_names() -> None:
    for name in hlo.__all__:
        assert getattr(hlo, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        hlo.nonsense  # noqa: B018
    for module in (hnp, hlo.lax):
        assert len(set(module.__all__)) == len(module.__all__)
        for name in module.__all__:
            if name != "newaxis":
                assert getattr(module, name) is not None


@pytest.mark.parametrize("value", [2**31, 2**70, -(2**31) - 1])
def test_a_number_that_does_not_fit_is_an_error_on_each_call(value: int) -> None:
    f = hlo.jit(lambda x: x + 1)
    for _ in range(2):
        with pytest.raises(hlo.DtypeError, match=rf"{value} is out of the range of int32"):
            f(value)
        assert f(3) == 4
