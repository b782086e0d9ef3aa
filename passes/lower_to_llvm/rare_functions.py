"""Functions that kernels call for what they rarely need, as modules of their own.

Their text depends on what they compute and on types alone (`Builder.call_rare`): one object file
serves all kernels of all programs.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace

from hlo.passes.hlo_to_loops.kernel_function import Kernel

# As `Builder.call_rare` writes them.
_RARE = re.compile(
    r"func\.func private @NAME__(?P<name>\w+)\((?P<parameters>[^)]*)\) -> \((?P<results>[^)]*)\) "
    r"attributes \{llvm\.linkage = #llvm\.linkage<internal>, (?P<marks>passthrough = [^}]*)\} "
    r"\{\n(?P<body>([ %][^\n]*\n)*)\}\n"
)
_PARAMETER = re.compile(r"%\w+: ")


def with_rare_apart(kernel: Kernel) -> tuple[Kernel, dict[str, str]]:
    """The kernel with its rare functions declared, and the text of the module of each.

    Returns:
        the kernel, and modules for `KERNEL_PIPELINE` by the symbol that they define.
    """
    if "@NAME__" not in kernel.text:
        return kernel, {}
    modules: dict[str, str] = {}
    symbols: dict[str, str] = {}
    declarations: list[str] = []
    for rare in _RARE.finditer(kernel.text):
        text = rare[0].replace("llvm.linkage = #llvm.linkage<internal>, ", "")
        text = text.replace("func.func private", "func.func")
        name = f"@NAME__{rare['name']}"
        digest = hashlib.sha256(text.replace(name, "").encode()).hexdigest()
        symbol = symbols[name] = f"{rare['name']}_{digest[:16]}"
        modules[symbol] = "module {\n" + text.replace(name, f"@{symbol}") + "}\n"
        kinds = _PARAMETER.sub("", rare["parameters"])
        declarations.append(
            f"func.func private @{symbol}({kinds}) -> ({rare['results']}) "
            f"attributes {{{rare['marks']}}}"
        )
    own = _RARE.sub("", kernel.text)
    for name, symbol in symbols.items():
        own = own.replace(f"{name}(", f"@{symbol}(")
    return replace(kernel, text=own, declarations=(*kernel.declarations, *declarations)), modules
