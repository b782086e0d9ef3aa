"""place: every `memref.alloc` becomes a view of one arena."""

from __future__ import annotations

from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.memory.packing import Buffer, lower_bound, pack

ALIGNMENT = 64


@dataclass(frozen=True)
class Allocation:
    """One buffer of the arena: live for [start, end) of program order, `size` bytes at `offset`."""

    name: str
    location: str
    start: int
    end: int
    size: int
    offset: int


@dataclass(frozen=True)
class Arena:
    """The plan: its height in bytes, the lower bound (most bytes live at once), the allocations."""

    bytes: int
    bound: int
    allocations: tuple[Allocation, ...]


def live_ranges(module: ir.Module) -> list[tuple[ir.Operation, int, int]]:
    """(alloc, start, end) of each allocation of @main in program order; after `deallocate`."""
    ranges: dict[ir.Value, tuple[ir.Operation, int]] = {}
    result: list[tuple[ir.Operation, int, int]] = []
    step = 0

    def walk(block: ir.Block) -> None:
        nonlocal step
        for op in block.operations:
            operation = op.operation
            step += 1
            if operation.name == "memref.alloc":
                ranges[operation.results[0]] = (operation, step)
            elif operation.name == "memref.dealloc":
                allocation, start = ranges[operation.operands[0]]
                result.append((allocation, start, step))
            for region in operation.regions:
                for inner in region.blocks:
                    walk(inner)

    for function in module.body.operations:
        for region in function.operation.regions:
            for block in region.blocks:
                walk(block)
    return result


def byte_size(kind: ir.Type) -> int:
    """Bytes of a static, rank-1 memref type."""
    memref = ir.MemRefType(kind)
    element = str(memref.element_type)
    return memref.shape[0] * (int(element.lstrip("bif")) // 8)


@dataclass(frozen=True)
class Place(Pass):
    """Packs the allocations of the host program into one arena: each gets an `hlo.offset` in bytes.

    Requires: `deallocate` ran.
    Guarantees: no two allocations live at the same step overlap; every offset is a multiple of 64;
    the deallocs are gone.

        %0 = memref.alloc() : memref<4xf32>
        memref.dealloc %0 : memref<4xf32>
      ==>
        %0 = memref.alloc() {hlo.offset = 0 : i64} : memref<4xf32>
    """

    reuse: bool = True
    time_budget_s: float = 0.0

    def run(self, module: ir.Module) -> bool:
        return bool(self.plan(module).allocations)

    def plan(self, module: ir.Module) -> Arena:
        """Places the allocations and returns the plan."""
        ranges = live_ranges(module)
        buffers = [
            Buffer(
                id=str(i), start=start if self.reuse else 0, end=end if self.reuse else 1,
                size=byte_size(op.results[0].type), alignment=ALIGNMENT,
            )
            for i, (op, start, end) in enumerate(ranges)
        ]  # fmt: skip
        placement = pack(buffers, time_budget_s=self.time_budget_s)
        allocations: list[Allocation] = []
        integer = ir.IntegerType.get_signless(64, module.context)
        for buffer, (op, start, end) in zip(buffers, ranges, strict=True):
            offset = placement.offsets[buffer.id]
            op.attributes["hlo.offset"] = ir.IntegerAttr.get(integer, offset)
            name = ir.attributes.string(op, "hlo.name", "")
            allocations.append(Allocation(name, str(op.location), start, end, buffer.size, offset))
        _erase_deallocs(module)
        return Arena(placement.height, lower_bound(buffers), tuple(allocations))


def _erase_deallocs(module: ir.Module) -> None:
    doomed: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "memref.dealloc":
            doomed.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    for op in doomed:
        op.erase()
