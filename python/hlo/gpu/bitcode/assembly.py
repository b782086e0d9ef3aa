"""Inline assembly of sm_90a as LLVM functions that call the fiber runtime.

A product of a warpgroup is made when all its threads have come to it, a copy when its barrier is
waited for; so what waits for products is nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hlo.diagnostics import UnsupportedError
from hlo.gpu.bitcode.intrinsics import Definitions, Intrinsic
from hlo.gpu.bitcode.llvm_text import leading_type, members_of, split_operands
from hlo.gpu.ptx.hopper import HELD_WORDS, multiply_of

_CALL = re.compile(r'call (.*?) asm (?:sideeffect )?"([^"]*)", "[^"]*"\((.*)\)( #\d+)?$')
_MULTIPLY = re.compile(
    r"(wgmma\.mma_async\.[\w.]+) \{[^}]*\}, (?:\$\d+|\{([^}]*)\}), \$\d+, p((?:, \d)*);"
)
MOST_COORDINATES = 5
RUNTIME = """\
declare void @hlo_gpu_phase_init(ptr, i32)
declare void @hlo_gpu_phase_arrive(ptr, i32) #900
declare void @hlo_gpu_phase_wait(ptr, i32) #900
declare void @hlo_gpu_tile_copy(ptr, ptr, ptr, i32, i32, i32, i32, i32, i32)
declare void @hlo_gpu_warpgroup_multiply(i64, ptr, ptr, i64, i64) #900
"""


@dataclass(frozen=True)
class Assembly:
    """A piece of inline assembly; its operands are `%a0`, `%a1`, ..., tied ones first."""

    text: str
    result: str
    parameters: tuple[str, ...]


@dataclass
class AssemblyFunctions:
    """A function for each different piece of inline assembly.

    Attributes:
        warps: operations that warps do together are put there.
        names: of the functions.
        definitions: their text.
    """

    warps: Definitions
    names: dict[Assembly, str] = field(default_factory=dict[Assembly, str])
    definitions: list[str] = field(default_factory=list[str])

    def called(self, line: str) -> str:
        """A line with a call of inline assembly, calling a function in its place.

        Raises:
            UnsupportedError: nothing stands for it.
        """
        match = _CALL.search(line)
        if match is None:
            raise UnsupportedError(f"this inline assembly is not understood: {line.strip()}")
        operands = split_operands(match[3])
        piece = Assembly(match[2], match[1], tuple(map(leading_type, operands)))
        name = self.names.get(piece)
        if name is None:
            name = self.names[piece] = f"hlo_assembly_{len(self.names)}"
            self.definitions.append(_definition(name, piece, self.warps))
        return f"{line[: match.start()]}call {match[1]} @{name}({match[3]}) #900"


def _definition(name: str, piece: Assembly, warps: Definitions) -> str:
    for pattern, rule in _RULES:
        if match := re.search(pattern, piece.text):
            parameters = ", ".join(f"{kind} %a{i}" for i, kind in enumerate(piece.parameters))
            body = "\n".join(rule(piece, match, warps))
            return f"define internal {piece.result} @{name}({parameters}) #901 {{\n{body}\n}}\n"
    raise UnsupportedError(f"the fibers do not know the instruction {piece.text!r}")


Rule = Callable[[Assembly, "re.Match[str]", Definitions], Sequence[str]]


def _nothing(piece: Assembly, _: re.Match[str], __: Definitions) -> list[str]:
    """Gives what is tied to the results."""
    kinds = members_of(piece.result)
    if not kinds:
        return ["  ret void"]
    return _joined(piece.result, kinds, [f"%a{i}" for i in range(len(kinds))])


def _joined(whole: str, kinds: Sequence[str], names: Sequence[str]) -> list[str]:
    if not whole.startswith("{"):
        return [f"  ret {whole} {names[0]}"]
    lines: list[str] = []
    made = "poison"
    for i, (kind, name) in enumerate(zip(kinds, names, strict=True)):
        lines.append(f"  %s{i} = insertvalue {whole} {made}, {kind} {name}, {i}")
        made = f"%s{i}"
    return [*lines, f"  ret {whole} {made}"]


def _init(_: Assembly, match: re.Match[str], __: Definitions) -> list[str]:
    return [f"  call void @hlo_gpu_phase_init(ptr %a0, i32 {match[1]})", "  ret void"]


def _arrive(_: Assembly, match: re.Match[str], __: Definitions) -> list[str]:
    size = match[1] or "0"
    return [f"  call void @hlo_gpu_phase_arrive(ptr %a0, i32 {size}) #900", "  ret void"]


def _wait(_: Assembly, __: re.Match[str], ___: Definitions) -> list[str]:
    return ["  call void @hlo_gpu_phase_wait(ptr %a0, i32 %a1) #900", "  ret i32 1"]


def _copy(piece: Assembly, match: re.Match[str], __: Definitions) -> list[str]:
    rank = int(match[1])
    places = [f"i32 %a{3 + d}" if d < rank else "i32 0" for d in range(MOST_COORDINATES)]
    if len(piece.parameters) != 3 + rank:
        raise UnsupportedError(f"the fibers do not know the instruction {piece.text!r}")
    return [
        "  call void @hlo_gpu_tile_copy(ptr %a0, ptr %a1, ptr %a2, "
        f"i32 {rank}, {', '.join(places)})",
        "  ret void",
    ]


def _multiply(piece: Assembly, _: re.Match[str], __: Definitions) -> list[str]:
    match = _MULTIPLY.search(piece.text)
    tail = tuple(int(number) for number in re.findall(r"\d", match[3])) if match else ()
    held = match is not None and match[2] is not None
    packed = multiply_of(tuple(match[1].split(".")), tail, held=held) if match else None
    if packed is None:
        raise UnsupportedError(f"the fibers do not know the instruction {piece.text!r}")
    kinds = members_of(piece.result)
    count = len(kinds)
    lines = [f"  %sums = alloca [{count} x i32], align 8"]
    for i, kind in enumerate(kinds):
        lines += [
            f"  %p{i} = getelementptr i32, ptr %sums, i64 {i}",
            f"  store {kind} %a{i}, ptr %p{i}, align 4",
        ]
    factors, left, right = "null", f"%a{count}", f"%a{count + 1}"
    if held:
        factors, left, right = "%held", "0", f"%a{count + HELD_WORDS}"
        lines.append(f"  %held = alloca [{HELD_WORDS} x i32], align 8")
        for i in range(HELD_WORDS):
            lines += [
                f"  %h{i} = getelementptr i32, ptr %held, i64 {i}",
                f"  store i32 %a{count + i}, ptr %h{i}, align 4",
            ]
    lines.append(
        f"  call void @hlo_gpu_warpgroup_multiply(i64 {packed}, ptr %sums, ptr {factors}, "
        f"i64 {left}, i64 {right}) #900"
    )
    lines += [f"  %l{i} = load {kind}, ptr %p{i}, align 4" for i, kind in enumerate(kinds)]
    return [*lines, *_joined(piece.result, kinds, [f"%l{i}" for i in range(count)])]


def _warp_product(piece: Assembly, match: re.Match[str], warps: Definitions) -> list[str]:
    """`mma.sync` with sums tied to the results; the handler takes them last."""
    intrinsic = Intrinsic(piece.text, piece.result, piece.parameters)
    count = len(members_of(piece.result))
    operands = [(kind, f"%a{i}") for i, kind in enumerate(piece.parameters)]
    handler = f"mma.{match[1]}.{match[2]}"
    return [warps.warp_operation(intrinsic, handler, [*operands[count:], *operands[:count]])]


_RULES: tuple[tuple[str, Rule], ...] = (
    (r"^mbarrier\.init\.shared::cta\.b64 \[\$0\], (\d+);", _init),
    (r"^mbarrier\.arrive\.(?:expect_tx\.)?shared::cta\.b64 _, \[\$0\](?:, (\d+))?;", _arrive),
    (r"mbarrier\.try_wait\.parity\.shared::cta\.b64 p, \[\$1\], \$2;", _wait),
    (r"^cp\.async\.bulk\.tensor\.(\d)d\.shared::cluster\.global\.tile\.mbarrier::", _copy),
    (r"wgmma\.mma_async\.", _multiply),
    (r"^wgmma\.(?:fence|commit_group|wait_group)\.", _nothing),
    (r"^mma\.sync\.aligned\.(m16n8k32)\.row\.col\.([\w.]+) ", _warp_product),
    (r"^(?:fence\.|prefetch\.)", _nothing),
)
