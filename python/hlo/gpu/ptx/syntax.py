"""What a PTX module consists of, as parsed: functions of instructions, and variables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True)
class Name:
    """A register, special register, label, variable or function."""

    text: str


@dataclass(frozen=True)
class Integer:
    value: int


@dataclass(frozen=True)
class Float:
    """A floating-point constant by its bits.

    Attributes:
        bits: of `width` bytes: 4 for `0f...`, 8 for `0d...` and decimal ones.
    """

    bits: int
    width: int


@dataclass(frozen=True)
class Address:
    """`[base + offset]`; the base is a register or a variable, None for a constant address.

    Attributes:
        coordinates: of `[map, {x, y, ...}]`, a tile of a tensor map.
    """

    base: Name | None
    offset: int
    coordinates: tuple[Operand, ...] = ()


@dataclass(frozen=True)
class Vector:
    """`{a, b, ...}`."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True)
class Pair:
    """`p|q`: two results."""

    first: Name
    second: Name


@dataclass(frozen=True)
class Negated:
    """`!p`."""

    operand: Name


Operand: TypeAlias = Name | Integer | Float | Address | Vector | Pair | Negated


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    Attributes:
        opcode: words between the dots: `("ld", "global", "v4", "b32")`.
        guard: predicate register that lanes need to execute it, None if all do.
        negated: whether they need it to be false.
        line: in the text, from 1.
        text: as written.
    """

    opcode: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: str | None
    negated: bool
    line: int
    text: str


@dataclass(frozen=True)
class Call:
    """A call of a function: `results` and `arguments` are variables of parameter space."""

    function: str
    results: tuple[str, ...]
    arguments: tuple[str, ...]
    guard: str | None
    negated: bool
    line: int
    text: str


@dataclass(frozen=True)
class Label:
    name: str
    line: int


Statement: TypeAlias = Instruction | Call | Label


@dataclass(frozen=True)
class Variable:
    """Memory with a name.

    Attributes:
        space: global, shared, local, const or param.
        alignment, bytes: in memory; 0 bytes for memory whose size the launch gives.
        initial: its content, None if it has none.
    """

    name: str
    space: str
    alignment: int
    bytes: int
    initial: bytes | None
    line: int


@dataclass
class Function:
    """A kernel (`.entry`) or a function that others call.

    Attributes:
        parameters, results: variables of parameter space.
        registers: name and type (`pred`, `b32`, ...); a scope's registers are renamed to be unique.
        variables: of shared, local and parameter space, declared in the body.
        tables: branch targets by name.
        required_block: threads of a block that `.reqntid` asks for; `.maxntid` in `maximum_block`.
    """

    name: str
    is_kernel: bool
    line: int
    parameters: list[Variable] = field(default_factory=list[Variable])
    results: list[Variable] = field(default_factory=list[Variable])
    registers: dict[str, str] = field(default_factory=dict[str, str])
    variables: dict[str, Variable] = field(default_factory=dict[str, Variable])
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    body: list[Statement] = field(default_factory=list[Statement])
    required_block: tuple[int, ...] | None = None
    maximum_block: tuple[int, ...] | None = None
    is_defined: bool = False


@dataclass
class Module:
    """A PTX module.

    Attributes:
        version: of the PTX ISA, such as `8.0`.
        target: such as `sm_80`.
        variables: at module scope, of global, constant or shared space.
    """

    version: str = ""
    target: str = ""
    functions: dict[str, Function] = field(default_factory=dict[str, Function])
    variables: dict[str, Variable] = field(default_factory=dict[str, Variable])

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the functions that can be launched."""
        return tuple(name for name, f in self.functions.items() if f.is_kernel)
