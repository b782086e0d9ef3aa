"""Typed arithmetic on kernel SSA values, written with Python operators.

`Real`, `Bits` and `Mask` wrap one SSA name each, a scalar or a vector of the builder's current
width, so that an algorithm reads as its formula and is emitted as `arith` and `math` text. No fast-
math flag is ever set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_loops.builder import Builder
from hlo.passes.hlo_to_loops.element_types import FLOAT_FORMATS

Pair = tuple["Real", "Real"]
_REGISTER_LANES = 16


@dataclass(frozen=True)
class Mask:
    """Truth values, one a lane."""

    b: Builder
    name: str

    def _op(self, op: str, other: Mask) -> Mask:
        text = f"arith.{op} {self.name}, {other.name} : {self.b.type_of('i1')}"
        return Mask(self.b, self.b.op(text))

    def __and__(self, other: Mask) -> Mask:
        return self._op("andi", other)

    def __or__(self, other: Mask) -> Mask:
        return self._op("ori", other)

    def __xor__(self, other: Mask) -> Mask:
        return self._op("xori", other)

    def __invert__(self) -> Mask:
        return self ^ Mask(self.b, self.b.constant(True, "i1"))

    def any(self) -> str:
        """A scalar `i1`: whether any lane holds."""
        if not self.b.lanes:
            return self.name
        vector = self.b.type_of("i1")
        return self.b.op(f"vector.reduction <or>, {self.name} : {vector} into i1")

    def real(self, on_true: Real | float, on_false: Real | float) -> Real:
        """`on_true` where a lane holds, `on_false` elsewhere; one of them must be a `Real`."""
        model = on_true if isinstance(on_true, Real) else on_false
        assert isinstance(model, Real)
        return model.of(
            self._select(model.lift(on_true).name, model.lift(on_false).name, model.scalar)
        )

    def bits(self, on_true: Bits | int, on_false: Bits | int) -> Bits:
        """As `real`, on integers."""
        model = on_true if isinstance(on_true, Bits) else on_false
        assert isinstance(model, Bits)
        return model.of(
            self._select(model.lift(on_true).name, model.lift(on_false).name, model.scalar)
        )

    def mask(self, on_true: Mask, on_false: Mask) -> Mask:
        """As `real`, on truth values."""
        return Mask(self.b, self._select(on_true.name, on_false.name, "i1"))

    def _select(self, on_true: str, on_false: str, scalar: str) -> str:
        if on_true == on_false:
            return on_true
        typ = self.b.type_of(scalar)
        condition = f"{self.b.type_of('i1')}, " if self.b.lanes else ""
        return self.b.op(f"arith.select {self.name}, {on_true}, {on_false} : {condition}{typ}")


@dataclass(frozen=True)
class Bits:
    """Integers of MLIR type `scalar` (`i8` to `i64`); signedness is in the operations."""

    b: Builder
    name: str
    scalar: str

    @property
    def width(self) -> int:
        return int(self.scalar[1:])

    def of(self, name: str) -> Bits:
        return Bits(self.b, name, self.scalar)

    def lift(self, value: Bits | int) -> Bits:
        return value if isinstance(value, Bits) else self.of(self.b.constant(value, self.scalar))

    def op(self, op: str, other: Bits | int) -> Bits:
        text = f"arith.{op} {self.name}, {self.lift(other).name} : {self.b.type_of(self.scalar)}"
        return self.of(self.b.op(text))

    def compare(self, predicate: str, other: Bits | int) -> Mask:
        return Mask(self.b, self.op(f"cmpi {predicate},", other).name)

    def __add__(self, other: Bits | int) -> Bits:
        return self.op("addi", other)

    def __sub__(self, other: Bits | int) -> Bits:
        return self.op("subi", other)

    def __rsub__(self, other: int) -> Bits:
        return self.lift(other) - self

    def __mul__(self, other: Bits | int) -> Bits:
        return self.op("muli", other)

    def __and__(self, other: Bits | int) -> Bits:
        return self.op("andi", other)

    def __or__(self, other: Bits | int) -> Bits:
        return self.op("ori", other)

    def __xor__(self, other: Bits | int) -> Bits:
        return self.op("xori", other)

    def __lshift__(self, other: Bits | int) -> Bits:
        return self.op("shli", other)

    def __invert__(self) -> Bits:
        return self ^ -1

    def __neg__(self) -> Bits:
        return 0 - self

    def shr(self, other: Bits | int) -> Bits:
        """Logical shift right."""
        return self.op("shrui", other)

    def sar(self, other: Bits | int) -> Bits:
        """Arithmetic shift right."""
        return self.op("shrsi", other)

    def eq(self, other: Bits | int) -> Mask:
        return self.compare("eq", other)

    def ne(self, other: Bits | int) -> Mask:
        return self.compare("ne", other)

    def __lt__(self, other: Bits | int) -> Mask:
        return self.compare("slt", other)

    def __gt__(self, other: Bits | int) -> Mask:
        return self.compare("sgt", other)

    def __le__(self, other: Bits | int) -> Mask:
        return self.compare("sle", other)

    def __ge__(self, other: Bits | int) -> Mask:
        return self.compare("sge", other)

    def below(self, other: Bits | int) -> Mask:
        """Unsigned less-than."""
        return self.compare("ult", other)

    def maximum(self, other: Bits | int) -> Bits:
        return self.op("maxsi", other)

    def minimum(self, other: Bits | int) -> Bits:
        return self.op("minsi", other)

    def unary(self, op: str) -> Bits:
        """A `math` op such as `ctpop`."""
        return self.of(self.b.op(f"math.{op} {self.name} : {self.b.type_of(self.scalar)}"))

    def cast(self, scalar: str, signed: bool = True) -> Bits:
        """At another width: truncated, or extended by sign or by zeros."""
        width = int(scalar[1:])
        if width == self.width:
            return self
        op = "trunci" if width < self.width else "extsi" if signed else "extui"
        return Bits(self.b, _cast(self.b, op, self.name, self.scalar, scalar), scalar)

    def to_real(self, scalar: str, signed: bool = True) -> Real:
        """The float nearest to this integer."""
        op = "sitofp" if signed else "uitofp"
        return Real(self.b, _cast(self.b, op, self.name, self.scalar, scalar), scalar)

    def as_real(self) -> Real:
        """The float with this bit pattern."""
        scalar = f"f{self.width}"
        return Real(self.b, _cast(self.b, "bitcast", self.name, self.scalar, scalar), scalar)

    def from_mask(self, mask: Mask, signed: bool = False) -> Bits:
        """1 (or -1 when `signed`) in the lanes that hold, 0 in the others, at this width."""
        op = "extsi" if signed else "extui"
        return self.of(_cast(self.b, op, mask.name, "i1", self.scalar))


@dataclass(frozen=True)
class Real:
    """Floats of MLIR type `scalar`: `f32` or `f64`."""

    b: Builder
    name: str
    scalar: str

    # -- the format ----------------------------------------------------------------------------
    @property
    def is_double(self) -> bool:
        return self.scalar == "f64"

    @property
    def mantissa(self) -> int:
        """Explicit bits of the significand."""
        return FLOAT_FORMATS[self.scalar].mantissa

    @property
    def bias(self) -> int:
        return FLOAT_FORMATS[self.scalar].bias

    @property
    def width(self) -> int:
        return int(self.scalar[1:])

    @property
    def largest(self) -> float:
        """The largest finite value."""
        return (2.0 - 2.0**-self.mantissa) * 2.0**self.bias

    @property
    def smallest_normal(self) -> float:
        return 2.0 ** (1 - self.bias)

    # -- building ------------------------------------------------------------------------------
    def of(self, name: str) -> Real:
        return Real(self.b, name, self.scalar)

    def lift(self, value: Real | float) -> Real:
        return value if isinstance(value, Real) else self.of(self.b.constant(value, self.scalar))

    def op(self, op: str, other: Real | float) -> Real:
        text = f"arith.{op} {self.name}, {self.lift(other).name} : {self.b.type_of(self.scalar)}"
        return self.of(self.b.op(text))

    def unary(self, op: str) -> Real:
        """An op of one operand, such as `math.sqrt`."""
        return self.of(self.b.op(f"{op} {self.name} : {self.b.type_of(self.scalar)}"))

    def __add__(self, other: Real | float) -> Real:
        return self.op("addf", other)

    def __radd__(self, other: float) -> Real:
        return self.lift(other) + self

    def __sub__(self, other: Real | float) -> Real:
        return self.op("subf", other)

    def __rsub__(self, other: float) -> Real:
        return self.lift(other) - self

    def __mul__(self, other: Real | float) -> Real:
        return self.op("mulf", other)

    def __rmul__(self, other: float) -> Real:
        return self.lift(other) * self

    def __truediv__(self, other: Real | float) -> Real:
        return self.op("divf", other)

    def __rtruediv__(self, other: float) -> Real:
        return self.lift(other) / self

    def __neg__(self) -> Real:
        return self.unary("arith.negf")

    def __abs__(self) -> Real:
        return self.unary("math.absf")

    def fma(self, factor: Real | float, addend: Real | float) -> Real:
        """self * factor + addend, rounded once."""
        names = f"{self.name}, {self.lift(factor).name}, {self.lift(addend).name}"
        return self.of(self.b.op(f"math.fma {names} : {self.b.type_of(self.scalar)}"))

    def sqrt(self) -> Real:
        return self.unary("math.sqrt")

    def round(self) -> Real:
        """To the nearest integer, ties to even."""
        return self.unary("math.roundeven")

    def copysign(self, sign: Real) -> Real:
        names = f"{self.name}, {sign.name}"
        return self.of(self.b.op(f"math.copysign {names} : {self.b.type_of(self.scalar)}"))

    # -- comparison ----------------------------------------------------------------------------
    def compare(self, predicate: str, other: Real | float) -> Mask:
        """`arith.cmpf` by its own predicate names."""
        return Mask(self.b, self.op(f"cmpf {predicate},", other).name)

    def __lt__(self, other: Real | float) -> Mask:
        return self.compare("olt", other)

    def __gt__(self, other: Real | float) -> Mask:
        return self.compare("ogt", other)

    def __le__(self, other: Real | float) -> Mask:
        return self.compare("ole", other)

    def __ge__(self, other: Real | float) -> Mask:
        return self.compare("oge", other)

    def eq(self, other: Real | float) -> Mask:
        return self.compare("oeq", other)

    def ne(self, other: Real | float) -> Mask:
        return self.compare("une", other)

    def is_nan(self) -> Mask:
        return self.compare("uno", self)

    def is_infinite(self) -> Mask:
        return abs(self).eq(float("inf"))

    def is_finite(self) -> Mask:
        return abs(self) < float("inf")

    def sign_bit(self) -> Mask:
        return self.bits() < 0

    def at_most(self, bound: Real | float) -> Real:
        """min(self, bound), NaN kept: one instruction on x86, whose second operand wins on NaN."""
        other = self.lift(bound)
        return (other < self).real(other, self)

    def at_least(self, bound: Real | float) -> Real:
        """max(self, bound), NaN kept."""
        other = self.lift(bound)
        return (other > self).real(other, self)

    # -- conversion ----------------------------------------------------------------------------
    def bits(self) -> Bits:
        """The bit pattern."""
        scalar = f"i{self.width}"
        return Bits(self.b, _cast(self.b, "bitcast", self.name, self.scalar, scalar), scalar)

    def integer(self, constant: int = 0) -> Bits:
        """An integer constant as wide as this float."""
        return Bits(self.b, self.b.constant(constant, f"i{self.width}"), f"i{self.width}")

    def to_integer(self, scalar: str | None = None, signed: bool = True) -> Bits:
        """Toward zero. The value must be in the range of the integer type: poison otherwise."""
        target = scalar or f"i{self.width}"
        op = "fptosi" if signed else "fptoui"
        return Bits(self.b, _cast(self.b, op, self.name, self.scalar, target), target)

    def cast(self, scalar: str) -> Real:
        """In another format, rounded to nearest even."""
        if scalar == self.scalar:
            return self
        op = "truncf" if int(scalar[1:]) < self.width else "extf"
        return Real(self.b, _cast(self.b, op, self.name, self.scalar, scalar), scalar)


def _cast(b: Builder, op: str, name: str, source: str, target: str) -> str:
    return b.op(f"arith.{op} {name} : {b.type_of(source)} to {b.type_of(target)}")


# Coefficients of a polynomial whose chain of fused steps is worth cutting.
_LONG = 9


def polynomial(x: Real, coefficients: Sequence[float]) -> Real:
    """sum of coefficients[i] * x**i in fused steps: the last two by Horner's rule, which decide the
    rounding; those before, if there are many, by Estrin's, whose pairs do not wait for one another.
    """
    terms = [x.lift(c) for c in coefficients]
    if len(terms) >= _LONG:
        terms = [*terms[:2], _by_pairs(x, terms[2:])]
    result = terms[-1]
    for term in reversed(terms[:-1]):
        result = result.fma(x, term)
    return result


def _by_pairs(x: Real, terms: Sequence[Real]) -> Real:
    """sum of terms[i] * x**i (Estrin, "Organization of computer systems", 1960)."""
    while len(terms) > 2:
        joined = [high.fma(x, low) for low, high in zip(terms[::2], terms[1::2], strict=False)]
        terms = [*joined, *terms[len(joined) * 2 :]]
        x = x * x
    return terms[1].fma(x, terms[0])


def chebyshev(x: Real, low: float, high: float, coefficients: Sequence[float]) -> Real:
    """sum of coefficients[k] * T_k(t), t = x mapped from [low, high] to [-1, 1], by Clenshaw's
    recurrence.
    """
    position = x.fma(2.0 / (high - low), -(high + low) / (high - low))
    double = position + position
    current, previous = x.lift(coefficients[-1]), x.lift(0.0)
    for coefficient in reversed(coefficients[1:-1]):
        current, previous = double.fma(current, coefficient - previous), current
    return position.fma(current, coefficients[0] - previous)


def two_sum(x: Real, y: Real) -> Pair:
    """x + y exactly, as (rounded sum, error) (Knuth)."""
    total = x + y
    virtual = total - x
    return total, (x - (total - virtual)) + (y - virtual)


def fast_two_sum(x: Real, y: Real) -> Pair:
    """x + y exactly where |x| >= |y| or x is zero (Dekker)."""
    total = x + y
    return total, y - (total - x)


def two_product(x: Real, y: Real) -> Pair:
    """x * y exactly, as (rounded product, error)."""
    product = x * y
    return product, x.fma(y, -product)


def power_of_two(exponent: Bits) -> Real:
    """2**exponent for exponents of normal numbers."""
    scalar = f"f{exponent.width}"
    format_ = FLOAT_FORMATS[scalar]
    return ((exponent + format_.bias) << format_.mantissa).as_real()


def exponent_of(x: Real) -> Bits:
    """floor(log2 x) of a positive finite x, subnormal too."""
    shift = x.mantissa + 1
    tiny = x < x.smallest_normal
    field = tiny.real(x * 2.0**shift, x).bits().shr(x.mantissa) - x.bias
    return tiny.bits(field - shift, field)


def scale_in_two_steps(x: Real, exponent: Bits) -> Real:
    """x * 2**exponent in two multiplications: |exponent| may reach twice the largest of the format.

    The product is rounded once when x is in [1/2, 2]: the first factor keeps it normal.
    """
    half = exponent.sar(1)
    return x * power_of_two(half) * power_of_two(exponent - half)


def rarely(
    condition: Mask,
    common: Sequence[Real],
    rare: Callable[[], Sequence[Real]],
) -> list[Real]:
    """`common`, unless any lane needs the expensive path `rare` builds, under a branch."""
    scalars = [value.scalar for value in common]
    return branch(condition, scalars, rare, lambda: common)


def any_negative(x: Real) -> str:
    """A scalar `i1`: whether any lane has its sign bit set."""
    bits = x.bits()
    return any_bit(bits, bits.width - 1)


def any_bit(bits: Bits, place: int) -> str:
    """A scalar `i1`: whether any lane has bit `place` set.

    Registers are joined by `or` before they are compared: their masks would be laid beside each
    other first, by instructions of which the processor does half as many at a time.
    """
    b, lanes = bits.b, bits.b.lanes
    while lanes > _REGISTER_LANES and lanes % 2 == 0:
        with b.width(lanes):
            halves = [b.part(bits.name, bits.scalar, at, lanes // 2) for at in (0, lanes // 2)]
        lanes //= 2
        with b.width(lanes):
            bits = bits.of(halves[0]) | bits.of(halves[1])
    with b.width(lanes):
        if place == bits.width - 1:
            return (bits < 0).any()
        return (bits & (1 << place)).ne(0).any()


def unless_far(
    x: Real, near: Real, room: Callable[[Real], Real], name: str, exact: Callable[[Real], Real]
) -> Real:
    """`near`, or what `exact` gives of the lanes where `room` of x is negative; seldom any.

    Args:
        name: of what `exact` computes, for the function it may be.
    """
    b, kind = x.b, x.b.type_of(x.scalar)

    def merged(x: Real, near: Real) -> Real:
        return (room(x) < 0.0).real(exact(x), near)

    def body(inner: Builder, names: list[str]) -> list[str]:
        return [merged(*(Real(inner, name, x.scalar) for name in names)).name]

    with b.choice(any_negative(room(x)), [kind]) as choice:
        with choice.then():
            if b.outlines:
                operands = [(x.name, kind), (near.name, kind)]
                choice.yielded = b.call_rare(f"far_{name}_{x.scalar}", operands, [kind], body)
            else:
                choice.yielded = [merged(x, near).name]
        with choice.otherwise():
            choice.yielded = [near.name]
    return x.of(choice.results[0])


def branch(
    condition: Mask,
    scalars: Sequence[str],
    some: Callable[[], Sequence[Real]],
    none: Callable[[], Sequence[Real]],
) -> list[Real]:
    """What `some` builds if any lane holds, else what `none` builds.

    Args:
        scalars: MLIR types of an element of each result.
    """
    b = condition.b
    with b.choice(condition.any(), [b.type_of(scalar) for scalar in scalars]) as choice:
        with choice.then():
            choice.yielded = [value.name for value in some()]
        with choice.otherwise():
            choice.yielded = [value.name for value in none()]
    return [Real(b, name, kind) for name, kind in zip(choice.results, scalars, strict=True)]
