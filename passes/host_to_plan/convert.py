"""The host program as a launch plan: memrefs become slices, calls launches, loops device loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from hlo import ir
from hlo.diagnostics import CompileError
from hlo.gpu.plan import (
    ALIGNMENT,
    BufferSlice,
    Case,
    Constant,
    Copy,
    HostCall,
    Kernel,
    KernelModule,
    Launch,
    LaunchPlan,
    Loop,
    Step,
    TensorType,
    VendorCall,
)
from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel, LibraryCall, Stage
from hlo.passes.hlo_to_host.launch_ids import LAUNCH
from hlo.passes.hlo_to_host.program import HostProgram
from hlo.passes.lower_to_ptx.modules import GpuModule, named_stages, stages_around
from hlo.passes.memory.place import Arena, byte_size

COUNTER_BYTES = 4


@dataclass(frozen=True)
class PlanInputs:
    """What a plan is made of.

    Attributes:
        name: of the program.
        chip: what the modules are for.
        host: the host program; all its kernels are GPU kernels.
        placed: its module, placed.
    """

    name: str
    chip: str
    host: HostProgram
    placed: ir.Module
    arena: Arena
    modules: Sequence[GpuModule]


def host_to_plan(inputs: PlanInputs) -> LaunchPlan:
    """The launch plan of a placed host program."""
    host = inputs.host
    kernels = cast(Mapping[str, GpuKernel], host.kernels)
    module_of = {kernel: m.name for m in inputs.modules for kernel in m.kernels}
    main = next(
        op.operation
        for op in inputs.placed.body.operations
        if ir.attributes.string(op, "sym_name") == "main"
    )
    block = main.regions[0].blocks[0]
    reader = _Reader(kernels, len(host.constants))
    reader.name_arguments(block, host)
    steps = reader.steps(block)
    described = {
        function: Kernel(
            function, module_of[function], parameters, stage.written, stage.shared_bytes,
            (stage.block, 1, 1), stage.maps,
        )
        for name, kernel in kernels.items()
        for function, stage, parameters in _functions(name, kernel)
    }  # fmt: skip
    return LaunchPlan(
        target=inputs.chip,
        name=inputs.name,
        kernels=described,
        modules={m.name: KernelModule(m.name, m.ptx, m.bitcode) for m in inputs.modules},
        constants=(*map(_constant, host.constants), *reader.counters()),
        arena_bytes=inputs.arena.bytes,
        steps=steps,
        arguments=tuple(TensorType(tuple(s), name) for s, name in host.argument_types),
        results=tuple(TensorType(tuple(s), name) for s, name in host.result_types),
        aliases=tuple(sorted(host.donated.items())),
        arena_slices=tuple(
            (a.name, a.offset, a.size) for a in inputs.arena.allocations if a.lender is None
        ),
    )


def _functions(name: str, kernel: GpuKernel) -> list[tuple[str, Stage, int]]:
    """(function, stage, number of buffers) of all stages of a kernel."""
    buffers = len(kernel.inputs) + len(kernel.outputs) + len(kernel.scratch)
    own = buffers + len(kernel.counters)
    everything = buffers + (0 if kernel.library is None else len(kernel.library.scratch))
    before, after = stages_around(name, kernel)
    return [
        *((function, stage, own) for function, stage in named_stages(name, kernel).items()),
        *((function, stage, everything) for function, stage in {**before, **after}.items()),
    ]


def _constant(data: np.ndarray[Any, Any]) -> Constant:
    kind = TensorType(tuple(data.shape), ir.types.type_name(data.dtype))
    return Constant(kind, np.ascontiguousarray(data).tobytes())


@dataclass
class _Reader:
    """Reads blocks of the host program into steps.

    Attributes:
        slices: where each memref is.
        constants: how many the program has.
        parameters: where the arguments of @main are.
        loaded: for an integer read from memory, or made of one, the slice it was read from.
        counter_bytes: of the counters of all launches so far, each aligned.
    """

    kernels: Mapping[str, GpuKernel]
    constants: int
    slices: dict[ir.Value, BufferSlice] = field(default_factory=dict[ir.Value, BufferSlice])
    loaded: dict[ir.Value, BufferSlice] = field(default_factory=dict[ir.Value, BufferSlice])
    parameters: list[BufferSlice] = field(default_factory=list[BufferSlice])
    counter_bytes: int = 0

    def counters(self) -> list[Constant]:
        """The constant that all counters are in, if there are any: zero between launches."""
        if not self.counter_bytes:
            return []
        count = self.counter_bytes // COUNTER_BYTES
        return [Constant(TensorType((count,), "i32"), bytes(self.counter_bytes))]

    def _counters_of(self, kernel: GpuKernel) -> tuple[BufferSlice, ...]:
        """Counters for a launch of its own: launches may run side by side."""
        found: list[BufferSlice] = []
        for count in kernel.counters:
            size = COUNTER_BYTES * count
            found.append(BufferSlice("constant", self.constants, self.counter_bytes, size))
            self.counter_bytes += -(-size // ALIGNMENT) * ALIGNMENT
        return tuple(found)

    def name_arguments(self, block: ir.Block, host: HostProgram) -> None:
        """@main takes the arguments, the results, then the constants."""
        counts = (
            ("argument", len(host.argument_types)),
            ("result", len(host.result_types)),
            ("constant", len(host.constants)),
        )
        parameters = iter(block.arguments)
        for base, count in counts:
            for i in range(count):
                value = next(parameters)
                self.slices[value] = BufferSlice(base, i, 0, byte_size(value.type))  # pyright: ignore[reportArgumentType]
                self.parameters.append(self.slices[value])

    def steps(self, block: ir.Block) -> tuple[Step, ...]:
        found: list[Step] = []
        for op in block.operations:
            operation = op.operation
            handler = _HANDLERS.get(operation.name)
            if handler is None:
                raise CompileError(
                    "the host program may not hold this op here",
                    op=operation.name, location=str(operation.location),
                )  # fmt: skip
            found += handler(self, operation)
        return tuple(found)

    def alloc(self, op: ir.Operation) -> list[Step]:
        size = byte_size(op.results[0].type)
        offset = ir.attributes.integer(op, "hlo.offset")
        place = BufferSlice("arena", 0, offset, size)
        if "hlo.lender" in op.attributes:  # a result that is written later
            whole = self.parameters[ir.attributes.integer(op, "hlo.lender")]
            place = BufferSlice(whole.base, whole.index, offset, size)
        self.slices[op.results[0]] = place
        return []

    def part(self, op: ir.Operation) -> list[Step]:
        whole, kind = self.slices[op.operands[0]], ir.MemRefType(op.operands[0].type)
        item = byte_size(kind) // kind.shape[0]
        (start,), (count,) = (
            ir.attributes.ints(op, f"static_{name}") for name in ("offsets", "sizes")
        )
        at = whole.offset + start * item
        self.slices[op.results[0]] = BufferSlice(whole.base, whole.index, at, count * item)
        return []

    def same(self, op: ir.Operation) -> list[Step]:
        self.slices[op.results[0]] = self.slices[op.operands[0]]
        return []

    def copy(self, op: ir.Operation) -> list[Step]:
        source, target = (self.slices[v] for v in op.operands)
        return [Copy(target, source, ir.attributes.string(op, "hlo.reason", ""))]

    def load(self, op: ir.Operation) -> list[Step]:
        size = int(str(op.results[0].type).lstrip("i")) // 8
        whole = self.slices[op.operands[0]]
        self.loaded[op.results[0]] = BufferSlice(whole.base, whole.index, whole.offset, size)
        return []

    def derived(self, op: ir.Operation) -> list[Step]:
        """A comparison with zero or a cast: what is tested is the memory it came from."""
        self.loaded[op.results[0]] = self.loaded[op.operands[0]]
        return []

    def call(self, op: ir.Operation) -> list[Step]:
        name = ir.attributes.string(op, "callee")
        kernel = self.kernels[name]
        arguments = tuple(self.slices[v] for v in op.operands)
        source = str(op.location)
        source = "" if source == "loc(unknown)" else source
        if (host := kernel.host) is not None:
            reads, writes = (tuple(arguments[i] for i in p) for p in (host.operands, host.results))
            return [HostCall(host.name, reads, writes, host.parameters, source)]
        number = ir.attributes.integer(op, LAUNCH, -1)

        def launches(
            stages: Mapping[str, Stage], given: Sequence[BufferSlice]
        ) -> tuple[Launch, ...]:
            return tuple(
                Launch(
                    function, (stage.grid, 1, 1), (stage.block, 1, 1), tuple(given),
                    shared_bytes=stage.dynamic_bytes, source=source, number=number,
                )
                for function, stage in stages.items()
            )  # fmt: skip

        own = launches(named_stages(name, kernel), (*arguments, *self._counters_of(kernel)))
        if not _may_call(kernel, arguments):
            return list(own)
        call = kernel.library
        assert call is not None
        given = (*arguments, *_workspace(call))
        reads, writes = (tuple(given[i] for i in p) for p in (call.reads, call.writes))
        before, after = (launches(stages, given) for stages in stages_around(name, kernel))
        return [
            VendorCall(
                call.library, call.function, reads, writes, call.parameters, source, own, before,
                after,
            )
        ]  # fmt: skip

    def loop(self, op: ir.Operation) -> list[Step]:
        before, after = op.regions[0].blocks[0], op.regions[1].blocks[0]
        condition = self.steps(before)
        flag = list(before.operations)[-1].operation.operands[0]
        return [Loop(condition, self.loaded[flag], self.steps(after))]

    def branch(self, op: ir.Operation) -> list[Step]:
        then = self.steps(op.regions[0].blocks[0])
        otherwise = self.steps(op.regions[1].blocks[0]) if len(op.regions[1].blocks) else ()
        return [Case(self.loaded[op.operands[0]], (otherwise, then))]

    def switch(self, op: ir.Operation) -> list[Step]:
        default, *cases = op.regions
        branches = tuple(self.steps(r.blocks[0]) for r in (*cases, default))
        return [Case(self.loaded[op.operands[0]], branches)]


def _workspace(call: LibraryCall) -> list[BufferSlice]:
    """Where the buffers are that only a call works in."""
    found: list[BufferSlice] = []
    start = 0
    for elements, kind in call.scratch:
        size = elements * kind.parts * kind.memory_bytes
        found.append(BufferSlice("workspace", 0, start, size))
        start += -(-size // ALIGNMENT) * ALIGNMENT
    return found


def _may_call(kernel: GpuKernel, arguments: Sequence[BufferSlice]) -> bool:
    """Whether a vendor's library may stand for a kernel: it may not write the inputs' memory."""
    call = kernel.library
    if call is None:
        return False
    inputs, given = arguments[: len(kernel.inputs)], (*arguments, *_workspace(call))
    return not any(read.overlaps(given[i]) for read in inputs for i in call.writes)


def _nothing(_: _Reader, __: ir.Operation) -> list[Step]:
    return []


_HANDLERS: dict[str, Callable[[_Reader, ir.Operation], list[Step]]] = {
    "memref.alloc": _Reader.alloc,
    "memref.subview": _Reader.part,
    "builtin.unrealized_conversion_cast": _Reader.same,
    "memref.copy": _Reader.copy,
    "memref.load": _Reader.load,
    "arith.constant": _nothing,
    "arith.cmpi": _Reader.derived,
    "arith.index_cast": _Reader.derived,
    "func.call": _Reader.call,
    "scf.while": _Reader.loop,
    "scf.if": _Reader.branch,
    "scf.index_switch": _Reader.switch,
    "scf.condition": _nothing,
    "scf.yield": _nothing,
    "func.return": _nothing,
}
