"""What kernels take of a GPU: registers, spills, occupancy, and the least time they need.

The time is the roofline's: what is moved at the memory's speed, or what is computed at the speed of
f32 arithmetic outside of tensor cores, whichever takes longer (Williams et al., "Roofline", 2009).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hlo.diagnostics import CompileError
from hlo.driver.byte_text import byte_text
from hlo.driver.gpu_compile import GpuCompiled
from hlo.gpu.plan import Launch
from hlo.gpu.ptxas import KernelResources, assemble
from hlo.passes.hlo_to_gpu.target import GpuTarget

REGISTER_UNIT = 256  # registers are given to warps in these
SHARED_UNIT = 1024  # bytes the system takes of a block's shared memory
LARGEST_BLOCKS = 32  # on a multiprocessor


@dataclass(frozen=True)
class Gpu:
    """A device.

    Attributes:
        bandwidth: of memory, bytes a second.
        flops: f32 operations a second, a multiply-add being two.
        multiprocessors: how many there are.
    """

    name: str
    chip: str
    bandwidth: float
    flops: float
    multiprocessors: int


# NVIDIA's data sheets.
GPUS = {
    gpu.name: gpu
    for gpu in (
        Gpu("a100", "sm_80", 2.039e12, 19.5e12, 108),
        Gpu("a10", "sm_86", 0.6e12, 31.2e12, 72),
        Gpu("l4", "sm_89", 0.3e12, 30.3e12, 58),
        Gpu("h100", "sm_90", 3.35e12, 66.9e12, 132),
        Gpu("h200", "sm_90", 4.8e12, 66.9e12, 132),
        Gpu("b200", "sm_100", 8.0e12, 75.0e12, 148),
    )
}


@dataclass(frozen=True)
class LaunchEstimate:
    """One launch.

    Attributes:
        resources: what the assembler says of its kernel, shared memory that the launch gives added.
        occupancy: resident threads of a multiprocessor, as a part of the most it can have.
        seconds: the least it can take.
        bound: what limits it, `memory` or `arithmetic`.
    """

    launch: Launch
    resources: KernelResources
    occupancy: float
    seconds: float
    bound: str


def estimates(program: GpuCompiled, gpu: Gpu) -> list[LaunchEstimate]:
    """Every launch of a program, loops counted once.

    Raises:
        MissingExtraError: the assembler is not installed.
        CompileError: it refuses the code.
    """
    resources: dict[str, KernelResources] = {}
    for module in program.plan.modules.values():
        resources.update(assemble(module.ptx, program.target.chip).kernels)
    found: list[LaunchEstimate] = []
    for step in program.plan.walk():
        if not isinstance(step, Launch):
            continue
        taken = resources[step.kernel]
        taken = replace(taken, shared_bytes=taken.shared_bytes + step.shared_bytes)
        moving, computing = step.bytes / gpu.bandwidth, step.flops / gpu.flops
        bound = "memory" if moving >= computing else "arithmetic"
        share = occupancy(program.target, step.block[0], taken)
        found.append(LaunchEstimate(step, taken, share, max(moving, computing), bound))
    return found


def occupancy(target: GpuTarget, threads: int, taken: KernelResources) -> float:
    """Resident threads of a multiprocessor, as a part of the most it can have."""
    warps = -(-threads // 32)
    warp_registers = -(-max(taken.registers, 1) * 32 // REGISTER_UNIT) * REGISTER_UNIT
    limits = [
        LARGEST_BLOCKS,
        target.multiprocessor_threads // (warps * 32),
        target.registers // (warp_registers * warps),
        target.multiprocessor_shared_bytes // (taken.shared_bytes + SHARED_UNIT),
    ]
    return min(limits) * warps * 32 / target.multiprocessor_threads


def gpu_named(name: str) -> Gpu:
    """The device of a name.

    Raises:
        CompileError: it is not one of `GPUS`.
    """
    found = GPUS.get(name.lower())
    if found is None:
        raise CompileError(f"unknown GPU {name!r}; known are: {', '.join(GPUS)}")
    return found


def gpu_report(program: GpuCompiled, gpu: Gpu) -> str:
    """A line for every launch, and the sum."""
    rows = estimates(program, gpu)
    lines = [
        f"{gpu.name}: {gpu.bandwidth / 1e12:.2f} TB/s, {gpu.flops / 1e12:.1f} Tflop/s",
        f"{'us':>9} {'bytes':>10} {'registers':>9} {'spills':>6} {'shared':>8} {'occupancy':>9}"
        "  kernel",
    ]
    for row in rows:
        taken = row.resources
        spilled = taken.spill_store_bytes + taken.spill_load_bytes
        lines.append(
            f"{1e6 * row.seconds:9.2f} {byte_text(row.launch.bytes):>10} {taken.registers:9} "
            f"{spilled:6} {taken.shared_bytes:8} {100 * row.occupancy:8.0f}%  {row.launch.kernel}"
            f" ({row.bound})"
        )
    total = sum(row.seconds for row in rows)
    lines.append(f"{1e6 * total:9.2f} in all, {len(rows)} launches")
    return "\n".join(lines) + "\n"
