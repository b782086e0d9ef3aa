"""Compiled programs call Python functions: those of JAX programs, and those of the front end."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax
from jax.experimental import io_callback

import hlo
import hlo.numpy as hnp
from hlo.diagnostics import CompileError, UnsupportedError
from hlo.executable import callbacks
from hlo.importers import import_stablehlo, python_callbacks
from hlo.reference.evaluate import evaluate

Log = list[Any]


def compiled_from_jax(function: Callable[..., Any], *args: Any) -> Any:
    return hlo.compile(hlo.from_jax(function, *args))


def like(x: Any) -> Any:
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


X = np.linspace(-1, 1.5, 6, dtype=np.float32).reshape(2, 3)


def test_results_of_a_function_go_on_in_the_program() -> None:
    def f(x: Any) -> Any:
        return jax.pure_callback(lambda a: np.sort(a, 1)[:, ::-1], like(x), x * 2) + 1

    module = hlo.from_jax(f, X)
    assert np.array_equal(hlo.compile(module)(X)[0], jax.jit(f)(X))
    assert np.array_equal(evaluate(module, [X])[0], jax.jit(f)(X))


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "uint16", "int32", "float16", "bfloat16", "float32", "complex64", "int4"],
)
@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (2, 3)], ids=str)
def test_types_and_shapes(dtype: str, shape: tuple[int, ...]) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype) if dtype in ("bfloat16", "int4") else dtype)
    x = np.arange(int(np.prod(shape))).reshape(shape).astype(kind)
    seen: Log = []

    def record(a: Any) -> tuple[Any, Any]:
        seen.append(a)
        return a, np.int32(a.size)

    def f(x: Any) -> Any:
        return jax.pure_callback(record, (like(x), jax.ShapeDtypeStruct((), np.int32)), x)

    same, size = compiled_from_jax(f, x)(x)
    assert same.dtype == x.dtype
    assert np.array_equal(same, x)
    assert size == x.size
    assert np.array_equal(np.asarray(seen[-1]), x)


def test_ordered_callbacks_in_loops_and_branches_happen_in_order() -> None:
    log: Log = []

    def f(x: Any) -> Any:
        def body(c: Any, i: Any) -> Any:
            io_callback(lambda a, i: log.append((int(i), float(a))), None, c, i, ordered=True)
            return c + 1, i

        c, _ = lax.scan(body, x, jnp.arange(3))
        say = lambda word: lambda: io_callback(lambda: log.append(word), None, ordered=True)  # noqa: E731
        lax.cond(c > 3, say("more"), say("less"))
        io_callback(lambda: log.append("end"), None, ordered=True)
        return c

    program = compiled_from_jax(f, np.float32(1))
    for start, word in ((1, "more"), (-5, "less")):
        log.clear()
        assert program(np.float32(start))[0] == start + 3
        assert log == [*((i, float(start + i)) for i in range(3)), word, "end"]


def test_effects_without_results_happen_once_each_and_in_the_order_written() -> None:
    log: Log = []

    def f(x: Any) -> Any:
        for i in range(4):
            io_callback(lambda a, i=i: log.append((i, float(a))), None, x.sum() * (4 - i))
        lax.fori_loop(0, 3, lambda i, _: (jax.debug.callback(log.append, i), None)[1], None)
        return x + 1

    compiled_from_jax(f, X)(X)
    assert [entry for entry in log if isinstance(entry, tuple)] == [
        (i, pytest.approx(X.sum() * (4 - i), abs=1e-5)) for i in range(4)
    ]
    assert [int(i) for i in log if not isinstance(i, tuple)] == [0, 1, 2]


def test_jax_debug_print(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        jax.debug.print("total {t}", t=x.sum())
        return x

    compiled_from_jax(f, np.float32([1, 2]))(np.float32([1, 2]))
    assert capsys.readouterr().out == "total 3.0\n"


class OwnError(Exception):
    pass


def test_what_a_function_raises_the_call_raises() -> None:
    calls: Log = []

    def check(a: Any) -> Any:
        calls.append(float(a))
        if a < 0:
            raise OwnError("negative")
        return a

    def f(x: Any) -> Any:
        def body(_: Any, c: Any) -> Any:
            return jax.pure_callback(check, jax.ShapeDtypeStruct((), np.float32), c) - 1

        return lax.fori_loop(0, 5, body, x)

    program = compiled_from_jax(f, np.float32(0))
    assert program(np.float32(9))[0] == 4
    calls.clear()
    for _ in range(2):  # it can be called again
        with pytest.raises(OwnError, match="negative"):
            program(np.float32(1))
    assert calls == [1.0, 0.0, -1.0] * 2  # nothing is called after the one that raised
    assert program(np.float32(9))[0] == 4


def test_wrong_results_are_errors() -> None:
    def f(x: Any) -> Any:
        return hlo.pure_callback(lambda a: a[:1], hlo.ShapeDtype((2, 3), np.dtype("float32")), x)

    with pytest.raises(TypeError, match=r"returned \(float32\[1, 3\]\), expected"):
        hlo.jit(f)(X)


def test_threads_call_back_at_once_and_programs_nest() -> None:
    inner = hlo.jit(lambda x: hnp.sum(x * x))

    def f(x: Any) -> Any:
        return jax.pure_callback(
            lambda a: np.asarray(inner(np.asarray(a))), jax.ShapeDtypeStruct((), np.float32), x
        )

    x = np.ones(100_000, np.float32)
    program = compiled_from_jax(f, x)
    found: Log = []
    threads = [
        threading.Thread(target=lambda: found.extend(float(program(x)[0]) for _ in range(20)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [100_000.0] * 80


def test_operands_are_the_function_s_own() -> None:
    kept: Log = []

    def f(x: Any) -> Any:
        io_callback(kept.append, None, x + 1)
        return x * 3

    program = compiled_from_jax(f, X)
    program(X)
    program(X * 5)
    assert np.array_equal(kept[0], X + 1)
    assert np.array_equal(kept[1], X * 5 + 1)


def test_front_end(capsys: pytest.CaptureFixture[str]) -> None:
    kind = hlo.ShapeDtype((), np.dtype("float32"))
    seen: Log = []

    @hlo.jit
    def f(x: Any) -> Any:
        largest, rest = hlo.pure_callback(
            lambda d: (d["x"].max(), {"least": d["x"].min()}), (kind, {"least": kind}), {"x": x}
        )
        hlo.io_callback(seen.append, None, largest)
        hlo.debug_print("{} to {high}", rest["least"], high=largest)
        return largest - rest["least"]

    assert f(X) == 2.5
    assert seen == [1.5]
    assert capsys.readouterr().out == "-1.0 to 1.5\n"
    with pytest.raises(CompileError, match=r"expected hlo\.ShapeDtype"):
        hlo.jit(lambda x: hlo.pure_callback(abs, "float32", x))(X)


def test_callbacks_of_other_processes_are_errors() -> None:
    def f(x: Any) -> Any:
        return jax.pure_callback(np.abs, like(x), x)

    text = jax.jit(f).lower(X).as_text()
    with pytest.raises(UnsupportedError, match=r"what hlo\.from_jax gives"):
        hlo.compile(text)
    traced = hlo.from_jax(f, X)
    module = str(traced)
    assert np.array_equal(hlo.compile(module)(X)[0], np.abs(X))
    start = module.index("callback = ") + len("callback = ")
    number = module[start : module.index(" ", start)]
    with pytest.raises(UnsupportedError, match="is not of this process"):
        hlo.compile(module.replace(f"callback = {number} ", "callback = 987654321 "))


def abs_of(x: Any) -> Any:
    return jax.pure_callback(np.abs, like(x), x)


def number_in(text: str) -> int:
    start = text.index("callback = ") + len("callback = ")
    return int(text[start : text.index(" ", start)])


def test_functions_are_freed_with_the_last_program_that_calls_them() -> None:
    module = hlo.from_jax(abs_of, X)
    text = str(module)
    number = number_in(text)
    first, second, third = hlo.compile(module), hlo.compile(module), hlo.compile(text)
    del module
    for program in (first, second, third):
        assert np.array_equal(program(X)[0], np.abs(X))
    del first, program
    gc.collect()
    assert np.array_equal(second(X)[0], np.abs(X))
    del second
    gc.collect()
    assert callbacks.find(number) is not None  # text keeps none, what is compiled of it does
    assert np.array_equal(third(X)[0], np.abs(X))
    del third
    gc.collect()
    assert callbacks.find(number) is None
    with pytest.raises(UnsupportedError, match="went with the module"):
        hlo.compile(text)


def test_functions_are_freed_with_the_jitted_function_that_traced_them() -> None:
    class Scale:
        def __call__(self, x: Any) -> Any:
            return x * np.float32(3)

    scale = Scale()
    seen = weakref.ref(scale)
    f = hlo.jit(lambda x, by=scale: hlo.pure_callback(by, hlo.ShapeDtype(x.shape, x.dtype), x))
    lowered = hlo.jit(lambda x, by=scale: hlo.pure_callback(by, x.aval, x) + 1).lower(X)
    del scale
    assert np.array_equal(f(X), X * 3)
    assert np.array_equal(f(X), X * 3)  # by the cache of compiled programs
    del f
    gc.collect()
    assert seen() is not None
    compiled = lowered.compile()
    del lowered
    gc.collect()
    assert np.array_equal(compiled(X), X * 3 + 1)
    del compiled
    gc.collect()
    assert seen() is None


def test_a_function_that_calls_its_own_program_is_called() -> None:
    programs: Log = []
    f = hlo.jit(
        lambda x: hlo.pure_callback(lambda a: programs[0](a) if a < 8 else a, x.aval, x * 2)
    )
    programs.append(f)
    assert f(np.float32(1)) == 8  # 1, 2, 4, 8


@pytest.mark.parametrize("config", ["", ", mhlo.backend_config = {other = 1 : i64}"])
def test_calls_that_name_no_function_are_errors(config: str) -> None:
    text = f'''func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
      %0 = "hlo.custom_call"(%x) {{call_target_name = "hlo.python_callback"{config}}}
        : (tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32> }}'''
    with pytest.raises(UnsupportedError, match="names no Python callback"):
        hlo.compile(text)


def test_functions_that_jax_does_not_give_are_missed() -> None:
    text = jax.jit(lambda x: jax.pure_callback(np.abs, like(x), x)).lower(X).as_text()
    with pytest.raises(UnsupportedError, match="jax gives 0 with it"):
        python_callbacks.adopt(import_stablehlo(text), [])


def test_effects_keep_loops_and_branches_whose_results_nobody_reads() -> None:
    log: Log = []

    def f(x: Any) -> Any:
        def body(i: Any, c: Any) -> Any:
            lax.cond(i > 1, lambda: io_callback(log.append, None, i), lambda: None)
            return c * 2

        lax.fori_loop(0, 4, body, x)
        return x

    compiled_from_jax(f, X)(X)
    assert [int(i) for i in log] == [2, 3]
