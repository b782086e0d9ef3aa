"""What a GPU kernel is: functions of MLIR text, each with the grid it is launched on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hlo.diagnostics import CompileError
from hlo.gpu.convolution import Parameter
from hlo.gpu.tensor_map import MAP_BYTES, TensorMap
from hlo.passes.hlo_to_gpu.thread_builder import ThreadBuilder
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.element_types import ElementType
from hlo.passes.hlo_to_loops.kernel_function import Kernel

LARGEST_GRID = (1 << 31) - 1
LARGEST_BLOCK = 1024
LARGEST_STATIC_SHARED = 48 * 1024
LARGEST_DYNAMIC_SHARED = 227 * 1024  # on the chips whose kernels ask for it
LARGEST_ACCESS = 16  # bytes
PARAMETER_BYTES = 4096  # of a launch, by drivers older than CUDA 12.1


@dataclass(frozen=True)
class Stage:
    """One launch of a kernel.

    Attributes:
        text: a `func.func @NAME` on the kernel's inputs, outputs and scratch buffers, after the
            globals in shared memory that it uses. Thread and block numbers are read by nvvm ops.
        grid: blocks in x.
        block: threads of a block, in x.
        written: positions of the buffers it writes.
        shared_bytes: size of its globals in shared memory.
        resident: blocks on a multiprocessor that registers must leave room for; with 0 the
            assembler weighs that against spills as it likes.
        dynamic_bytes: shared memory that the launch gives besides.
        maps: tensor maps of the buffers, the function's last parameters, `%map0`, `%map1`, ...
    """

    text: str
    grid: int
    block: int
    written: tuple[int, ...]
    shared_bytes: int = 0
    resident: int = 0
    dynamic_bytes: int = 0
    maps: tuple[TensorMap, ...] = ()


@dataclass(frozen=True)
class HostFunction:
    """A library function that runs on the host, on copies of the kernel's buffers.

    Attributes:
        name: of kernel_abi.h.
        operands, results: positions of the kernel's buffers, in the function's order.
        parameters: the function's numbers.
    """

    name: str
    operands: tuple[int, ...]
    results: tuple[int, ...]
    parameters: tuple[int, ...]


@dataclass(frozen=True)
class LibraryCall:
    """A call of a vendor's library that gives what the stages of a kernel give.

    Attributes:
        library, function: as of `hlo.gpu.plan.VendorCall`.
        reads, writes: positions of the kernel's buffers, and behind them of `scratch`.
        parameters: what else the function takes.
        before, after: stages around the call, on all of those.
        scratch: (elements, element type) of buffers that only the call and they use; no part of
            the arena, since they are needed only where the call is made.
    """

    library: str
    function: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    parameters: tuple[tuple[str, Parameter], ...]
    before: tuple[Stage, ...] = ()
    after: tuple[Stage, ...] = ()
    scratch: tuple[tuple[int, ElementType], ...] = ()


@dataclass(frozen=True)
class GpuKernel(Kernel):
    """A kernel as stages that are launched one after another on the same buffers.

    Attributes:
        host: what runs on the host in place of stages.
        library: the call of a vendor's library that may stand for the stages.
        reason: why it is the kernel it is, for people; empty if there was no choice.
        counters: of buffers of 32-bit numbers, its functions' last parameters but for tensor maps,
            how many each holds. They are zero when a launch begins and when it ends, and belong to
            one launch of the program.
    """

    stages: tuple[Stage, ...] = ()
    host: HostFunction | None = None
    library: LibraryCall | None = None
    reason: str = ""
    counters: tuple[int, ...] = ()

    def with_library(self, call: LibraryCall) -> GpuKernel:
        """The kernel that may be such a call."""
        # Kernels of one text are one kernel: what the call does besides must be in it.
        text = f"{self.text}// {call.library} {call.function} {call.parameters}\n"
        return replace(self, text=text, library=call)


def stage(
    builder: ThreadBuilder, buffers: Sequence[Buffer], written: Sequence[Buffer],
    threads: int, block: int, resident: int = 0, *, dynamic_bytes: int = 0,
    maps: tuple[TensorMap, ...] = (),
) -> Stage:  # fmt: skip
    """The stage whose body is in `builder`, on at least `threads` threads.

    Raises:
        CompileError: the stage breaks a limit that every target has.
    """
    grid = max(1, -(-threads // block))
    if block > LARGEST_BLOCK or grid > LARGEST_GRID:
        raise CompileError(
            f"a kernel needs {grid} blocks of {block} threads; GPUs run at most {LARGEST_GRID} "
            f"blocks of {LARGEST_BLOCK} threads: split the operation"
        )
    if builder.shared_bytes > LARGEST_STATIC_SHARED:
        raise CompileError(
            f"a kernel needs {builder.shared_bytes} bytes of shared memory; a block has "
            f"{LARGEST_STATIC_SHARED}: use smaller tiles"
        )
    if builder.shared_bytes + dynamic_bytes > LARGEST_DYNAMIC_SHARED:
        raise CompileError(
            f"a launch needs {builder.shared_bytes + dynamic_bytes} bytes of shared memory; a "
            f"block gets at most {LARGEST_DYNAMIC_SHARED}: use smaller tiles"
        )
    parameters = 8 * len(buffers) + MAP_BYTES * len(maps)
    if parameters > PARAMETER_BYTES:
        raise CompileError(
            f"a kernel has {len(buffers)} inputs and outputs, {parameters} bytes of parameters; a "
            f"launch takes {PARAMETER_BYTES}: split the operation"
        )
    text = (
        "".join(f"{line}\n" for line in builder.shared_globals)
        + f"func.func @NAME({parameters_text(buffers, len(maps))}) {{\n{builder.text()}\n"
        + "  return\n}\n"
    )
    positions = tuple(i for i, buffer in enumerate(buffers) if buffer in written)
    return Stage(
        text, grid, block, positions, builder.shared_bytes, resident, dynamic_bytes, maps
    )  # fmt: skip


def parameters_text(buffers: Sequence[Buffer], maps: int = 0) -> str:
    """The parameters of a function on buffers, and on so many tensor maps."""
    listed = [f"{b.name}: {b.memref} {{llvm.align = {_alignment(b)} : i64}}" for b in buffers]
    return ", ".join([*listed, *(f"%map{k}: !llvm.ptr" for k in range(maps))])


def _alignment(buffer: Buffer) -> int:
    """Bytes that every buffer like this is aligned to; small ones are placed close together."""
    size = max(buffer.elements * max(buffer.type.bits, 8) // 8, 1)
    return min(LARGEST_ACCESS, 1 << (size.bit_length() - 1))


def gpu_kernel(
    stages: Sequence[Stage], inputs: Sequence[Buffer], outputs: Sequence[Buffer],
    *, scratch: Sequence[Buffer] = (), in_place: tuple[int, ...] = (),
    updates: tuple[int, ...] | None = None, update_safe: bool = False,
    replaces: tuple[tuple[int, int], ...] = (), counters: tuple[int, ...] = (),
) -> GpuKernel:  # fmt: skip
    """A kernel of stages; without any, it does nothing and is not launched."""
    # Kernels of one text are one kernel: what is not in the code must be in the text.
    kinds = [", ".join(b.memref for b in part) for part in (inputs, outputs, scratch)]
    head = f"// ({kinds[0]}) -> ({kinds[1]}), {kinds[2]}, {in_place}, {updates}, {update_safe}, "
    head += f"{replaces}, {counters}\n"
    return GpuKernel(
        text=head + "".join(_head(s) + s.text for s in stages),
        units=len(stages),
        inputs=tuple(b.memref for b in inputs),
        outputs=tuple(b.memref for b in outputs),
        in_place=in_place,
        updates=updates,
        update_safe=update_safe,
        replaces=replaces,
        scratch=tuple((b.elements, b.type) for b in scratch),
        stages=tuple(stages),
        counters=counters,
    )


def _head(stage: Stage) -> str:
    maps = "".join(f"// {tensor_map}\n" for tensor_map in stage.maps)
    return f"// {stage.grid} x {stage.block}, {stage.resident}, {stage.dynamic_bytes}\n{maps}"
