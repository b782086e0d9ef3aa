"""The launch plan: a compiled program for a GPU, as data.

A plan holds kernels in PTX and the steps that run them: launches, copies and fills in order, loops
and branches that depend on bytes in device memory. Every address is a slice of one of four kinds of
memory, so a plan depends neither on a device nor on a process; `hlo.gpu.plan_json` stores it and
`hlo.gpu.plan_text` prints it for people.

The kernel ABI: a kernel `NAME` of a module is a `.entry NAME` whose parameters are one 64-bit
device pointer for each buffer, in the order of `Launch.arguments`, then 128 bytes for each of
`Kernel.tensor_maps`, made for the address of its buffer, and nothing else. A pointer is aligned to
`ALIGNMENT` bytes if its slice's offset is; arguments, results, constants and slices of the arena of
at least that size are, smaller ones to the least power of two not below their size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from hlo.gpu.convolution import Parameter
from hlo.gpu.tensor_map import TensorMap

ALIGNMENT = 64  # bytes, of every allocation that a plan's slices start in

Base: TypeAlias = Literal["arena", "argument", "result", "constant", "workspace"]


@dataclass(frozen=True)
class BufferSlice:
    """Bytes [offset, offset + bytes) of the arena, or of an argument, a result or a constant.

    Attributes:
        base: which kind of memory; `workspace` is what calls of libraries work in, which is there
            only where they are made, and for each of them alone.
        index: which argument, result or constant; 0 for the arena.
    """

    base: Base
    index: int
    offset: int
    bytes: int

    def overlaps(self, other: BufferSlice) -> bool:
        """Whether two slices share a byte; see `LaunchPlan.aliases` for results in arguments."""
        return (
            (self.base, self.index) == (other.base, other.index)
            and self.offset < other.offset + other.bytes
            and other.offset < self.offset + self.bytes
        )


Dimensions: TypeAlias = tuple[int, int, int]  # x, y, z


@dataclass(frozen=True)
class Launch:
    """Runs a kernel.

    Attributes:
        kernel: a key of `LaunchPlan.kernels`.
        grid, block: blocks, and threads of a block.
        shared_bytes: dynamic shared memory of a block, besides what the kernel declares itself.
        arguments: one slice a parameter.
        source: the user's source line, `loc("file":line:column)`; empty if unknown.
        number: of the launch in the program, as reports count them; the stages of a kernel have
            one. -1 for a fill.
    """

    kernel: str
    grid: Dimensions
    block: Dimensions
    arguments: tuple[BufferSlice, ...]
    shared_bytes: int = 0
    source: str = ""
    number: int = -1


@dataclass(frozen=True)
class Copy:
    """Copies bytes within device memory; the slices are of one size and do not overlap."""

    destination: BufferSlice
    source: BufferSlice
    reason: str = ""


@dataclass(frozen=True)
class Fill:
    """Writes `pattern` (1, 2 or 4 bytes, little-endian) over a slice, again and again."""

    destination: BufferSlice
    pattern: int
    pattern_bytes: Literal[1, 2, 4] = 1
    reason: str = ""


@dataclass(frozen=True)
class Loop:
    """Runs `condition`; while the byte at `predicate` is then not zero, `body` and `condition`."""

    condition: tuple[Step, ...]
    predicate: BufferSlice
    body: tuple[Step, ...]


@dataclass(frozen=True)
class Case:
    """Runs one branch: the one whose number `index` holds, the last if there is no such branch.

    `index` is a signed little-endian integer of `index.bytes` (1 or 4) bytes. A condition is a case
    of two branches: not, and then.
    """

    index: BufferSlice
    branches: tuple[tuple[Step, ...], ...]


@dataclass(frozen=True)
class VendorCall:
    """A call of a vendor library (cuBLASLt, cuDNN): its name, operands and parameters.

    Attributes:
        library: what must be installed, `cublasLt` or `cudnn`.
        name: the function as the runtime knows it.
        reads, writes: operands and results.
        parameters: what else the function takes, by name.
        fallback: what gives the same without the library.
        before, after: what is launched around the library's call, and only then: copies of operands
            and results to and from the layouts that it takes.
    """

    library: str
    name: str
    reads: tuple[BufferSlice, ...]
    writes: tuple[BufferSlice, ...]
    parameters: tuple[tuple[str, Parameter], ...] = ()
    source: str = ""
    fallback: tuple[Launch, ...] = ()
    before: tuple[Launch, ...] = ()
    after: tuple[Launch, ...] = ()


@dataclass(frozen=True)
class HostCall:
    """A call of a library function of the CPU's runtime, on copies of its buffers: LAPACK.

    Attributes:
        function: its name in runtime/kernel_abi.h, an `HloLibraryFn`.
        reads, writes: operands and results, in its order.
        parameters: its numbers.
    """

    function: str
    reads: tuple[BufferSlice, ...]
    writes: tuple[BufferSlice, ...]
    parameters: tuple[int, ...]
    source: str = ""


Step: TypeAlias = Launch | Copy | Fill | Loop | Case | VendorCall | HostCall


@dataclass(frozen=True)
class Kernel:
    """What is known of a kernel.

    Attributes:
        module: the `KernelModule` that holds it.
        parameters: how many buffers it takes.
        written: positions of the parameters whose memory it writes (it may read them as well).
        static_shared_bytes: shared memory that its code declares.
        block: the only block size it may be launched with (`.reqntid`), None if any.
        tensor_maps: how its bulk copies see its buffers.
    """

    name: str
    module: str
    parameters: int
    written: tuple[int, ...]
    static_shared_bytes: int = 0
    block: Dimensions | None = None
    tensor_maps: tuple[TensorMap, ...] = ()


@dataclass(frozen=True)
class KernelModule:
    """Code that is loaded as one.

    Attributes:
        ptx: PTX text, without a trailing NUL.
        bitcode: the LLVM bitcode that the PTX was made from, libraries linked in; None if it was
            not asked for.
    """

    name: str
    ptx: str
    bitcode: bytes | None = None


@dataclass(frozen=True)
class TensorType:
    """Shape and element type, by its MLIR name (`f32`, `i1`, `complex<f32>`), row-major."""

    shape: tuple[int, ...]
    element: str


@dataclass(frozen=True)
class Constant:
    """Bytes that are the same in every run.

    A launch whose blocks count themselves is given some that are zero, and leaves them so.
    """

    type: TensorType
    data: bytes


@dataclass(frozen=True)
class LaunchPlan:
    """A program for a GPU.

    Attributes:
        target: the chip the PTX is for, such as `sm_80`.
        name: of the program.
        kernels: by name; names are unique in a plan.
        modules: by name.
        arena_bytes: memory for intermediates; the arena is not cleared.
        arguments, results: the program's signature.
        aliases: (result, argument) pairs: such a result is computed in its donated argument's
            memory, and slices name the argument.
        arena_slices: (label, offset, bytes) of what is placed in the arena, for reports.
    """

    target: str
    name: str
    kernels: dict[str, Kernel]
    modules: dict[str, KernelModule]
    constants: tuple[Constant, ...]
    arena_bytes: int
    steps: tuple[Step, ...]
    arguments: tuple[TensorType, ...]
    results: tuple[TensorType, ...]
    aliases: tuple[tuple[int, int], ...] = ()
    arena_slices: tuple[tuple[str, int, int], ...] = field(default=())

    def walk(self) -> Iterator[Step]:
        """Every step, those inside loops and branches too, in the order of the text."""
        yield from walk(self.steps)

    @property
    def launches(self) -> int:
        """Launches and library calls of one run without the vendor's, loops counted once."""
        return sum(isinstance(step, Launch | HostCall) for step in self.walk())

    @property
    def is_static(self) -> bool:
        """Whether no step waits for what is in memory, so that one graph can hold them all."""
        return not any(isinstance(step, Loop | Case | HostCall) for step in self.steps)


def walk(steps: tuple[Step, ...]) -> Iterator[Step]:
    """Every step of a list of steps, those in loops, branches and in place of calls too."""
    for step in steps:
        yield step
        if isinstance(step, Loop):
            yield from walk(step.condition)
            yield from walk(step.body)
        elif isinstance(step, Case):
            for branch in step.branches:
                yield from walk(branch)
        elif isinstance(step, VendorCall):
            yield from step.fallback


def accesses(step: Step, plan: LaunchPlan) -> tuple[list[BufferSlice], list[BufferSlice]]:
    """(slices read, slices written) of a step, all steps inside it included.

    What a kernel writes counts as read too.
    """
    if isinstance(step, Launch):
        written = [step.arguments[i] for i in plan.kernels[step.kernel].written]
        return list(step.arguments), written
    if isinstance(step, Copy):
        return [step.source], [step.destination]
    if isinstance(step, Fill):
        return [], [step.destination]
    if isinstance(step, HostCall):
        return list(step.reads), list(step.writes)
    if isinstance(step, VendorCall):
        reads, writes = list(step.reads), list(step.writes)
        for launch in (*step.before, *step.fallback, *step.after):
            more_reads, more_writes = accesses(launch, plan)
            reads += more_reads
            writes += more_writes
        shared = [[p for p in some if p.base != "workspace"] for some in (reads, writes)]
        return shared[0], shared[1]
    inner = [*step.condition, *step.body] if isinstance(step, Loop) else [
        s for branch in step.branches for s in branch
    ]  # fmt: skip
    reads = [step.predicate if isinstance(step, Loop) else step.index]
    writes: list[BufferSlice] = []
    for other in inner:
        more_reads, more_writes = accesses(other, plan)
        reads += more_reads
        writes += more_writes
    return reads, writes
