"""merge-updates: pieces of a tensor that are updated and put together again are updated in it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.hlo_to_loops.affine import suffix_products
from hlo.passes.hlo_to_loops.graph import decode_attribute
from hlo.passes.kernel_forms.building import create, integers, reshaped
from hlo.passes.rewrite.walk import operations_named

UPDATE = "hlo.dynamic_update_slice"


@dataclass(frozen=True)
class MergeUpdates(Pass):
    """Rewrites a concatenation of all slices of one tensor, some of them updated, as updates of it.

    A cache of keys and values is often one tensor for all layers, which a program slices, updates
    slice by slice and concatenates: the tensor is copied twice. Updated in place, nothing is.

    Requires: the core op set, static shapes. The slices and the concatenations are contiguous in
    memory, follow one another as in the tensor, and are read by nothing else.
    Guarantees: the same elements.

        %a = hlo.slice %x [0:1, ...] : tensor<1x1024xf32>
        %b = hlo.slice %x [1:2, ...] : tensor<1x1024xf32>
        %c = hlo.dynamic_update_slice %b, %u, %0, %i
        %d = hlo.concatenate %a, %c, dim = 0 : tensor<2x1024xf32>
      ==>
        %r = hlo.reshape %x : tensor<2x1x1024xf32>
        %v = hlo.reshape %u : ...
        %w = hlo.dynamic_update_slice %r, %v, %1, %0, %i
        %c = hlo.reshape (hlo.slice %w [1:2, ...])
        %d = hlo.reshape %w
    """

    def run(self, module: ir.Module) -> bool:
        changed = False
        while (found := _first(module)) is not None:
            _rewrite(*found)
            changed = True
        return changed


def _first(module: ir.Module) -> tuple[ir.Operation, _Plan] | None:
    # The outermost of nested concatenations comes last: inner ones are part of it.
    for op in reversed(operations_named(module, {"hlo.concatenate"})):
        if (plan := _plan_of(op)) is not None:
            return op, plan
    return None


@dataclass(frozen=True)
class _Update:
    """An update of the piece of the tensor that starts at `offset`, in elements."""

    op: ir.Operation
    offset: int


@dataclass
class _Plan:
    """The tensor that all pieces are of, and the updates in program order."""

    tensor: ir.Value | None = None
    updates: list[_Update] = field(default_factory=list[_Update])


def _plan_of(op: ir.Operation) -> _Plan | None:
    plan = _Plan()
    if not _collect(op.results[0], 0, plan, op) or plan.tensor is None or not plan.updates:
        return None
    same = _size(plan.tensor) == _size(op.results[0])
    if not same or any(u.offset % _size(u.op.results[0]) for u in plan.updates):
        return None
    block = op.block
    if any(u.op.block != block or not _index_fits(u) for u in plan.updates):
        return None
    order = {other.operation: i for i, other in enumerate(block.operations)}
    plan.updates.sort(key=lambda u: order[u.op])
    return plan


def _index_fits(update: _Update) -> bool:
    """Whether the type of an update's indices holds which piece it is of."""
    if len(update.op.operands) < 3:
        return True
    width = ir.IntegerType(ir.RankedTensorType(update.op.operands[2].type).element_type).width
    return update.offset // _size(update.op.results[0]) < 1 << (width - 1)


def _collect(value: ir.Value, offset: int, plan: _Plan, root: ir.Operation) -> bool:
    """Adds what makes the run of elements at `offset` to the plan; False if it does not fit."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return False
    op = owner.operation
    if op.name == "hlo.reshape":
        return _is_read_once(value) and _collect(op.operands[0], offset, plan, root)
    if op.name == "hlo.concatenate":
        dimension = decode_attribute(op.attributes["dimension"])
        outer = math.prod(ir.RankedTensorType(value.type).shape[:dimension])
        if outer != 1 or (op != root and not _is_read_once(value)):
            return False
        for operand in op.operands:
            if not _collect(operand, offset, plan, root):
                return False
            offset += _size(operand)
        return True
    if op.name == UPDATE:
        plan.updates.append(_Update(op, offset))
        return _collect(op.operands[0], offset, plan, root)
    if op.name != "hlo.slice" or not _is_read_once(value) or _start_of(op) != offset:
        return False
    plan.tensor = plan.tensor or op.operands[0]
    return plan.tensor == op.operands[0]


def _start_of(op: ir.Operation) -> int | None:
    """Where a slice begins in its operand, if it is one run of elements in memory."""
    shape = tuple(ir.RankedTensorType(op.operands[0].type).shape)
    taken = tuple(ir.RankedTensorType(op.results[0].type).shape)
    starts = decode_attribute(op.attributes["start_indices"])
    if any(n != 1 for n in decode_attribute(op.attributes["strides"])):
        return None
    partial = [d for d in range(len(shape)) if taken[d] != shape[d]]
    if partial and any(taken[d] != 1 for d in range(partial[-1])):
        return None
    return sum(a * n for a, n in zip(starts, suffix_products(shape), strict=True))


def _size(value: ir.Value) -> int:
    return math.prod(ir.RankedTensorType(value.type).shape)


def _is_read_once(value: ir.Value) -> bool:
    return len(list(value.uses)) == 1


def _rewrite(root: ir.Operation, plan: _Plan) -> None:
    assert plan.tensor is not None
    order = {other.operation: i for i, other in enumerate(root.block.operations)}
    dead = list(_tree(root, plan))
    versions: list[tuple[int, ir.Value]] = []  # where each is defined, and the whole tensor then
    current = plan.tensor
    for update in plan.updates:
        current = _updated(current, update)
        versions.append((order[update.op], current))
    for update in plan.updates:
        _replace_readers(update, plan.updates, versions, order, dead)
    with root.location, ir.InsertionPoint(root):
        whole = reshaped(current, ir.RankedTensorType(root.results[0].type).shape)
    root.results[0].replace_all_uses_with(whole)
    for op in dead:
        op.erase()


def _tree(root: ir.Operation, plan: _Plan) -> Iterator[ir.Operation]:
    """The ops that are no longer needed, readers first."""
    updates = {u.op for u in plan.updates}
    pending = [root]
    while pending:
        op = pending.pop()
        yield op
        if op.name != "hlo.slice":
            operands = [op.operands[0]] if op in updates else list(op.operands)
            pending.extend(v.owner.operation for v in operands if not isinstance(v.owner, ir.Block))


def _updated(tensor: ir.Value, update: _Update) -> ir.Value:
    """The whole tensor after an update, as pieces x the shape of one."""
    op = update.op
    piece = ir.RankedTensorType(op.results[0].type)
    size = math.prod(piece.shape)
    shape = [_size(tensor) // size, *piece.shape]
    with op.location, ir.InsertionPoint(op):
        if list(ir.RankedTensorType(tensor.type).shape) != shape:
            tensor = reshaped(tensor, shape)
        patch = ir.RankedTensorType(op.operands[1].type)
        value = reshaped(op.operands[1], [1, *patch.shape])
        starts = list(op.operands)[2:]
        kind = ir.RankedTensorType(starts[0].type) if starts else None
        element = kind.element_type if kind else ir.IntegerType.get_signless(32)
        scalar = ir.RankedTensorType.get([], element)
        attribute = ir.Attribute.parse(f"dense<{update.offset // size}> : {scalar}")
        first = ir.Operation.create(
            "hlo.constant", results=[scalar], attributes={"value": attribute}
        ).results[0]
        new = create(UPDATE, [tensor, value, first, *starts], shape, piece.element_type, {})
    return new.results[0]


def _replace_readers(
    update: _Update,
    updates: Sequence[_Update],
    versions: Sequence[tuple[int, ir.Value]],
    order: dict[ir.Operation, int],
    dead: Sequence[ir.Operation],
) -> None:
    """Readers of an updated piece read it in the last version ahead of them: no other changes it.

    So that no version is needed once there is a later one.
    """
    result = update.op.results[0]
    block = update.op.block
    made: dict[int, ir.Value] = {}
    for use in list(result.uses):
        reader = use.owner.operation
        if reader in dead:
            continue
        ahead = reader
        while ahead.block != block:
            parent = ahead.parent
            assert parent is not None, "a reader is in the block or in a region of it"
            ahead = parent.operation
        last = max(i for i, (at, _) in enumerate(versions) if at < order[ahead])
        if last not in made:
            made[last] = _piece(versions[last][1], update, updates[last].op)
        reader.operands[use.operand_number] = made[last]


def _piece(whole: ir.Value, update: _Update, ahead: ir.Operation) -> ir.Value:
    piece = ir.RankedTensorType(update.op.results[0].type)
    size = math.prod(piece.shape)
    shape = [_size(whole) // size, *piece.shape]
    index = update.offset // size
    with update.op.location, ir.InsertionPoint(ahead):
        if list(ir.RankedTensorType(whole.type).shape) != shape:
            whole = reshaped(whole, shape)
        attributes = {
            "start_indices": integers([index, *(0 for _ in piece.shape)]),
            "limit_indices": integers([index + 1, *piece.shape]),
            "strides": integers([1] * len(shape)),
        }
        taken = create("hlo.slice", [whole], [1, *piece.shape], piece.element_type, attributes)
        return reshaped(taken.results[0], piece.shape)
