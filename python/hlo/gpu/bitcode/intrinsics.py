"""What only a GPU has, as LLVM functions that call the fiber runtime (`runtime/emulator/fibers.h`).

Each intrinsic of NVPTX becomes a function of the same type. Operations of a warp put their operands
into slots of 64 bits, wait for the lanes that take part, and read their results from the slots;
what they do is the PTX interpreter's handler of the instruction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hlo.diagnostics import UnsupportedError
from hlo.gpu.bitcode.llvm_text import (
    bits_of,
    leading_type,
    members_of,
    split_operands,
    trailing_type,
)
from hlo.gpu.ptx.encoding import Flag

# In the order of `Special` of runtime/emulator/machine.h.
_SPECIALS = (
    *(f"{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"),
    "laneid",
    "warpid",
)
_DECLARATION = re.compile(r"declare (.*?)@llvm\.nvvm\.([\w.]+)\((.*)\)[^)]*$")
_MATRIX_TYPES = {
    "f32.f32": "f32.f16.f16.f32",
    "f16.f16": "f16.f16.f16.f16",
    "bf16": "f32.bf16.bf16.f32",
    "tf32": "f32.tf32.tf32.f32",
    "f64": "f64.f64.f64.f64",
    "s8": "s32.s8.s8.s32",
    "u8": "s32.u8.u8.s32",
    "s8.u8": "s32.s8.u8.s32",
    "u8.s8": "s32.u8.s8.s32",
}
_REDUCTIONS = {
    "add": "add.s32", "min": "min.s32", "max": "max.s32", "umin": "min.u32", "umax": "max.u32",
    "and": "and.b32", "or": "or.b32", "xor": "xor.b32",
}  # fmt: skip
RUNTIME = """\
declare i32 @hlo_gpu_special(i32)
declare void @hlo_gpu_barrier(i32, i32) #900
declare void @hlo_gpu_warp_operation(i32, ptr) #900
declare void @hlo_gpu_read(ptr, i64, i64)
declare void @hlo_gpu_write(ptr, i64, i64)
declare void @hlo_gpu_copy_async(ptr, ptr, i32, i32)
declare void @hlo_gpu_copy_commit()
declare void @hlo_gpu_copy_wait(i32)
attributes #900 = { convergent }
attributes #901 = { alwaysinline convergent }
"""


@dataclass(frozen=True)
class WarpOperation:
    """What lanes do together; see `WarpOperation` of runtime/emulator/fibers.h.

    Attributes:
        handler: of the interpreter; none if lanes only wait for each other.
        widths: bytes of each operand a lane, 0 for a predicate.
        members: the operand that names the lanes, -1 for all.
    """

    handler: str
    widths: tuple[int, ...]
    first_result: int = 0
    results: int = 0
    members: int = -1
    flags: int = 0

    def row(self) -> tuple[str, tuple[int, ...], int, int, int, int]:
        """As the native module takes it."""
        return (
            self.handler, self.widths, self.first_result, self.results, self.members, self.flags,
        )  # fmt: skip


@dataclass(frozen=True)
class Intrinsic:
    """A declared function of NVPTX; its name without `llvm.nvvm.`, parameters `%a0`, `%a1`, ..."""

    name: str
    result: str
    parameters: tuple[str, ...]


@dataclass
class Definitions:
    """Functions in place of intrinsics.

    Attributes:
        operations: what the warp operations do, by the numbers that the text calls them by.
    """

    operations: list[WarpOperation] = field(default_factory=list[WarpOperation])

    def of(self, declaration: str) -> str:
        """The definition in place of a line that declares an intrinsic.

        Raises:
            UnsupportedError: nothing stands for the intrinsic.
        """
        intrinsic = parse_declaration(declaration)
        for pattern, rule in _RULES:
            if match := re.fullmatch(pattern, intrinsic.name):
                body = rule(self, intrinsic, match)
                parameters = ", ".join(f"{t} %a{i}" for i, t in enumerate(intrinsic.parameters))
                return (
                    f"define internal {intrinsic.result} @nvvm.{intrinsic.name}({parameters}) #901 "
                    f"{{\n{body}\n}}\n"
                )
        raise UnsupportedError(f"no function stands for the intrinsic llvm.nvvm.{intrinsic.name}")

    def warp_operation(
        self, intrinsic: Intrinsic, handler: str, operands: Sequence[tuple[str, str]],
        *, results_at: int = 0, unused_results: int = 0, members: int = -1, flags: int = 0,
    ) -> str:  # fmt: skip
        """The body of a function that performs an operation of the warp.

        Args:
            operands: (type, SSA name) of each but the results.
            results_at: how many operands come ahead of the results.
            unused_results: results of the handler that the function does not give.
        """
        results = members_of(intrinsic.result)
        kinds = [kind for kind, _ in operands]
        kinds[results_at:results_at] = [*results, *["i32"] * unused_results]
        widths = tuple(0 if kind == "i1" else bits_of(kind) // 8 for kind in kinds)
        count = len(results) + unused_results
        self.operations.append(
            WarpOperation(handler, widths, results_at, count, members, int(flags))
        )
        lines = [f"  %slots = alloca [{max(len(kinds), 1)} x i64], align 8"]
        places = [i for i in range(len(kinds)) if not results_at <= i < results_at + count]
        for place, (kind, name) in zip(places, operands, strict=True):
            lines += _stored(place, kind, name)
        number = len(self.operations) - 1
        lines.append(f"  call void @hlo_gpu_warp_operation(i32 {number}, ptr %slots) #900")
        return "\n".join(lines + _results(intrinsic.result, results, results_at))


def parse_declaration(line: str) -> Intrinsic:
    """Reads a line that declares an intrinsic, with address spaces dropped."""
    match = _DECLARATION.match(line)
    if match is None:
        raise UnsupportedError(f"this declaration is not understood: {line}")
    parameters = tuple(leading_type(part) for part in split_operands(match[3]))
    return Intrinsic(match[2], trailing_type(match[1]), parameters)


def _stored(place: int, kind: str, name: str) -> list[str]:
    """Puts a value into a slot."""
    bits, out = bits_of(kind), f"%w{place}"
    lines: list[str] = []
    if kind == "ptr":
        lines.append(f"  {out} = ptrtoint ptr {name} to i64")
    else:
        if not re.fullmatch(r"i\d+", kind):
            lines.append(f"  %b{place} = bitcast {kind} {name} to i{bits}")
            name = f"%b{place}"
        if bits < 64:
            lines.append(f"  {out} = zext i{bits} {name} to i64")
        else:
            out = name
    return [
        *lines,
        f"  %p{place} = getelementptr i64, ptr %slots, i64 {place}",
        f"  store i64 {out}, ptr %p{place}, align 8",
    ]


def _results(whole: str, kinds: Sequence[str], first: int) -> list[str]:
    """Reads results from their slots and returns them."""
    if not kinds:
        return ["  ret void"]
    lines: list[str] = []
    joined = "poison"
    for i, kind in enumerate(kinds):
        bits = bits_of(kind)
        lines += [
            f"  %q{i} = getelementptr i64, ptr %slots, i64 {first + i}",
            f"  %l{i} = load i64, ptr %q{i}, align 8",
        ]
        value = f"%l{i}"
        if bits < 64:
            lines.append(f"  %t{i} = trunc i64 {value} to i{bits}")
            value = f"%t{i}"
        if not re.fullmatch(r"i\d+", kind):
            lines.append(f"  %r{i} = bitcast i{bits} {value} to {kind}")
            value = f"%r{i}"
        if not whole.startswith("{"):
            return [*lines, f"  ret {whole} {value}"]
        lines.append(f"  %s{i} = insertvalue {whole} {joined}, {kind} {value}, {i}")
        joined = f"%s{i}"
    return [*lines, f"  ret {whole} {joined}"]


Rule = Callable[[Definitions, Intrinsic, "re.Match[str]"], str]


def _special(_: Definitions, intrinsic: Intrinsic, match: re.Match[str]) -> str:
    number = _SPECIALS.index(match[1])
    return f"  %r = call i32 @hlo_gpu_special(i32 {number})\n  ret i32 %r"


def _barrier(_: Definitions, intrinsic: Intrinsic, __: re.Match[str]) -> str:
    number = "%a0" if intrinsic.parameters else "0"
    threads = "%a1" if len(intrinsic.parameters) > 1 else "0"
    return f"  call void @hlo_gpu_barrier(i32 {number}, i32 {threads}) #900\n  ret void"


def _warp_barrier(made: Definitions, intrinsic: Intrinsic, _: re.Match[str]) -> str:
    return made.warp_operation(intrinsic, "", [("i32", "%a0")], members=0)


def _shuffle(made: Definitions, intrinsic: Intrinsic, match: re.Match[str]) -> str:
    """(members, value, lane, clamp); the handler takes the members last."""
    kinds = intrinsic.parameters
    operands = [(kinds[1], "%a1"), ("i32", "%a2"), ("i32", "%a3"), ("i32", "%a0")]
    paired = intrinsic.result.startswith("{")
    return made.warp_operation(
        intrinsic, f"shfl.{match[1]}", operands, members=5, unused_results=0 if paired else 1,
        flags=Flag.SECOND_RESULT if paired else 0,
    )  # fmt: skip


def _vote(made: Definitions, intrinsic: Intrinsic, match: re.Match[str]) -> str:
    operands = [("i1", "%a1"), ("i32", "%a0")]
    return made.warp_operation(intrinsic, f"vote.{match[1]}", operands, members=2)


def _redux(made: Definitions, intrinsic: Intrinsic, match: re.Match[str]) -> str:
    operands = [("i32", "%a0"), ("i32", "%a1")]
    handler = f"redux.{_REDUCTIONS[match[1]]}"
    return made.warp_operation(intrinsic, handler, operands, members=2)


def _matrix_product(made: Definitions, intrinsic: Intrinsic, match: re.Match[str]) -> str:
    operands = [(kind, f"%a{i}") for i, kind in enumerate(intrinsic.parameters)]
    handler = f"mma.{match[1]}.{_MATRIX_TYPES.get(match[3], match[3])}"
    flags = Flag.SATURATE if match[2] else 0
    return made.warp_operation(intrinsic, handler, operands, flags=flags)


def _load_matrix(made: Definitions, intrinsic: Intrinsic, match: re.Match[str]) -> str:
    flags = Flag.TRANSPOSED if match[1] else 0
    return made.warp_operation(intrinsic, "ldmatrix", [("ptr", "%a0")], results_at=1, flags=flags)


def _tensor_float(_: Definitions, __: Intrinsic, ___: re.Match[str]) -> str:
    """To the nearest of tf32, ties away from zero: half a last place is added, the rest cut off."""
    return (
        "  %bits = bitcast float %a0 to i32\n"
        "  %up = add i32 %bits, 4096\n"
        "  %cut = and i32 %up, -8192\n"
        "  %none = fcmp uno float %a0, %a0\n"
        "  %all = select i1 %none, i32 2147483647, i32 %cut\n"
        "  ret i32 %all"
    )


def _copy_async(_: Definitions, intrinsic: Intrinsic, match: re.Match[str]) -> str:
    copied = "%a2" if match[2] else match[1]
    return (
        f"  call void @hlo_gpu_copy_async(ptr %a0, ptr %a1, i32 {match[1]}, i32 {copied})\n"
        "  ret void"
    )


def _copy_commit(_: Definitions, __: Intrinsic, ___: re.Match[str]) -> str:
    return "  call void @hlo_gpu_copy_commit()\n  ret void"


def _copy_wait(_: Definitions, intrinsic: Intrinsic, __: re.Match[str]) -> str:
    pending = "%a0" if intrinsic.parameters else "-1"
    return f"  call void @hlo_gpu_copy_wait(i32 {pending})\n  ret void"


_RULES: tuple[tuple[str, Rule], ...] = (
    (r"read\.ptx\.sreg\.((?:n?tid|n?ctaid)\.[xyz]|laneid|warpid)", _special),
    (r"barrier0|barrier\.cta\.sync\.aligned\.(?:all|count)", _barrier),
    (r"bar\.warp\.sync", _warp_barrier),
    (r"shfl\.sync\.(up|down|bfly|idx)\.(?:i32|f32)p?", _shuffle),
    (r"vote\.(all|any|uni|ballot)\.sync", _vote),
    (r"redux\.sync\.(\w+)", _redux),
    (r"mma\.(m\d+n\d+k\d+)\.row\.col(\.satfinite)?\.([\w.]+)", _matrix_product),
    (r"ldmatrix\.sync\.aligned\.m8n8\.x[124](\.trans)?\.b16\.p[03]", _load_matrix),
    (r"f2tf32\.rna", _tensor_float),
    (r"cp\.async\.c[ag]\.shared\.global\.(4|8|16)(\.s)?", _copy_async),
    (r"cp\.async\.commit\.group", _copy_commit),
    (r"cp\.async\.wait\.(?:group|all)", _copy_wait),
)
