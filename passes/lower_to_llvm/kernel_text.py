"""The text of a kernel in pieces, to be put together with what calls it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hlo.passes.hlo_to_loops.kernel_function import Kernel

# What a flat memref is in the llvm dialect.
DESCRIPTOR = "!llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>"

# The first line of a kernel whose parameters have types alone. One with attributes on its
# parameters or on itself keeps a function of its own, which is where they count.
_HEADER = re.compile(r"\n?func\.func @NAME\((?P<parameters>[^{}]*)\) \{\n")

END = "  return\n}\n"
# Functions that a kernel calls for what it rarely needs; see `Builder.call_rare`.
_RARE_FUNCTIONS = re.compile(r"(func\.func private @NAME__[^\n]*\{\n([ %][^\n]*\n)*\}\n)*")


def parts_of(
    kernel: Kernel,
) -> tuple[list[tuple[str, str]], tuple[str, str], str, str] | None:
    """(name, type) of a kernel's buffers, names of its bounds, its body, and what stands behind it.

    None if its parameters or itself have attributes, which only count on a function.
    """
    header = _HEADER.match(kernel.text)
    own, end, behind = kernel.text.partition(END)
    if header is None or not end or not _RARE_FUNCTIONS.fullmatch(behind):
        return None
    *pointers, (first, _), (last, _) = split_parameters(header["parameters"])
    return pointers, (first, last), own[header.end() :], behind


def split_parameters(parameters: str) -> list[tuple[str, str]]:
    """(name, type) of each parameter."""
    pairs = [parameter.split(":", 1) for parameter in re.split(r",\s*(?=%)", parameters)]
    return [(name.strip(), kind.strip()) for name, kind in pairs]


def descriptors(types: Sequence[str], names: Sequence[str]) -> list[str]:
    """Defines `names` as the pointers `%packed_p0...`, as what `types` says; bare ones are so."""
    lines = [f"  %packed_none = llvm.mlir.poison : {DESCRIPTOR}"]
    for i, (kind, name) in enumerate(zip(types, names, strict=True)):
        if kind != "!llvm.ptr":
            lines += [
                f"  %packed_d{i} = llvm.insertvalue %packed_p{i}, %packed_none[1] : {DESCRIPTOR}",
                f"  {name} = builtin.unrealized_conversion_cast %packed_d{i} : {DESCRIPTOR} to "
                f"{kind}",
            ]
    return lines
