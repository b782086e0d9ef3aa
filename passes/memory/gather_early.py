"""gather-early: what a kernel looks up in a large value is looked up as soon as it can be."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.fusion.composites import clone_ops, empty_fusion
from hlo.passes.fusion.op_traits import ELEMENTWISE
from hlo.passes.memory.recompute_results import KINDS, MAX_OPS
from hlo.passes.rewrite.walk import operations_named, reads_from_outside

LARGE = 1 << 16  # bytes that are worth a kernel more
SMALL = 64  # what is looked up is at most this share of the value
MOST_OPS = 24  # that make positions to look up
_LOOK_UPS = ("hlo.gather", "hlo.slice", "hlo.dynamic_slice")


@dataclass(frozen=True)
class GatherEarly(Pass):
    """Takes look-ups of few elements out of the kernel that is the last to read a large value.

    A loss looks its labels' logits up once all else is known, and keeps all logits until then; the
    softmax, which could be computed in their memory, gets memory of its own. Looked up as soon as
    logits and labels are there, in a kernel of their own, they are 4 bytes a row. Elementwise ops
    between the value and the look-up are done on what was looked up.

    Requires: `fuse` ran, and what joins kernels.
    Guarantees: results are unchanged to the bit.

        %0 = dot(...) : tensor<64x8192xf32>            %0 = dot(...)
        %1 = fusion(%0) { softmax }                    %2 = fusion(%0, %at) { gather }
        %2 = fusion(%1) { ... }                   ==>  %1 = fusion(%0) { softmax }
        %3 = fusion(%0, %at, %2) { gather ... }        %3 = fusion(%2, ...) { ... }
    """

    def run(self, module: ir.Module) -> bool:
        changed = False
        for fusion in operations_named(module, {"hlo.fusion"}):
            if ir.attributes.string(fusion, "kind", "") in KINDS:
                changed |= _gather_first(fusion)
            for number in range(len(fusion.operands)):
                found = _look_up(fusion, number)
                if found is not None:
                    _take_out(fusion, found)
                    changed = True
                    break  # the fusion is another now
        return changed


def _gather_first(fusion: ir.Operation) -> bool:
    """Looks few elements up in what elementwise ops read, not in what they give: the same bits."""
    block, changed = fusion.regions[0].blocks[0], False
    pending = [op.operation for op in block.operations if op.operation.name == "hlo.gather"]
    while pending and len(block.operations) <= MAX_OPS:
        gather = pending.pop()
        source = gather.operands[0]
        if isinstance(source.owner, ir.Block):
            continue
        maker = source.owner.operation
        small = _bytes(gather.results[0]) * SMALL <= _bytes(source)
        if maker.name.removeprefix("hlo.") not in ELEMENTWISE or len(maker.regions) or not small:
            continue
        pending += _gather_operands(gather, maker)
        changed = True
    return changed


def _gather_operands(gather: ir.Operation, maker: ir.Operation) -> list[ir.Operation]:
    """Puts an op of gathered operands in the place of a gather of its result; the new gathers."""
    shape = ir.RankedTensorType(maker.results[0].type).shape
    result = ir.RankedTensorType(gather.results[0].type)
    attributes = dict(gather.attributes.items())
    operands: list[ir.Value] = []
    made: dict[ir.Value, ir.Operation] = {}
    with gather.location, ir.InsertionPoint(gather):
        for operand in maker.operands:
            kind = ir.RankedTensorType(operand.type)
            if kind.shape != shape:  # a scalar, for all elements
                operands.append(operand)
                continue
            if operand not in made:
                made[operand] = ir.Operation.create(
                    "hlo.gather",
                    results=[ir.RankedTensorType.get(result.shape, kind.element_type)],
                    operands=[operand, gather.operands[1]],
                    attributes=attributes,
                )
            operands.append(made[operand].results[0])
        new = ir.Operation.create(
            maker.name,
            results=[result],
            operands=operands,
            attributes=dict(maker.attributes.items()),
        )
    gather.results[0].replace_all_uses_with(new.results[0])
    gather.erase()
    if not list(maker.results[0].uses):
        maker.erase()
    return list(made.values())


@dataclass(frozen=True)
class _LookUp:
    """What can be taken out of a fusion.

    Attributes:
        operand: the number of the large value among the fusion's operands.
        looked_up: results of the ops that read it.
        ops: these ops and what makes their positions, in order.
        after: the op behind which they can be computed.
    """

    operand: int
    looked_up: tuple[ir.Value, ...]
    ops: tuple[ir.Operation, ...]
    after: ir.Operation


def _look_up(fusion: ir.Operation, number: int) -> _LookUp | None:
    """What to take out of a fusion for one of its operands; None if that saves nothing."""
    value = fusion.operands[number]
    if ir.attributes.string(fusion, "kind", "") not in KINDS or isinstance(value.owner, ir.Block):
        return None
    block = fusion.regions[0].blocks[0]
    size, argument = _bytes(value), block.arguments[number]
    looked_up = _looked_up(argument, size) if size >= LARGE else ()
    if not looked_up:
        return None
    wanted = _made_of(looked_up, block, size)
    if wanted is None:
        return None
    place = {op.operation: i for i, op in enumerate(fusion.block.operations)}
    arguments = list(block.arguments)
    read = [fusion.operands[arguments.index(a)] for a in _arguments_of(wanted, arguments)]
    makers = [v.owner.operation for v in read if not isinstance(v.owner, ir.Block)]
    makers = [op for op in makers if op in place]  # others are made outside of the block
    if value.owner.operation not in place:
        return None
    after = max(makers, key=place.__getitem__)
    others = [place[_in_block(use.owner.operation, place)] for use in value.uses]
    here = place[fusion]
    if max(others) != here:
        return None
    last = max([place[after] + 1, *(at for at in others if at != here)])
    if not _frees_room(list(place), last, here, size):
        return None
    return _LookUp(number, looked_up, wanted, after)


def _looked_up(value: ir.Value, size: int) -> tuple[ir.Value, ...]:
    """What is looked up in a value or a reshape of it; empty if it is read in any other way."""
    found: list[ir.Value] = []
    for use in value.uses:
        op = use.owner.operation
        if op.name == "hlo.reshape":
            inner = _looked_up(op.results[0], size)
            if not inner:
                return ()
            found += inner
        elif (
            op.name in _LOOK_UPS
            and use.operand_number == 0
            and _bytes(op.results[0]) * SMALL <= size
        ):
            found.append(op.results[0])
        else:
            return ()
    return tuple(dict.fromkeys(found))


def _made_of(
    values: Sequence[ir.Value], block: ir.Block, size: int
) -> tuple[ir.Operation, ...] | None:
    """The ops of a fusion that make values, in order; None if they are many or make much."""
    wanted: set[ir.Operation] = set()
    pending = list(values)
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, ir.Block) or (op := owner.operation) in wanted:
            continue
        shown = op.name == "hlo.reshape"
        if len(op.regions) or not (shown or all(_bytes(r) * SMALL <= size for r in op.results)):
            return None
        wanted.add(op)
        pending += op.operands
        if len(wanted) > MOST_OPS:
            return None
    return tuple(op.operation for op in block.operations if op.operation in wanted)


def _arguments_of(ops: Sequence[ir.Operation], arguments: Sequence[ir.Value]) -> Iterator[ir.Value]:
    """The arguments that some ops read, each once, in order."""
    read = {operand for op in ops for operand in op.operands}
    return (argument for argument in arguments if argument in read)


def _in_block(op: ir.Operation, place: dict[ir.Operation, int]) -> ir.Operation:
    """The op of the block that an op is, or is inside."""
    while op not in place:
        parent = op.parent
        assert parent is not None, "what reads a value of a block is in it"
        op = parent.operation
    return op


def _frees_room(ops: Sequence[ir.Operation], last: int, here: int, size: int) -> bool:
    """Whether something of a quarter of the value is made while it only waits for a look-up: the op
    that reads it last before may make it in the value's own memory.
    """
    made = [op for op in ops[last:here] if op.name != "hlo.constant"]
    return any(_bytes(result) * 4 >= size for op in made for result in op.results)


def _bytes(value: ir.Value) -> int:
    if not isinstance(value.type, ir.RankedTensorType):
        return 0
    kind = ir.RankedTensorType(value.type)
    return math.prod(kind.shape) * ir.types.to_dtype(kind.element_type).itemsize


def _take_out(fusion: ir.Operation, found: _LookUp) -> None:
    """Looks up in a fusion of its own, and reads what that gives."""
    block = fusion.regions[0].blocks[0]
    arguments = list(block.arguments)
    read = list(_arguments_of(found.ops, arguments))
    operands = [fusion.operands[arguments.index(argument)] for argument in read]
    with found.looked_up[0].owner.location, ir.InsertionPoint.after(found.after):
        early = empty_fusion(fusion, operands, [value.type for value in found.looked_up])
        early.attributes["kind"] = ir.StringAttr.get("loop")
        early.attributes["name"] = ir.StringAttr.get("gather_fusion")
    inner: dict[ir.Value, ir.Value] = {}
    inner.update(zip(read, early.regions[0].blocks[0].arguments, strict=True))
    with early.location, ir.InsertionPoint(early.regions[0].blocks[0]):
        clone_ops(found.ops, inner)
        ir.Operation.create("hlo.return", operands=[inner[value] for value in found.looked_up])
    *_, terminator = [op.operation for op in block.operations]
    ops = _needed(block, terminator, found.looked_up)
    kept = [i for i, argument in enumerate(arguments) if argument in _read_by(ops, terminator)]
    with fusion.location, ir.InsertionPoint(fusion):
        new = empty_fusion(
            fusion,
            [*(fusion.operands[i] for i in kept), *early.results],
            [result.type for result in fusion.results],
        )
    given = list(new.regions[0].blocks[0].arguments)
    outer = [*(arguments[i] for i in kept), *found.looked_up]
    inner = dict[ir.Value, ir.Value](zip(outer, given, strict=True))
    with terminator.location, ir.InsertionPoint(new.regions[0].blocks[0]):
        clone_ops(ops, inner)
        ir.Operation.create("hlo.return", operands=[inner[v] for v in terminator.operands])
    for old, fresh in zip(fusion.results, new.results, strict=True):
        old.replace_all_uses_with(fresh)
    fusion.erase()


def _needed(
    block: ir.Block, terminator: ir.Operation, known: Sequence[ir.Value]
) -> list[ir.Operation]:
    """The ops of a fusion that its results need where some values are known."""
    needed: set[ir.Operation] = set()
    pending = list(terminator.operands)
    while pending:
        value = pending.pop()
        if value in known or isinstance(value.owner, ir.Block):
            continue
        if (op := value.owner.operation) not in needed:
            needed.add(op)
            pending += [read for _, _, read in reads_from_outside(op)]
    return [op.operation for op in block.operations if op.operation in needed]


def _read_by(ops: Sequence[ir.Operation], terminator: ir.Operation) -> set[ir.Value]:
    read = {value for op in ops for _, _, value in reads_from_outside(op)}
    return read | set(terminator.operands)
