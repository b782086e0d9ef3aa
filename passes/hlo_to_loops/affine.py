"""Index expressions of a kernel: sums of loop variables of known ranges; positions in a tensor."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Affine:
    """sum(coefficient * variable) + constant; variables are SSA names of `index` values.

    `terms` is sorted by variable and holds no zero coefficient, so equal expressions are equal
    objects.
    """

    terms: tuple[tuple[str, int], ...] = ()
    constant: int = 0

    @staticmethod
    def variable(name: str) -> Affine:
        return Affine(((name, 1),))

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.terms, self.constant + other) if other else self
        if not other.terms:
            return self + other.constant
        if not self.terms:
            return other + self.constant
        total = dict(self.terms)
        for name, coefficient in other.terms:
            total[name] = total.get(name, 0) + coefficient
        return _from_terms(total, self.constant + other.constant)

    def __mul__(self, factor: int) -> Affine:
        if factor == 1:
            return self
        if factor == 0:
            return ZERO
        return Affine(tuple((n, c * factor) for n, c in self.terms), self.constant * factor)

    def coefficient(self, name: str) -> int:
        for known, coefficient in self.terms:
            if known == name:
                return coefficient
        return 0

    @property
    def variables(self) -> frozenset[str]:
        """The variables that it depends on."""
        return frozenset(name for name, _ in self.terms)

    def renamed(self, old: str, new: str) -> Affine:
        """The same expression of another variable."""
        terms = tuple((new if name == old else name, c) for name, c in self.terms)
        return Affine(tuple(sorted(terms)), self.constant)

    def bounds(self, extents: Mapping[str, int]) -> tuple[int, int]:
        """Smallest and largest value, each variable being in [0, extents[variable])."""
        low = high = self.constant
        for name, coefficient in self.terms:
            reach = coefficient * (extents[name] - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
        return low, high

    def divmod(self, divisor: int, extents: Mapping[str, int]) -> tuple[Affine, Affine] | None:
        """Quotient and remainder by a positive constant; None where they are not affine."""
        if divisor == 1:
            return self, ZERO
        whole = {n: c // divisor for n, c in self.terms if c % divisor == 0}
        rest = {n: c for n, c in self.terms if c % divisor != 0}
        for quotient in {self.constant // divisor, -(-self.constant // divisor)}:
            remainder = _from_terms(rest, self.constant - quotient * divisor)
            low, high = remainder.bounds(extents)
            if low >= 0 and high < divisor:
                return _from_terms(whole, quotient), remainder
        return None

    def split(self, divisor: int, extents: Mapping[str, int]) -> tuple[int, Affine, Affine] | None:
        """The largest factor of a divisor that divides affinely, with quotient and remainder.

        Dividing the quotient by what is left of the divisor then gives the whole division, and
        does not see the variables of the remainder: (8 * i + j) // 40 is i // 5 for j below 8.
        """
        factors = {math.gcd(coefficient, divisor) for _, coefficient in self.terms}
        for factor in sorted(factors - {1, divisor}, reverse=True):
            if (parts := self.divmod(factor, extents)) is not None:
                return factor, *parts
        return None


ZERO = Affine()


def _from_terms(terms: Mapping[str, int], constant: int) -> Affine:
    return Affine(tuple(sorted((n, c) for n, c in terms.items() if c)), constant)


def suffix_products(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides, in elements."""
    return _suffix_products(tuple(shape))


@lru_cache(maxsize=4096)
def _suffix_products(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        strides[i] = strides[i + 1] * shape[i + 1]
    return tuple(strides)


@dataclass(frozen=True, slots=True)
class Position:
    """A position in a tensor, kept per dimension or as a row-major offset, whichever is known.

    Elementwise ops and reshapes pass offsets on untouched; ops that look at dimensions ask for
    `dims`.
    """

    dims: tuple[Affine, ...] | None
    offset: Affine | None

    @staticmethod
    def of_dims(dims: Sequence[Affine]) -> Position:
        return Position(tuple(dims), None)

    @staticmethod
    def of_offset(offset: Affine) -> Position:
        return Position(None, offset)

    def renamed(self, old: str, new: str) -> Position:
        """The same position of another variable."""
        dims = None if self.dims is None else tuple(i.renamed(old, new) for i in self.dims)
        return Position(dims, None if self.offset is None else self.offset.renamed(old, new))

    def linear(self, shape: Sequence[int]) -> Affine:
        """Row-major offset, in elements, in a tensor of `shape`."""
        if self.offset is not None:
            return self.offset
        assert self.dims is not None
        total = ZERO
        for index, size, stride in zip(self.dims, shape, suffix_products(shape), strict=True):
            if size != 1:
                total = total + index * stride
        return total


def merge_cuts(cuts: set[int], size: int) -> list[int]:
    """Loop extents, outermost first, for a row-major space of `size` elements cut at `cuts`.

    Cuts that do not divide one another are dropped, the smaller one kept.
    """
    kept = [1]
    for cut in sorted(c for c in cuts if 1 < c < size):
        if cut % kept[-1] == 0 and size % cut == 0:
            kept.append(cut)
    kept.append(size)
    extents = [outer // inner for inner, outer in itertools.pairwise(kept) if outer != inner]
    return extents[::-1] or [math.prod([size])]
