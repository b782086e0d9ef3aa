"""From a parsed module to a program of the interpreter: registers, constants, memory get places.

Functions that a kernel calls are laid out behind it, each with registers of its own: PTX that LLVM
makes of our kernels has no recursion, and recursion is refused. Variables of parameter space that
calls pass live in local memory.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hlo.diagnostics import UnsupportedError
from hlo.gpu.ptx.encoding import (
    LANES,
    SHARED_BASE,
    SPECIALS,
    UNWANTED,
    Control,
    Detail,
    Encoded,
    Place,
    Space,
)
from hlo.gpu.ptx.instructions import encode, width_of
from hlo.gpu.ptx.syntax import (
    Address,
    Call,
    Float,
    Function,
    Instruction,
    Integer,
    Label,
    Module,
    Name,
    Operand,
)
from hlo_native import _emulator

_COLLECTIVE_OR_BARRIER = (Control.COLLECTIVE, Control.BARRIER, Control.ARRIVE)


@dataclass(frozen=True)
class DecodedKernel:
    """A kernel that can be run.

    Attributes:
        parameters: (offset, bytes) of each in the parameter buffer.
        parameter_bytes: of the whole buffer.
        shared_bytes: that the code declares, without the dynamic part.
        lines: text of each line that has an instruction.
    """

    name: str
    program: _emulator.Program
    parameters: tuple[tuple[int, int], ...]
    parameter_bytes: int
    shared_bytes: int
    required_block: tuple[int, ...] | None
    maximum_block: tuple[int, ...] | None
    lines: Mapping[int, str]


def decode(module: Module, kernel: str, addresses: Mapping[str, int]) -> DecodedKernel:
    """Makes a kernel runnable.

    Args:
        addresses: of the module's global and constant variables.

    Raises:
        UnsupportedError: it has an instruction that the interpreter does not know.
    """
    return _Decoder(module, addresses).kernel(module.functions[kernel])


def _aligned(value: int, alignment: int) -> int:
    return -(-value // alignment) * alignment


@dataclass
class _Row:
    encoded: Encoded
    line: int
    guard: str | None
    negated: bool
    function: str


class _Decoder:
    def __init__(self, module: Module, addresses: Mapping[str, int]) -> None:
        self._module = module
        self._addresses = addresses
        self._registers: dict[str, Place] = {}
        self._register_bytes = 0
        self._constants: dict[tuple[int, int], int] = {}
        self._constant_bytes = bytearray()
        self._specials: dict[str, Place] = {}
        self._shared: dict[str, int] = {}
        self._shared_bytes = 0
        self._local: dict[str, int] = {}
        self._local_bytes = 0
        self._parameters: dict[str, int] = {}
        self._rows: list[_Row] = []
        self._labels: dict[str, int] = {}
        self._starts: dict[str, int] = {}
        self._tables: dict[str, tuple[str, ...]] = {}
        self._meeting: set[int] = set()
        self._function = Function("", True, 0)
        self._lines: dict[int, str] = {}

    def kernel(self, function: Function) -> DecodedKernel:
        offset = 0
        parameters: list[tuple[int, int]] = []
        for parameter in function.parameters:
            offset = _aligned(offset, max(parameter.alignment if parameter.bytes > 8 else 0,
                                          min(parameter.bytes, 8), 1))  # fmt: skip
            self._parameters[parameter.name] = offset
            parameters.append((offset, parameter.bytes))
            offset += parameter.bytes
        called = self._called_from(function)
        self._place_shared(called)
        for each in called:
            self._lay_out(each)
        return DecodedKernel(
            function.name, self._program(), tuple(parameters), offset, self._shared_bytes,
            function.required_block, function.maximum_block, self._lines,
        )  # fmt: skip

    # Layout

    def _called_from(self, kernel: Function) -> list[Function]:
        order: list[Function] = []
        path: list[str] = []

        def visit(function: Function) -> None:
            if function.name in path:
                raise UnsupportedError(f"PTX function {function.name!r} calls itself")
            if function in order:
                return
            path.append(function.name)
            order.append(function)
            for statement in function.body:
                if isinstance(statement, Call):
                    called = self._module.functions.get(statement.function)
                    if called is None or not called.is_defined:
                        raise UnsupportedError(
                            f"PTX line {statement.line}: the function {statement.function!r} is "
                            f"not defined in the module"
                        )
                    visit(called)
            path.pop()

        visit(kernel)
        return order

    def _place_shared(self, functions: Sequence[Function]) -> None:
        """Static variables, then those whose size the launch gives.

        A variable gets the alignment that it declares and no more, so that code that counts on more
        is caught.
        """
        variables = [v for v in self._module.variables.values() if v.space == "shared"]
        for function in functions:
            variables += [v for v in function.variables.values() if v.space == "shared"]
        static = [v for v in variables if v.bytes]
        for variable in static:
            at = _aligned(self._shared_bytes, variable.alignment)
            if at // variable.alignment % 2 == 0 and variable.alignment < 16:
                at += variable.alignment
            self._shared[variable.name] = at
            self._shared_bytes = at + variable.bytes
        dynamic = max((v.alignment for v in variables if not v.bytes), default=0)
        if dynamic:
            self._shared_bytes = _aligned(self._shared_bytes, max(dynamic, 16))
        for variable in variables:
            self._shared.setdefault(variable.name, self._shared_bytes)

    def _lay_out(self, function: Function) -> None:
        self._function = function
        self._starts[function.name] = len(self._rows)
        self._meeting.add(len(self._rows))
        for name, kind in function.registers.items():
            self._registers[self._scoped(name)] = self._allocate(max(width_of(kind), 0))
        if not function.is_kernel:
            self._registers.setdefault(self._scoped("return"), self._allocate(4))
        locals_ = [v for v in function.variables.values() if v.space in ("local", "param")]
        if not function.is_kernel:
            locals_ += [*function.parameters, *function.results]
        for variable in locals_:
            if self._scoped(variable.name) in self._local:
                continue
            self._local_bytes = _aligned(self._local_bytes, max(variable.alignment, 8))
            self._local[self._scoped(variable.name)] = self._local_bytes
            self._local_bytes += variable.bytes
        for name, targets in function.tables.items():
            self._tables[self._scoped(name)] = tuple(self._scoped(t) for t in targets)
        for statement in function.body:
            if isinstance(statement, Label):
                self._labels[self._scoped(statement.name)] = len(self._rows)
                self._meeting.add(len(self._rows))
            elif isinstance(statement, Call):
                self._call(statement)
            else:
                self._instruction(statement)
        self._add(self._end(), function.line)

    def _scoped(self, name: str) -> str:
        return f"{self._function.name}\0{name}"

    def _allocate(self, width: int) -> Place:
        offset = self._register_bytes
        self._register_bytes += _aligned(LANES * width if width else 4, 64 if width else 4)
        if not width:
            self._register_bytes = _aligned(self._register_bytes, 64)
        return offset, width

    def _end(self) -> Encoded:
        if self._function.is_kernel:
            return Encoded("", control=Control.EXIT)
        back = self._registers[self._scoped("return")]
        return Encoded("", (back,), control=Control.RETURN)

    def _add(
        self, encoded: Encoded, line: int, guard: str | None = None, negated: bool = False
    ) -> None:
        if encoded.control in _COLLECTIVE_OR_BARRIER:
            self._meeting.add(len(self._rows))
        self._rows.append(_Row(encoded, line, guard, negated, self._function.name))

    def _instruction(self, instruction: Instruction) -> None:
        self._lines[instruction.line] = instruction.text
        encoded = self._end() if instruction.opcode[0] == "ret" else encode(instruction, self)
        self._add(encoded, instruction.line, instruction.guard, instruction.negated)

    def _call(self, call: Call) -> None:
        """Arguments are copied to the function's parameters, and results back."""
        self._lines[call.line] = call.text
        called = self._module.functions[call.function]
        if call.guard is not None:
            raise UnsupportedError(f"PTX line {call.line}: a call with a guard: {call.text}")
        caller = self._function
        for name, parameter in zip(call.arguments, called.parameters, strict=True):
            self._copy(caller, name, called, parameter.name, parameter.bytes, call.line)
        key = f"{called.name}\0return"
        self._registers.setdefault(key, self._allocate(4))
        self._add(
            Encoded("", (self._registers[key],), control=Control.CALL, target=called.name),
            call.line,
        )
        self._meeting.add(len(self._rows))
        for name, result in zip(call.results, called.results, strict=True):
            self._copy(called, result.name, caller, name, result.bytes, call.line)

    def _copy(
        self, source: Function, name: str, target: Function, to: str, size: int, line: int
    ) -> None:
        temporary = self._allocate(8)
        for function, variable in ((source, name), (target, to)):
            key = f"{function.name}\0{variable}"
            if key not in self._local:  # of a function that is laid out later
                self._local_bytes = _aligned(self._local_bytes, 8)
                self._local[key] = self._local_bytes
                self._local_bytes += size
        at = 0
        while at < size:
            piece = next(p for p in (8, 4, 2, 1) if at % p == 0 and at + p <= size)
            detail = Detail(bytes=piece, space=Space.LOCAL)
            for handler, function, variable in (("ld", source, name), ("st", target, to)):
                address = self._constant(self._local[f"{function.name}\0{variable}"] + at, 8)
                self._add(Encoded(handler, (address, temporary), detail=detail), line)
            at += piece

    # Operands

    def value(self, operand: Operand, width: int) -> Place:
        if isinstance(operand, Integer):
            return self._constant(operand.value, width)
        if isinstance(operand, Float):
            return self._constant(_narrowed(operand, width), width)
        if isinstance(operand, Name):
            place = self._registers.get(self._scoped(operand.text))
            if place is not None:
                return place
            if operand.text.startswith("%"):
                return self._special(operand.text[1:])
            if operand.text == "WARP_SZ":
                return self._constant(LANES, width)
            return self._constant(self._variable_address(operand.text), width)
        raise UnsupportedError(f"PTX function {self._function.name!r}: unexpected {operand!r}")

    def result(self, operand: Operand) -> Place:
        if isinstance(operand, Name) and operand.text == "_":
            return UNWANTED
        if isinstance(operand, Name):
            place = self._registers.get(self._scoped(operand.text))
            if place is not None:
                return place
        raise UnsupportedError(
            f"PTX function {self._function.name!r}: expected a register, found {operand!r}"
        )

    def address(self, operand: Operand) -> tuple[Place, int]:
        if isinstance(operand, Name):
            return self.value(operand, 8), 0
        if not isinstance(operand, Address):
            raise UnsupportedError(
                f"PTX function {self._function.name!r}: expected an address, found {operand!r}"
            )
        if operand.base is None:
            return self._constant(0, 8), operand.offset
        return self.value(operand.base, 8), operand.offset

    def parameter_space(self, operand: Operand) -> Space:
        base = operand.base if isinstance(operand, Address) else operand
        if isinstance(base, Name) and self._scoped(base.text) in self._local:
            return Space.LOCAL
        return Space.PARAMETER if self._function.is_kernel else Space.LOCAL

    def _variable_address(self, name: str) -> int:
        scoped = self._scoped(name)
        if scoped in self._local:
            return self._local[scoped]
        if name in self._shared:
            return SHARED_BASE + self._shared[name]
        if name in self._addresses:
            return self._addresses[name]
        if name in self._parameters:
            return self._parameters[name]
        raise UnsupportedError(f"PTX function {self._function.name!r}: unknown name {name!r}")

    def _special(self, name: str) -> Place:
        if name not in self._specials:
            if name not in SPECIALS:
                raise UnsupportedError(
                    f"PTX function {self._function.name!r}: the interpreter does not know the "
                    f"register %{name}"
                )
            self._specials[name] = self._allocate(4)
        return self._specials[name]

    def _constant(self, value: int, width: int) -> Place:
        if width == 0:
            value = -1 if value & 1 else 0
        size = width or 4
        value &= (1 << 8 * size) - 1
        key = (value, width)
        if key not in self._constants:
            self._constants[key] = len(self._constant_bytes)
            repeated = value.to_bytes(size, "little") * (LANES if width else 1)
            self._constant_bytes += repeated.ljust(_aligned(len(repeated), 64), b"\0")
        return ~self._constants[key], width

    # Encoding

    def _program(self) -> _emulator.Program:
        handlers: dict[str, int] = {}
        known = _known_handlers()
        operands: list[Place] = []
        table = np.zeros((len(self._rows), 14), np.int32)
        immediates = np.zeros(len(self._rows), np.int64)
        tables = list(self._tables)
        for at, row in enumerate(self._rows):
            encoded = row.encoded
            if encoded.handler and encoded.handler not in known:
                raise UnsupportedError(
                    f"PTX line {row.line}: the interpreter does not know the instruction "
                    f"{self._lines.get(row.line, encoded.handler)!r} ({encoded.handler})"
                )
            scope = row.function + "\0"
            guard = -1 if row.guard is None else self._registers[scope + row.guard][0]
            target = -1
            if encoded.control is Control.CALL:
                target = self._starts[encoded.target]
            elif encoded.target:
                target = self._labels[scope + encoded.target]
            name = handlers.setdefault(encoded.handler, len(handlers))
            table[at] = (
                name, len(operands), len(encoded.operands), guard, row.negated,
                at in self._meeting, encoded.aligned, encoded.control, encoded.members,
                encoded.flags, target, tables.index(scope + encoded.table) if encoded.table else -1,
                row.line, encoded.detail.packed if encoded.detail else 0,
            )  # fmt: skip
            immediates[at] = encoded.immediate
            operands += encoded.operands
        return _emulator.make_program(
            list(handlers), table, immediates,
            np.array(operands or [(0, 0)], np.int32),
            [[self._labels[label] for label in self._tables[name]] for name in tables],
            bytes(self._constant_bytes),
            [(SPECIALS.index(n), place[0]) for n, place in self._specials.items()],
            self._register_bytes, self._shared_bytes, self._local_bytes,
        )  # fmt: skip


def _narrowed(constant: Float, width: int) -> int:
    if constant.width == 8 and width == 4:
        wide = np.array([constant.bits], np.uint64).view(np.float64)
        return int(wide.astype(np.float32).view(np.uint32)[0])
    return constant.bits


@functools.cache
def _known_handlers() -> frozenset[str]:
    return frozenset(_emulator.handlers())
