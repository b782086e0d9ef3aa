"""NVIDIA targets by name, with the limits that kernels keep to."""

from __future__ import annotations

from dataclasses import dataclass

from hlo.diagnostics import UnsupportedError

PREFIX = "nvptx:"
BYTE_FLOATS_PTX = 84  # the first version with `mma.sync` of 8-bit floats
_BYTE_FLOATS = "mma.sync.aligned.m16n8k32.row.col.f32.e"


@dataclass(frozen=True)
class GpuTarget:
    """A chip.

    Attributes:
        chip: its name in PTX.
        features: the PTX version LLVM is to write; old drivers do not read new ones.
        block_shared_bytes: most shared memory of a block without asking the driver for more.
        largest_shared_bytes: most shared memory of a block that asks for it.
        multiprocessor_shared_bytes: shared memory that the blocks of a multiprocessor divide.
        multiprocessor_threads: most threads resident on a multiprocessor.
        block_threads: most threads of a block.
        registers: 32-bit registers of a multiprocessor.
        thread_registers: most registers of a thread.
    """

    chip: str
    features: str
    largest_shared_bytes: int
    multiprocessor_shared_bytes: int
    multiprocessor_threads: int
    block_shared_bytes: int = 48 * 1024
    block_threads: int = 1024
    registers: int = 65536
    thread_registers: int = 255

    @property
    def has_warpgroup_products(self) -> bool:
        """Whether it has `wgmma`, which sm_90a alone has."""
        return self.chip == "sm_90a"

    @property
    def has_byte_float_products(self) -> bool:
        """Whether products of 8-bit floats are best by `mma.sync`.

        Those of sm_90 and sm_100 are by other instructions, `wgmma` and `tcgen05`.
        """
        return self.chip in ("sm_89", "sm_120")

    def features_for(self, text: str) -> str:
        """The PTX version that a module of kernels needs; old drivers read what they can."""
        known = int(self.features.removeprefix("+ptx"))
        return f"+ptx{max(known, BYTE_FLOATS_PTX)}" if _BYTE_FLOATS in text else self.features


# Limits: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
TARGETS: dict[str, GpuTarget] = {
    target.chip: target
    for target in (
        GpuTarget("sm_80", "+ptx70", 163 * 1024, 164 * 1024, 2048),
        GpuTarget("sm_86", "+ptx71", 99 * 1024, 100 * 1024, 1536),
        GpuTarget("sm_89", "+ptx78", 99 * 1024, 100 * 1024, 1536),
        GpuTarget("sm_90", "+ptx78", 227 * 1024, 228 * 1024, 2048),
        GpuTarget("sm_90a", "+ptx80", 227 * 1024, 228 * 1024, 2048),
        GpuTarget("sm_100", "+ptx86", 227 * 1024, 228 * 1024, 2048),
        GpuTarget("sm_120", "+ptx87", 99 * 1024, 100 * 1024, 1536),
    )
}


def is_gpu_target(name: str) -> bool:
    """Whether a target's name asks for a GPU: `nvptx:CHIP`."""
    return name.startswith(PREFIX)


def gpu_target(name: str) -> GpuTarget:
    """The target called `nvptx:CHIP`.

    Raises:
        UnsupportedError: the chip is not one of `TARGETS`.
    """
    chip = name.removeprefix(PREFIX)
    found = TARGETS.get(chip)
    if found is None:
        known = ", ".join(PREFIX + chip for chip in TARGETS)
        raise UnsupportedError(f"unknown target {name!r}; known GPU targets: {known}")
    return found
