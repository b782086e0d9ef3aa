"""Random programs as steps that can be cut apart again.

Every value knows how exactly it is defined. An exact one must come out the same to the bit: data
movement, integers, comparisons, and the float operations that IEEE 754 rounds correctly. A loose
one, from a transcendental function or a sum of floats, has a tolerance; only data movement reads
it, so no difference grows. Sums read tame values, small numbers, so that their error is bounded.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from hlo.ir.types import to_dtype

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
FLOATS = ("f32", "f64", "f16", "bf16")
NARROW_FLOATS = ("f8E4M3FN", "f8E5M2", "f8E4M3B11FNUZ", "f8E3M4", "f6E2M3FN", "f4E2M1FN")
INTEGERS = ("i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "i4", "ui4", "i2", "ui2")
COMPLEX = ("complex<f32>", "complex<f64>")
SIZES = (1, 2, 3, 4, 5, 7, 8, 16, 17, 33)
MOST_ELEMENTS = 4096
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf, np.nan, 1e-40, -3.0, 7.5, 1e30)


@dataclass(frozen=True)
class Value:
    """An SSA value.

    Attributes:
        slack: absolute error that is accepted, on top of a relative one, of a loose value.
        tame: holds numbers of at most 8 in magnitude, none of them NaN.
    """

    name: str
    shape: Shape
    kind: str
    exact: bool = True
    tame: bool = False
    slack: float = 0.0

    @property
    def type(self) -> str:
        return tensor(self.shape, self.kind)


@dataclass(frozen=True)
class Step:
    """One operation: its text and the values it defines.

    Attributes:
        function: text of the function that it refers to, if any.
    """

    text: str
    results: tuple[Value, ...]
    function: str = ""

    @property
    def operands(self) -> set[str]:
        """The names it reads from outside its own regions."""
        return set(re.findall(r"%[va]\d+", self.text)) - {r.name for r in self.results}


@dataclass
class Program:
    """A straight line of steps.

    Attributes:
        arguments: with their arrays.
        results: values that @main returns.
    """

    arguments: dict[Value, Array] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    results: list[Value] = field(default_factory=list)

    @property
    def text(self) -> str:
        parameters = ", ".join(f"{a.name}: {a.type}" for a in self.arguments)
        types = ", ".join(r.type for r in self.results)
        names = ", ".join(r.name for r in self.results)
        body = "\n".join(f"  {step.text}" for step in self.steps)
        signature = f"func.func @main({parameters}) -> ({types})"
        functions = "".join(f"{step.function}\n" for step in self.steps if step.function)
        return f"{signature} {{\n{body}\n  return {names} : {types}\n}}\n{functions}"


def tensor(shape: Sequence[int], kind: str) -> str:
    """The text of a tensor type."""
    return f"tensor<{'x'.join([*map(str, shape), kind])}>"


def numbers(values: Sequence[int], width: int = 64) -> str:
    """The text of a dense array of integers."""
    return f"array<i{width}{': ' if values else ''}{', '.join(map(str, values))}>"


def sample(rng: np.random.Generator, shape: Shape, kind: str, tame: bool) -> Array:
    """Elements of a kind: small numbers, or everything its bits can say."""
    dtype = to_dtype(kind)
    size = prod(shape)
    if kind == "i1":
        return rng.integers(0, 2, shape).astype(bool)
    if kind in COMPLEX:
        half = "f32" if kind == "complex<f32>" else "f64"
        parts = [sample(rng, shape, half, tame) for _ in range(2)]
        result = np.empty(shape, dtype)
        result.real, result.imag = parts
        return result
    if kind in INTEGERS:
        bits = int(kind.lstrip("ui"))
        low, high = (
            (0, 2**bits - 1) if kind[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        )
        if tame:
            return rng.integers(max(low, -4), min(high, 4) + 1, shape).astype(dtype)
        words = rng.integers(0, 2**64, size, dtype=np.uint64, endpoint=False)
        picked = [low + int(w) % (high - low + 1) for w in words]
        edges = [low, high, 0, 1, high // 2]
        picked = [edges[rng.integers(len(edges))] if rng.random() < 0.3 else p for p in picked]
        return np.array(picked, object).astype(np.int64 if kind[0] == "i" else np.uint64).astype(
            dtype
        ).reshape(shape)  # fmt: skip
    if tame or kind in NARROW_FLOATS:
        return (rng.integers(-4, 5, shape) / 2).astype(dtype)
    with np.errstate(all="ignore"):
        normal = rng.standard_normal(shape) * np.exp2(rng.integers(-6, 7, shape))
        special = rng.choice(np.array(SPECIAL), shape)
        return np.where(rng.random(shape) < 0.2, special, normal).astype(dtype)


class Grower:
    """Grows one program from a seed.

    Attributes:
        makers: what appends steps; by default all there are.
    """

    def __init__(self, seed: int, steps: int, makers: Sequence[Maker] = ()) -> None:
        self.random = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.program = Program()
        self.pool: list[Value] = []
        self._count = 0
        kinds = [self.random.choice(FLOATS), self.random.choice(INTEGERS)]
        kinds.append(self.random.choice([*FLOATS, *NARROW_FLOATS, *COMPLEX, "i1"]))
        for kind in (*kinds, kinds[0], kinds[1]):
            self.argument(kind, self.shape(), tame=self.random.random() < 0.5)
        makers = makers or _makers()
        tries = 0
        while len(self.program.steps) < steps and tries < 20 * steps:
            tries += 1
            self.random.choice(makers)(self)
        used = set().union(*(step.operands for step in self.program.steps))
        loose_ends = [v for v in self.pool if v.name not in used and v.name.startswith("%v")]
        self.program.results = loose_ends or [self.pool[-1]]

    def shape(self) -> Shape:
        """A random shape, rarely without elements."""
        while True:
            rank = self.random.choice([0, 1, 1, 2, 2, 2, 3, 4])
            shape = tuple(self.random.choice(SIZES) for _ in range(rank))
            if rank and self.random.random() < 0.03:
                shape = (*shape[:-1], 0)
            if prod(shape) <= MOST_ELEMENTS:
                return shape

    def argument(self, kind: str, shape: Shape, *, tame: bool) -> Value:
        """A new argument of the program."""
        tame = tame or kind in NARROW_FLOATS
        return self.given(sample(self.rng, shape, kind, tame), kind, tame=tame)

    def given(self, array: Array, kind: str, *, tame: bool) -> Value:
        """A new argument of the program with these elements."""
        value = Value(f"%a{len(self.program.arguments)}", array.shape, kind, tame=tame)
        self.program.arguments[value] = array
        self.pool.append(value)
        return value

    def pick(self, accepts: Callable[[Value], bool]) -> Value | None:
        """A value of the pool that is accepted, the newer the likelier."""
        found = [v for v in self.pool if accepts(v)]
        return found[int(len(found) * self.random.random() ** 0.7)] if found else None

    def like(self, value: Value, *, tame: bool = False) -> Value:
        """An exact value of the same type: one of the pool, or a new argument."""
        same = [v for v in self.pool if v.type == value.type and v.exact and v.tame >= tame]
        if len(same) > 1 and self.random.random() < 0.8:
            return self.random.choice(same)
        return self.argument(value.kind, value.shape, tame=tame)

    def emit(
        self, op: str, operands: Sequence[Value], *results: tuple[Shape, str],
        attributes: str = "", regions: str = "", exact: bool = True, tame: bool = False,
        slack: float = 0.0,
    ) -> None:  # fmt: skip
        """Appends one operation in generic form."""
        values = [self.value(shape, kind, exact, tame, slack) for shape, kind in results]
        left = ", ".join(v.name for v in values)
        body = f" ({regions})" if regions else ""
        types = ", ".join(o.type for o in operands)
        text = (
            f'{left} = "hlo.{op}"({", ".join(o.name for o in operands)}){body} {{{attributes}}} : '
            f"({types}) -> ({', '.join(v.type for v in values)})"
        )
        self.append(Step(text, tuple(values)))

    def value(
        self, shape: Shape, kind: str, exact: bool = True, tame: bool = False, slack: float = 0.0
    ) -> Value:
        """A new value, for a step to define."""
        return Value(f"%v{self.count()}", shape, kind, exact, tame, slack)

    def count(self) -> int:
        """A number that no name has yet."""
        self._count += 1
        return self._count

    def append(self, step: Step) -> None:
        """Appends a step; its results can be read from here on."""
        self.program.steps.append(step)
        self.pool += step.results


Maker = Callable[[Grower], None]


def _makers() -> list[Maker]:
    from fuzzing.makers import MAKERS

    return MAKERS
