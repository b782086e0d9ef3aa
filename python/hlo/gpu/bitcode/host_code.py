"""LLVM code for NVPTX as LLVM code for this machine.

Address spaces go; shared variables become plain ones, which the runtime fills anew for every block;
intrinsics become calls of the fiber runtime; every access to memory is checked first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from hlo.gpu.bitcode import assembly
from hlo.gpu.bitcode.intrinsics import RUNTIME, Definitions, WarpOperation
from hlo.gpu.bitcode.llvm_text import bytes_of, leading_type, split_operands

DYNAMIC_SHARED_BYTES = 227 << 10  # what a variable of no size may be given
_SPACE = re.compile(r" ?addrspace\(\d+\)")
_GLOBAL = re.compile(r"^(@[\w.$]+) = (.*?)\b(global|constant) (.*)$")
_KERNEL = re.compile(r"^define (?:[\w]+ )*?ptx_kernel void @([\w.$]+)\((.*)\)([^()]*)\{$")
_BLOCK = re.compile(r'"nvvm\.reqntid"="(\d+)(?:,(\d+))?(?:,(\d+))?"')
_BY_VALUE = re.compile(r'byval\(\[\d+ x i8\]\) |"nvvm.grid_constant" ')
_DEBUG = re.compile(r", ![\w.]+ ![\w.]+")


@dataclass(frozen=True)
class SharedVariable:
    """A variable of a block; `bytes` is 0 if the launch says how large it is."""

    name: str
    bytes: int


@dataclass(frozen=True)
class HostKernel:
    """A kernel: `void NAME__entry(void **arguments)`.

    Attributes:
        shared: the shared variables that its code names.
    """

    name: str
    required_block: tuple[int, ...] | None
    shared: tuple[SharedVariable, ...]
    maximum_block: tuple[int, ...] | None = None

    @property
    def shared_bytes(self) -> int:
        """Shared memory that the code declares."""
        return sum(-(-variable.bytes // 16) * 16 for variable in self.shared)


@dataclass(frozen=True)
class HostCode:
    """A module for this machine.

    Attributes:
        operations: what its warps do together, by number.
        globals: bytes of each variable that is not shared.
    """

    text: str
    operations: tuple[WarpOperation, ...]
    kernels: dict[str, HostKernel]
    globals: dict[str, int]


def host_code(text: str) -> HostCode:
    """Rewrites a module of LLVM code for NVPTX, in text form.

    Raises:
        UnsupportedError: it has an intrinsic that nothing stands for.
    """
    return _Rewriting(_required_blocks(text)).of(text)


@dataclass
class _Rewriting:
    """One pass over the lines of a module; `current` is the kernel whose body is read."""

    blocks: dict[str, tuple[int, ...]]
    definitions: Definitions = field(default_factory=Definitions)
    assembly: assembly.AssemblyFunctions = field(init=False)
    lines: list[str] = field(default_factory=list[str])
    entries: list[str] = field(default_factory=list[str])
    kernels: dict[str, HostKernel] = field(default_factory=dict[str, HostKernel])
    shared: dict[str, SharedVariable] = field(default_factory=dict[str, SharedVariable])
    globals: dict[str, int] = field(default_factory=dict[str, int])
    current: str = ""
    required: tuple[int, ...] | None = None
    named: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        self.assembly = assembly.AssemblyFunctions(self.definitions)

    def of(self, text: str) -> HostCode:
        for line in text.splitlines():
            if line.startswith("@"):
                self.lines.append(_without_spaces(self._variable(line)))
            elif not line.startswith(("target ", "source_filename", "; ")):
                self._line(_without_spaces(line))
        body = "\n".join(line.replace("@llvm.nvvm.", "@nvvm.") for line in self.lines)
        return HostCode(
            f"{body}\n{RUNTIME}{assembly.RUNTIME}"
            f"{''.join([*self.assembly.definitions, *self.entries])}",
            tuple(self.definitions.operations),
            self.kernels, self.globals,
        )  # fmt: skip

    def _line(self, line: str) -> None:
        if line.startswith("declare") and "@llvm.nvvm." in line:
            self.lines.append(self.definitions.of(line))
            return
        if kernel := _KERNEL.match(line):
            self.current, self.named = kernel[1], set()
            self.required = self.blocks.get(next(iter(re.findall(r"#\d+", kernel[3])), ""))
            self.entries.append(_entry(kernel[1], len(split_operands(kernel[2]))))
            self.lines.append(_BY_VALUE.sub("", line.replace("ptx_kernel ", "")))
            return
        if " asm " in line and "call " in line:
            line = self.assembly.called(line)
        if line == "}" and self.current:
            used = tuple(v for name, v in self.shared.items() if name in self.named)
            self.kernels[self.current] = HostKernel(self.current, self.required, used)
            self.current = ""
        elif self.current:
            self.named.update(re.findall(r"@([\w.$]+)", line))
            self.lines += _checks(line)
        self.lines.append(line)

    def _variable(self, line: str) -> str:
        """A variable's line; it becomes one that can be looked up."""
        match = _GLOBAL.match(line)
        if match is None:
            return line
        kind = leading_type(match[4]).rstrip(",")
        size = bytes_of(kind)
        aligned = re.search(r"align (\d+)", line)
        name, alignment = match[1][1:], int(aligned[1]) if aligned else 16
        if "addrspace(3)" not in match[2]:
            self.globals[name] = size
            return f"{match[1]} = {match[3]} {match[4]}"
        self.shared[name] = SharedVariable(name, size)
        kind = kind if size else f"[{DYNAMIC_SHARED_BYTES} x i8]"
        return f"{match[1]} = global {kind} zeroinitializer, align {alignment}"


def _without_spaces(line: str) -> str:
    return _SPACE.sub("", line).replace("addrspacecast", "bitcast")


def _required_blocks(text: str) -> dict[str, tuple[int, ...]]:
    """The block size of each attribute group that requires one."""
    found: dict[str, tuple[int, ...]] = {}
    for line in text.splitlines():
        if line.startswith("attributes #") and (match := _BLOCK.search(line)):
            group = line.split()[1]
            found[group] = tuple(int(size) for size in match.groups() if size is not None)
    return found


def _entry(name: str, parameters: int) -> str:
    """A function that takes a kernel's pointers from an array."""
    loads = "".join(
        f"  %p{i} = getelementptr ptr, ptr %arguments, i64 {i}\n  %v{i} = load ptr, ptr %p{i}\n"
        for i in range(parameters)
    )
    passed = ", ".join(f"ptr %v{i}" for i in range(parameters))
    return (
        f"define void @{name}__entry(ptr %arguments) {{\n{loads}"
        f"  call void @{name}({passed})\n  ret void\n}}\n"
    )


def _checks(line: str) -> Iterator[str]:
    """Checks ahead of an instruction that accesses memory."""
    code = _DEBUG.sub("", line.strip())
    result = code.partition(" = ")[2] if " = " in code else code
    words = result.split(" ", 1)
    if words[0] == "load":
        kind, pointer, *rest = split_operands(words[1])
        kind = kind.removeprefix("volatile ")
        yield _check("read", kind, pointer, rest)
    elif words[0] == "store":
        value, pointer, *rest = split_operands(words[1])
        yield _check("write", leading_type(value.removeprefix("volatile ")), pointer, rest)
    elif words[0] in ("atomicrmw", "cmpxchg"):
        first, second, *rest = split_operands(words[1])
        pointer = "ptr " + first.rpartition("ptr ")[2]
        yield _check("write", leading_type(second), pointer, rest)


def _check(access: str, kind: str, pointer: str, rest: list[str]) -> str:
    aligned = next((part for part in rest if part.startswith("align ")), "align 1")
    return (
        f"  call void @hlo_gpu_{access}({pointer}, i64 {bytes_of(kind)}, i64 {aligned.split()[1]})"
    )
