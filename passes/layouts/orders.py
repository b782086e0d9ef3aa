"""Orders of dimensions in memory, and how they carry over from one op's side to the other.

An order lists a tensor's dimensions from major to minor; row-major is 0, 1, 2, ... Dimensions of
size 1 have no place in memory: `normal` gives every arrangement one order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

Order: TypeAlias = tuple[int, ...]


def row_major(rank: int) -> Order:
    """The order of a tensor without a layout."""
    return tuple(range(rank))


def normal(shape: Sequence[int], order: Sequence[int]) -> Order:
    """The one order of those that arrange a shape alike: row-major if that is one of them, else
    with the dimensions of size 1 first.
    """
    wide = [d for d in order if shape[d] != 1]
    if wide == sorted(wide):
        return row_major(len(shape))
    return (*(d for d, size in enumerate(shape) if size == 1), *wide)


def arranged_shape(shape: Sequence[int], order: Sequence[int]) -> list[int]:
    """The sizes of a tensor's dimensions from major to minor."""
    return [shape[d] for d in order]


def before_transpose(permutation: Sequence[int], order: Sequence[int]) -> Order:
    """The operand's order with which a transpose to `order` moves nothing."""
    return tuple(permutation[d] for d in order)


def after_transpose(permutation: Sequence[int], order: Sequence[int]) -> Order:
    """The order of a transpose's result if nothing moves."""
    return tuple(permutation.index(d) for d in order)


def after_reduction(order: Sequence[int], reduced: Sequence[int]) -> Order:
    """The order of what is left when dimensions go; those left are numbered anew."""
    kept = sorted(set(order) - set(reduced))
    return tuple(kept.index(d) for d in order if d not in reduced)


def before_reduction(order: Sequence[int], reduced: Sequence[int], rank: int) -> Order:
    """An operand's order whose reduction has `order`: the reduced dimensions are minor."""
    kept = [d for d in range(rank) if d not in reduced]
    return (*(kept[d] for d in order), *sorted(reduced))


def before_broadcast(dimensions: Sequence[int], order: Sequence[int]) -> Order:
    """The order of a broadcast's operand that the result's order induces."""
    return tuple(sorted(range(len(dimensions)), key=lambda i: order.index(dimensions[i])))


def after_reshape(
    before: Sequence[int], after: Sequence[int], order: Sequence[int]
) -> Order | None:
    """The result's order if a reshape of an operand with `order` moves nothing; None if it moves.

    Dimensions that the reshape merges or splits must be neighbours in memory, in their order.
    """
    groups = _common_groups(before, after)
    if groups is None:
        return None
    first = {left[0]: (left, right) for left, right in groups}
    wide = [d for d in order if before[d] != 1]
    found: list[int] = []
    at = 0
    while at < len(wide):
        if wide[at] not in first:
            return None
        left, right = first[wide[at]]
        if wide[at : at + len(left)] != left:
            return None
        found += right
        at += len(left)
    return normal(after, (*(d for d, size in enumerate(after) if size == 1), *found))


def _common_groups(
    before: Sequence[int], after: Sequence[int]
) -> list[tuple[list[int], list[int]]] | None:
    """The smallest runs of dimensions, those of size 1 left out, that have as many elements before
    as after; None for tensors without elements.
    """
    if 0 in before or 0 in after:
        return None
    lefts = [d for d, size in enumerate(before) if size != 1]
    rights = [d for d, size in enumerate(after) if size != 1]
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(lefts):
        left, right = [lefts[i]], [rights[j]]
        taken, given = before[lefts[i]], after[rights[j]]
        i, j = i + 1, j + 1
        while taken != given:
            if taken < given:
                left.append(lefts[i])
                taken *= before[lefts[i]]
                i += 1
            else:
                right.append(rights[j])
                given *= after[rights[j]]
                j += 1
        groups.append((left, right))
    return groups


def threaded(shape: Sequence[int], order: Sequence[int], chains: Sequence[Sequence[int]]) -> Order:
    """An order that arranges a shape like `order`, with the dimensions of each chain in sequence.

    The chains hold every dimension once, those that are not of size 1 in the sequence of `order`.
    """
    pending = [list(chain) for chain in chains]
    found: list[int] = []
    for d in (d for d in order if shape[d] != 1):
        chain = next(chain for chain in pending if d in chain)
        end = chain.index(d) + 1
        found += chain[:end]
        del chain[:end]
    return (*found, *(d for chain in pending for d in chain))


def in_sequence(shape: Sequence[int], order: Sequence[int], wanted: Sequence[int]) -> bool:
    """Whether some dimensions, those of size 1 apart, lie in `order` in the sequence `wanted`."""
    wide = [d for d in wanted if shape[d] != 1]
    return [d for d in order if d in wide] == wide


def resequenced(order: Sequence[int], wanted: Sequence[int]) -> Order:
    """An order whose dimensions in `wanted` change places, so that they lie in that sequence."""
    ordered = iter(wanted)
    return tuple(next(ordered) if d in wanted else d for d in order)
