"""Kernels that do not depend on one another in one launch: each has some of its blocks.

A member's stage becomes a function that is given its block's number; it is called once, and so
inlined. Members whose code cannot share a launch (several stages, blocks of another size that wait
for each other) are launches of their own within the kernel.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hlo.gpu.tensor_map import TensorMap
from hlo.passes.hlo_to_gpu.gpu_kernel import (
    LARGEST_GRID,
    LARGEST_STATIC_SHARED,
    GpuKernel,
    Stage,
    gpu_kernel,
    parameters_text,
)
from hlo.passes.hlo_to_gpu.warpgroup_builder import DYNAMIC_SHARED
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.composite_kernel import (
    add_scratch,
    member_buffers,
    members_in_place,
    scratch_buffers,
)
from hlo.passes.hlo_to_loops.element_types import ElementType
from hlo.passes.hlo_to_loops.graph import Region
from hlo.passes.hlo_to_loops.loop_kernel import argument_buffers

MOST_POINTERS = 480  # of a launch, whose parameters may take 4 KiB
_BLOCK_NUMBER = re.compile(r"nvvm\.read\.ptx\.sreg\.ctaid\.x range <i32, 0, \d+> : i32")
_DYNAMIC = re.compile(rf"^llvm\.mlir\.global external {DYNAMIC_SHARED}\(.*\n", re.MULTILINE)
_TOGETHER = ("nvvm.barrier", "nvvm.bar.", "nvvm.shfl", "nvvm.mma", "nvvm.ldmatrix", "nvvm.vote")


@dataclass(frozen=True)
class _Part:
    """A member's stage, and the buffers it is called with."""

    stage: Stage
    buffers: tuple[Buffer, ...]

    @property
    def is_independent(self) -> bool:
        """Whether a block may have threads that do nothing."""
        return not any(word in self.stage.text for word in _TOGETHER)


def emit_composite(region: Region, emit_kernel: Callable[[Region], GpuKernel]) -> GpuKernel:
    """The kernel of a region of members, each emitted by `emit_kernel`."""
    members = list(region.nodes)
    kernels = [emit_kernel(node.regions[0]) for node in members]
    assert all(kernel.updates is None for kernel in kernels), "a member updates a buffer in place"
    inputs, outputs = argument_buffers(region)
    scratch: list[tuple[int, ElementType]] = []
    buffers = member_buffers(region, inputs, outputs, members, scratch)
    alone: list[_Part] = []
    joined: list[_Part] = []
    for node, kernel in zip(members, kernels, strict=True):
        given = [buffers[t] for t in (*node.operands, *node.results)]
        given += [add_scratch(scratch, size, kind) for size, kind in kernel.scratch]
        parts = [_Part(stage, tuple(given)) for stage in kernel.stages]
        (joined if len(parts) == 1 else alone).extend(parts)
    held = scratch_buffers(scratch)
    everything = [*inputs.values(), *outputs, *held]
    groups = [*_groups(joined), *([part] for part in alone)]
    made = gpu_kernel(
        [_stage(group, everything) for group in groups], list(inputs.values()), outputs,
        scratch=held,
        replaces=tuple(
            (k, i)
            for k, result in enumerate(region.results)
            for i in members_in_place(region, result, members, kernels)
        ),
    )  # fmt: skip
    reasons = dict.fromkeys(kernel.reason for kernel in kernels if kernel.reason)
    return replace(made, reason="; ".join(reasons))


def _groups(parts: Sequence[_Part]) -> list[list[_Part]]:
    """Parts that share a launch: of one block size, but for threads that may do nothing.

    Products by warpgroups share launches with their like alone: other blocks would take as much
    shared memory for nothing.
    """
    groups: list[list[_Part]] = []
    for part in sorted(parts, key=lambda p: -p.stage.block):
        for group in groups:
            if _fits(group, part):
                group.append(part)
                break
        else:
            groups.append([part])
    return groups


def _fits(group: Sequence[_Part], part: _Part) -> bool:
    stages = [p.stage for p in (*group, part)]
    return (
        bool(part.stage.maps) == bool(group[0].stage.maps)
        and (part.stage.block == group[0].stage.block or part.is_independent)
        and sum(stage.shared_bytes for stage in stages) <= LARGEST_STATIC_SHARED
        and sum(stage.grid for stage in stages) <= LARGEST_GRID
        and len({b for p in (*group, part) for b in p.buffers}) <= MOST_POINTERS
    )


def _stage(parts: Sequence[_Part], buffers: Sequence[Buffer]) -> Stage:
    """One launch of the parts' blocks, one part's after another's."""
    block = max(part.stage.block for part in parts)
    grid = sum(part.stage.grid for part in parts)
    maps = [_moved(m, part, buffers) for part in parts for m in part.stage.maps]
    lines = [
        f"func.func @NAME({parameters_text(buffers, len(maps))}) {{",
        f"  %block = nvvm.read.ptx.sreg.ctaid.x range <i32, 0, {grid}> : i32",
        f"  %thread = nvvm.read.ptx.sreg.tid.x range <i32, 0, {block}> : i32",
    ]
    functions: list[str] = []
    first = first_map = 0
    for i, part in enumerate(parts):
        functions.append(_without_dynamic(_member(i, part)))
        lines += _call(i, part, first, first_map, part.stage.block < block)
        first += part.stage.grid
        first_map += len(part.stage.maps)
    written = {b for p in parts for k, b in enumerate(p.buffers) if k in p.stage.written}
    dynamic = sorted({d for part in parts for d in _DYNAMIC.findall(part.stage.text)})
    return Stage(
        "".join([*dynamic, *functions]) + "\n".join([*lines, "  return", "}", ""]), grid, block,
        tuple(k for k, buffer in enumerate(buffers) if buffer in written),
        sum(part.stage.shared_bytes for part in parts),
        min(part.stage.resident for part in parts),
        max(part.stage.dynamic_bytes for part in parts), tuple(maps),
    )  # fmt: skip


def _moved(tensor_map: TensorMap, part: _Part, buffers: Sequence[Buffer]) -> TensorMap:
    """A part's map as one of the launch's buffers."""
    return replace(tensor_map, argument=list(buffers).index(part.buffers[tensor_map.argument]))


def _member(i: int, part: _Part) -> str:
    """The function of a part, its block's number the last parameter."""
    text = part.stage.text.replace("@NAME__shared", f"@NAME__member{i}__shared")
    text = text.replace("func.func @NAME(", f"func.func private @NAME__member{i}(")
    head, brace, body = text.partition(") {\n")
    return (
        f"{head}, %member_block: i32) attributes {{llvm.linkage = #llvm.linkage<internal>}} {{\n"
        if brace
        else head
    ) + _BLOCK_NUMBER.sub("arith.ori %member_block, %member_block : i32", body)


def _without_dynamic(text: str) -> str:
    """A member that does not declare the shared memory that the launch gives to all of them."""
    return _DYNAMIC.sub("", text)


def _call(i: int, part: _Part, first: int, first_map: int, narrow: bool) -> list[str]:
    """Calls a part where the block is one of its own, and the thread."""
    maps = range(first_map, first_map + len(part.stage.maps))
    names = ", ".join([*(b.name for b in part.buffers), *(f"%map{k}" for k in maps), f"%own{i}"])
    types = ", ".join([*(b.memref for b in part.buffers), *("!llvm.ptr" for _ in maps), "i32"])
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
    return [
        *lines,
        f"  scf.if {condition} {{",
        f"    func.call @NAME__member{i}({names}) : ({types}) -> ()",
        "  }",
    ]
