"""Kernels and the host entry as modules in the llvm dialect."""

from __future__ import annotations

from collections.abc import Mapping

from hlo import ir
from hlo.passes.hlo_to_loops.loop_kernel import Kernel

KERNEL_PIPELINE = (
    "builtin.module(convert-scf-to-cf,convert-vector-to-llvm,"
    "convert-func-to-llvm{use-bare-ptr-memref-call-conv=true},convert-to-llvm,reconcile-unrealized-casts)"
)
# What a flat memref is in the llvm dialect.
DESCRIPTOR = "!llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>"
HOST_PIPELINE = "builtin.module(convert-scf-to-cf,convert-to-llvm,reconcile-unrealized-casts)"


def kernels_text(kernels: Mapping[str, Kernel]) -> str:
    """A module of kernels, each with `NAME__packed`, of the runtime's calling convention."""
    declarations = dict.fromkeys(d for kernel in kernels.values() for d in kernel.declarations)
    functions = [
        kernel.text.replace("@NAME", f"@{name}") + _packed(name, kernel)
        for name, kernel in kernels.items()
    ]
    return "module {\n" + "\n".join(declarations) + "\n" + "\n".join(functions) + "}\n"


def _packed(name: str, kernel: Kernel) -> str:
    """`void NAME__packed(void** args, int64_t begin, int64_t end)`."""
    memrefs = [*kernel.inputs, *kernel.outputs]
    memrefs += [f"memref<{n * t.parts}x{t.memory}>" for n, t in kernel.scratch]
    lines: list[str] = []
    names: list[str] = []
    for i, memref in enumerate(memrefs):
        lines += [
            f"  %s{i} = llvm.getelementptr %args[{i}] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr",
            f"  %p{i} = llvm.load %s{i} : !llvm.ptr -> !llvm.ptr",
            f"  %d{i} = llvm.insertvalue %p{i}, %undef[1] : {DESCRIPTOR}",
            f"  %m{i} = builtin.unrealized_conversion_cast %d{i} : {DESCRIPTOR} to {memref}",
        ]
        names.append(f"%m{i}")
    if memrefs:
        lines.insert(
            0,
            f"  %undef = llvm.mlir.poison : {DESCRIPTOR}",
        )
    types = list(memrefs)
    if kernel.runtime:
        i = len(memrefs)
        lines += [
            f"  %s{i} = llvm.getelementptr %args[{i}] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr",
            f"  %p{i} = llvm.load %s{i} : !llvm.ptr -> !llvm.ptr",
        ]
        names.append(f"%p{i}")
        types.append("!llvm.ptr")
    lines += [
        "  %b = arith.index_cast %begin : i64 to index",
        "  %e = arith.index_cast %end : i64 to index",
        f"  func.call @{name}({', '.join([*names, '%b', '%e'])}) : "
        f"({', '.join([*types, 'index', 'index'])}) -> ()",
        "  return",
    ]
    return (
        f"func.func @{name}__packed(%args: !llvm.ptr, %begin: i64, %end: i64) {{\n"
        + "\n".join(lines)
        + "\n}\n"
    )


def lower(text: str, pipeline: str, context: ir.Context) -> ir.Module:
    """Parses a module and runs a conversion pipeline over it."""
    module = ir.parse_module(text, context)
    with context:
        manager = ir.PassManager.parse(pipeline)
        manager.enable_verifier(False)
        manager.run(module.operation)
    return module
