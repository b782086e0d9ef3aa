"""The text of a module of kernels becomes LLVM's own IR, PTX and bitcode.

What is here needs MLIR and little else of the package, since processes that do nothing but this are
started for it (`workers.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hlo import ir
from hlo.diagnostics import CompileError
from hlo.gpu.tensor_map import MAP_ALIGNMENT, MAP_BYTES
from hlo.ir import gpu_objects
from hlo.passes.hlo_to_gpu.target import GpuTarget

PIPELINE = (
    "builtin.module(convert-scf-to-cf,convert-vector-to-llvm{use-vector-alignment=true},"
    "convert-func-to-llvm{use-bare-ptr-memref-call-conv=true},convert-to-llvm,"
    "reconcile-unrealized-casts)"
)
PTX, BITCODE = "isa", "llvm"  # as `gpu-module-to-binary` calls them


@dataclass(frozen=True)
class KernelFunction:
    """A function that is launched.

    Attributes:
        text: a `func.func` of its name, after the globals that it uses.
        block: threads of a block.
        resident: blocks on a multiprocessor that registers must leave room for, or 0.
        maps: how many of its last parameters are tensor maps.
    """

    text: str
    block: int
    resident: int = 0
    maps: int = 0


@dataclass(frozen=True)
class ModuleSource:
    """A module that is to be compiled.

    Attributes:
        functions: by their names.
        forms: what is wanted of it: `PTX`, `BITCODE`.
    """

    name: str
    functions: dict[str, KernelFunction]
    target: GpuTarget
    forms: tuple[str, ...] = (PTX,)


def module_text(functions: Mapping[str, KernelFunction]) -> str:
    """A module of functions in scf, arith, math, memref, vector and nvvm."""
    return "module {\n" + "\n".join(f.text for f in functions.values()) + "}\n"


def llvm_text(source: ModuleSource, context: ir.Context) -> str:
    """A module as a `gpu.module` of the llvm dialect, for its target."""
    module = ir.parse_module(module_text(source.functions), context)
    with context, ir.Location.unknown():
        manager = ir.PassManager.parse(PIPELINE)
        manager.enable_verifier(False)
        manager.run(module.operation)
        for op in module.body.operations:
            if op.operation.name != "llvm.func":
                continue
            function = source.functions.get(ir.attributes.string(op, "sym_name"))
            if function is not None:
                _make_kernel(op.operation, function)
    # The conversion to branches leaves it as a foreign attribute, which no translation reads.
    text = str(module).replace("{llvm.loop_annotation =", "{loop_annotation =")
    start = text.index("module")  # what attributes are called stands ahead of it
    body = text[text.index("{", start) + 1 : text.rindex("}")]
    features = source.target.features_for(body)
    chip = f'#nvvm.target<O = 3, chip = "{source.target.chip}", features = "{features}">'
    return (
        f"{text[:start]}module attributes {{gpu.container_module}} {{\n"
        f"  gpu.module @{source.name} [{chip}] {{{body}}}\n}}\n"
    )


def _make_kernel(operation: ir.Operation, function: KernelFunction) -> None:
    attributes = operation.attributes
    attributes["nvvm.kernel"] = ir.UnitAttr.get()
    attributes["nvvm.reqntid"] = ir.DenseI32ArrayAttr.get([function.block, 1, 1])
    if function.resident:
        word = ir.IntegerType.get_signless(32)
        attributes["nvvm.minctasm"] = ir.IntegerAttr.get(word, function.resident)
    if not function.maps:
        return
    parameters = list(ir.ArrayAttr(attributes["arg_attrs"]))
    by_value = ir.DictAttr.get(
        {
            "llvm.byval": ir.TypeAttr.get(ir.Type.parse(f"!llvm.array<{MAP_BYTES} x i8>")),
            "llvm.align": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), MAP_ALIGNMENT),
            "nvvm.grid_constant": ir.UnitAttr.get(),
        }
    )
    parameters[-function.maps :] = [by_value] * function.maps
    attributes["arg_attrs"] = ir.ArrayAttr.get(parameters)


def compiled(source: ModuleSource) -> dict[str, bytes]:
    """The code of a module in each of the forms it is wanted in.

    LLVM ends the process if it meets what it cannot select instructions for.

    Raises:
        CompileError: the text is malformed, or LLVM wrote no code for the target.
    """
    context = ir.make_gpu_context()
    text = llvm_text(source, context)
    code = {form: _serialized(text, context, form) for form in source.forms}
    chip = source.target.chip
    if PTX in code and f".target {chip}".encode() not in code[PTX]:
        raise CompileError(f"LLVM made no code for {chip} of the kernels in {source.name}")
    return code


def _serialized(llvm: str, context: ir.Context, form: str) -> bytes:
    module = ir.parse_module(llvm, context, printed=True)
    with context:
        ir.PassManager.parse(f"builtin.module(gpu-module-to-binary{{format={form}}})").run(
            module.operation
        )
    return gpu_objects.code_of(module)
