"""What tracing makes: modules, locations, scopes, calls, constants; and its errors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hlo
import hlo.numpy as hnp
from hlo import lax

X = np.arange(6, dtype=np.float32)


def text(function: Any, *arguments: Any, debug_info: bool = False) -> str:
    return hlo.jit(function).lower(*arguments).as_text(debug_info=debug_info)


def test_operations_carry_the_users_line() -> None:
    def f(x: Any) -> Any:
        y = x * 2.0
        return hnp.sin(y)  # line 26

    printed = text(f, X, debug_info=True)
    first = f.__code__.co_firstlineno
    assert f'test_tracing.py":{first + 1}:' in printed
    assert f'test_tracing.py":{first + 2}:' in printed
    assert "hlo/numpy" not in printed
    assert 'loc("x"' in printed


def test_scopes_name_operations() -> None:
    def f(x: Any) -> Any:
        with hlo.named_scope("block"), hlo.named_scope("norm"):
            return hnp.sqrt(x)

    assert '"block/norm/sqrt"' in text(f, X, debug_info=True)


def test_module_and_argument_names() -> None:
    def loss(params: Any, *, scale: Any) -> Any:
        return params["w"] * scale

    printed = text_of_kwargs(loss)
    assert "module @loss" in printed
    assert "params['w']" in printed
    assert '"scale"' in printed


def text_of_kwargs(function: Any) -> str:
    return hlo.jit(function).lower({"w": X}, scale=X).as_text(debug_info=True)


def test_nested_jit_is_one_private_function_called_twice() -> None:
    @hlo.jit
    def inner(x: Any, n: Any) -> Any:
        return x * n

    printed = text(lambda x: inner(x, 2.0) + inner(x, 3.0), X)
    assert printed.count("func.func private @inner") == 1
    assert printed.count("call @inner") == 2


def test_nested_jit_of_other_types_is_another_function() -> None:
    @hlo.jit
    def inner(x: Any) -> Any:
        return x + 1

    printed = text(lambda x: (inner(x), inner(x[:2]), inner(x)), X)
    assert printed.count("func.func private @inner") == 2
    assert "@inner_1" in printed


def test_arrays_of_the_enclosing_function_become_arguments() -> None:
    def f(x: Any) -> Any:
        scale = hnp.sum(x)

        @hlo.jit
        def inner(y: Any) -> Any:
            @hlo.jit
            def innermost(z: Any) -> Any:
                return z * scale

            return innermost(y)

        return inner(x)

    printed = text(f, X)
    assert "private @inner(%arg0: tensor<6xf32>, %arg1: tensor<f32>)" in printed
    assert "private @innermost(%arg0: tensor<6xf32>, %arg1: tensor<f32>)" in printed
    np.testing.assert_allclose(hlo.jit(f)(X), X * X.sum())


def test_captured_arrays_become_constants_once() -> None:
    table = np.arange(6, dtype=np.float32) * 3
    printed = text(lambda x: (x + table) * table, X)
    assert printed.count("hlo.constant") == 1


def test_numbers_become_splats_once() -> None:
    printed = text(lambda x: (x + 1.0) * 1.0, X)
    assert printed.count("hlo.constant dense<1.000000e+00> : tensor<6xf32>") == 1
    assert "broadcast" not in printed


def test_constants_of_one_branch_do_not_serve_the_other() -> None:
    f = hlo.jit(lambda p, x: lax.cond(p, lambda: x + 5.0, lambda: x * 5.0) + 5.0)
    np.testing.assert_array_equal(f(True, X), X + 10)
    np.testing.assert_array_equal(f(False, X), X * 5 + 5)


def test_donated_arguments_are_marked() -> None:
    lowered = hlo.jit(lambda a, b: a + b["x"], donate_argnums=1).lower(X, {"x": X, "y": X})
    assert lowered.donated == (1, 2)
    assert lowered.as_text().count("jax.buffer_donor = true") == 2
    lowered = hlo.jit(lambda a, b: a + b, donate_argnames="a").lower(X, X)
    assert lowered.donated == (0,)


def test_unused_arguments_and_results_of_constants() -> None:
    def f(x: Any, unused: Any) -> Any:
        del unused
        return {"x": x, "one": 1, "table": np.arange(2), "none": None}

    found = hlo.jit(f)(X, X)
    assert found["one"] == 1
    assert found["one"].dtype == np.int32
    assert found["none"] is None
    np.testing.assert_array_equal(found["table"], [0, 1])


def test_eval_shape() -> None:
    found = hlo.eval_shape(
        lambda x, n: {"y": x @ x.T, "n": n}, hlo.ShapeDtype((3, 4), "float32"), 2
    )
    assert found == {"y": hlo.ShapeDtype((3, 3), np.float32), "n": hlo.ShapeDtype((), np.int32)}
    assert str(found["y"]) == "float32[3,3]"


LEAKED: list[Any] = []


def test_leaked_tracer() -> None:
    def leak(x: Any) -> Any:
        LEAKED.append(x * 2)
        return x

    hlo.jit(leak).lower(X)
    line = leak.__code__.co_firstlineno + 1
    with pytest.raises(
        hlo.LeakedTracerError, match=rf"float32\[6\], made at .*test_tracing.py:{line},"
    ):
        hlo.jit(lambda x: x + LEAKED[0]).lower(X)


def test_array_leaked_from_a_loop_body() -> None:
    def f(x: Any) -> Any:
        seen: list[Any] = []

        def body(_: Any, carry: Any) -> Any:
            seen.append(carry)
            return carry * 2

        return lax.fori_loop(0, 3, body, x) + seen[0]

    with pytest.raises(hlo.LeakedTracerError, match="outlived the function or loop body"):
        hlo.jit(f).lower(X)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x if x[0] > 0 else -x, "hlo.lax.cond"),
        (lambda x: x[0] and x[1], "hlo.lax.cond"),
        (lambda x: float(x[0]), r"\.astype\(float\)"),
        (lambda x: int(x[0]), r"\.astype\(int\)"),
        (lambda x: range(x[0].astype(int)), "pass the argument as static"),
        (np.asarray, "use hlo.numpy in place of numpy"),
        (np.sin, "use hlo.numpy.sin"),
        (np.add.reduce, "use hlo.numpy.add"),
        (lambda x: x[0].item(), "item"),
        (lambda x: 1.0 in x, "the `in` operator"),
        (lambda x: hnp.zeros(x[0].astype(int)), "pass the argument as static"),
        (lambda x: x[: x[0].astype(int)], "an index, a range or a shape"),
        (lambda x: x.__setitem__(0, 1), r"x.at\[index\].set\(value\)"),
    ],
)
def test_values_are_not_known_while_tracing(function: Any, message: str) -> None:
    with pytest.raises(hlo.ConcretizationError, match=message) as caught:
        hlo.jit(function).lower(X)
    assert "test_tracing.py:" in str(caught.value)


def test_numpy_arrays_on_the_left_of_operators() -> None:
    found = hlo.jit(lambda x: (X + x, X @ x, x > X, np.float32(2) * x, 2 - x, X // (x + 1)))(X)
    for ours, theirs in zip(
        found, (X + X, X @ X, np.full(6, False), 2 * X, 2 - X, X // (X + 1)), strict=True
    ):
        np.testing.assert_allclose(ours, theirs)


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda x: x + np.ones(5, np.float32), hlo.ShapeError, r"'add': .* found \(6,\), \(5,\)"),
        (
            lambda x: x @ np.ones((5, 2), np.float32),
            hlo.ShapeError,
            r"float32\[6\] .* float32\[5,2\]",
        ),
        (lambda x: x.reshape(4, -1), hlo.ShapeError, r"cannot reshape float32\[6\] to \(4, -1\)"),
        (lambda x: x & 1, hlo.DtypeError, "expected operands of a type among bool, signed"),
        (lambda x: x.sum(3), hlo.ShapeError, r"axis in \[-1, 1\), found 3"),
        (
            lambda x: hnp.concatenate([x, x[None]]),
            hlo.ShapeError,
            "operands equal in all dimensions",
        ),
        (lambda x: lax.add(x, np.ones(6, np.int32)), hlo.DtypeError, "float32, int32"),
        (lambda x: hnp.sin([x, x]), hlo.DtypeError, "hlo.numpy.array makes arrays of lists"),
        (lambda x: hnp.argmax(x[:0]), hlo.ShapeError, "no element along axis 0"),
        (lambda x: hnp.max(x[:0]), hlo.ShapeError, "no element over axes"),
        (lambda x: x + "text", hlo.DtypeError, "found str"),
        (lambda x: {"a": "text"}, hlo.DtypeError, r"result\['a'\] of type str is not an array"),
        (lambda x: hnp.einsum("ij,jk", x, x), hlo.ShapeError, "does not describe"),
    ],
)
def test_operands_that_do_not_fit(function: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        hlo.jit(function).lower(X)
    assert isinstance(caught.value, hlo.CompileError)
    assert caught.value.location is not None
    assert "test_tracing.py:" in caught.value.location
    assert not caught.value.location.startswith(str(Path(hlo.__file__).parent))


def test_array_changed_between_two_uses() -> None:
    table = np.zeros(100, np.float32)

    def f(x: Any) -> Any:
        first = x + table
        table[:] = 1
        return first, x + table, x + table

    lowered = hlo.jit(f).lower(np.zeros(100, np.float32))
    assert lowered.as_text().count("hlo.constant") == 2


@pytest.mark.parametrize("rank", [32, 33, 64])
def test_arrays_of_many_dimensions_broadcast(rank: int) -> None:
    """NumPy's own broadcasting of shapes ends at 32 dimensions, its arrays at 64."""
    x = np.arange(6, dtype=np.float32).reshape((1,) * (rank - 2) + (2, 3))
    y = np.arange(2, dtype=np.float32).reshape((2,) + (1,) * (rank - 1))
    assert hnp.broadcast_shapes(x.shape, y.shape) == (2, *(1,) * (rank - 3), 2, 3)
    result = hlo.jit(lambda x, y: x * 2.0 + y)(x, y)
    assert result.shape == (2, *(1,) * (rank - 3), 2, 3)
    expected = np.arange(6, dtype=np.float32) * 2 + np.arange(2, dtype=np.float32)[:, None]
    assert np.array_equal(result.reshape(2, 6), expected)


@pytest.mark.parametrize(
    "shapes",
    [(), ((),), ((3,), ()), ((0,), (1,)), ((2, 1), (3,)), ((4, 1, 1), (1, 0), (5, 1, 1, 1))],
)
def test_shapes_broadcast_as_numpys(shapes: tuple[tuple[int, ...], ...]) -> None:
    assert hnp.broadcast_shapes(*shapes) == np.broadcast_shapes(*shapes)


@pytest.mark.parametrize("shapes", [((0,), (2,)), ((2, 3), (2,)), ((2,), (1,), (3,))])
def test_shapes_that_do_not_broadcast_are_told(shapes: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(
        hlo.ShapeError, match="found " + ", ".join(map(re.escape, map(str, shapes)))
    ):
        hnp.broadcast_shapes(*shapes)
