"""Modules of GPU kernels: as MLIR text, in the llvm dialect, as PTX and as bitcode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hlo import ir
from hlo.diagnostics import CompileError
from hlo.gpu.tensor_map import MAP_ALIGNMENT, MAP_BYTES
from hlo.ir import gpu_objects
from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel, Stage
from hlo.passes.hlo_to_gpu.target import GpuTarget

PIPELINE = (
    "builtin.module(convert-scf-to-cf,convert-vector-to-llvm{use-vector-alignment=true},"
    "convert-func-to-llvm{use-bare-ptr-memref-call-conv=true},convert-to-llvm,"
    "reconcile-unrealized-casts)"
)


@dataclass(frozen=True)
class GpuModule:
    """A `gpu.module` of the llvm dialect, and the PTX it became.

    Attributes:
        kernels: the functions that are launched.
    """

    name: str
    kernels: tuple[str, ...]
    llvm: str
    ptx: str
    bitcode: bytes | None


def stage_names(name: str, kernel: GpuKernel) -> list[str]:
    """The function of each stage of a kernel."""
    count = len(kernel.stages)
    return [name] if count == 1 else [f"{name}_stage{i}" for i in range(count)]


def kernels_text(kernels: Mapping[str, GpuKernel]) -> str:
    """A module of the functions of kernels, in scf, arith, math, memref, vector and nvvm."""
    parts = [
        stage.text.replace("@NAME", f"@{function}")
        for function, stage in stages_of(kernels).items()
    ]
    return "module {\n" + "\n".join(parts) + "}\n"


def stages_of(kernels: Mapping[str, GpuKernel]) -> dict[str, Stage]:
    """Every stage by the name of its function."""
    return {
        function: stage
        for name, kernel in kernels.items()
        for function, stage in zip(stage_names(name, kernel), kernel.stages, strict=True)
    }


def lower_to_llvm(
    name: str, kernels: Mapping[str, GpuKernel], target: GpuTarget, context: ir.Context
) -> str:
    """The kernels as a `gpu.module` of the llvm dialect, for a target."""
    stages = stages_of(kernels)
    module = ir.parse_module(kernels_text(kernels), context)
    with context, ir.Location.unknown():
        manager = ir.PassManager.parse(PIPELINE)
        manager.enable_verifier(False)
        manager.run(module.operation)
        for op in module.body.operations:
            if op.operation.name != "llvm.func":
                continue
            stage = stages.get(ir.attributes.string(op, "sym_name"))
            if stage is not None:
                _make_kernel(op.operation, stage)
    # The conversion to branches leaves it as a foreign attribute, which no translation reads.
    text = str(module).replace("{llvm.loop_annotation =", "{loop_annotation =")
    start = text.index("module")  # what attributes are called stands ahead of it
    body = text[text.index("{", start) + 1 : text.rindex("}")]
    features = target.features_for(body)
    chip = f'#nvvm.target<O = 3, chip = "{target.chip}", features = "{features}">'
    return (
        f"{text[:start]}module attributes {{gpu.container_module}} {{\n"
        f"  gpu.module @{name} [{chip}] {{{body}}}\n}}\n"
    )


def _make_kernel(function: ir.Operation, stage: Stage) -> None:
    attributes = function.attributes
    attributes["nvvm.kernel"] = ir.UnitAttr.get()
    attributes["nvvm.reqntid"] = ir.DenseI32ArrayAttr.get([stage.block, 1, 1])
    if stage.resident:
        word = ir.IntegerType.get_signless(32)
        attributes["nvvm.minctasm"] = ir.IntegerAttr.get(word, stage.resident)
    if not stage.maps:
        return
    parameters = list(ir.ArrayAttr(attributes["arg_attrs"]))
    by_value = ir.DictAttr.get(
        {
            "llvm.byval": ir.TypeAttr.get(ir.Type.parse(f"!llvm.array<{MAP_BYTES} x i8>")),
            "llvm.align": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), MAP_ALIGNMENT),
            "nvvm.grid_constant": ir.UnitAttr.get(),
        }
    )
    parameters[-len(stage.maps) :] = [by_value] * len(stage.maps)
    attributes["arg_attrs"] = ir.ArrayAttr.get(parameters)


def lower_to_ptx(
    name: str, kernels: Mapping[str, GpuKernel], target: GpuTarget, *, bitcode: bool = False
) -> GpuModule:
    """Compiles kernels to PTX.

    Args:
        bitcode: also keep the optimised LLVM bitcode that the PTX was made from.

    Raises:
        CompileError: LLVM wrote no PTX for this target.
    """
    context = ir.make_gpu_context()
    llvm = lower_to_llvm(name, kernels, target, context)
    ptx = _serialized(llvm, context, "isa").rstrip(b"\0").decode()
    if f".target {target.chip}" not in ptx:
        raise CompileError(f"LLVM made no code for {target.chip} of the kernels in {name}")
    code = _serialized(llvm, context, "llvm") if bitcode else None
    return GpuModule(name, tuple(stages_of(kernels)), llvm, ptx, code)


def lower_to_bitcode(name: str, kernels: Mapping[str, GpuKernel], target: GpuTarget) -> bytes:
    """The optimised LLVM bitcode that the PTX of kernels is made from."""
    context = ir.make_gpu_context()
    return _serialized(lower_to_llvm(name, kernels, target, context), context, "llvm")


def _serialized(llvm: str, context: ir.Context, form: str) -> bytes:
    module = ir.parse_module(llvm, context)
    with context:
        ir.PassManager.parse(f"builtin.module(gpu-module-to-binary{{format={form}}})").run(
            module.operation
        )
    return gpu_objects.code_of(module)
