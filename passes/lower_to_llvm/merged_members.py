"""Members of a small launch of several kernels become part of the kernel that calls them.

A kernel without functions of its own can then be part of the entry (`merged_entry.py`): a product
of 16 elements and the scalar behind it are one function, not five.
"""

from __future__ import annotations

import re
from dataclasses import replace

from hlo.passes.hlo_to_loops.kernel_function import Kernel
from hlo.passes.lower_to_llvm.kernel_text import END, split_parameters

MOST_CHARACTERS = 8_000  # beyond, one function takes LLVM no less time than several
_MEMBER = re.compile(
    r"func\.func @NAME__(?P<name>member\d+)\((?P<parameters>[^{}()]*)\) \{\n"
    r"(?P<body>([ %][^\n]*\n|\n)*?)  return\n\}\n"
)
_CALL = re.compile(r"^  func\.call @NAME__(?P<name>\w+)\((?P<operands>[^)]*)\) : .*\n", re.M)
_NAME = re.compile(r"%\w+")


def with_members_inside(kernel: Kernel) -> Kernel:
    """The kernel with the bodies of its members where it calls them, each once and always."""
    if "@NAME__member" not in kernel.text or len(kernel.text) > MOST_CHARACTERS:
        return kernel
    own, end, behind = kernel.text.partition(END)
    members = {member["name"]: member for member in _MEMBER.finditer(behind)}
    calls = [call["name"] for call in _CALL.finditer(own)]
    if _MEMBER.sub("", behind).strip() or sorted(calls) != sorted(members):
        return kernel
    # What is on the stack has a fixed place in the first block alone.
    if any("memref.alloca" in members[name]["body"] for name in calls[1:]):
        return kernel

    def body(call: re.Match[str]) -> str:
        member = members[call["name"]]
        parameters = [name for name, _ in split_parameters(member["parameters"])]
        known = dict(zip(parameters, call["operands"].split(", "), strict=True))
        prefix = f"%{call['name']}_"
        return _NAME.sub(lambda n: known.get(n[0]) or prefix + n[0][1:], member["body"])

    return replace(kernel, text=_CALL.sub(body, own) + end)
