"""What `hlo-translate` does: read a program in any form, write it in another."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from hlo import ir
from hlo.diagnostics import CompileError
from hlo.driver.command_line import read_input, write_output
from hlo.driver.program_text import bytecode_of, text_of
from hlo.importers import export_stablehlo, load_program

TARGETS = (
    "hlo",
    "hlo-generic",
    "hlo-bytecode",
    "stablehlo",
    "stablehlo-generic",
    "stablehlo-bytecode",
    "portable-artifact",
)


@dataclasses.dataclass(frozen=True)
class TranslateOptions:
    """The choices of one run of `hlo-translate`. `target` is one of `TARGETS`; `read` makes the
    program of the input's bytes where that is not for `load_program`."""

    input: str = "-"
    output: str = "-"
    target: str = "hlo"
    version: str | None = None
    locations: bool = False
    read: Callable[[bytes], ir.Module] | None = None


def run_translate(options: TranslateOptions) -> int:
    """Translates one program; the exit status.

    Raises:
        CompileError: the program cannot be read, or not written in that form.
    """
    if options.version is not None and options.target != "portable-artifact":
        raise CompileError("--stablehlo-version is for --to=portable-artifact")
    source_name = "-" if options.input == "-" else options.input
    data = read_input(options.input)
    module = options.read(data) if options.read else load_program(data, source_name=source_name)
    write_output(options.output, _translated(module, options))
    return 0


def _translated(module: ir.Module, options: TranslateOptions) -> str | bytes:
    if options.target in ("hlo", "hlo-generic"):
        return text_of(module, generic=options.target == "hlo-generic", locations=options.locations)
    if options.target == "hlo-bytecode":
        return bytecode_of(module)
    if options.target == "stablehlo":
        return export_stablehlo(module, form="pretty", locations=options.locations)
    if options.target == "stablehlo-generic":
        return export_stablehlo(module, form="generic", locations=options.locations)
    if options.target == "stablehlo-bytecode":
        return export_stablehlo(module, form="bytecode")
    return export_stablehlo(module, form="portable-artifact", version=options.version)
