"""Several kernels in one launch: members that are independent, and steps that finish their work.

The region of a composite holds nothing but `hlo.fusion` ops, each the region of a kernel. Work
units are the members' one after another; a range of units does the part of each member that falls
in it. Members may read what others make: those with most work run in parallel, what they need is
done first (the head) and what needs them last (the tail), each by one thread, in order. A launch
too small for several threads is one unit: its members are called one after another. What only
members read is scratch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hlo.passes.cost.launch_time import phases, seconds_alone
from hlo.passes.cost.machine import HOST
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.element_types import ElementType
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor
from hlo.passes.hlo_to_loops.kernel_function import Kernel, argument_buffers

EmitKernel = Callable[[Region], Kernel]


def emit_composite(region: Region, emit_kernel: EmitKernel) -> Kernel:
    """The kernel of a region of members, each emitted by `emit_kernel`."""
    head, parallel, tail = phases(region.nodes)
    seconds = sum(map(seconds_alone, parallel))
    small = HOST.pieces(seconds) == 1
    members = list(region.nodes) if small else [*parallel, *head, *tail]
    kernels = _emitted(members, emit_kernel)
    inputs, outputs = argument_buffers(region)
    scratch: list[tuple[int, ElementType]] = []
    buffers = member_buffers(region, inputs, outputs, members, scratch)
    ahead = len(parallel) + len(head)
    calls: list[_Call] = []
    ends: list[_Call] = []  # of members that run in parallel
    for i, (node, (function, kernel)) in enumerate(zip(members, kernels, strict=True)):
        given = [buffers[t] for t in (*node.operands, *node.results)]
        given += [add_scratch(scratch, size, kind) for size, kind in kernel.scratch]
        alone = 0 if small or i >= len(parallel) else kernel.tail
        assert small or i >= len(parallel) or not kernel.head, "a member has units ahead of others"
        calls.append(_Call(function, kernel, given, 0, kernel.units - alone))
        if alone:
            ends.append(_Call(function, kernel, given, kernel.units - alone, alone))
    calls[ahead:ahead] = ends
    parts = list[_Part]()
    begin = 0
    for call in calls:
        parts.append(_Part(call, begin))
        begin += call.units
    runtime = any(kernel.runtime for _, kernel in kernels)
    texts = {name: kernel.text.replace("@NAME", f"@NAME{name}") for name, kernel in kernels}
    parameters = [*inputs.values(), *outputs, *scratch_buffers(scratch)]
    return Kernel(
        text=_text(parameters, runtime, parts, small) + "".join(texts.values()),
        units=min(begin, 1) if small else begin,
        head=0 if small else sum(k.units for _, k in kernels[len(parallel) : ahead]),
        tail=0 if small else sum(c.units for c in calls[ahead:]),
        inputs=tuple(buffer.memref for buffer in inputs.values()),
        outputs=tuple(buffer.memref for buffer in outputs),
        replaces=tuple(
            (k, i)
            for k, result in enumerate(region.results)
            for i in members_in_place(region, result, members, [kernel for _, kernel in kernels])
        ),
        scratch=tuple(scratch),
        runtime=runtime,
        seconds=seconds,
        declarations=tuple(dict.fromkeys(d for _, k in kernels for d in k.declarations)),
    )


def member_buffers(
    region: Region, inputs: Mapping[Tensor, Buffer], outputs: Sequence[Buffer],
    members: Sequence[Node], scratch: list[tuple[int, ElementType]],
) -> dict[Tensor, Buffer]:  # fmt: skip
    """Where the operands and results of members are; what only members read becomes scratch."""
    buffers = dict(inputs)
    for tensor, buffer in zip(region.results, outputs, strict=True):
        buffers.setdefault(tensor, buffer)
    for node in members:
        for tensor in node.results:
            if tensor not in buffers:
                buffers[tensor] = add_scratch(scratch, tensor.size, tensor.type)
    return buffers


@dataclass(frozen=True)
class _Call:
    """Some work units of a member, from the `first` on, and the buffers it is called with."""

    function: str
    kernel: Kernel
    buffers: list[Buffer]
    first: int
    units: int


@dataclass(frozen=True)
class _Part:
    """The place of such units among those of the launch."""

    call: _Call
    begin: int


def _emitted(members: list[Node], emit_kernel: EmitKernel) -> list[tuple[str, Kernel]]:
    """(function suffix, kernel) of each member; members of the same text share a function."""
    names: dict[str, str] = {}
    found: list[tuple[str, Kernel]] = []
    for node in members:
        kernel = emit_kernel(node.regions[0])
        assert kernel.updates is None, "a member updates a buffer in place"
        found.append((names.setdefault(kernel.text, f"__member{len(names)}"), kernel))
    return found


def add_scratch(scratch: list[tuple[int, ElementType]], size: int, kind: ElementType) -> Buffer:
    """Another buffer that the launch works in."""
    scratch.append((size, kind))
    return Buffer(f"%scratch{len(scratch) - 1}", size, kind)


def scratch_buffers(scratch: list[tuple[int, ElementType]]) -> list[Buffer]:
    return [Buffer(f"%scratch{i}", size, kind) for i, (size, kind) in enumerate(scratch)]


def members_in_place(
    region: Region, result: Tensor, members: Sequence[Node], kernels: Sequence[Kernel]
) -> tuple[int, ...]:
    """Inputs whose memory a result may take over: those that its member alone reads, and so."""
    producer = result.producer
    if producer is None or producer not in members:
        return ()  # an input passed on
    kernel = kernels[members.index(producer)]
    found: list[int] = []
    for i, tensor in enumerate(region.arguments):
        readers = [node for node in members if tensor in node.operands]
        if readers != [producer]:
            continue
        places = [k for k, operand in enumerate(producer.operands) if operand is tensor]
        if all(k in kernel.reusable(result.index) for k in places):
            found.append(i)
    return tuple(found)


def _text(parameters: list[Buffer], runtime: bool, parts: list[_Part], whole: bool) -> str:
    """The function of the launch; `whole` if a call always does all of it."""
    arguments = [f"{buffer.name}: {buffer.memref}" for buffer in parameters]
    arguments += ["%runtime: !llvm.ptr"] if runtime else []
    head = ", ".join([*arguments, "%begin: index", "%end: index"])
    lines = [f"func.func @NAME({head}) {{"]
    for i, part in enumerate(parts):
        lines += _call(i, part, whole)
    return "\n".join([*lines, "  return", "}", ""])


def _call(i: int, part: _Part, whole: bool) -> list[str]:
    """Does the work units of one member that lie in [%begin, %end), or all of them."""
    call = part.call
    names = [buffer.name for buffer in call.buffers]
    types = [buffer.memref for buffer in call.buffers]
    if call.kernel.runtime:
        names.append("%runtime")
        types.append("!llvm.ptr")
    first, units, end = f"%first{i}", call.units, call.first + call.units
    signature = ", ".join([*types, "index", "index"])
    if whole and not units:
        return []
    if whole:
        return [
            f"  %low{i} = arith.constant 0 : index",
            f"  %high{i} = arith.constant {units} : index",
            f"  func.call @NAME{call.function}({', '.join([*names, f'%low{i}', f'%high{i}'])}) : "
            f"({signature}) -> ()",
        ]
    return [
        f"  {first} = arith.constant {part.begin - call.first} : index",
        f"  %none{i} = arith.constant {call.first} : index",
        f"  %units{i} = arith.constant {end} : index",
        f"  %from{i} = arith.subi %begin, {first} : index",
        f"  %to{i} = arith.subi %end, {first} : index",
        f"  %low{i} = arith.maxsi %from{i}, %none{i} : index",
        f"  %high{i} = arith.minsi %to{i}, %units{i} : index",
        f"  %some{i} = arith.cmpi slt, %low{i}, %high{i} : index",
        f"  scf.if %some{i} {{",
        f"    func.call @NAME{call.function}({', '.join([*names, f'%low{i}', f'%high{i}'])}) : "
        f"({signature}) -> ()",
        "  }",
    ]
