"""Kernels and the host entry as modules in the llvm dialect."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from hlo import ir
from hlo.passes.hlo_to_loops.kernel_function import Kernel
from hlo.passes.lower_to_llvm.kernel_text import descriptors, parts_of, split_parameters
from hlo.passes.lower_to_llvm.merged_entry import with_called_once

# Kernels hold no vector op that takes another pass: convert-vector-to-llvm would cost a twelfth of
# all machine code.
KERNEL_PIPELINE = (
    "builtin.module(convert-scf-to-cf,"
    "convert-func-to-llvm{use-bare-ptr-memref-call-conv=true},convert-to-llvm,reconcile-unrealized-casts)"
)
HOST_PIPELINE = "builtin.module(convert-scf-to-cf,convert-to-llvm,reconcile-unrealized-casts)"

# A kernel of what most kernels hold.
WARM_UP = """module {
func.func @warm_up(%in: memref<64xf32>, %out: memref<64xf32>, %begin: index, %end: index) {
  %step = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %sum = scf.for %i = %begin to %end step %step iter_args(%before = %zero) -> (vector<16xf32>) {
    %x = vector.load %in[%i] : memref<64xf32>, vector<16xf32>
    %positive = arith.cmpf ogt, %x, %zero : vector<16xf32>
    %y = arith.select %positive, %x, %before : vector<16xi1>, vector<16xf32>
    %z = math.fma %x, %y, %before : vector<16xf32>
    vector.store %z, %out[%i] : memref<64xf32>, vector<16xf32>
    scf.yield %z : vector<16xf32>
  }
  %total = vector.reduction <add>, %sum : vector<16xf32> into f32
  memref.store %total, %out[%begin] : memref<64xf32>
  return
}
}
"""


def program_text(entry: str, kernels: Mapping[str, Kernel]) -> str | None:
    """The entry and its kernels as one module, to go through `KERNEL_PIPELINE`.

    Args:
        entry: module of the entry, as `host_to_llvm` gives it.

    Returns:
        None if a kernel cannot be in a module with its caller.
    """
    called = set(_CALLED_KERNEL.findall(entry))
    entry, merged = with_called_once(entry, kernels)
    called.difference_update(merged)
    functions = {name: _merged(name, k) for name, k in kernels.items() if name in called}
    if None in functions.values():
        return None
    lines = [line for line in entry.splitlines() if not _DECLARED_KERNEL.match(line)]
    inlined = _inlined_in(entry, kernels)
    texts = [*map(str, functions.values()), *(_inlined(n, k, n in called) for n, k in inlined)]
    return _completed(lines, kernels.values(), texts)


def entry_text(entry: str, kernels: Mapping[str, Kernel]) -> str:
    """The entry and the kernels that it inlines as one module; other kernels stay declared.

    It goes through `KERNEL_PIPELINE` if there are any, else through `HOST_PIPELINE`.
    """
    inlined = _inlined_in(entry, kernels)
    if not inlined:
        return entry
    texts = [_inlined(name, kernel) for name, kernel in inlined]
    return _completed(entry.splitlines(), [kernel for _, kernel in inlined], texts)


def _inlined_in(entry: str, kernels: Mapping[str, Kernel]) -> list[tuple[str, Kernel]]:
    return [(name, kernels[name]) for name in dict.fromkeys(_INLINED_KERNEL.findall(entry))]


def _completed(lines: Sequence[str], kernels: Iterable[Kernel], functions: Sequence[str]) -> str:
    """The lines of a module and functions in it, with what kernels want declared, once each."""
    present = {line.strip() for line in lines}
    wanted = dict.fromkeys(d for kernel in kernels for d in kernel.declarations)
    declarations = [d for d in wanted if d.strip() not in present]
    return "\n".join([lines[0], *declarations, *functions, *lines[1:]])


_DECLARED_KERNEL = re.compile(r"\s*llvm\.func @\w+__packed\(!llvm\.ptr, i64, i64\)\s*$")
_CALLED_KERNEL = re.compile(r"@(\w+)__packed(?!\(!)")
_INLINED_KERNEL = re.compile(r"llvm\.call @(\w+)__inlined\(")


def kernels_text(kernels: Mapping[str, Kernel], *, merged: bool = False) -> str:
    """A module of kernels, each with `NAME__packed`, of the runtime's calling convention.

    Args:
        merged: whether the packed function should hold the kernel's body, where it can, instead of
            calling it: half as many functions are compiled in seven eighths of the time.
    """
    declarations = dict.fromkeys(d for kernel in kernels.values() for d in kernel.declarations)
    functions = [
        (merged and _merged(name, kernel))
        or kernel.text.replace("@NAME", f"@{name}") + _packed(name, kernel)
        for name, kernel in kernels.items()
    ]
    return "module {\n" + "\n".join(declarations) + "\n" + "\n".join(functions) + "}\n"


def _merged(name: str, kernel: Kernel) -> str | None:
    """The kernel with the packed calling convention; None if it must keep its own."""
    parts = parts_of(kernel)
    if parts is None:
        return None
    pointers, (begin, end), own, behind = parts
    lines = _loads([kind for _, kind in pointers], [value for value, _ in pointers])
    lines += [
        f"  {begin} = arith.index_cast %packed_begin : i64 to index",
        f"  {end} = arith.index_cast %packed_end : i64 to index",
    ]
    start = f"llvm.func @{name}__packed(%args: !llvm.ptr, %packed_begin: i64, %packed_end: i64) {{"
    whole = "\n".join([start, *lines, own, "  llvm.return\n}\n"]) + behind
    return whole.replace("@NAME", f"@{name}")


def _inlined(name: str, kernel: Kernel, has_functions: bool = False) -> str:
    """`void NAME__inlined(ptr...)`, all work units of the kernel, to be inlined where it is called.

    Args:
        has_functions: whether the module has what the kernel calls already.
    """
    types = _types(kernel)
    parameters = ", ".join(f"%packed_p{i}: !llvm.ptr" for i in range(len(types)))
    start = f"llvm.func internal @{name}__inlined({parameters}) attributes {{always_inline}} {{"
    parts = parts_of(kernel)
    if parts is None:
        names = [f"%m{i}" for i in range(len(types))]
        bounds, own = ("%b", "%e"), _call(name, [*names, "%b", "%e"], types)
        behind = kernel.text.replace("func.func @NAME(", "func.func private @NAME(", 1)
    else:
        pointers, bounds, own, behind = parts
        names = [value for value, _ in pointers]
    behind = "" if has_functions else behind
    lines = [
        *descriptors(types, names),
        f"  {bounds[0]} = arith.constant 0 : index",
        f"  {bounds[1]} = arith.constant {kernel.units} : index",
    ]
    whole = "\n".join([start, *lines, own, "  llvm.return\n}\n"]) + behind
    return whole.replace("@NAME", f"@{name}")


# Of a kernel whose parameters have types alone.
_PARAMETERS = re.compile(r"\n?func\.func @NAME\((?P<parameters>[^{}()]*)\)")


def _types(kernel: Kernel) -> list[str]:
    """Types of the buffers that a kernel's function takes.

    They may be others than the host program's: integers, where elements are but moved.
    """
    if (header := _PARAMETERS.match(kernel.text)) is not None:
        return [kind for _, kind in split_parameters(header["parameters"])[:-2]]
    scratch = [f"memref<{n * t.parts}x{t.memory}>" for n, t in kernel.scratch]
    return [*kernel.inputs, *kernel.outputs, *scratch, *["!llvm.ptr"] * kernel.runtime]


def _call(name: str, operands: Sequence[str], types: Sequence[str]) -> str:
    kinds = ", ".join([*types, "index", "index"])
    return f"  func.call @{name}({', '.join(operands)}) : ({kinds}) -> ()"


def _packed(name: str, kernel: Kernel) -> str:
    """`void NAME__packed(void** args, int64_t begin, int64_t end)`, which calls the kernel."""
    types = _types(kernel)
    names = [f"%m{i}" for i in range(len(types))]
    lines = _loads(types, names)
    lines += [
        "  %b = arith.index_cast %begin : i64 to index",
        "  %e = arith.index_cast %end : i64 to index",
        _call(name, [*names, "%b", "%e"], types),
        "  return",
    ]
    return (
        f"func.func @{name}__packed(%args: !llvm.ptr, %begin: i64, %end: i64) {{\n"
        + "\n".join(lines)
        + "\n}\n"
    )


def _loads(types: Sequence[str], names: Sequence[str]) -> list[str]:
    """Defines `names` as the pointers in the array `%args`, as what `types` says."""
    lines: list[str] = []
    for i, (kind, name) in enumerate(zip(types, names, strict=True)):
        pointer = name if kind == "!llvm.ptr" else f"%packed_p{i}"
        lines += [
            f"  %packed_s{i} = llvm.getelementptr %args[{i}] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr",
            f"  {pointer} = llvm.load %packed_s{i} : !llvm.ptr -> !llvm.ptr",
        ]
    return [*lines, *descriptors(types, names)]


def lower(text: str, pipeline: str, context: ir.Context) -> ir.Module:
    """Parses a module and runs a conversion pipeline over it."""
    module = ir.parse_module(text, context)
    with context:
        manager = ir.PassManager.parse(pipeline)
        manager.enable_verifier(False)
        manager.run(module.operation)
    return module
