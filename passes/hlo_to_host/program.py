"""The host program of a module: its text on memrefs, its kernels, its constants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hlo import ir
from hlo.diagnostics import UnsupportedError
from hlo.executable import runtime
from hlo.passes.cost.machine import HOST
from hlo.passes.hlo_to_host.bufferize import Bufferizer
from hlo.passes.hlo_to_host.host_text import HostText, Storage
from hlo.passes.hlo_to_host.kernel_table import KernelTable, KnownKernels
from hlo.passes.hlo_to_loops.graph import Node, Region, reading
from hlo.passes.hlo_to_loops.kernel_function import Kernel
from hlo.passes.hlo_to_loops.kernels import emit_kernel
from hlo.passes.hlo_to_loops.stack import stack_bytes


@dataclass
class HostProgram:
    """What `hlo_to_host` gives.

    Attributes:
        text: an MLIR module: `@main` on memrefs (arguments, results, constants), its kernels
            declared.
        kernels: by name.
        constants: contents of the constant arguments of @main.
        argument_types, result_types: (shape, MLIR element type) of the program's signature.
        donated: result index -> argument index whose memory it reuses.
        copies: copies inserted, each with its reason.
    """

    text: str
    kernels: dict[str, Kernel]
    constants: list[np.ndarray[Any, Any]]
    argument_types: list[tuple[tuple[int, ...], str]]
    result_types: list[tuple[tuple[int, ...], str]]
    donated: dict[int, int]
    copies: list[str] = field(default_factory=list[str])


def hlo_to_host(
    module: ir.Module,
    donated: Sequence[int] = (),
    emit: Callable[[Region], Kernel] = emit_kernel,
    announce: Callable[[str, Kernel], None] | None = None,
    known: KnownKernels | None = None,
) -> HostProgram:
    """Bufferizes the entry `@main` of a legalized module.

    Args:
        module: one function `main`, in the core op set, static shapes.
        donated: arguments whose memory the program may overwrite, besides those marked
            `tf.aliasing_output` or `jax.buffer_donor`.
        emit: makes the kernel of a region, for the target.
        announce: told of each kernel, with its name, as soon as it is made.
        known: kernels that `emit` made for other programs.
    """
    function = entry_of(module)
    with reading(function.regions[0].blocks[0]) as region:
        return _host_program(function, region, donated, emit, KernelTable(announce, known))


def _host_program(
    function: ir.Operation,
    region: Region,
    donated: Sequence[int],
    emit: Callable[[Region], Kernel],
    table: KernelTable,
) -> HostProgram:
    arguments = [Storage(f"%arg{i}", t.size, t.type) for i, t in enumerate(region.arguments)]
    results = [
        Storage(f"%res{i}", t.size, t.type, owned=True) for i, t in enumerate(region.results)
    ]
    aliases = results_in_arguments(function, region, donated)
    for result, argument in aliases.items():
        results[result] = arguments[argument]
        arguments[argument].owned = True
    constants: list[np.ndarray[Any, Any]] = []
    storages: list[Storage] = []

    def constant(node: Node) -> Storage:
        tensor = node.results[0]
        constants.append(ir.constants.to_numpy(node.source.attributes["value"]))
        storages.append(Storage(f"%const{len(storages)}", tensor.size, tensor.type))
        return storages[-1]

    text = HostText()
    bufferizer = Bufferizer(text, table, constant, emit)
    bufferizer.entry(region, arguments, results)
    parameters = [f"{s.name}: {s.memref}" for s in arguments]
    parameters += [f"%res{i}: {s.memref}" for i, s in enumerate(results)]
    parameters += [f"{s.name}: {s.memref}" for s in storages]
    lines = [_declaration(name, kernel) for name, kernel in table.kernels.items()]
    own = [len(arguments) + i for i in range(len(results)) if i not in aliases]
    marks = (
        f"attributes {{hlo.results = array<i64{': ' if own else ''}{', '.join(map(str, own))}>}} "
    )
    lines.append(f"  func.func @main({', '.join(parameters)}) {marks}{{")
    lines += [*text.lines, "    return", "  }"]
    return HostProgram(
        text="module {\n" + "\n".join(lines) + "\n}\n",
        kernels=table.kernels,
        constants=constants,
        argument_types=[(t.shape, t.type.name) for t in region.arguments],
        result_types=[(t.shape, t.type.name) for t in region.results],
        donated=aliases,
        copies=bufferizer.copies,
    )


def entry_of(module: ir.Module) -> ir.Operation:
    """The function `main` or the only public one; raises UnsupportedError if there is none."""
    functions = [
        op.operation
        for op in module.body.operations
        if op.operation.name == "func.func" and op.operation.regions[0].blocks
    ]
    for function in functions:
        if ir.attributes.string(function, "sym_name") == "main":
            return function
    if len(functions) == 1:
        return functions[0]
    raise UnsupportedError("the module has no function @main with a body to compile")


def mark_donated(module: ir.Module, donated: Sequence[int]) -> None:
    """Marks arguments of the entry as `jax.buffer_donor`, for the passes that look ahead."""
    if not donated:
        return
    function = entry_of(module)
    count = len(function.regions[0].blocks[0].arguments)
    given = [index for index in donated if index < count]
    marks: list[dict[str, ir.Attribute]] = [{} for _ in range(count)]
    if "arg_attrs" in function.attributes:
        present = ir.ArrayAttr(function.attributes["arg_attrs"])
        marks = [{entry.name: entry.attr for entry in ir.DictAttr(a)} for a in present]
    with module.context:
        for index in given:
            if "tf.aliasing_output" not in marks[index]:
                marks[index]["jax.buffer_donor"] = ir.BoolAttr.get(True)
        function.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(m) for m in marks])


def results_in_arguments(
    function: ir.Operation, region: Region, donated: Sequence[int] = ()
) -> dict[int, int]:
    """Result -> donated argument: as marked, else the first donated one of the same type."""
    marks: list[ir.DictAttr | dict[str, ir.Attribute]] = [{} for _ in region.arguments]
    if "arg_attrs" in function.attributes:
        marks = [ir.DictAttr(a) for a in ir.ArrayAttr(function.attributes["arg_attrs"])]
    aliases: dict[int, int] = {}
    waiting: list[int] = []
    for i, attributes in enumerate(marks):
        if "tf.aliasing_output" in attributes:
            aliases[ir.IntegerAttr(attributes["tf.aliasing_output"]).value] = i
        elif i in donated or "jax.buffer_donor" in attributes:
            waiting.append(i)
    for i in waiting:
        argument = region.arguments[i]
        for j, result in enumerate(region.results):
            if j not in aliases and (result.shape, result.type) == (argument.shape, argument.type):
                aliases[j] = i
                break
    return aliases


# Characters of a kernel's text, and its element operations, up to which a call of it counts.
INLINED_CHARACTERS = 8_000
INLINED_WORK = 2048
INLINED_STACK_BYTES = 4096
# Pieces of a kernel for each thread, fewer than which would leave some without work at the end.
PIECES = 8


def is_inlinable(kernel: Kernel) -> bool:
    """Whether a loop that calls a kernel may hold its body instead."""
    return (
        len(kernel.text) <= INLINED_CHARACTERS
        and kernel.work <= INLINED_WORK
        and not (kernel.runtime or kernel.head or kernel.tail)
        and stack_bytes(kernel.text) <= INLINED_STACK_BYTES
    )


def _declaration(name: str, kernel: Kernel) -> str:
    types = [*kernel.inputs, *kernel.outputs]
    types += [f"memref<{n * t.parts}x{t.memory}>" for n, t in kernel.scratch]
    units = kernel.units - kernel.head - kernel.tail
    most = min(units, max(units // kernel.together, PIECES * runtime.hardware_threads()))
    pieces = max(1, min(most, HOST.pieces(kernel.seconds)))
    grain = max(1, -(-units // pieces)) if pieces > 1 else max(kernel.units, 1)
    attributes = f"hlo.units = {kernel.units} : i64, hlo.grain = {grain} : i64"
    for key, count in (("head", kernel.head), ("tail", kernel.tail)):
        attributes += f", hlo.{key} = {count} : i64" if count else ""
    if kernel.runtime:
        attributes += ", hlo.runtime"
    if grain >= units and is_inlinable(kernel):
        size = len(kernel.text)
        attributes += f", hlo.inline = {size} : i64, hlo.inputs = {len(kernel.inputs)} : i64"
    return f"  func.func private @{name}({', '.join(types)}) attributes {{{attributes}}}"
