"""What every benchmark program is on GPUs, beside the CPU and XLA; writes docs/gpu_figures.md.

python benchmarks/gpu_figures.py [--programs=DIR] [NAME...]

Nothing runs. Registers and spills are those that ptxas reports, which must be installed.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import memory
import warpgroup_figures
from kernel_counts import DEFAULT_PROGRAMS, ROOT, own_figures, peer_figures

import hlo
from hlo.diagnostics import UnsupportedError
from hlo.driver.gpu_compile import GpuCompiled
from hlo.gpu.ptxas import KernelResources, assemble

PAGE = ROOT / "docs" / "gpu_figures.md"
CHIPS = ("sm_80", "sm_90")
_HEADING = """# The benchmark programs on GPUs
Written by `python benchmarks/gpu_figures.py`. Launches and arena bytes are those of `nvptx:sm_90`,
loop bodies once, beside kernels and arena of the CPU, and beside the kernels and temp bytes of
XLA:CPU (from the programs' README and docs/memory_figures.md). Registers (sm_80 / sm_90) are the
most of a thread, spills are bytes, both as ptxas reports them.

| program | launches | CPU | XLA:CPU | arena | CPU | XLA:CPU | code | registers | spills |
|---|---|---|---|---|---|---|---|---|---|
"""
_REASONS = """
## Where a GPU has more
Launches or arenas above the CPU's by more than a tenth, and why:

- **Sorts** (sort_topk): 65536 elements are 32 tiles, sorted by a block each, and five merges.
- **Fourier transforms** (fftconv2d): each pass is a launch, from one buffer to another, where the
  CPU calls a library that works in place: three buffers for its one.
- **Scatters** (the arena of gnn_train): the CPU computes updates as it applies them.
- **More pieces** (the arena of seed_demo): a sum has 512 partial results, the CPU's 128.
- The arena of nuts_blackjax is larger for a reason not looked into yet.
- **Stored operands** (the arenas of resnet18_train and mlp_train): the CPU computes activations and
  normalisations while it packs an operand of the next product. A GPU's products read operands as
  they lie, so what is ahead of an activation and the activation are both stored.
"""


@dataclass(frozen=True)
class GpuFigures:
    """A program for a GPU.

    Attributes:
        resources: of each of its kernels.
    """

    launches: int
    arena: int
    resources: tuple[KernelResources, ...]

    @property
    def registers(self) -> int:
        """The most of a thread."""
        return max((taken.registers for taken in self.resources), default=0)

    @property
    def spilled_bytes(self) -> int:
        """Stored and loaded by a thread, of all kernels."""
        return sum(taken.spill_store_bytes + taken.spill_load_bytes for taken in self.resources)


def gpu_figures(program: Path, chip: str) -> GpuFigures:
    """A program compiled for a chip, and its code assembled.

    Raises:
        UnsupportedError: it holds what has no kernel.
    """
    compiled = hlo.compile(program, target=f"nvptx:{chip}")
    assert isinstance(compiled, GpuCompiled)
    plan = compiled.plan
    resources = [
        taken
        for module in plan.modules.values()
        for taken in assemble(module.ptx, chip).kernels.values()
    ]
    return GpuFigures(plan.launches, plan.arena_bytes, tuple(resources))


def row_of(name: str, program: Path, xla_kernels: int, xla_temporary: int) -> str:
    """A line of the table."""
    cpu, arena = own_figures(program).kernels, memory.own_figures(program).arena
    try:
        old, new = (gpu_figures(program, chip) for chip in CHIPS)
    except UnsupportedError as error:
        reason = str(error).partition(";")[0].rpartition(": ")[2]
        return f"| {name} | {reason} | {cpu} | {xla_kernels} | | {arena} | {xla_temporary} | | | |"
    spilled = old.spilled_bytes + new.spilled_bytes
    return (
        f"| {name} | {new.launches} | {cpu} | {xla_kernels} | {new.arena} | {arena} "
        f"| {xla_temporary} | {len(new.resources)} | {old.registers} / {new.registers} "
        f"| {spilled or 'none'} |"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--programs", type=Path, default=DEFAULT_PROGRAMS)
    args = parser.parse_args()
    kernels, temporaries = peer_figures(args.programs), memory.recorded()
    rows: list[str] = []
    for name in args.names or sorted(kernels):
        temporary = temporaries[name][1].temporary
        path = args.programs / f"{name}.mlir"
        rows.append(row_of(name, path, kernels[name].kernels, temporary))
        print(rows[-1], flush=True)
    if not args.names:
        PAGE.write_text(_HEADING + "\n".join(rows) + "\n" + _REASONS + warpgroup_figures.section())
    return 0


if __name__ == "__main__":
    sys.exit(main())
