"""Several kernels in one launch: each has some of its blocks, or all of the last block's threads.

A member's stage becomes a function that is given its block's number; it is called once, and so
inlined. Members that read what others make are steps of the last block: it does their blocks one
after another when all blocks are done with the others. Members whose code cannot share a launch
(several stages, blocks of another size that wait for each other) are launches of their own within
the kernel.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from hlo.gpu.tensor_map import TensorMap
from hlo.passes.hlo_to_gpu.gpu_kernel import (
    LARGEST_GRID,
    LARGEST_STATIC_SHARED,
    GpuKernel,
    Stage,
    gpu_kernel,
    parameters_text,
)
from hlo.passes.hlo_to_gpu.last_block import counter_buffers, is_last_block
from hlo.passes.hlo_to_gpu.thread_builder import ThreadBuilder
from hlo.passes.hlo_to_gpu.warpgroup_builder import DYNAMIC_SHARED
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.composite_kernel import (
    add_scratch,
    member_buffers,
    members_in_place,
    scratch_buffers,
)
from hlo.passes.hlo_to_loops.element_types import ElementType
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor
from hlo.passes.hlo_to_loops.kernel_function import argument_buffers

MOST_POINTERS = 480  # of a launch, whose parameters may take 4 KiB
SMALL_SHARED = 1 << 10  # bytes of a member that keeps nothing but partial results there
FEW_BLOCKS = 256  # that all run at once, however many threads they have
LAST_THREADS = 256  # of the last block, where others do not have more
_BLOCK_NUMBER = re.compile(r"nvvm\.read\.ptx\.sreg\.ctaid\.x range <i32, 0, \d+> : i32")
_DYNAMIC = re.compile(rf"^llvm\.mlir\.global external {DYNAMIC_SHARED}\(.*\n", re.MULTILINE)
_BARRIER = re.compile(r"nvvm\.barrier0$", re.MULTILINE)
_TOGETHER = ("nvvm.barrier", "nvvm.bar.", "nvvm.shfl", "nvvm.mma", "nvvm.ldmatrix", "nvvm.vote")


class EmitMember(Protocol):
    """Emits a member's kernel; `most_threads` are those of a block, where that can be chosen."""

    def __call__(self, region: Region, *, most_threads: int = ...) -> GpuKernel: ...


@dataclass(frozen=True)
class _Part:
    """A member's stage, and the buffers it is called with."""

    stage: Stage
    buffers: tuple[Buffer, ...]

    @property
    def is_independent(self) -> bool:
        """Whether a block may have threads that do nothing."""
        return not any(word in self.stage.text for word in _TOGETHER)

    @property
    def is_light(self) -> bool:
        """Whether it takes few registers and little shared memory, and its barriers can do with
        some of a block's threads.
        """
        text = self.stage.text
        return (
            self.stage.shared_bytes <= SMALL_SHARED
            and not self.stage.maps
            and not self.stage.dynamic_bytes
            and not any(word in text for word in ("nvvm.mma", "nvvm.barrier id", "llvm.inline_asm"))
        )


@dataclass
class _Launch:
    """Parts that have blocks, and parts that the last block does behind them, in order."""

    parts: list[_Part]
    last: list[_Part] = field(default_factory=list[_Part])

    @property
    def block(self) -> int:
        """Threads of a block."""
        return max(part.stage.block for part in (*self.parts, *self.last))

    @property
    def grid(self) -> int:
        """Blocks."""
        return sum(part.stage.grid for part in self.parts)

    @property
    def resident(self) -> int:
        """Blocks of a multiprocessor that registers leave room for; one, of few blocks: all run
        at once, and more room than that would be made by spills.
        """
        asked = min(part.stage.resident for part in self.parts)
        return 1 if self.grid <= FEW_BLOCKS and not asked else asked

    @property
    def counts(self) -> bool:
        """Whether its blocks count themselves."""
        return bool(self.last) and self.grid > 1

    @property
    def most_threads_last(self) -> int:
        """Threads that steps of the last block may have."""
        block = self.block
        wider = self.grid <= FEW_BLOCKS and all(part.is_light for part in self.parts)
        return max(block, LAST_THREADS) if wider else block

    def fits(self, parts: Sequence[_Part]) -> bool:
        """Whether more parts keep to what a launch may have."""
        held = [*self.parts, *self.last, *parts]
        return (
            sum(part.stage.shared_bytes for part in held) <= LARGEST_STATIC_SHARED
            and len({b for part in held for b in part.buffers}) <= MOST_POINTERS
        )

    def may_end_with(self, parts: Sequence[_Part]) -> bool:
        """Whether parts may be steps of the last block."""
        most = self.most_threads_last
        light = all(part.is_light and part.stage.block <= most for part in parts)
        return light and not any(part.stage.maps for part in self.parts) and self.fits(parts)


def emit_composite(region: Region, emit_member: EmitMember) -> GpuKernel:
    """The kernel of a region of members."""
    made = _Composite(region, emit_member)
    for level in _levels(region.nodes):
        made.add(level)
    return made.kernel()


def _levels(members: Sequence[Node]) -> list[list[Node]]:
    """Members by how many others each waits for, one after another."""
    levels: list[list[Node]] = []
    depth: dict[Node, int] = {}
    for node in members:
        known = [depth[o.producer] for o in node.operands if o.producer in depth]
        depth[node] = 1 + max(known, default=-1)
        if depth[node] == len(levels):
            levels.append([])
        levels[depth[node]].append(node)
    return levels


class _Composite:
    """A kernel of members in the making."""

    def __init__(self, region: Region, emit_member: EmitMember) -> None:
        self.region = region
        self.emit = emit_member
        self.inputs, self.outputs = argument_buffers(region)
        self.scratch: list[tuple[int, ElementType]] = []
        self.counters: list[int] = []
        self.buffers: dict[Tensor, Buffer] = member_buffers(
            region, self.inputs, self.outputs, list(region.nodes), self.scratch
        )
        self.kernels: dict[Node, GpuKernel] = {}
        self.launches: list[_Launch] = []

    def add(self, members: Sequence[Node]) -> None:
        """Adds members that do not depend on one another, but on others that were added before."""
        if self.launches and self._add_to_last(members):
            return
        alone: list[_Part] = []
        joined: list[_Part] = []
        for node in members:
            parts = self._parts(node, self.emit(node.regions[0]))
            (joined if len(parts) == 1 else alone).extend(parts)
        self.launches += [_Launch([part]) for part in alone]
        self.launches += _grouped(joined)  # the last block of the last one may go on

    def _add_to_last(self, members: Sequence[Node]) -> bool:
        launch = self.launches[-1]
        kernels = [
            self.emit(node.regions[0], most_threads=launch.most_threads_last) for node in members
        ]
        if any(len(kernel.stages) > 1 or kernel.counters for kernel in kernels):
            return False
        kept = len(self.scratch)
        parts = [
            part
            for node, kernel in zip(members, kernels, strict=True)
            for part in self._parts(node, kernel)
        ]
        if launch.may_end_with(parts):
            launch.last += parts
            return True
        del self.scratch[kept:]
        return False

    def _parts(self, node: Node, kernel: GpuKernel) -> list[_Part]:
        assert kernel.updates is None, "a member updates a buffer in place"
        self.kernels[node] = kernel
        given = [self.buffers[t] for t in (*node.operands, *node.results)]
        given += [add_scratch(self.scratch, size, kind) for size, kind in kernel.scratch]
        first = len(self.counters)
        self.counters += kernel.counters
        given += counter_buffers(tuple(self.counters))[first:]
        return [_Part(stage, tuple(given)) for stage in kernel.stages]

    def kernel(self) -> GpuKernel:
        """The kernel of all members that were added."""
        own = len(self.counters)
        self.counters += [1] * sum(launch.counts for launch in self.launches)
        counters = counter_buffers(tuple(self.counters))
        unused = iter(counters[own:])
        held = scratch_buffers(self.scratch)
        everything = [*self.inputs.values(), *self.outputs, *held, *counters]
        stages = [
            _stage(launch, everything, next(unused) if launch.counts else None)
            for launch in self.launches
        ]
        members = list(self.kernels)
        kernels = list(self.kernels.values())
        made = gpu_kernel(
            stages, list(self.inputs.values()), self.outputs, scratch=held,
            replaces=tuple(
                (k, i)
                for k, result in enumerate(self.region.results)
                for i in members_in_place(self.region, result, members, kernels)
            ),
            counters=tuple(self.counters),
        )  # fmt: skip
        reasons = dict.fromkeys(kernel.reason for kernel in kernels if kernel.reason)
        return replace(made, reason="; ".join(reasons))


def _grouped(parts: Sequence[_Part]) -> list[_Launch]:
    """Launches of parts of one block size, but for threads that may do nothing.

    Products by warpgroups share launches with their like alone: other blocks would take as much
    shared memory for nothing.
    """
    launches: list[_Launch] = []
    for part in sorted(parts, key=lambda p: -p.stage.block):
        for launch in launches:
            if _may_join(launch, part):
                launch.parts.append(part)
                break
        else:
            launches.append(_Launch([part]))
    return launches


def _may_join(launch: _Launch, part: _Part) -> bool:
    stage = part.stage
    narrows = part.is_independent or (part.is_light and stage.grid <= FEW_BLOCKS)
    return (
        bool(stage.maps) == bool(launch.parts[0].stage.maps)
        and (stage.block == launch.block or narrows)
        and launch.grid + stage.grid <= LARGEST_GRID
        and launch.fits([part])
    )


def _stage(launch: _Launch, buffers: Sequence[Buffer], counter: Buffer | None) -> Stage:
    """One launch of the parts' blocks, one part's after another's, then the last block's steps."""
    parts, block, grid = launch.parts, launch.block, launch.grid
    maps = [_moved(m, part, buffers) for part in parts for m in part.stage.maps]
    lines = [
        f"func.func @NAME({parameters_text(buffers, len(maps))}) {{",
        f"  %block = nvvm.read.ptx.sreg.ctaid.x range <i32, 0, {grid}> : i32",
        f"  %thread = nvvm.read.ptx.sreg.tid.x range <i32, 0, {block}> : i32",
    ]
    functions: list[str] = []
    first = first_map = 0
    for i, part in enumerate((*parts, *launch.last)):
        functions.append(_without_dynamic(_member(i, part, block)))
    for i, part in enumerate(parts):
        lines += _call(i, part, first, first_map, part.stage.block < block)
        first += part.stage.grid
        first_map += len(part.stage.maps)
    ending = ThreadBuilder(block)
    if launch.last:
        _end(ending, launch, counter)
    lines.append(ending.text())
    functions += [f"{line}\n" for line in ending.shared_globals]
    everything = [*parts, *launch.last]
    written = {b for p in everything for k, b in enumerate(p.buffers) if k in p.stage.written}
    if counter is not None:
        written.add(counter)
    dynamic = sorted({d for part in parts for d in _DYNAMIC.findall(part.stage.text)})
    return Stage(
        "".join([*dynamic, *functions]) + "\n".join([*lines, "  return", "}", ""]), grid, block,
        tuple(k for k, buffer in enumerate(buffers) if buffer in written),
        sum(part.stage.shared_bytes for part in everything) + ending.shared_bytes,
        launch.resident,
        max(part.stage.dynamic_bytes for part in parts), tuple(maps),
    )  # fmt: skip


def _moved(tensor_map: TensorMap, part: _Part, buffers: Sequence[Buffer]) -> TensorMap:
    """A part's map as one of the launch's buffers."""
    return replace(tensor_map, argument=list(buffers).index(part.buffers[tensor_map.argument]))


def _member(i: int, part: _Part, block: int) -> str:
    """The function of a part, its block's number the last parameter.

    Barriers are of its own threads, which may be fewer than the launch's.
    """
    text = part.stage.text.replace("@NAME__shared", f"@NAME__member{i}__shared")
    text = text.replace("func.func @NAME(", f"func.func private @NAME__member{i}(")
    head, brace, body = text.partition(") {\n")
    assert brace, "a stage's function has a body"
    if part.stage.block < block and _BARRIER.search(body):
        body = _BARRIER.sub("nvvm.barrier id = %own_barrier number_of_threads = %own_threads", body)
        body = (
            "  %own_barrier = arith.constant 1 : i32\n"
            f"  %own_threads = arith.constant {part.stage.block} : i32\n{body}"
        )
    return (
        f"{head}, %member_block: i32) attributes {{llvm.linkage = #llvm.linkage<internal>}} {{\n"
        + _BLOCK_NUMBER.sub("arith.ori %member_block, %member_block : i32", body)
    )


def _without_dynamic(text: str) -> str:
    """A member that does not declare the shared memory that the launch gives to all of them."""
    return _DYNAMIC.sub("", text)


def _call(i: int, part: _Part, first: int, first_map: int, narrow: bool) -> list[str]:
    """Calls a part where the block is one of its own, and the thread."""
    maps = range(first_map, first_map + len(part.stage.maps))
    lines = [
        f"  %first{i} = arith.constant {first} : i32",
        f"  %count{i} = arith.constant {part.stage.grid} : i32",
        f"  %own{i} = arith.subi %block, %first{i} : i32",
        f"  %mine{i} = arith.cmpi ult, %own{i}, %count{i} : i32",
    ]
    condition = f"%mine{i}"
    if narrow:
        lines += [
            f"  %threads{i} = arith.constant {part.stage.block} : i32",
            f"  %active{i} = arith.cmpi ult, %thread, %threads{i} : i32",
            f"  %both{i} = arith.andi %mine{i}, %active{i} : i1",
        ]
        condition = f"%both{i}"
    return [*lines, f"  scf.if {condition} {{", _called(i, part, f"%own{i}", maps), "  }"]


def _called(i: int, part: _Part, block: str, maps: Sequence[int] = ()) -> str:
    """Calls the function of a part for one of its blocks."""
    names = ", ".join([*(b.name for b in part.buffers), *(f"%map{k}" for k in maps), block])
    types = ", ".join([*(b.memref for b in part.buffers), *("!llvm.ptr" for _ in maps), "i32"])
    return f"    func.call @NAME__member{i}({names}) : ({types}) -> ()"


def _end(b: ThreadBuilder, launch: _Launch, counter: Buffer | None) -> None:
    """The steps of the last block, all blocks of each, each when the one before is done."""
    if counter is None:
        b.barrier()
        _end_steps(b, launch)
        return
    with b.when(is_last_block(b, counter, b.index(0), launch.grid)):
        _end_steps(b, launch)


def _end_steps(b: ThreadBuilder, launch: _Launch) -> None:
    for k, part in enumerate(launch.last):
        if k:
            b.barrier()
        i = len(launch.parts) + k
        inside = None
        if part.stage.block < launch.block:
            count = b.constant(part.stage.block, "i32")
            inside = b.op(f"arith.cmpi ult, {b.thread()}, {count} : i32")
        if part.stage.grid == 1:
            only = b.constant(0, "i32")
            b.perhaps(inside, lambda i=i, part=part, at=only: b.effect(_called(i, part, at)))
            continue
        with b.loop(b.index(0), b.index(part.stage.grid), b.index(1), unroll=1) as loop:
            at = b.op(f"arith.index_cast {loop.iv} : index to i32")
            b.perhaps(inside, lambda i=i, part=part, at=at: b.effect(_called(i, part, at)))
            if not part.is_independent:
                b.barrier()
