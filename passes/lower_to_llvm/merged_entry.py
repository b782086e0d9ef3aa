"""Kernels that an entry calls once, in its own thread, are part of the entry.

Each function costs a millisecond of passes that find little to do: LLVM takes 4.0 ms for `x + 1`,
not 5.3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from hlo.passes.hlo_to_loops.kernel_function import Kernel
from hlo.passes.lower_to_llvm.kernel_text import descriptors, parts_of

_SERIAL_CALL = re.compile(
    r"(?P<stores>(?:    llvm\.store %\w+, %slot\d+ : !llvm\.ptr, !llvm\.ptr\n)*)"
    r"    llvm\.call @(?P<kernel>\w+)__packed\(%slots, (?P<begin>%\w+), (?P<end>%\w+)\) : .*\n"
)
_STORED = re.compile(r"llvm\.store (%\w+), %slot\d+")
_SLOT = re.compile(r"    %slot(s|\d+) = .*\n")
_NAME = re.compile(r"%(\w+)")


def with_called_once(entry: str, kernels: Mapping[str, Kernel]) -> tuple[str, list[str]]:
    """The entry with the bodies of kernels that it calls once, and which these are.

    Args:
        entry: module of the entry, as `host_to_llvm` gives it; one with loops or branches stays as
            it is.
    """
    if "scf." in entry:
        return entry, []
    merged: list[str] = []
    behind: list[str] = []

    def body(call: re.Match[str]) -> str:
        name = call["kernel"]
        kernel = kernels.get(name)
        # It is declared and called here, and nowhere else.
        if kernel is None or entry.count(f"@{name}__packed") != 2:
            return call[0]
        parts = parts_of(kernel)
        if parts is None or (merged and "memref.alloca" in parts[2]):
            return call[0]  # only in the first block has what is on the stack a fixed place
        text = _inside(parts, call, f"k{len(merged)}_")
        merged.append(name)
        behind.append(parts[3].replace("@NAME", f"@{name}"))
        return text.replace("@NAME", f"@{name}")

    text = _SERIAL_CALL.sub(body, entry)
    if "%slots," not in text:
        text = _SLOT.sub("", text)
    if not any(behind):
        return text, merged
    start, end, rest = text.rpartition("}\n")
    return start + "".join(behind) + end + rest, merged


def _inside(
    parts: tuple[list[tuple[str, str]], tuple[str, str], str, str],
    call: re.Match[str],
    prefix: str,
) -> str:
    """A kernel's body where it is called, its names behind a prefix."""
    buffers, bounds, own, _ = parts
    names, types = [name for name, _ in buffers], [kind for _, kind in buffers]
    known = {f"%packed_p{i}": pointer for i, pointer in enumerate(_STORED.findall(call["stores"]))}
    known |= {
        name: known[f"%packed_p{i}"]
        for i, (name, kind) in enumerate(buffers)
        if kind == "!llvm.ptr"
    }
    known |= {"%first_unit": call["begin"], "%last_unit": call["end"]}
    lines = [
        *descriptors(types, names),
        f"  {bounds[0]} = arith.index_cast %first_unit : i64 to index",
        f"  {bounds[1]} = arith.index_cast %last_unit : i64 to index",
        own,
    ]

    def renamed(name: re.Match[str]) -> str:
        return known.get(name[0]) or f"%{prefix}{name[1]}"

    return _NAME.sub(renamed, "\n".join(lines))
