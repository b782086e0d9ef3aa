"""How large the tiles of a product by warpgroups are, and whether it is faster than one by warps.

Cycles of a multiprocessor are estimated: those of the products at the rate of the tensor cores, or
of what the second-level cache delivers, whichever takes longer, for each tile that the busiest
multiprocessor has, and what a tile needs besides.
"""

from __future__ import annotations

from dataclasses import dataclass

from hlo.gpu.tensor_map import SWIZZLE_BYTES
from hlo.passes.hlo_to_gpu.thread_builder import WARP
from hlo.passes.hlo_to_gpu.tile_product import TileShape
from hlo.passes.hlo_to_gpu.warpgroup_builder import BARRIER_BYTES, MULTIPLY_ROWS, WARPGROUP

MULTIPROCESSORS = 132  # of an H100
PRODUCTS_PER_CYCLE = 2048  # of f16 on a multiprocessor; half as many for each doubling of the width
WARP_RATE = 0.5  # of that, by `mma.sync`
CACHE_BYTES_PER_CYCLE = 48  # from the second-level cache to a multiprocessor, in bulk
WARP_BYTES_PER_CYCLE = 32  # the same by `cp.async`, whose addresses threads compute
WARPGROUP_CYCLES = 2000  # to begin a block: barriers, maps, the first tiles
WARP_CYCLES = 1500
RESULT_CYCLES = 1 / 16  # to store an element
ALIGNMENT = 1024  # of tiles: where the swizzle's pattern begins
MOST_STAGES = 6
FEWEST_STAGES = 3
REGISTERS_BESIDES = 56  # of a thread, but for its sums


@dataclass(frozen=True)
class WarpgroupShape:
    """Tiles of a block.

    Attributes:
        groups: warpgroups that multiply, 64 rows each; one more warp copies.
        columns: of the tile.
        stages: tiles of either operand in the ring.
        resident: blocks of a multiprocessor.
    """

    groups: int
    columns: int
    stages: int
    resident: int

    @property
    def rows(self) -> int:
        return MULTIPLY_ROWS * self.groups

    @property
    def multiplying(self) -> int:
        """Threads that multiply."""
        return WARPGROUP * self.groups

    @property
    def threads(self) -> int:
        return self.multiplying + WARP

    @property
    def stage_bytes(self) -> int:
        """Shared memory of a tile of either operand."""
        return (self.rows + self.columns) * SWIZZLE_BYTES

    @property
    def ring_bytes(self) -> int:
        return self.stages * self.stage_bytes

    @property
    def shared_bytes(self) -> int:
        """The ring, and two barriers for each of its places."""
        return self.ring_bytes + 2 * self.stages * BARRIER_BYTES

    @property
    def name(self) -> str:
        return f"{self.rows} x {self.columns}"


@dataclass(frozen=True)
class Problem:
    """A product: its extents, bytes of a factor, and whether sums are added up apart.

    Attributes:
        promoted: whether each step's products are summed from zero: 8-bit floats, whose sums the
            tensor cores keep in fewer bits than f32 has.
    """

    batches: int
    rows: int
    columns: int
    depth: int
    width: int
    promoted: bool = False

    def tiles(self, rows: int, columns: int) -> int:
        """Tiles of the result."""
        return self.batches * -(-self.rows // rows) * -(-self.columns // columns)


def shapes(largest_shared: int, promoted: bool) -> list[WarpgroupShape]:
    """All tiles that a block can have.

    Args:
        largest_shared: bytes of shared memory of a block.
    """
    found: list[WarpgroupShape] = []
    for groups in (2, 1):
        for columns in (256, 128, 64):
            if promoted and columns > 128:
                continue  # twice the sums do not fit in registers
            sums = columns // 2 * (2 if promoted else 1)
            registers = (sums + REGISTERS_BESIDES) * (WARPGROUP * groups + WARP)
            shape = WarpgroupShape(groups, columns, FEWEST_STAGES, 1)
            resident = max(
                1, min(65536 // registers, largest_shared // (shape.shared_bytes + ALIGNMENT), 3)
            )
            room = largest_shared // resident - ALIGNMENT
            stages = min(MOST_STAGES, room // (shape.stage_bytes + 2 * BARRIER_BYTES))
            found.append(WarpgroupShape(groups, columns, stages, resident))
    return found


def cycles(problem: Problem, shape: WarpgroupShape) -> float:
    """What a product by warpgroups takes."""
    steps = -(-problem.depth * problem.width // SWIZZLE_BYTES)
    rate = PRODUCTS_PER_CYCLE * 2 / problem.width
    multiplying = shape.rows * shape.columns * (SWIZZLE_BYTES // problem.width) / rate
    step = max(multiplying, shape.stage_bytes / CACHE_BYTES_PER_CYCLE)
    each = -(-problem.tiles(shape.rows, shape.columns) // MULTIPROCESSORS)
    besides = WARPGROUP_CYCLES + shape.rows * shape.columns * RESULT_CYCLES
    return each * steps * step + -(-each // shape.resident) * besides


def warp_cycles(problem: Problem, shape: TileShape) -> float:
    """What the same product takes by `mma.sync`."""
    steps = -(-problem.depth // shape.depth)
    rate = PRODUCTS_PER_CYCLE * 2 / problem.width * WARP_RATE
    multiplying = shape.rows * shape.columns * shape.depth / rate
    brought = (shape.rows + shape.columns) * shape.depth * problem.width
    step = max(multiplying, brought / WARP_BYTES_PER_CYCLE)
    each = -(-problem.tiles(shape.rows, shape.columns) // MULTIPROCESSORS)
    resident = 2048 // shape.threads // 4
    besides = WARP_CYCLES + shape.rows * shape.columns * RESULT_CYCLES
    return each * steps * step + -(-each // resident) * besides


def best_shape(problem: Problem, largest_shared: int) -> WarpgroupShape:
    """The tiles that take the fewest cycles."""
    found = shapes(largest_shared, problem.promoted)
    return min(found, key=lambda shape: cycles(problem, shape))
