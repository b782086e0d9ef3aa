"""Calls that are recognised by their arguments' signature: the same results, and never a wrong
program."""

from __future__ import annotations

import array
import sys
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np
import pytest

import hlo
from hlo import ArgumentError
from hlo.executable.runtime import call_signature
from hlo.frontend.fast_calls import MOST_SIGNATURES
from hlo.frontend.pytree import builder_of, register_node, tree_flatten, tree_unflatten

X = np.arange(4, dtype=np.float32)


class Counted:
    """A function and how often it was traced."""

    def __init__(self, function: Any, **options: Any) -> None:
        self.traces = 0

        def traced(*args: Any, **kwargs: Any) -> Any:
            self.traces += 1
            return function(*args, **kwargs)

        self.call = hlo.jit(traced, **options)


def test_dicts_are_told_by_key_in_any_order() -> None:
    f = Counted(lambda p: p["b"] - p["a"]["x"] * p["a"]["w"])
    trees = [
        {"b": X, "a": {"x": X + 1, "w": X + 2}},
        {"a": {"w": X + 2, "x": X + 1}, "b": X},
    ]
    for tree in trees * 3:
        np.testing.assert_array_equal(f.call(tree), X - (X + 1) * (X + 2))
    assert f.traces == 1


def test_structure_shapes_and_dtypes_are_told_apart() -> None:
    f = Counted(lambda tree: [leaf + 1 for leaf in tree_flatten(tree)[0]])
    trees: list[Any] = [
        (X, X), [X, X], {"a": X, "b": X}, {"a": X, "c": X}, (X, None, X), ((X,), X), (X, X[:3]),
        (X, X.astype(np.int32)), (X, X.reshape(2, 2)), OrderedDict(b=X, a=X), (X, 2), (X, 2.0),
        (X, True), {1: X, 2: X},
    ]  # fmt: skip
    for _ in range(3):
        for tree in trees:
            for found, leaf in zip(f.call(tree), tree_flatten(tree)[0], strict=True):
                np.testing.assert_array_equal(found, np.add(leaf, 1))
    assert f.traces == len(trees)


def test_keywords_are_told_by_name_in_any_order() -> None:
    f = Counted(lambda x, **more: x * more["scale"] - more["shift"])
    for _ in range(3):
        np.testing.assert_array_equal(f.call(X, scale=X, shift=X + 1), X * X - (X + 1))
        np.testing.assert_array_equal(f.call(X, shift=X + 1, scale=X), X * X - (X + 1))
    assert f.traces == 1


def test_static_values_are_told_apart_with_their_types() -> None:
    f = Counted(lambda x, n, k="": x * n if not k else x - n, static_argnums=1, static_argnames="k")
    for _ in range(3):
        for n in (1, 1.0, True, 2):
            np.testing.assert_array_equal(f.call(X, n), X * n)
            np.testing.assert_array_equal(f.call(X, n, k="less"), X - n)
    assert f.traces == 8
    for _ in range(2):
        with pytest.raises(ArgumentError, match="hashable"):
            f.call(X, [1])


def test_numbers_that_do_not_fit_are_refused_each_time() -> None:
    f = hlo.jit(lambda x, n: x + n)
    for _ in range(3):
        np.testing.assert_array_equal(f(X, 3), X + 3)
        with pytest.raises(hlo.DtypeError, match="out of the range of int32"):
            f(X, 1 << 40)


def test_a_registered_node_is_none_for_having_a_shape() -> None:
    class Scaled:
        shape = (4,)
        dtype = np.dtype(np.float32)

        def __init__(self, values: Any, scale: float) -> None:
            self.values, self.scale = values, scale

    register_node(Scaled, lambda s: ([s.values], s.scale), lambda k, v: Scaled(v[0], k))
    f = hlo.jit(lambda s: s.values * s.scale)
    for scale in (2.0, 3.0, 2.0, 3.0):
        np.testing.assert_array_equal(f(Scaled(X, scale)), X * np.float32(scale))


def test_named_tuples_and_numpy_scalars_work_as_before() -> None:
    class Pair(NamedTuple):
        left: Any
        right: Any

    f = Counted(lambda pair, s: Pair(pair.right * s, pair.left))
    for _ in range(3):
        found = f.call(Pair(X, X + 1), np.float32(2))
        assert type(found) is Pair
        np.testing.assert_array_equal(found.left, (X + 1) * 2)
    assert f.traces == 1


def test_signatures_of_short_lived_keys_are_bounded() -> None:
    f = hlo.jit(lambda tree: sum(tree.values()))
    for i in range(2 * MOST_SIGNATURES):
        keys = ("".join(["k", str(i % 3)]), "z")  # a new string each time, of three values
        np.testing.assert_array_equal(f(dict.fromkeys(keys, X)), 2 * X)
    assert len(f._fast.known) <= MOST_SIGNATURES


def test_arrays_of_other_libraries_share_the_program() -> None:
    jnp = pytest.importorskip("jax.numpy")
    f = Counted(lambda p, x: p["w"] * x)
    for make in (np.asarray, jnp.asarray, np.asarray, jnp.asarray):
        found = f.call({"w": make(X)}, make(X + 1))
        np.testing.assert_array_equal(found, X * (X + 1))
    for dtype in (jnp.bfloat16, jnp.int8, jnp.bool_):
        ones = jnp.ones(4, dtype)
        for _ in range(2):
            np.testing.assert_array_equal(hlo.jit(lambda x: (x, x))(ones)[0], np.asarray(ones))


def test_a_buffer_is_read_where_it_is_only_if_it_fits() -> None:
    compiled = hlo.jit(lambda x: x * 2).lower(X).compile().executable
    (found,) = compiled(array.array("f", X))
    np.testing.assert_array_equal(found, X * 2)
    wide = array.array("f", np.repeat(X, 2))
    (found,) = compiled(memoryview(wide)[::2])  # not contiguous: copied
    np.testing.assert_array_equal(found, X * 2)
    unfit = (array.array("d", X), array.array("i", [1, 2, 3, 4]), array.array("f", X[:3]), b"0123")
    for argument in unfit:
        with pytest.raises(ArgumentError, match="expected float32"):
            compiled(argument)


def test_a_buffer_that_is_donated_is_copied() -> None:
    given = array.array("f", X)
    f = hlo.jit(lambda x: x + 1, donate_argnums=0).lower(X).compile().executable
    with pytest.warns(UserWarning, match="copied"):
        (found,) = f(given)
    np.testing.assert_array_equal(found, X + 1)
    assert list(given) == list(X)


def test_a_lowered_function_tells_its_arguments_apart_after_the_first_call() -> None:
    f = hlo.jit(lambda p, s: {"r": p["a"] - p["b"] * s}).lower({"b": X, "a": X}, 2.0).compile()
    for _ in range(3):
        for tree in ({"b": X, "a": X + 1}, {"a": X + 1, "b": X}):
            np.testing.assert_array_equal(f(tree, 2.0)["r"], X + 1 - X * 2)
            np.testing.assert_array_equal(f(tree, np.float32(3))["r"], X + 1 - X * 3)
            with pytest.raises(ArgumentError, match=r"expected float32\[\] for argument .*int32"):
                f(tree, 4)
        with pytest.raises(ArgumentError, match=r"expected float32\[4\] for argument .*'a'"):
            f({"a": X[:3], "b": X}, 2.0)
        with pytest.raises(ArgumentError, match="structure"):
            f({"a": X}, 2.0)
        with pytest.raises(ArgumentError, match="structure"):
            f({"a": X, "b": X}, s=2.0)


def test_signatures_leave_no_references() -> None:
    tree = ({"a": X, "b": [X, None]}, 2.5)
    before = sys.getrefcount(X), sys.getrefcount(tree[0])
    for _ in range(50):
        assert call_signature(tree, {"k": X}) is not None
        assert call_signature(tree, {"k": object()}) is None
    assert (sys.getrefcount(X), sys.getrefcount(tree[0])) == before


def test_what_nests_without_end_has_no_signature() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert call_signature((loop,), {}) is None


@pytest.mark.parametrize(
    "tree",
    [1, None, (), [], {}, {"b": 1, "a": 2}, (1, [2, {"x": 3, "y": None}], ((4,),)),
     {"p": {"w": 1, "b": 2}, "q": [3]}, OrderedDict(z=1, a=(2, 3))],
)  # fmt: skip
def test_a_builder_builds_what_unflattening_does(tree: Any) -> None:
    leaves, definition = tree_flatten(tree)
    values = tuple(10 * leaf for leaf in leaves)
    assert builder_of(definition)(values) == tree_unflatten(definition, values)
