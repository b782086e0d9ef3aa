"""Puts `hlo.fusion` ops as members into one op, which becomes one launch."""

from __future__ import annotations

from collections.abc import Sequence

from hlo import ir
from hlo.passes.fusion.op_traits import FOLDS
from hlo.passes.rewrite.walk import reads_from_outside

REASON = "hlo.reason"


def compose(members: Sequence[ir.Operation], kind: str, reason: str) -> ir.Operation:
    """One fusion of `members`, which must stand in the order of their dependences.

    It takes the place of the last member: no other op between the first member and the last may
    read what a member makes. Members that are composites are taken apart: theirs become members.

    Args:
        members: `hlo.fusion` ops of one block.
        kind: of the new fusion.
        reason: why they are one launch; kept as the attribute `hlo.reason`.
    """
    held: set[ir.Value] = {value for member in members for value in member.results}
    inputs: dict[ir.Value, None] = {}
    outputs: list[ir.Value] = []
    names = [ir.attributes.string(member, "name") for member in members]
    for member in members:
        inputs.update((value, None) for value in member.operands if value not in held)
        outputs += [value for value in member.results if _leaves(value, held)]
    last = members[-1]
    with ir.Location.fused([member.location for member in members], context=last.context):
        with ir.InsertionPoint(last):
            fused = ir.Operation.create(
                "hlo.fusion",
                results=[value.type for value in outputs],
                operands=list(inputs),
                attributes={
                    "kind": ir.StringAttr.get(kind),
                    "name": ir.StringAttr.get(_name_of(names)),
                    REASON: ir.StringAttr.get(reason),
                },
                regions=1,
            )
        block = fused.regions[0].blocks.append(*[value.type for value in inputs])
        inner: dict[ir.Value, ir.Value] = dict(zip(inputs, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            for member in members:
                _copy_in(member, inner)
            ir.Operation.create("hlo.return", operands=[inner[value] for value in outputs])
    for old, new in zip(outputs, fused.results, strict=True):
        old.replace_all_uses_with(new)
    for member in reversed(members):
        member.erase()
    return fused


def wrap(op: ir.Operation) -> ir.Operation:
    """A fusion of one op, the scalar and splat constants that it reads inside."""
    name = op.name.removeprefix("hlo.")
    return wrap_chain([op], "reduce" if name in FOLDS else "loop", name)


def wrap_chain(ops: Sequence[ir.Operation], kind: str, name: str) -> ir.Operation:
    """A fusion of ops in order, with the scalar and splat constants that they read.

    It takes the place of the last one; nothing else reads what the others make.
    """
    made = {value for op in ops for value in op.results}
    read = dict.fromkeys(value for op in ops for _, _, value in reads_from_outside(op))
    inside = [value for value in read if is_splat(value)]
    inputs = [value for value in read if value not in made and value not in inside]
    last = ops[-1]
    with last.location, ir.InsertionPoint(last):
        fused = ir.Operation.create(
            "hlo.fusion",
            results=[value.type for value in last.results],
            operands=inputs,
            attributes={"kind": ir.StringAttr.get(kind), "name": ir.StringAttr.get(name)},
            regions=1,
        )
        block = fused.regions[0].blocks.append(*[value.type for value in inputs])
    inner: dict[ir.Value, ir.Value] = dict(zip(inputs, block.arguments, strict=True))
    with last.location, ir.InsertionPoint(block):
        for value in inside:
            inner[value] = value.owner.operation.clone().results[0]
        copies = clone_ops(ops, inner)
        ir.Operation.create("hlo.return", operands=list(copies[-1].results))
    for old, new in zip(last.results, fused.results, strict=True):
        old.replace_all_uses_with(new)
    for op in reversed(ops):
        op.erase()
    return fused


def empty_fusion(
    like: ir.Operation, operands: Sequence[ir.Value], types: Sequence[ir.Type]
) -> ir.Operation:
    """A fusion with an empty block, with the attributes of another."""
    attributes = dict(like.attributes.items())
    new = ir.Operation.create(
        "hlo.fusion", results=list(types), operands=list(operands), attributes=attributes, regions=1
    )
    new.regions[0].blocks.append(*[v.type for v in operands])
    return new


def clone_into(
    block: ir.Block, inner: dict[ir.Value, ir.Value], kept: Sequence[int] | None = None
) -> None:
    """Clones a fusion's ops at the insertion point; of the returned values only `kept`.

    Args:
        inner: what stands for the values that its ops read.
    """
    *ops, terminator = [op.operation for op in block.operations]
    copies = clone_ops(ops, inner)
    values = [inner[v] for v in terminator.operands]
    with terminator.location:
        ir.Operation.create(
            "hlo.return", operands=values if kept is None else [values[i] for i in kept]
        )
    erase_unused(copies)


def clone_ops(ops: Sequence[ir.Operation], inner: dict[ir.Value, ir.Value]) -> list[ir.Operation]:
    """Clones ops, in order, at the insertion point; `inner` gets their results too."""
    copies: list[ir.Operation] = []
    for op in ops:
        copy = op.clone()
        copies.append(copy)
        for reader, i, value in reads_from_outside(copy):
            reader.operands[i] = inner[value]
        for old, new in zip(op.results, copy.results, strict=True):
            inner[old] = new
    return copies


def erase_unused(ops: Sequence[ir.Operation]) -> None:
    """Erases those of some ops, given in order, whose results nothing reads."""
    for op in reversed(ops):
        if not any(list(result.uses) for result in op.results):
            op.erase()


def is_composite(op: ir.Operation) -> bool:
    """Whether a fusion's members are fusions."""
    if op.name != "hlo.fusion":
        return False
    names = [inner.operation.name for inner in op.regions[0].blocks[0].operations]
    return len(names) > 1 and all(name == "hlo.fusion" for name in names[:-1])


def _copy_in(member: ir.Operation, inner: dict[ir.Value, ir.Value]) -> None:
    """Copies a member, or its members, to the insertion point; `inner` maps old to new values."""
    if not is_composite(member):
        _copy(member, inner)
        return
    block = member.regions[0].blocks[0]
    known: dict[ir.Value, ir.Value] = {}
    for argument, operand in zip(block.arguments, member.operands, strict=True):
        known[argument] = inner[operand]
    *parts, last = [op.operation for op in block.operations]
    for part in parts:
        _copy(part, known)
    for value, result in zip(last.operands, member.results, strict=True):
        inner[result] = known[value]


def _copy(op: ir.Operation, inner: dict[ir.Value, ir.Value]) -> None:
    copy = op.clone()
    for i, value in enumerate(op.operands):
        copy.operands[i] = inner[value]
    inner.update(zip(op.results, copy.results, strict=True))


def _leaves(value: ir.Value, held: set[ir.Value]) -> bool:
    """Whether another op than those with the results `held` reads a value."""
    readers = [use.owner for use in value.uses]
    return any(not len(op.results) or op.results[0] not in held for op in readers)


def is_splat(value: ir.Value) -> bool:
    """Whether a value is a constant whose elements are all the same."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "hlo.constant":
        return False
    return ir.constants.splat_value(owner.operation.attributes["value"]) is not None


def _name_of(names: Sequence[str | None]) -> str:
    """The first member's name and how many there are."""
    first = (names[0] or "fusion").removesuffix("_fusion")
    distinct = len(dict.fromkeys(names))
    return f"{first}_x{len(names)}" if distinct == 1 else f"{first}_and_{len(names) - 1}_more"
