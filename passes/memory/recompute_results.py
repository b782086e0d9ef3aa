"""recompute-results: what a kernel stores and its readers can cheaply make again is not stored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.cost.duplication import readers_should_compute
from hlo.passes.fusion.composites import clone_into, empty_fusion
from hlo.passes.fusion.op_traits import ELEMENTWISE, EXPENSIVE
from hlo.passes.hlo_to_loops.graph import node_of
from hlo.passes.rewrite.walk import operations_named

KINDS = frozenset({"loop", "reduce", "row"})
MOST_OPS = 16  # made again by each reader, and none of them dear
SMALL = 64  # a leaf of at most this share of the result may be read besides the other result
MAX_OPS = 200  # of a kernel
TURN = "hlo.turn"  # when a fusion's turn comes: one that reads another is rewritten before that


@dataclass(frozen=True)
class RecomputeResults(Pass):
    """Drops results of fusions that their readers can make of another result, in a few cheap ops
    that take no longer than to store it and to read it, as the cost model has it.

    Training steps store for the backward pass what the forward pass came upon: of a GELU its
    input, the input's square, the tanh, and the tanh plus one. All but input and tanh are made
    again where they are read: the same bits, fewer bytes stored, written and read.

    Requires: `fuse` ran.
    Guarantees: results are unchanged to the bit. No value is live longer than one of its size was.

        %0:2 = fusion(%x) { t = tanh; u = t + 1;        %0 = fusion(%x) { t = tanh; return t }
                            return t, u }         ==>
        %1 = fusion(%0#1) { %0#1 * %0#1 }               %1 = fusion(%0) { u = %0 + 1; u * u }
    """

    def run(self, module: ir.Module) -> bool:
        fusions = [op for op in operations_named(module, {"hlo.fusion"}) if len(op.results) > 1]
        number = ir.IntegerType.get_signless(64, module.context)
        for turn, fusion in enumerate(fusions):
            fusion.attributes[TURN] = ir.IntegerAttr.get(number, turn)
        changed = False
        for turn in range(len(fusions)):
            changed |= _drop_results(fusions[turn], fusions)
        for fusion in fusions:
            del fusion.attributes[TURN]
        return changed


@dataclass
class _Recipe:
    """How to make a result again: cheap ops, in order, and what they read.

    Attributes:
        base: the number of the result of the same fusion that it is made of.
        ops: inside the fusion.
        arguments: numbers of the small operands that they read.
    """

    base: int
    ops: list[ir.Operation] = field(default_factory=list[ir.Operation])
    arguments: list[int] = field(default_factory=list[int])


def _drop_results(fusion: ir.Operation, fusions: list[ir.Operation]) -> bool:
    """Drops what can be dropped of one fusion; whether there was anything.

    Args:
        fusions: by turn; those that are rewritten are replaced.
    """
    if ir.attributes.string(fusion, "kind", "") not in KINDS:
        return False
    block = fusion.regions[0].blocks[0]
    returned = list(list(block.operations)[-1].operation.operands)
    recipes: dict[int, _Recipe] = {}
    for number in range(len(returned)):
        kept = [i for i in range(len(returned)) if i != number and i not in recipes]
        if any(recipe.base == number for recipe in recipes.values()):
            continue
        readers = _readers(fusion.results[number])
        if readers is None:
            continue
        recipe = _recipe(block, returned, number, kept)
        if recipe is None or not all(_has_room(reader, recipe) for reader in readers):
            continue
        made = [node_of(op) for op in recipe.ops]
        if readers_should_compute(made, _bytes(returned[number]), len(readers)):
            recipes[number] = recipe
    if not recipes:
        return False
    readers = {
        use.owner.operation.results[0]: use.owner.operation
        for n in recipes
        for use in fusion.results[n].uses
    }
    for reader in list(readers.values()):
        _take_turn(fusions, _rewrite_reader(reader, fusion, recipes))
    _take_turn(fusions, _without(fusion, sorted(recipes)))
    fusion.erase()
    return True


def _take_turn(fusions: list[ir.Operation], new: ir.Operation) -> None:
    turn = ir.attributes.integer(new, TURN, -1)
    if turn >= 0:
        fusions[turn] = new


def _readers(result: ir.Value) -> list[ir.Operation] | None:
    """The fusions that read a result, element by element; None if anything else reads it."""
    readers: list[ir.Operation] = []
    for use in result.uses:
        reader = use.owner.operation
        if reader.name != "hlo.fusion" or ir.attributes.string(reader, "kind", "") not in KINDS:
            return None
        argument = reader.regions[0].blocks[0].arguments[use.operand_number]
        if not _read_straight(argument):
            return None
        readers.append(reader)
    return readers or None


def _read_straight(value: ir.Value) -> bool:
    """Whether each element is read where it is: by elementwise ops and reductions of it."""
    for use in value.uses:
        name = use.owner.name.removeprefix("hlo.")
        if name == "reshape":
            if not _read_straight(use.owner.results[0]):
                return False
        elif name not in ELEMENTWISE and name != "reduce":
            return False
    return True


def _recipe(
    block: ir.Block, returned: Sequence[ir.Value], number: int, kept: Sequence[int]
) -> _Recipe | None:
    """How to make a returned value of one of those kept; None if that is not cheap."""
    goal = returned[number]
    size = _bytes(goal)
    bases = [i for i in kept if returned[i] != goal and _bytes(returned[i]) == size]
    arguments = list(block.arguments)
    for base in bases:
        recipe = _Recipe(base)
        if _collect(goal, returned[base], size, arguments, recipe) and recipe.ops:
            return recipe
    return None


def _collect(
    value: ir.Value, base: ir.Value, size: int, arguments: Sequence[ir.Value], recipe: _Recipe
) -> bool:
    """Adds the ops that make a value to a recipe; whether that is possible."""
    if value == base:
        return True
    if value in arguments:
        if _bytes(value) * SMALL > size:
            return False
        recipe.arguments.append(arguments.index(value))
        return True
    op = value.owner.operation
    if op in recipe.ops:
        return True
    name = op.name.removeprefix("hlo.")
    free = name in ("constant", "broadcast_in_dim", "reshape")
    if not free and (name not in ELEMENTWISE or name in EXPENSIVE):
        return False
    if len(op.regions) or len(op.results) != 1:
        return False
    if not all(_collect(operand, base, size, arguments, recipe) for operand in op.operands):
        return False
    recipe.ops.append(op)
    return sum(o.name not in _FREE for o in recipe.ops) <= MOST_OPS


_FREE = ("hlo.constant", "hlo.broadcast_in_dim", "hlo.reshape")


def _has_room(reader: ir.Operation, recipe: _Recipe) -> bool:
    return len(list(reader.regions[0].blocks[0].operations)) + len(recipe.ops) <= MAX_OPS


def _bytes(value: ir.Value) -> int:
    kind = ir.RankedTensorType(value.type)
    return math.prod(kind.shape) * ir.types.to_dtype(kind.element_type).itemsize


def _rewrite_reader(
    reader: ir.Operation, fusion: ir.Operation, recipes: dict[int, _Recipe]
) -> ir.Operation:
    """A reader that makes the dropped results itself, in the place of the old one."""
    results = list(fusion.results)
    dropped = {results[number]: recipe for number, recipe in recipes.items()}
    operands: list[ir.Value] = []
    for value in reader.operands:
        recipe = dropped.get(value)
        wanted = [value]
        if recipe is not None:
            wanted = [results[recipe.base], *(fusion.operands[i] for i in recipe.arguments)]
        operands += [v for v in wanted if v not in operands]
    with reader.location, ir.InsertionPoint(reader):
        new = empty_fusion(reader, operands, [r.type for r in reader.results])
    block = new.regions[0].blocks[0]
    outer: dict[ir.Value, ir.Value] = dict(zip(operands, block.arguments, strict=True))
    inner: dict[ir.Value, ir.Value] = {}
    old_block = reader.regions[0].blocks[0]
    with ir.InsertionPoint(block):
        for argument, value in zip(old_block.arguments, reader.operands, strict=True):
            recipe = dropped.get(value)
            inner[argument] = (
                outer[value] if recipe is None else _made_again(fusion, value, recipe, outer)
            )
        clone_into(old_block, inner)
    for old, fresh in zip(reader.results, new.results, strict=True):
        old.replace_all_uses_with(fresh)
    reader.erase()
    return new


def _made_again(
    fusion: ir.Operation, result: ir.Value, recipe: _Recipe, outer: dict[ir.Value, ir.Value]
) -> ir.Value:
    """The ops of a recipe at the insertion point; returns the value of the dropped result."""
    block = fusion.regions[0].blocks[0]
    returned = list(list(block.operations)[-1].operation.operands)
    inner = {returned[recipe.base]: outer[fusion.results[recipe.base]]}
    for number in recipe.arguments:
        inner[block.arguments[number]] = outer[fusion.operands[number]]
    for op in recipe.ops:
        copy = op.clone()
        for i, value in enumerate(op.operands):
            copy.operands[i] = inner[value]
        inner[op.results[0]] = copy.results[0]
    return inner[returned[list(fusion.results).index(result)]]


def _without(fusion: ir.Operation, dropped: Sequence[int]) -> ir.Operation:
    """A fusion without some of its results, ahead of the old one."""
    kept = [i for i in range(len(fusion.results)) if i not in dropped]
    with fusion.location, ir.InsertionPoint(fusion):
        new = empty_fusion(fusion, list(fusion.operands), [fusion.results[i].type for i in kept])
    block, old_block = new.regions[0].blocks[0], fusion.regions[0].blocks[0]
    inner: dict[ir.Value, ir.Value] = dict(zip(old_block.arguments, block.arguments, strict=True))
    with ir.InsertionPoint(block):
        clone_into(old_block, inner, kept)
    for i, fresh in zip(kept, new.results, strict=True):
        fusion.results[i].replace_all_uses_with(fresh)
    return new
