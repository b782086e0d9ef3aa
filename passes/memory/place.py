"""place: every `memref.alloc` becomes a view of one arena, or of a result's memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.memory.packing import Buffer, Lender, borrow, lower_bound, pack

ALIGNMENT = 64
# Below this the arena stays in the cache from call to call, which fresh results may not be in.
SMALLEST_ARENA_TO_SPREAD = 1 << 16
RESULTS = "hlo.results"  # the arguments of @main that are results in memory of their own


@dataclass(frozen=True)
class Allocation:
    """One buffer: live for [start, end) of program order, `size` bytes at `offset`.

    The offset is into the arena, or into the memory of argument `lender` of @main: a result that is
    not written before `end`.
    """

    name: str
    location: str
    start: int
    end: int
    size: int
    offset: int
    lender: int | None = None


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
    for step, operation in enumerate(_steps(module), 1):
        if operation.name == "memref.alloc":
            ranges[operation.results[0]] = (operation, step)
        elif operation.name == "memref.dealloc":
            allocation, start = ranges[operation.operands[0]]
            result.append((allocation, start, step))
    return result


def _steps(module: ir.Module) -> Iterator[ir.Operation]:
    """The ops in functions, those in regions included, in program order."""
    for function in module.body.operations:
        yield from _inside(function.operation)


def _inside(operation: ir.Operation) -> list[ir.Operation]:
    """The ops in an op's regions, in program order, however deep they lie."""
    return ir.operations_in(operation)[1:]


def byte_size(kind: ir.Type) -> int:
    """Bytes of a static, rank-1 memref type."""
    memref = ir.MemRefType(kind)
    element = ir.types.name_of(memref.element_type)
    return memref.shape[0] * (int(element.lstrip("bif")) // 8)


def alignment_of(size: int) -> int:
    """A cache line, or for what is smaller the power of two that holds it."""
    return min(ALIGNMENT, 1 << max(size - 1, 0).bit_length())


@dataclass(frozen=True)
class Place(Pass):
    """Packs the allocations of the host program into one arena: each gets an offset in bytes.

    A result's memory holds nothing before the program first touches it. If that makes the arena
    lower, allocations that are dead by then lie there: `hlo.lender` is the argument of @main.

    Requires: `deallocate` ran; `hlo.results` of @main says which arguments are results in memory of
    their own.
    Guarantees: no two allocations live at the same step overlap; every offset is a multiple of 64,
    or of the power of two that holds a smaller allocation; the deallocs are gone.

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
                size=byte_size(op.results[0].type),
                alignment=alignment_of(byte_size(op.results[0].type)),
            )
            for i, (op, start, end) in enumerate(ranges)
        ]  # fmt: skip
        loans = borrow(buffers, self._lenders(module, buffers)) if self.reuse else {}
        kept = [buffer for buffer in buffers if buffer.id not in loans]
        placement = pack(kept, time_budget_s=self.time_budget_s)
        allocations: list[Allocation] = []
        integer = ir.IntegerType.get_signless(64, module.context)
        for buffer, (op, start, end) in zip(buffers, ranges, strict=True):
            loan = loans.get(buffer.id)
            offset = placement.offsets[buffer.id] if loan is None else loan.offset
            lender = None if loan is None else int(loan.lender)
            op.attributes["hlo.offset"] = ir.IntegerAttr.get(integer, offset)
            if lender is not None:
                op.attributes["hlo.lender"] = ir.IntegerAttr.get(integer, lender)
            name, where = ir.attributes.string(op, "hlo.name", ""), str(op.location)
            allocations.append(Allocation(name, where, start, end, buffer.size, offset, lender))
        _erase_deallocs(module)
        return Arena(placement.height, lower_bound(kept), tuple(allocations))

    @staticmethod
    def _lenders(module: ir.Module, buffers: list[Buffer]) -> list[Lender]:
        """Results that hold nothing until the program first touches them."""
        if lower_bound(buffers) < SMALLEST_ARENA_TO_SPREAD:
            return []
        lenders: list[Lender] = []
        for function in module.body.operations:
            if RESULTS in function.operation.attributes:
                block = function.operation.regions[0].blocks[0]
                touched = _first_touches(block)
                lenders += [
                    Lender(str(i), byte_size(block.arguments[i].type), touched[block.arguments[i]])
                    for i in ir.attributes.ints(function.operation, RESULTS)
                    if block.arguments[i] in touched
                ]
        return lenders


def _first_touches(block: ir.Block) -> dict[ir.Value, int]:
    """The step of the first op of the entry that uses each value, itself or within."""
    touched: dict[ir.Value, int] = {}
    step = 0
    for op in ir.operations_of(block):
        step += 1
        outermost = step
        for value in op.operands:
            touched.setdefault(value, outermost)
        for inner in _inside(op):
            step += 1
            for value in inner.operands:
                touched.setdefault(value, outermost)
    return touched


def _erase_deallocs(module: ir.Module) -> None:
    doomed: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "memref.dealloc":
            doomed.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    for op in doomed:
        op.erase()
