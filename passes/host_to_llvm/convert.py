"""host-to-llvm: the entry `hlo_main(frame)` of runtime/kernel_abi.h as llvm, scf and arith text.

Buffers become pointers: arguments, results and constants from the call frame, the rest at their
offsets in the arena or in the memory of a result. A kernel call fills an array of pointers and
either calls the kernel over all its work units or hands it to the runtime's thread pool. Small
kernels of loops are called as functions that LLVM inlines, `NAME__inlined`; see `local_buffers`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hlo import ir
from hlo.diagnostics import CompileError
from hlo.passes.host_to_llvm.local_buffers import LocalBuffers, local_buffers
from hlo.passes.memory.place import ALIGNMENT, byte_size

# Field offsets of HloCallFrame.
ARGS, RESULTS, ARENA, RUNTIME, CONSTANTS = 8, 16, 24, 32, 40


@dataclass(frozen=True)
class Signature:
    """How many arguments, results and constants @main takes, in that order.

    Attributes:
        timed: whether every kernel call and copy adds its nanoseconds, and one, to a pair of i64:
            there is one constant more then, an array of a pair for each of them in program order.
        contents: bytes of the constants as far as they are known: small ones of loops are code.
    """

    arguments: int
    results: int
    constants: int
    timed: bool = False
    contents: tuple[bytes, ...] = ()


@dataclass
class _Writer:
    lines: list[str] = field(default_factory=list[str])
    names: dict[ir.Value, str] = field(default_factory=dict[ir.Value, str])
    indent: str = "    "
    count: int = 0
    constants: dict[tuple[int, str], str] = field(default_factory=dict[tuple[int, str], str])
    entry: list[str] = field(default_factory=list[str])
    parameters: list[str] = field(default_factory=list[str])  # pointers of the arguments of @main
    moving: set[str] = field(default_factory=set[str])  # pointers that are made where they are used
    timed: bool = False
    steps: int = 0  # calls and copies so far
    local: LocalBuffers = field(default_factory=LocalBuffers)
    leaving: list[str] = field(default_factory=list[str])  # what is done last
    globals: list[str] = field(default_factory=list[str])

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def line(self, text: str) -> None:
        self.lines.append(self.indent + text)

    def value(self, text: str) -> str:
        name = self.fresh()
        self.line(f"{name} = {text}")
        return name

    def constant(self, value: int, kind: str) -> str:
        """A constant, defined once at the entry."""
        known = self.constants.get((value, kind))
        if known is None:
            known = self.constants[value, kind] = self.fresh()
            self.entry.append(f"    {known} = llvm.mlir.constant({value} : {kind}) : {kind}")
        return known


def host_to_llvm(module: ir.Module, signature: Signature) -> str:
    """Text of the module that holds `hlo_main`; kernels are declared, resolved when loaded.

    Functions `NAME__inlined` are not: what they hold is put into the module by `lower_to_llvm`.
    """
    functions = {
        ir.attributes.string(op, "sym_name"): op.operation for op in module.body.operations
    }
    main = functions.pop("main")
    w = _Writer(timed=signature.timed)
    block = main.regions[0].blocks[0]
    if not signature.timed:
        w.local = local_buffers(main, functions)
    _frame(w, block, signature)
    slots = max((_parameters(f) + 1 for f in functions.values()), default=1)
    size = w.constant(slots, "i64")
    w.entry.append(f"    %slots = llvm.alloca {size} x !llvm.ptr : (i64) -> !llvm.ptr")
    for i in range(slots):
        w.entry.append(
            f"    %slot{i} = llvm.getelementptr %slots[{i}] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr"
        )
    _block(w, block, functions)
    zero = w.constant(0, "i32")
    declarations = [
        "  llvm.func @hlo_rt_parallel_for(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64)",
        *(f"  llvm.func @{name}__packed(!llvm.ptr, i64, i64)" for name in functions),
    ]
    if signature.timed:
        declarations.append("  llvm.func @hlo_rt_now() -> i64")
    declarations += w.globals
    body = [*w.entry, *w.lines, *w.leaving, f"    return {zero} : i32"]
    return (
        "module {\n"
        + "\n".join(declarations)
        + "\n  func.func @hlo_main(%frame: !llvm.ptr) -> i32  {\n"
        + "\n".join(body)
        + "\n  }\n}\n"
    )


def _frame(w: _Writer, block: ir.Block, signature: Signature) -> None:
    """Loads the pointers of the call frame."""

    def field_of(offset: int, name: str) -> None:
        w.entry.append(
            f"    %{name}_at = llvm.getelementptr %frame[{offset}] : (!llvm.ptr) -> !llvm.ptr, i8"
        )
        w.entry.append(f"    %{name} = llvm.load %{name}_at : !llvm.ptr -> !llvm.ptr")

    frame = [
        (ARGS, "args"),
        (RESULTS, "results"),
        (ARENA, "arena"),
        (RUNTIME, "runtime"),
        (CONSTANTS, "constants"),
    ]
    for offset, name in frame:
        field_of(offset, name)
    tables = (
        ["args"] * signature.arguments
        + ["results"] * signature.results
        + ["constants"] * signature.constants
    )
    seen: dict[str, int] = {}
    for argument, table in zip(block.arguments, tables, strict=True):
        k = seen.get(table, 0)
        seen[table] = k + 1
        name = f"%{table}_{k}"
        w.entry.append(
            f"    {name}_at = llvm.getelementptr %{table}[{k}] : "
            "(!llvm.ptr) -> !llvm.ptr, !llvm.ptr"
        )
        w.entry.append(f"    {name} = llvm.load {name}_at : !llvm.ptr -> !llvm.ptr")
        w.names[argument] = name
        w.parameters.append(name)
        if argument not in w.local.stack:
            continue
        if table == "constants" and signature.contents:
            name = _global(w, signature.contents[k])
        _argument_on_stack(w, argument, name, has_content=table != "results")
    if signature.timed:
        w.entry.append(
            f"    %times_at = llvm.getelementptr %constants[{signature.constants}] : "
            "(!llvm.ptr) -> !llvm.ptr, !llvm.ptr"
        )
        w.entry.append("    %times = llvm.load %times_at : !llvm.ptr -> !llvm.ptr")


def _argument_on_stack(w: _Writer, argument: ir.Value, pointer: str, *, has_content: bool) -> None:
    """Gives an argument of @main a place on the stack; what is written there is copied back."""
    place = w.names[argument] = _on_stack(w, argument)
    size = byte_size(argument.type)
    if has_content:
        w.entry.append("    " + _memcpy(place, pointer, w.constant(size, "i64")))
    if argument in w.local.written:
        w.leaving.append("    " + _memcpy(pointer, place, w.constant(size, "i64")))


def _global(w: _Writer, content: bytes) -> str:
    """A pointer to constant bytes in the module."""
    symbol = f"@content_{len(w.globals)}"
    text = "".join(f"\\{byte:02X}" for byte in content)
    w.globals.append(
        f'  llvm.mlir.global private constant {symbol}("{text}") {{alignment = {ALIGNMENT} : i64}}'
        f" : !llvm.array<{len(content)} x i8>"
    )
    name = w.fresh()
    w.entry.append(f"    {name} = llvm.mlir.addressof {symbol} : !llvm.ptr")
    return name


def _on_stack(w: _Writer, buffer: ir.Value) -> str:
    """A place on the stack for a buffer, aligned as in the arena."""
    name, size = w.fresh(), w.constant(byte_size(buffer.type), "i64")
    w.entry.append(
        f"    {name} = llvm.alloca {size} x i8 {{alignment = {ALIGNMENT} : i64}} : "
        "(i64) -> !llvm.ptr"
    )
    return name


def _memcpy(target: str, source: str, size: str) -> str:
    return (
        f'"llvm.intr.memcpy"({target}, {source}, {size}) <{{isVolatile = false}}> : '
        "(!llvm.ptr, !llvm.ptr, i64) -> ()"
    )


Functions = dict[str, ir.Operation]
Handler = Callable[["_Writer", ir.Operation, Functions], None]


def _timed(handler: Handler) -> Handler:
    """The handler, with the time between its begin and its end added up where that is wanted."""

    def with_clock(w: _Writer, op: ir.Operation, functions: Functions) -> None:
        if not w.timed:
            handler(w, op, functions)
            return
        start = w.value("llvm.call @hlo_rt_now() : () -> i64")
        handler(w, op, functions)
        end = w.value("llvm.call @hlo_rt_now() : () -> i64")
        _add_to(w, 2 * w.steps, w.value(f"llvm.sub {end}, {start} : i64"))
        _add_to(w, 2 * w.steps + 1, w.constant(1, "i64"))
        w.steps += 1

    return with_clock


def _add_to(w: _Writer, index: int, amount: str) -> None:
    """Adds to one of the numbers behind %times."""
    at = w.value(f"llvm.getelementptr %times[{index}] : (!llvm.ptr) -> !llvm.ptr, i64")
    before = w.value(f"llvm.load {at} : !llvm.ptr -> i64")
    w.line(f"llvm.store {w.value(f'llvm.add {before}, {amount} : i64')}, {at} : i64, !llvm.ptr")


def _parameters(function: ir.Operation) -> int:
    kind = ir.TypeAttr(function.attributes["function_type"]).value
    return len(ir.FunctionType(kind).inputs)


def _block(w: _Writer, block: ir.Block, functions: Functions) -> None:
    for operation in ir.operations_of(block):
        handler = _HANDLERS.get(operation.name)
        if handler is None:
            raise CompileError(
                "the host program may not hold this op here",
                op=operation.name,
                location=str(operation.location),
            )
        handler(w, operation, functions)


def _alloc(w: _Writer, op: ir.Operation, _: Functions) -> None:
    if op.results[0] in w.local.stack:
        w.names[op.results[0]] = _on_stack(w, op.results[0])
        return
    offset = ir.attributes.integer(op, "hlo.offset")
    memory = "%arena"
    if "hlo.lender" in op.attributes:  # a result that is written later
        memory = w.parameters[ir.attributes.integer(op, "hlo.lender")]
    at = w.constant(offset, "i64")
    name = w.fresh()
    w.entry.append(
        f"    {name} = llvm.getelementptr {memory}[{at}] : (!llvm.ptr, i64) -> !llvm.ptr, i8"
    )
    w.names[op.results[0]] = name


def _part(w: _Writer, op: ir.Operation, _: Functions) -> None:
    (start,) = ir.attributes.ints(op, "static_offsets")
    kind = ir.MemRefType(op.operands[0].type)
    item = byte_size(kind) // kind.shape[0]
    base = w.names[op.operands[0]]
    if len(op.operands) > 1:
        place = w.value(f"arith.index_cast {w.names[op.operands[1]]} : index to i64")
        at = w.value(f"llvm.mul {place}, {w.constant(item, 'i64')} : i64")
        name = w.value(f"llvm.getelementptr {base}[{at}] : (!llvm.ptr, i64) -> !llvm.ptr, i8")
    elif base in w.moving:
        at = w.constant(start * item, "i64")
        name = w.value(f"llvm.getelementptr {base}[{at}] : (!llvm.ptr, i64) -> !llvm.ptr, i8")
    else:
        at, name = w.constant(start * item, "i64"), w.fresh()
        text = f"{name} = llvm.getelementptr {base}[{at}] : (!llvm.ptr, i64) -> !llvm.ptr, i8"
        w.entry.append(f"    {text}")
    if len(op.operands) > 1 or base in w.moving:
        w.moving.add(name)
    w.names[op.results[0]] = name


def _same(w: _Writer, op: ir.Operation, _: Functions) -> None:
    w.names[op.results[0]] = w.names[op.operands[0]]


_SHARED_COPY_BYTES = 8 << 20  # smaller ones are in caches, which one thread copies as fast
_COPY_FUNCTION = "  llvm.func @hlo_rt_copy(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64)"


def _copy(w: _Writer, op: ir.Operation, _: Functions) -> None:
    source, target = (w.names[v] for v in op.operands)
    count = byte_size(op.operands[0].type)
    size = w.constant(count, "i64")
    if count < _SHARED_COPY_BYTES:
        w.line(_memcpy(target, source, size))
        return
    if _COPY_FUNCTION not in w.globals:
        w.globals.append(_COPY_FUNCTION)
    w.line(
        f"llvm.call @hlo_rt_copy(%runtime, {target}, {source}, {size}) : "
        "(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()"
    )


def _load(w: _Writer, op: ir.Operation, _: Functions) -> None:
    w.names[op.results[0]] = w.value(
        f"llvm.load {w.names[op.operands[0]]} : !llvm.ptr -> {op.results[0].type}"
    )


def _constant(w: _Writer, op: ir.Operation, _: Functions) -> None:
    kind = str(op.results[0].type)
    value = ir.attributes.integer(op, "value")
    name = w.fresh()
    w.entry.append(f"    {name} = arith.constant {value} : {kind}")
    w.names[op.results[0]] = name


def _compare(w: _Writer, op: ir.Operation, _: Functions) -> None:
    left, right = (w.names[v] for v in op.operands)
    w.names[op.results[0]] = w.value(f"arith.cmpi ne, {left}, {right} : {op.operands[0].type}")


def _index_cast(w: _Writer, op: ir.Operation, _: Functions) -> None:
    kinds = f"{op.operands[0].type} to {op.results[0].type}"
    w.names[op.results[0]] = w.value(f"{op.name} {w.names[op.operands[0]]} : {kinds}")


def _index_arithmetic(w: _Writer, op: ir.Operation, _: Functions) -> None:
    left, right = (w.names[v] for v in op.operands)
    w.names[op.results[0]] = w.value(f"{op.name} {left}, {right} : {op.operands[0].type}")


def _call(w: _Writer, op: ir.Operation, functions: Functions) -> None:
    callee = ir.attributes.string(op, "callee")
    declaration = functions[callee]
    pointers = [w.names[v] for v in op.operands]
    if op in w.local.inlined:
        kinds = ", ".join(["!llvm.ptr"] * len(pointers))
        w.line(f"llvm.call @{callee}__inlined({', '.join(pointers)}) : ({kinds}) -> ()")
        return
    if "hlo.runtime" in declaration.attributes:
        pointers.append("%runtime")
    for i, pointer in enumerate(pointers):
        w.line(f"llvm.store {pointer}, %slot{i} : !llvm.ptr, !llvm.ptr")
    units, grain, head, tail = (
        ir.attributes.integer(declaration, f"hlo.{key}", 0)
        for key in ("units", "grain", "head", "tail")
    )
    parallel = units - head - tail
    if head:
        _serial(w, callee, parallel, parallel + head)
    if grain < parallel:
        total, least = w.constant(parallel, "i64"), w.constant(grain, "i64")
        kernel = w.value(f"llvm.mlir.addressof @{callee}__packed : !llvm.ptr")
        w.line(
            f"llvm.call @hlo_rt_parallel_for(%runtime, {kernel}, %slots, {total}, {least}) : "
            "(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> ()"
        )
    elif head or not tail:
        _serial(w, callee, 0, parallel)
    else:
        _serial(w, callee, 0, units)
        return
    if tail:
        _serial(w, callee, parallel + head, units)


def _serial(w: _Writer, callee: str, begin: int, end: int) -> None:
    """Work units of a kernel, done here."""
    first, last = w.constant(begin, "i64"), w.constant(end, "i64")
    w.line(f"llvm.call @{callee}__packed(%slots, {first}, {last}) : (!llvm.ptr, i64, i64) -> ()")


def _nested(w: _Writer, block: ir.Block, functions: Functions) -> None:
    saved, w.indent = w.indent, w.indent + "  "
    _block(w, block, functions)
    w.indent = saved


def _while(w: _Writer, op: ir.Operation, functions: Functions) -> None:
    w.line("scf.while : () -> () {")
    _nested(w, op.regions[0].blocks[0], functions)
    w.line("} do {")
    _nested(w, op.regions[1].blocks[0], functions)
    w.line("}")


def _if(w: _Writer, op: ir.Operation, functions: Functions) -> None:
    w.line(f"scf.if {w.names[op.operands[0]]} {{")
    _nested(w, op.regions[0].blocks[0], functions)
    if len(op.regions[1].blocks):
        w.line("} else {")
        _nested(w, op.regions[1].blocks[0], functions)
    w.line("}")


def _switch(w: _Writer, op: ir.Operation, functions: Functions) -> None:
    w.line(f"scf.index_switch {w.names[op.operands[0]]}")
    default, *cases = op.regions
    for value, region in zip(ir.attributes.ints(op, "cases"), cases, strict=True):
        w.line(f"case {value} {{")
        _nested(w, region.blocks[0], functions)
        w.line("}")
    w.line("default {")
    _nested(w, default.blocks[0], functions)
    w.line("}")


def _condition(w: _Writer, op: ir.Operation, _: Functions) -> None:
    w.line(f"scf.condition({w.names[op.operands[0]]})")


def _yield(w: _Writer, op: ir.Operation, _: Functions) -> None:
    w.line("scf.yield")


_HANDLERS: dict[str, Handler] = {
    "memref.alloc": _alloc,
    "memref.subview": _part,
    "builtin.unrealized_conversion_cast": _same,
    "memref.copy": _timed(_copy),
    "memref.load": _load,
    "arith.constant": _constant,
    "arith.cmpi": _compare,
    "arith.index_cast": _index_cast,
    "arith.index_castui": _index_cast,
    **{f"arith.{name}": _index_arithmetic for name in ("addi", "muli", "maxsi", "minui")},
    "func.call": _timed(_call),
    "scf.while": _while,
    "scf.if": _if,
    "scf.index_switch": _switch,
    "scf.condition": _condition,
    "scf.yield": _yield,
    "func.return": lambda _w, _op, _f: None,
}
