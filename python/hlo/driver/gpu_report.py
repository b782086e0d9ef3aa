"""What kernels take of a GPU: registers, spills, occupancy, and the least time they need.

The time is the roofline's: what is moved at the memory's speed, or what is computed at the speed of
the units that compute it, whichever takes longer (Williams et al., "Roofline", 2009). What a launch
computes and moves is the cost model's (`hlo.passes.cost`); of a kernel of several stages each moves
the buffers that its code names, and computes a share by its threads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hlo.diagnostics import CompileError
from hlo.driver.byte_text import byte_text
from hlo.driver.gpu_compile import GpuCompiled
from hlo.gpu.plan import Launch
from hlo.gpu.ptxas import KernelResources, assemble
from hlo.passes.cost.kernel_cost import KernelCost
from hlo.passes.hlo_to_gpu.gpu_kernel import Stage
from hlo.passes.hlo_to_gpu.target import GpuTarget
from hlo.passes.lower_to_ptx.modules import stages_of

REGISTER_UNIT = 256  # registers are given to warps in these
SHARED_UNIT = 1024  # bytes the system takes of a block's shared memory
LARGEST_BLOCKS = 32  # on a multiprocessor
TRANSCENDENTAL_FLOPS = 20  # of a polynomial of ten multiply-adds
_PRODUCT = re.compile(
    r"(?:mma\.sync\.aligned\.m\d+n\d+k\d+(?:\.row\.col)?|wgmma\.mma_async\.sync\.aligned\.m64n\d+k\d+)"
    r"\.\w+\.(\w+)"
)
_ENTRY = re.compile(r"\.entry (\w+)\(")
_DOUBLE = re.compile(r"\b(?:add|sub|mul|fma|div|sqrt)\.\w+\.f64\b")
# Of tensor cores: products a second of each type of factor, beside those of f16.
_RATES = {"f16": 1.0, "bf16": 1.0, "tf32": 0.5, "s8": 2.0, "u8": 2.0, "e4m3": 2.0, "e5m2": 2.0}


@dataclass(frozen=True)
class Gpu:
    """A device.

    Attributes:
        bandwidth: of memory, bytes a second.
        flops: f32 operations a second, a multiply-add being two; without tensor cores.
        tensor_flops: the same of tensor cores on f16, with no zeros left out.
        double_flops, double_tensor_flops: both of f64.
        multiprocessors: how many there are.
    """

    name: str
    chip: str
    bandwidth: float
    flops: float
    tensor_flops: float
    double_flops: float
    double_tensor_flops: float
    multiprocessors: int

    def rate(self, unit: str) -> float:
        """Operations a second of a unit: f32, f64, or tensor cores by the type of factors."""
        if unit == "tensor f64":
            return self.double_tensor_flops
        if unit.startswith("tensor "):
            return self.tensor_flops * _RATES[unit.removeprefix("tensor ")]
        return self.double_flops if unit == "f64" else self.flops


# NVIDIA's data sheets.
GPUS = {
    gpu.name: gpu
    for gpu in (
        Gpu("a100", "sm_80", 2.039e12, 19.5e12, 312e12, 9.7e12, 19.5e12, 108),
        Gpu("a10", "sm_86", 0.6e12, 31.2e12, 125e12, 0.49e12, 0.49e12, 72),
        Gpu("l4", "sm_89", 0.3e12, 30.3e12, 121e12, 0.47e12, 0.47e12, 58),
        Gpu("h100", "sm_90", 3.35e12, 66.9e12, 989e12, 33.5e12, 66.9e12, 132),
        Gpu("h200", "sm_90", 4.8e12, 66.9e12, 989e12, 33.5e12, 66.9e12, 132),
        Gpu("b200", "sm_100", 8.0e12, 75.0e12, 2250e12, 37e12, 37e12, 148),
    )
}


@dataclass(frozen=True)
class LaunchEstimate:
    """One launch.

    Attributes:
        resources: what the assembler says of its kernel, shared memory that the launch gives added.
        calls: of it in one run: the trip counts of the loops around it.
        bytes, flops: what one moves and computes.
        unit: what computes: as of `Gpu.rate`.
        occupancy: resident threads of a multiprocessor, as a part of the most it can have.
        seconds: the least that one takes.
        bound: what limits it, `memory` or the unit.
    """

    launch: Launch
    resources: KernelResources
    calls: int
    bytes: int
    flops: float
    unit: str
    occupancy: float
    seconds: float
    bound: str


def estimates(program: GpuCompiled, gpu: Gpu) -> list[LaunchEstimate]:
    """Every launch of a program.

    Raises:
        MissingExtraError: the assembler is not installed.
        CompileError: it refuses the code.
    """
    plan = program.plan
    resources: dict[str, KernelResources] = {}
    units: dict[str, str] = {}
    for module in plan.modules.values():
        resources.update(assemble(module.ptx, program.target.chip).kernels)
        units |= _units_of(module.ptx)
    stages, costs = stages_of(program.kernels), program.launch_costs()
    found: list[LaunchEstimate] = []
    steps = [step for step in plan.walk() if isinstance(step, Launch)]
    for step in steps:
        taken = resources[step.kernel]
        taken = replace(taken, shared_bytes=taken.shared_bytes + step.shared_bytes)
        cost, together = costs.get(step.number), [s for s in steps if s.number == step.number]
        moved = _bytes_of(step, together, stages, cost)
        flops, unit = _flops_of(step, together, cost, units), units[step.kernel]
        moving, computing = moved / gpu.bandwidth, flops / gpu.rate(unit)
        share = occupancy(program.target, step.block[0], taken)
        found.append(
            LaunchEstimate(
                step, taken, 1 if cost is None else cost.calls, moved, flops, unit, share,
                max(moving, computing), "memory" if moving >= computing else unit,
            )
        )  # fmt: skip
    return found


def _bytes_of(
    step: Launch, together: Sequence[Launch], stages: Mapping[str, Stage], cost: KernelCost | None
) -> int:
    """What a launch moves: the cost model's figure, or of several stages what the code names."""
    if cost is not None and len(together) == 1:
        return cost.bytes
    code = stages[step.kernel].text.partition("func.func @NAME(")[2]
    head, _, body = code.partition(")")
    names = re.findall(r"(%\w+): memref", head)
    places = dict(zip(names, step.arguments, strict=False))
    used = {place for name, place in places.items() if re.search(rf"{name}\b", body)}
    return sum(place.bytes for place in used)


def _flops_of(
    step: Launch, together: Sequence[Launch], cost: KernelCost | None, units: Mapping[str, str]
) -> float:
    """What a launch computes: of several stages a share by threads, or all by tensor cores."""
    if cost is None:
        return 0.0
    multiplying = [s for s in together if units[s.kernel].startswith("tensor")]
    threads = {s.kernel: s.grid[0] * s.block[0] for s in multiplying or together}
    whole = cost.flops + TRANSCENDENTAL_FLOPS * cost.transcendentals
    return whole * threads.get(step.kernel, 0) / sum(threads.values())


def _units_of(ptx: str) -> dict[str, str]:
    """What does most of each kernel's arithmetic: tensor cores where they do any."""
    found: dict[str, str] = {}
    entries = [*_ENTRY.finditer(ptx)]
    ends = [*(entry.start() for entry in entries[1:]), len(ptx)]
    for entry, end in zip(entries, ends, strict=True):
        code = ptx[entry.start() : end]
        if (product := _PRODUCT.search(code)) is not None:
            found[entry[1]] = f"tensor {product[1]}"
        else:
            found[entry[1]] = "f64" if _DOUBLE.search(code) else "f32"
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
        f"{gpu.name}: {gpu.bandwidth / 1e12:.2f} TB/s, {gpu.flops / 1e12:.1f} Tflop/s, "
        f"{gpu.tensor_flops / 1e12:.0f} by tensor cores",
        f"{'us':>9} {'calls':>5} {'bytes':>10} {'Mflop':>9} {'registers':>9} {'spills':>6} "
        f"{'shared':>8} {'occupancy':>9}  kernel",
    ]
    for row in rows:
        taken = row.resources
        spilled = taken.spill_store_bytes + taken.spill_load_bytes
        lines.append(
            f"{1e6 * row.seconds:9.2f} {row.calls:5} {byte_text(row.bytes):>10} "
            f"{row.flops / 1e6:9.1f} {taken.registers:9} {spilled:6} {taken.shared_bytes:8} "
            f"{100 * row.occupancy:8.0f}%  {row.launch.kernel} ({row.bound})"
        )
    total = sum(row.seconds * row.calls for row in rows)
    count = sum(row.calls for row in rows)
    lines.append(f"{1e6 * total:9.2f} in all, {count} launches")
    return "\n".join(lines) + "\n"
