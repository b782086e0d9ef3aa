"""A program compiled for a GPU, as `hlo-opt` prints it."""

from __future__ import annotations

from dataclasses import dataclass

from hlo import ir
from hlo.diagnostics import CompileError
from hlo.driver.made_program import Options
from hlo.driver.reports import Reports

EMITTED = ("plan", "plan-json", "gpu", "llvm", "ptx", "cubin")


@dataclass(frozen=True)
class GpuOutput:
    """What is asked for.

    Attributes:
        target: `nvptx:CHIP`.
        emit: one of `EMITTED`.
        tf32: as the option of `hlo.compile`.
        roofline: the GPU to estimate times for, in place of `emit`; empty for none.
    """

    target: str
    emit: str = "plan"
    roofline: str = ""
    tf32: bool = False


def gpu_output(module: ir.Module, wanted: GpuOutput, reports: Reports) -> str | bytes:
    """The program as asked for; `reports` gives donation, reuse and fast arithmetic.

    Raises:
        MissingExtraError: a cubin or an estimate needs the assembler, which is not installed.
        CompileError: the program is at fault, or what is asked for does not exist.
    """
    # Only who compiles for a GPU pays for these.
    from hlo.driver.gpu_compile import compile_for_gpu
    from hlo.driver.gpu_report import gpu_named, gpu_report
    from hlo.gpu.plan_json import to_json
    from hlo.gpu.ptxas import assemble

    if wanted.emit not in EMITTED:
        raise CompileError(f"unknown form {wanted.emit!r}; known are: {', '.join(EMITTED)}")
    program = compile_for_gpu(
        module,
        wanted.target,
        Options(
            donate=reports.donate, reuse=reports.reuse, fast=reports.choice.fast,
            passes=reports.choice.added, tf32=wanted.tf32,
        ),
    )  # fmt: skip
    if wanted.roofline:
        return gpu_report(program, gpu_named(wanted.roofline))
    if wanted.emit == "plan-json":
        return to_json(program.plan) + "\n"
    if wanted.emit != "cubin":
        return program.as_text(wanted.emit)
    modules = list(program.plan.modules.values())
    if len(modules) != 1:
        raise CompileError(
            f"--emit=cubin writes one file, and the kernels are {len(modules)} modules: write "
            "--emit=ptx and assemble it"
        )
    return assemble(modules[0].ptx, program.target.chip).cubin
