"""Which kernels the host program takes in, and which small buffers it then keeps in registers.

A loop of small bodies spends its time on calls and on carries that go through memory. Kernels of
little text are inlined where loops call them; a buffer of few bytes that nothing but such kernels,
copies and loads touches is a variable on the stack, which LLVM turns into registers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from hlo import ir
from hlo.passes.memory.deallocate import VIEWS
from hlo.passes.memory.place import byte_size

INLINE = "hlo.inline"  # on a kernel: characters of its text, if a loop may take it in
INPUTS = "hlo.inputs"  # on such a kernel: how many of its operands it reads alone
MOST_CHARACTERS = 100_000  # of kernels that one host program takes in
MOST_BYTES = 1024  # of a buffer on the stack
MOST_COPIED_BYTES = 256  # of an argument, a constant or a result with a place on the stack
MOST_STACK_BYTES = 16 << 10  # of all of them
LOOP = "scf.while"


@dataclass
class LocalBuffers:
    """What stays within the host program's own code.

    Attributes:
        inlined: calls of kernels that are inlined.
        stack: buffers on the stack: allocations, and arguments of @main.
        written: those of the arguments whose memory the program changes.
    """

    inlined: set[ir.Operation] = field(default_factory=set[ir.Operation])
    stack: set[ir.Value] = field(default_factory=set[ir.Value])
    written: set[ir.Value] = field(default_factory=set[ir.Value])


@dataclass
class _Use:
    """What touches a buffer: calls, in loops or not; whether it is written."""

    calls: list[ir.Operation] = field(default_factory=list[ir.Operation])
    in_loop: bool = False
    written: bool = False


def local_buffers(main: ir.Operation, kernels: Mapping[str, ir.Operation]) -> LocalBuffers:
    """Chooses the calls that are inlined and the buffers on the stack.

    Args:
        main: the host program, buffers placed.
        kernels: the declarations of its kernels.
    """
    block = main.regions[0].blocks[0]
    roots: dict[ir.Value, ir.Value] = {}
    uses: dict[ir.Value, _Use] = {}
    calls: list[tuple[ir.Operation, bool]] = []
    for op, in_loop in _within(block):
        if op.name in VIEWS:
            roots[op.results[0]] = roots.get(op.operands[0], op.operands[0])
            continue
        if op.name == "func.call":
            calls.append((op, in_loop))
        written = _written(op, kernels)
        for i, value in enumerate(op.operands):
            if not isinstance(value.type, ir.MemRefType):
                continue
            use = uses.setdefault(roots.get(value, value), _Use())
            use.in_loop |= in_loop
            use.written |= i in written
            if op.name == "func.call":
                use.calls.append(op)
    found = LocalBuffers()
    if not any(use.in_loop for use in uses.values()):
        return found
    found.inlined = _inlined(calls, uses, roots, kernels)
    room = MOST_STACK_BYTES
    arguments = set(block.arguments)
    for value, use in uses.items():
        size = byte_size(value.type)
        most = MOST_COPIED_BYTES if value in arguments else MOST_BYTES
        if not use.in_loop or not 0 < size <= min(most, room):
            continue
        if all(call in found.inlined for call in use.calls):
            room -= size
            found.stack.add(value)
            if use.written and value in arguments:
                found.written.add(value)
    return found


def _within(block: ir.Block) -> Iterator[tuple[ir.Operation, bool]]:
    """The ops of a block and of the regions in it, each with whether it is in a loop."""
    open_blocks = [(iter(ir.operations_of(block)), False)]
    while open_blocks:
        ops, in_loop = open_blocks[-1]
        operation = next(ops, None)
        if operation is None:
            open_blocks.pop()
            continue
        yield operation, in_loop
        inner = in_loop or operation.name == LOOP
        blocks = [block for region in operation.regions for block in region.blocks]
        open_blocks += [(iter(ir.operations_of(block)), inner) for block in reversed(blocks)]


def _written(op: ir.Operation, kernels: Mapping[str, ir.Operation]) -> Iterable[int]:
    """The operands whose memory an op may change."""
    if op.name == "memref.copy":
        return (1,)
    if op.name != "func.call":
        return ()
    kernel = kernels[ir.attributes.string(op, "callee")]
    return range(ir.attributes.integer(kernel, INPUTS, 0), len(op.operands))


def _inlined(
    calls: Iterable[tuple[ir.Operation, bool]],
    uses: Mapping[ir.Value, _Use],
    roots: Mapping[ir.Value, ir.Value],
    kernels: Mapping[str, ir.Operation],
) -> set[ir.Operation]:
    """The calls in loops, then those of buffers that loops touch, as far as there is room."""

    def touches_loop(call: ir.Operation) -> bool:
        buffers = [roots.get(value, value) for value in call.operands]
        return any(uses[b].in_loop and byte_size(b.type) <= MOST_BYTES for b in buffers)

    chosen: set[ir.Operation] = set()
    room = MOST_CHARACTERS
    for wanted in (True, False):
        for call, in_loop in calls:
            if in_loop is not wanted or not (in_loop or touches_loop(call)):
                continue
            kernel = kernels[ir.attributes.string(call, "callee")]
            size = ir.attributes.integer(kernel, INLINE, 0)
            if 0 < size <= room:
                room -= size
                chosen.add(call)
    return chosen
