"""Where operands live: what the rules of instructions ask `hlo.gpu.ptx.decode`."""

from __future__ import annotations

from typing import Protocol

from hlo.diagnostics import UnsupportedError
from hlo.gpu.ptx.encoding import Place, Space
from hlo.gpu.ptx.syntax import Instruction, Operand


class Places(Protocol):
    """Of a function."""

    def value(self, operand: Operand, width: int) -> Place:
        """A source of `width` bytes a lane (0 for a predicate): a register or a constant."""
        ...

    def result(self, operand: Operand) -> Place:
        """A register to write; `UNWANTED` for `_`."""
        ...

    def address(self, operand: Operand) -> tuple[Place, int]:
        """A base and a number of bytes to add."""
        ...

    def parameter_space(self, operand: Operand) -> Space:
        """Where the variable of parameter space that an address names lies."""
        ...


def unknown(instruction: Instruction) -> UnsupportedError:
    """That an instruction has no rule."""
    return UnsupportedError(
        f"PTX line {instruction.line}: the interpreter does not know the instruction "
        f"{instruction.text!r}"
    )
