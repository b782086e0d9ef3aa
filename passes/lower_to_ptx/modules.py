"""Modules of GPU kernels: as MLIR text, in the llvm dialect, as PTX and as bitcode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from hlo import ir
from hlo.diagnostics import CompileError
from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel, Stage
from hlo.passes.hlo_to_gpu.target import GpuTarget
from hlo.passes.lower_to_ptx.module_code import (
    BITCODE,
    PTX,
    KernelFunction,
    ModuleSource,
    llvm_text,
    module_text,
)
from hlo.passes.lower_to_ptx.worker_process import WorkerLostError
from hlo.passes.lower_to_ptx.workers import WORKERS

LocationOf = Callable[[str], str | None]


@dataclass(frozen=True)
class GpuModule:
    """What a module of kernels became.

    Attributes:
        kernels: the functions that are launched.
        bitcode: the optimised LLVM code that the PTX was made from, if it was asked for.
    """

    name: str
    kernels: tuple[str, ...]
    ptx: str
    bitcode: bytes | None


def named_stages(name: str, kernel: GpuKernel) -> dict[str, Stage]:
    """The stages of a kernel by their functions, in the order they are launched in."""
    count = len(kernel.stages)
    names = [name] if count == 1 else [f"{name}_stage{i}" for i in range(count)]
    return dict(zip(names, kernel.stages, strict=True))


def stages_around(name: str, kernel: GpuKernel) -> tuple[dict[str, Stage], dict[str, Stage]]:
    """The stages before and after the call of the library that may stand for a kernel."""
    call = kernel.library
    if call is None:
        return {}, {}
    before, after = (
        {f"{name}_{when}{i}": stage for i, stage in enumerate(stages)}
        for when, stages in (("before", call.before), ("after", call.after))
    )
    return before, after


def stages_of(kernels: Mapping[str, GpuKernel]) -> dict[str, Stage]:
    """Every stage by the name of its function."""
    found: dict[str, Stage] = {}
    for name, kernel in kernels.items():
        before, after = stages_around(name, kernel)
        found |= {**named_stages(name, kernel), **before, **after}
    return found


def kernels_text(kernels: Mapping[str, GpuKernel]) -> str:
    """A module of the functions of kernels, in scf, arith, math, memref, vector and nvvm."""
    return module_text(_functions_of(kernels))


def _functions_of(kernels: Mapping[str, GpuKernel]) -> dict[str, KernelFunction]:
    return {
        name: KernelFunction(
            stage.text.replace("@NAME", f"@{name}"), stage.block, stage.resident, len(stage.maps)
        )
        for name, stage in stages_of(kernels).items()
    }


def lower_to_llvm(name: str, kernels: Mapping[str, GpuKernel], target: GpuTarget) -> str:
    """The kernels as a `gpu.module` of the llvm dialect, for a target."""
    return llvm_text(ModuleSource(name, _functions_of(kernels), target), ir.make_gpu_context())


def lower_to_ptx(
    parts: Mapping[str, Mapping[str, GpuKernel]], target: GpuTarget, *,
    bitcode: bool = False, location_of: LocationOf = lambda kernel: None,
) -> list[GpuModule]:  # fmt: skip
    """Compiles kernels to PTX.

    Args:
        parts: the kernels of each module.
        bitcode: also keep the optimised LLVM bitcode that the PTX was made from.
        location_of: where in the user's source a kernel comes from, for errors.

    Raises:
        CompileError: LLVM wrote no PTX for this target, or gave up on a kernel.
    """
    forms = (PTX, BITCODE) if bitcode else (PTX,)
    codes = _codes_of(parts, target, forms, location_of)
    return [
        GpuModule(name, tuple(stages_of(kernels)), _text(code[PTX]), code.get(BITCODE))
        for (name, kernels), code in zip(parts.items(), codes, strict=True)
    ]


def lower_to_bitcode(
    parts: Mapping[str, Mapping[str, GpuKernel]], target: GpuTarget
) -> dict[str, bytes]:
    """The optimised LLVM bitcode that the PTX of each module is made from.

    Raises:
        CompileError: as of `lower_to_ptx`.
    """
    codes = _codes_of(parts, target, (BITCODE,), lambda kernel: None)
    return {name: code[BITCODE] for name, code in zip(parts, codes, strict=True)}


def _text(ptx: bytes) -> str:
    return ptx.rstrip(b"\0").decode()


def _codes_of(
    parts: Mapping[str, Mapping[str, GpuKernel]], target: GpuTarget, forms: tuple[str, ...],
    location_of: LocationOf,
) -> list[dict[str, bytes]]:  # fmt: skip
    sources = [
        ModuleSource(name, _functions_of(kernels), target, forms) for name, kernels in parts.items()
    ]
    codes: list[dict[str, bytes]] = []
    answers = WORKERS.answers(sources)
    for answer, source, kernels in zip(answers, sources, parts.values(), strict=True):
        if isinstance(answer, WorkerLostError):
            raise _given_up(source, kernels, str(answer), location_of)
        if answer.refused:
            raise CompileError(answer.refused)
        codes.append(answer.code)
    return codes


def _given_up(
    source: ModuleSource, kernels: Mapping[str, GpuKernel], reason: str, location_of: LocationOf
) -> CompileError:
    """The error of a module that LLVM ended a process on: its kernels are tried one by one."""
    alone = [
        replace(source, functions={name: function}) for name, function in source.functions.items()
    ]
    reasons = {
        function: str(answer)
        for function, answer in zip(source.functions, WORKERS.answers(alone), strict=True)
        if isinstance(answer, WorkerLostError)
    }
    function = next(iter(reasons), None)
    if function is None:
        names = ", ".join(source.functions)
        return CompileError(f"LLVM gave up on the kernels {names} together: {reason}")
    kernel = next(name for name in kernels if function in stages_of({name: kernels[name]}))
    return CompileError(
        f"LLVM gave up on the kernel {function}: {reasons[function]}",
        location=location_of(kernel),
    )
