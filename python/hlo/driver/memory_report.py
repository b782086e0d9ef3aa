"""`Compiled.memory_analysis()`: every buffer of a program, when it lives and where it lies."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hlo import ir
from hlo.diagnostics import CompileError
from hlo.driver.byte_text import byte_text
from hlo.driver.source_lines import GENERATED, short_source_line, source_line
from hlo.passes.hlo_to_host.program import HostProgram, entry_of
from hlo.passes.hlo_to_loops.stack import stack_bytes
from hlo.passes.memory.deallocate import VIEWS, Deallocate
from hlo.passes.memory.packing import Buffer, lower_bound
from hlo.passes.memory.place import Arena, Place, byte_size
from hlo.passes.memory.schedule import Decision


class DonationError(CompileError):
    """A donated argument whose memory no result takes over."""


@dataclass(frozen=True)
class EntryBuffer:
    """An argument or a result.

    Attributes:
        shares: index of the result that takes over the argument's memory, or of the argument whose
            memory the result is; None if its memory is its own.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    shares: int | None


@dataclass(frozen=True)
class ArenaBuffer:
    """An intermediate: live for steps [start, end), `bytes` bytes at `offset` of the arena.

    `result` is the result in whose memory it lies instead, at `offset`; None for the arena.
    """

    name: str
    location: str
    bytes: int
    start: int
    end: int
    offset: int
    result: int | None = None


@dataclass(frozen=True)
class CopyReport:
    """A copy that the program makes at a step, and why it cannot do without."""

    step: int
    bytes: int
    source: str
    target: str
    reason: str


@dataclass(frozen=True)
class UnusedDonation:
    """A donated argument that no result takes the memory of."""

    argument: int
    reason: str


@dataclass(frozen=True)
class MemoryAnalysis:
    """The memory of one run of a program, in bytes.

    Attributes:
        arguments, results: in the order of the signature.
        buffers: intermediates, in the order of their offsets.
        copies: in program order.
        unused_donations: donated arguments that no result takes over.
        steps: what the host program does at each step from 1 on; empty for bookkeeping.
        arena_bytes: height of the arena.
        floor_bytes: most bytes of intermediates in the arena live at once: no placement of this
            schedule takes less.
        constant_bytes: stored constants, which live as long as the executable.
        stack_bytes: the most that a kernel keeps on the stack of each thread, beside the peak; on
            GPUs what its blocks share is not counted here.
        reuse: whether buffers may share memory.
        schedule: what `schedule` did with each block, inner ones first.
    """

    arguments: tuple[EntryBuffer, ...]
    results: tuple[EntryBuffer, ...]
    buffers: tuple[ArenaBuffer, ...]
    copies: tuple[CopyReport, ...]
    unused_donations: tuple[UnusedDonation, ...]
    steps: tuple[str, ...]
    arena_bytes: int
    floor_bytes: int
    constant_bytes: int
    reuse: bool
    schedule: tuple[Decision, ...] = ()
    stack_bytes: int = 0

    @property
    def argument_bytes(self) -> int:
        """Bytes of all arguments."""
        return sum(argument.bytes for argument in self.arguments)

    @property
    def result_bytes(self) -> int:
        """Bytes of all results."""
        return sum(result.bytes for result in self.results)

    @property
    def alias_bytes(self) -> int:
        """Bytes of results that lie in the memory of donated arguments."""
        return sum(result.bytes for result in self.results if result.shares is not None)

    @property
    def peak_bytes(self) -> int:
        """Arguments, results and arena, what is shared counted once."""
        return self.argument_bytes + self.result_bytes + self.arena_bytes - self.alias_bytes

    def assert_donated(self) -> None:
        """Checks that every donated argument's memory is taken over by a result.

        Raises:
            DonationError: one is not; the message names it and says why.
        """
        for unused in self.unused_donations:
            argument = self.arguments[unused.argument]
            raise DonationError(
                f"argument {unused.argument} ({argument.name}: {_type_text(argument)}) is donated, "
                f"but no result takes over its memory: {unused.reason}"
            )

    @property
    def arena_buffers(self) -> tuple[ArenaBuffer, ...]:
        """The buffers that lie in the arena, and not in the memory of results."""
        return tuple(buffer for buffer in self.buffers if buffer.result is None)

    def live_bytes(self) -> list[int]:
        """Bytes of intermediates in the arena live at each step, from step 0 on."""
        changes = [0] * (len(self.steps) + 2)
        for buffer in self.arena_buffers:
            changes[buffer.start] += buffer.bytes
            changes[buffer.end] -= buffer.bytes
        live: list[int] = []
        for change in changes[:-1]:
            live.append((live[-1] if live else 0) + change)
        return live

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data; docs/memory.md has the schema."""
        return {
            "version": 1,
            "argument_bytes": self.argument_bytes,
            "result_bytes": self.result_bytes,
            "alias_bytes": self.alias_bytes,
            "constant_bytes": self.constant_bytes,
            "arena_bytes": self.arena_bytes,
            "peak_bytes": self.peak_bytes,
            "floor_bytes": self.floor_bytes,
            "stack_bytes": self.stack_bytes,
            "reuse": self.reuse,
            "arguments": [_entry_dict(argument) for argument in self.arguments],
            "results": [_entry_dict(result) for result in self.results],
            "buffers": [
                {
                    "name": buffer.name,
                    "source": source_line(buffer.location),
                    "bytes": buffer.bytes,
                    "start": buffer.start,
                    "end": buffer.end,
                    "offset": buffer.offset,
                    "result": buffer.result,
                }
                for buffer in self.buffers
            ],
            "copies": [
                {
                    "step": copy.step,
                    "bytes": copy.bytes,
                    "source": copy.source,
                    "target": copy.target,
                    "reason": copy.reason,
                }
                for copy in self.copies
            ],
            "unused_donations": [
                {"argument": unused.argument, "reason": unused.reason}
                for unused in self.unused_donations
            ],
            "schedule": [
                {
                    "source": source_line(decision.location),
                    "ops": decision.steps,
                    "bytes_before": decision.bytes_before,
                    "bytes_after": decision.bytes_after,
                    "rule": decision.rule,
                }
                for decision in self.schedule
            ],
            "steps": list(self.steps),
        }

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def as_text(self) -> str:
        """The report for people."""
        totals = "".join(
            f"{name} bytes: {count} ({byte_text(count)})\n"
            for name, count in (
                ("argument", self.argument_bytes),
                ("result", self.result_bytes),
                ("alias", self.alias_bytes),
                ("constant", self.constant_bytes),
                ("arena", self.arena_bytes),
                ("floor", self.floor_bytes),
                ("peak", self.peak_bytes),
                ("stack", self.stack_bytes),
            )
        )
        shared = "".join(
            f"  {result.name} lies in {self.arguments[result.shares].name}\n"
            for result in self.results
            if result.shares is not None
        )
        unused = "".join(
            f"  {self.arguments[u.argument].name} is donated in vain: {u.reason}\n"
            for u in self.unused_donations
        )
        copies = "".join(
            f"  step {copy.step}: {copy.source} to {copy.target}, {byte_text(copy.bytes)}, "
            f"because {copy.reason}\n"
            for copy in self.copies
        )
        schedule = "".join(
            f"  {short_source_line(d.location) or 'main'}: {d.steps} ops in another order "
            f"({d.rule}), {byte_text(d.bytes_before)} to {byte_text(d.bytes_after)} live\n"
            for d in self.schedule
            if d.bytes_after < d.bytes_before
        )
        return (
            f"{totals}schedule:{'' if schedule else ' as it was'}\n{schedule}"
            f"donations:{'' if shared or unused else ' none'}\n{shared}{unused}"
            f"copies: {len(self.copies)}\n{copies}{self.live_ranges_text()}"
        )

    def __str__(self) -> str:
        return self.as_text()

    def live_ranges_text(self) -> str:
        """A line for each buffer of the arena, in the order of their starts."""
        rows = "".join(
            f"  [{b.start}, {b.end})  {b.bytes} bytes at {b.offset}"
            f"{'' if b.result is None else f' of result {b.result}'}  {b.name}"
            f"{f'  {where}' if (where := short_source_line(b.location)) else ''}\n"
            for b in sorted(self.buffers, key=lambda b: (b.start, b.offset))
        )
        return f"buffers: {len(self.buffers)}, steps: {len(self.steps)}\n{rows}"


def memory_analysis(
    host: HostProgram,
    fused: ir.Module,
    donate: Sequence[int] = (),
    reuse: bool = True,
    planned: Sequence[Decision] = (),
) -> MemoryAnalysis:
    """Plans the memory of a host program.

    Args:
        fused: the module it was made of.
        donate: arguments that the caller donates, besides those that the module marks.
        reuse: whether buffers may share memory.
        planned: what `schedule` did, for the report.
    """
    program = ir.parse_module(host.text, fused.context, GENERATED)
    Deallocate().run(program)
    steps = list(_operations(entry_of(program)))[1:]
    arguments, results = _entry_buffers(host)
    names = _names(program, [b.name for b in (*arguments, *results)])
    copies = tuple(_copies(steps, names))
    labels = tuple(_label(op) for op in steps)
    arena = Place(reuse=reuse).plan(program)
    return MemoryAnalysis(
        arguments=arguments,
        results=results,
        buffers=_arena_buffers(arena, len(arguments)),
        copies=copies,
        unused_donations=tuple(_unused_donations(host, fused, donate)),
        steps=labels,
        arena_bytes=arena.bytes,
        floor_bytes=_most_live(arena),
        constant_bytes=sum(constant.nbytes for constant in host.constants),
        reuse=reuse,
        schedule=tuple(planned),
        stack_bytes=max((stack_bytes(k.text) for k in host.kernels.values()), default=0),
    )


def copies_of(host: HostProgram, fused: ir.Module) -> tuple[CopyReport, ...]:
    """The copies a host program makes; arguments as for `memory_analysis`."""
    program = ir.parse_module(host.text, fused.context, GENERATED)
    Deallocate().run(program)
    steps = list(_operations(entry_of(program)))[1:]
    arguments, results = _entry_buffers(host)
    return tuple(_copies(steps, _names(program, [b.name for b in (*arguments, *results)])))


def _operations(op: ir.Operation) -> Iterator[ir.Operation]:
    """An op and those in it, in program order: the numbering of `live_ranges`."""
    yield op
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from _operations(inner.operation)


def _label(op: ir.Operation) -> str:
    if op.name == "func.call":
        return ir.attributes.string(op, "callee")
    quiet = ("arith.", "func.", "memref.alloc", "memref.dealloc", "scf.yield", *VIEWS)
    return "" if op.name.startswith(quiet) else op.name


def _entry_buffers(
    host: HostProgram,
) -> tuple[tuple[EntryBuffer, ...], tuple[EntryBuffer, ...]]:
    taken = {argument: result for result, argument in host.donated.items()}
    arguments = tuple(
        EntryBuffer(f"argument {i}", shape, dtype, _bytes(shape, dtype), taken.get(i))
        for i, (shape, dtype) in enumerate(host.argument_types)
    )
    results = tuple(
        EntryBuffer(f"result {i}", shape, dtype, _bytes(shape, dtype), host.donated.get(i))
        for i, (shape, dtype) in enumerate(host.result_types)
    )
    return arguments, results


def _names(program: ir.Module, entry: Sequence[str]) -> dict[ir.Value, str]:
    """How to call each memref of @main."""
    block = entry_of(program).regions[0].blocks[0]
    constants = [f"constant {i}" for i in range(len(block.arguments) - len(entry))]
    names: dict[ir.Value, str] = dict(zip(block.arguments, (*entry, *constants), strict=True))
    for op in _operations(entry_of(program)):
        if op.name == "memref.alloc":
            names[op.results[0]] = ir.attributes.string(op, "hlo.name")
        elif op.name in VIEWS:
            names[op.results[0]] = names[op.operands[0]]
    return names


def _copies(steps: Sequence[ir.Operation], names: dict[ir.Value, str]) -> Iterator[CopyReport]:
    for number, op in enumerate(steps, 1):
        if op.name == "memref.copy":
            source, target = op.operands
            reason = ir.attributes.string(op, "hlo.reason", "")
            size = byte_size(source.type)
            yield CopyReport(number, size, names[source], names[target], reason)


def _arena_buffers(arena: Arena, arguments: int) -> tuple[ArenaBuffer, ...]:
    return tuple(
        ArenaBuffer(
            name=a.name,
            location=a.location,
            bytes=a.size,
            start=a.start,
            end=a.end,
            offset=a.offset,
            result=None if a.lender is None else a.lender - arguments,
        )
        for a in sorted(arena.allocations, key=lambda a: (a.offset, a.start))
    )


def _most_live(arena: Arena) -> int:
    return lower_bound(
        [
            Buffer(id=str(i), start=a.start, end=a.end, size=a.size)
            for i, a in enumerate(arena.allocations)
            if a.lender is None
        ]
    )


def _unused_donations(
    host: HostProgram, fused: ir.Module, donate: Sequence[int]
) -> Iterator[UnusedDonation]:
    function = entry_of(fused)
    marked: set[int] = set()
    if "arg_attrs" in function.attributes:
        for i, entries in enumerate(ir.ArrayAttr(function.attributes["arg_attrs"])):
            attributes = ir.DictAttr(entries)
            if "tf.aliasing_output" in attributes or "jax.buffer_donor" in attributes:
                marked.add(i)
    for i in sorted({*donate, *marked} - set(host.donated.values())):
        same = sum(kind == host.argument_types[i] for kind in host.result_types)
        yield UnusedDonation(
            i,
            "the results of its shape and dtype lie in other donated arguments"
            if same
            else "no result has its shape and dtype",
        )


def _entry_dict(buffer: EntryBuffer) -> dict[str, Any]:
    return {
        "name": buffer.name,
        "shape": list(buffer.shape),
        "dtype": buffer.dtype,
        "bytes": buffer.bytes,
        "shares": buffer.shares,
    }


def _bytes(shape: Sequence[int], dtype: str) -> int:
    return math.prod(shape) * ir.types.to_dtype(dtype).itemsize


def _type_text(buffer: EntryBuffer) -> str:
    return f"{buffer.dtype}[{','.join(map(str, buffer.shape))}]"
