"""Builds small `hlo` programs of many results, and holds native code to the reference evaluator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

import hlo
from hlo import ir
from hlo.reference.evaluate import evaluate

Array = np.ndarray[Any, Any]

INTEGERS = ["i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"]
NARROW_INTEGERS = ["i2", "i4", "ui2", "ui4"]
FLOATS = ["f16", "bf16", "f32", "f64"]
NARROW_FLOATS = [
    "f8E3M4",
    "f8E4M3",
    "f8E4M3FN",
    "f8E4M3FNUZ",
    "f8E4M3B11FNUZ",
    "f8E5M2",
    "f8E5M2FNUZ",
    "f6E2M3FN",
    "f6E3M2FN",
    "f4E2M1FN",
]
COMPLEX = ["complex<f32>", "complex<f64>"]
ALL_TYPES = ["i1", *NARROW_INTEGERS, *INTEGERS, *NARROW_FLOATS, *FLOATS, *COMPLEX]


def tensor(shape: Sequence[int], kind: str) -> str:
    """`tensor<2x3xf32>`."""
    return f"tensor<{''.join(f'{d}x' for d in shape)}{kind}>"


def sample(shape: Sequence[int], kind: str, seed: int = 0) -> Array:
    """Elements of a type: small whole numbers and halves of both signs, exact in most types."""
    rng = np.random.default_rng([seed, *shape])
    dtype = ir.types.to_dtype(kind)
    if kind == "i1":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if kind.startswith("complex"):
        return (rng.integers(-8, 9, shape) / 4 + 1j * rng.integers(-8, 9, shape) / 4).astype(dtype)
    if kind in NARROW_INTEGERS:
        info = ml_dtypes.iinfo(dtype)
        return rng.integers(int(info.min), int(info.max) + 1, shape).astype(dtype)
    if kind.startswith("ui"):
        return rng.integers(0, 100, shape).astype(dtype)
    if kind.startswith("i"):
        return rng.integers(-50, 50, shape).astype(dtype)
    return (rng.integers(-8, 9, shape) / 4).astype(dtype)


class Program:
    """The text of `@main` under construction, and its arguments.

    Values are (SSA name, shape, element type).
    """

    def __init__(self) -> None:
        self.arguments: list[Array] = []
        self._parameters: list[str] = []
        self._lines: list[str] = []
        self._results: list[Value] = []

    def argument(self, array: Array) -> Value:
        """An argument that is `array` when the program runs."""
        value = Value(f"%arg{len(self.arguments)}", array.shape, ir.types.type_name(array.dtype))
        self.arguments.append(array)
        self._parameters.append(f"{value.name}: {value.type}")
        return value

    def sample(self, shape: Sequence[int], kind: str) -> Value:
        """An argument of sampled elements."""
        return self.argument(sample(shape, kind, len(self.arguments)))

    def op(
        self,
        name: str,
        operands: Sequence[Value],
        shape: Sequence[int],
        kind: str | None = None,
        attributes: str = "",
        regions: str = "",
    ) -> Value:
        """An op of one result, of the first operand's element type unless `kind` says another."""
        return self.ops(name, operands, [(shape, kind or operands[0].kind)], attributes, regions)[0]

    def ops(
        self,
        name: str,
        operands: Sequence[Value],
        results: Sequence[tuple[Sequence[int], str]],
        attributes: str = "",
        regions: str = "",
    ) -> list[Value]:
        """An op of several results."""
        head = f"%{len(self._lines)}"
        names = [head] if len(results) == 1 else [f"{head}#{i}" for i in range(len(results))]
        values = [Value(n, tuple(s), k) for n, (s, k) in zip(names, results, strict=True)]
        count = "" if len(results) == 1 else f":{len(results)}"
        types = ", ".join(v.type for v in values)
        self._lines.append(
            f'{head}{count} = "hlo.{name}"({", ".join(o.name for o in operands)})'
            f"{f' ({regions})' if regions else ''} {{{attributes}}} : "
            f"({', '.join(o.type for o in operands)}) -> ({types})"
        )
        return values

    def constant(self, text: str, shape: Sequence[int], kind: str) -> Value:
        """`dense<text>`."""
        return self.op(
            "constant", [], shape, kind, f"value = dense<{text}> : {tensor(shape, kind)}"
        )

    def result(self, *values: Value) -> None:
        """Adds results of the program."""
        self._results += values

    @property
    def text(self) -> str:
        """The module."""
        types = ", ".join(v.type for v in self._results)
        body = "\n".join(f"  {line}" for line in self._lines)
        return (
            f"func.func @main({', '.join(self._parameters)}) -> ({types}) {{\n{body}\n"
            f"  return {', '.join(v.name for v in self._results)} : {types}\n}}\n"
        )

    def check(self, ulps: float = 0, **options: Any) -> None:
        """Compiles and runs; see `assert_matches`."""
        assert_matches(self.text, self.arguments, ulps, **options)


class Value:
    """An SSA value of a program under construction."""

    def __init__(self, name: str, shape: Sequence[int], kind: str) -> None:
        self.name, self.shape, self.kind = name, tuple(shape), kind

    @property
    def type(self) -> str:
        return tensor(self.shape, self.kind)


def assert_matches(text: str, arguments: Sequence[Array], ulps: float = 0, **options: Any) -> None:
    """Native code gives what the reference evaluator gives.

    Args:
        ulps: units in the last place of the result's type, of its largest element, that floats may
            be off; 0 asks for the same bits, NaNs apart.
    """
    before = [a.copy() for a in arguments]
    expected = evaluate(ir.parse_module(text), before)
    found = hlo.compile(text, **options)(*arguments)
    assert len(found) == len(expected)
    for at, (want, got) in enumerate(zip(expected, found, strict=True)):
        assert got.dtype == want.dtype and got.shape == want.shape
        assert_close(np.asarray(want), np.asarray(got), ulps, f"result {at} of\n{text}")
    for argument, old in zip(arguments, before, strict=True):
        assert argument.tobytes() == old.tobytes(), f"an argument was written to by\n{text}"


def assert_close(want: Array, got: Array, ulps: float, message: str) -> None:
    """Equal, or for floats within `ulps` of the largest element."""
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    if want.dtype.kind in "iub" or str(want.dtype).startswith(("int", "uint")):
        np.testing.assert_array_equal(got.astype(np.int64), want.astype(np.int64), message)
        return
    w, g = want.astype(wide), got.astype(wide)
    if ulps == 0:
        np.testing.assert_array_equal(g, w, message)
        signed = ~np.isnan(w)  # a NaN's sign means nothing
        np.testing.assert_array_equal(
            np.signbit(g.real)[signed], np.signbit(w.real)[signed], message
        )
        return
    np.testing.assert_array_equal(np.isnan(g), np.isnan(w), message)
    finite = np.isfinite(w)
    np.testing.assert_array_equal(np.isfinite(g), finite, message)
    scale = float(np.abs(w[finite]).max(initial=0.0))
    eps = float(ml_dtypes.finfo(want.dtype).eps)
    np.testing.assert_allclose(
        g[finite], w[finite], rtol=ulps * eps, atol=ulps * eps * scale, err_msg=message
    )


def reducer(op: str, kind: str) -> str:
    """A region that applies a binary op to two scalars."""
    scalar = tensor((), kind)
    return (
        f"{{^bb0(%a: {scalar}, %b: {scalar}): "
        f'%r = "hlo.{op}"(%a, %b) : ({scalar}, {scalar}) -> {scalar} '
        f'"hlo.return"(%r) : ({scalar}) -> ()}}'
    )


def number(value: int, kind: str) -> str:
    """A whole number as `dense<...>` takes it for a type."""
    if kind == "i1":
        return "true" if value else "false"
    if kind.startswith("complex"):
        return f"({value}.0, 0.0)"
    return str(value) if kind.lstrip("u").startswith("i") else f"{value}.0"
