"""Element types as kernels see them: in memory and in registers (docs/architecture.md)."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import cache

from hlo.diagnostics import UnsupportedError


class Kind(enum.Enum):
    """What arithmetic an element type has."""

    BOOL = "bool"
    SINT = "signed"
    UINT = "unsigned"
    FLOAT = "float"
    COMPLEX = "complex"


@dataclass(frozen=True)
class FloatFormat:
    """A binary floating-point format.

    Attributes:
        exponent: bits of the exponent field.
        mantissa: explicit bits of the significand.
        bias: exponent bias.
        infinities: whether the format has infinities; without them overflow gives NaN, or the
            largest finite value where there is no NaN either.
        nan: ``"ieee"`` (all-ones exponent, nonzero mantissa), ``"all-ones"`` (only the all-ones
            pattern), ``"negative-zero"`` (the pattern of -0; the format has no -0) or ``"none"``.
        signed: whether there is a sign bit.
    """

    exponent: int
    mantissa: int
    bias: int
    infinities: bool = True
    nan: str = "ieee"
    signed: bool = True


FLOAT_FORMATS: dict[str, FloatFormat] = {
    "f64": FloatFormat(11, 52, 1023),
    "f32": FloatFormat(8, 23, 127),
    "f16": FloatFormat(5, 10, 15),
    "bf16": FloatFormat(8, 7, 127),
    "f8E5M2": FloatFormat(5, 2, 15),
    "f8E4M3": FloatFormat(4, 3, 7),
    "f8E3M4": FloatFormat(3, 4, 3),
    "f8E4M3FN": FloatFormat(4, 3, 7, infinities=False, nan="all-ones"),
    "f8E5M2FNUZ": FloatFormat(5, 2, 16, infinities=False, nan="negative-zero"),
    "f8E4M3FNUZ": FloatFormat(4, 3, 8, infinities=False, nan="negative-zero"),
    "f8E4M3B11FNUZ": FloatFormat(4, 3, 11, infinities=False, nan="negative-zero"),
    "f8E8M0FNU": FloatFormat(8, 0, 127, infinities=False, nan="all-ones", signed=False),
    "f6E2M3FN": FloatFormat(2, 3, 1, infinities=False, nan="none"),
    "f6E3M2FN": FloatFormat(3, 2, 3, infinities=False, nan="none"),
    "f4E2M1FN": FloatFormat(2, 1, 1, infinities=False, nan="none"),
}


@dataclass(frozen=True)
class ElementType:
    """An element type of the dialect.

    Attributes:
        name: as MLIR prints it, such as ``f32``, ``ui4``, ``complex<f64>``.
        kind: its arithmetic.
        bits: its width in the language (4 for ``i4``; both halves for complex).
        memory: MLIR type of one element of a buffer (of one half, for complex).
        register: MLIR type of the SSA value that holds it in a kernel (of one half, for complex).
    """

    name: str
    kind: Kind
    bits: int
    memory: str
    register: str

    @property
    def is_complex(self) -> bool:
        return self.kind is Kind.COMPLEX

    @property
    def is_float(self) -> bool:
        return self.kind is Kind.FLOAT

    @property
    def is_integer(self) -> bool:
        return self.kind in (Kind.SINT, Kind.UINT)

    @property
    def is_signed(self) -> bool:
        return self.kind is Kind.SINT

    @property
    def part_type(self) -> ElementType:
        """The type of one half of a complex type; the type itself otherwise."""
        return element_type(self.register) if self.is_complex else self

    @property
    def parts(self) -> int:
        return 2 if self.is_complex else 1

    @property
    def memory_bytes(self) -> int:
        """Bytes of one element of a buffer, both halves for complex."""
        return self.parts * (int(self.memory.lstrip("if")) // 8)

    @property
    def format(self) -> FloatFormat:
        return FLOAT_FORMATS[self.name]


@cache
def element_type(name: str) -> ElementType:
    """The element type MLIR prints as `name`; raises UnsupportedError if it has no form here."""
    if name == "i1":
        return ElementType(name, Kind.BOOL, 1, "i8", "i1")
    if name in ("i2", "i4", "i8", "i16", "i32", "i64", "ui2", "ui4", "ui8", "ui16", "ui32", "ui64"):
        bits = int(name.lstrip("ui"))
        held = f"i{max(bits, 8)}"
        return ElementType(name, Kind.UINT if name[0] == "u" else Kind.SINT, bits, held, held)
    if name in ("f32", "f64"):
        return ElementType(name, Kind.FLOAT, int(name[1:]), name, name)
    if name == "f16":
        return ElementType(name, Kind.FLOAT, 16, "f16", "f32")
    if name == "bf16":
        return ElementType(name, Kind.FLOAT, 16, "i16", "f32")
    if name in FLOAT_FORMATS:
        return ElementType(name, Kind.FLOAT, int(name[1]), "i8", "f32")
    if name in ("complex<f32>", "complex<f64>"):
        half = name[8:11]
        return ElementType(name, Kind.COMPLEX, 2 * int(half[1:]), half, half)
    raise UnsupportedError(f"element type {name} has no form in memory on this target")
