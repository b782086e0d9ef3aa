"""Kernels that read the same tensor at the same elements become one, which reads it once.

Neither needs the other's results but element by element. They are computed over as many elements,
and what they share is read through the same index map: loop by loop, or by reductions over the same
dimensions, which then share their loop (`hlo_to_loops.joint_folds`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from hlo.passes.cost.caches import runs_stay_in_cache
from hlo.passes.cost.transfers import bytes_of
from hlo.passes.fusion.group import Group
from hlo.passes.fusion.groups import BlockFusion
from hlo.passes.fusion.op_traits import ELEMENTWISE, FREE_TO_REPEAT, folds_agree
from hlo.passes.fusion.row_results import columns_agree, rows_agree, shared_bytes
from hlo.passes.hlo_to_loops.graph import Node, Tensor, captured
from hlo.passes.hlo_to_loops.index_maps import ROOT
from hlo.passes.hlo_to_loops.joint_folds import MOST_ACCUMULATORS, may_be_joint, same_loops

# Ops that leave a kernel's loops as they are: vectors of neighbours stay vectors of neighbours.
_IN_ORDER = ELEMENTWISE | FREE_TO_REPEAT | {"reduce"}
LEAST_SHARED = 1 << 12  # bytes read once instead of twice that are worth another kernel's code
MOST_READERS = 64  # of a value, the last ones, that a kernel is compared with
MOST_TRIED = 8  # kernels that one is tried to be joined with
MOST_STEPS = 64  # of the search for a dependence between two kernels
# What one kernel alone reads may have to wait in memory for the other.
MOST_WAITING = 1 << 16
MOST_APART = 64  # ops between two kernels whose results are large

Read = tuple[Tensor, int]


def merge_siblings(fusion: BlockFusion, groups: list[Group]) -> list[Group]:
    """Joins groups pair by pair, those that share most first; gives the groups there are then."""
    merger = _Merger(fusion, groups)
    for group in sorted(groups, key=lambda g: fusion.position[g.root]):
        merger.add(group)
    if not fusion.gpu:
        merger.add_rows([group for group in groups if group not in merger.gone])
    return [group for group in groups if group not in merger.gone]


class _Merger:
    def __init__(self, fusion: BlockFusion, groups: list[Group]) -> None:
        self.fusion = fusion
        self.gone: set[Group] = set()
        self.readers: dict[Read, list[Group]] = {}
        # The kernel that computes an op whose result is in memory; ops without one are their own.
        self.stores = {n: g for g in groups for n in (g.root, *g.more_roots)}
        # Where the first and the last root of each merged kernel stand.
        self.spans: list[tuple[int, int]] = []
        self._made_by: dict[Group, list[Node]] = {}  # what makes a group's inputs

    def add(self, group: Group) -> None:
        """Joins a group with the best of those before it; it stands for both from then on."""
        if not _may_have_siblings(group):
            return
        reads = list(self._reads(group))
        shared: dict[Group, int] = {}
        for read in reads:
            for other in self.readers.get(read, [])[-MOST_READERS:]:
                if other not in self.gone:
                    shared[other] = shared.get(other, 0) + bytes_of(read[0])
            maker = self.stores.get(read[0].producer) if read[0].producer else None
            if maker is not None and maker is not group and _may_have_siblings(maker):
                shared[maker] = shared.get(maker, 0) + bytes_of(read[0])
        for other in sorted(shared, key=lambda g: -shared[g])[:MOST_TRIED]:
            if shared[other] >= LEAST_SHARED and self._fit(other, group, shared[other]):
                self._merge(other, group)
                break
        for read in self._reads(group):
            self.readers.setdefault(read, []).append(group)

    def add_rows(self, groups: list[Group]) -> None:
        """Joins reductions of rows with kernels over the same rows, the last ones first."""
        position = self.fusion.position
        able = sorted(filter(_may_have_siblings, groups), key=lambda g: position[g.root])
        over: dict[Tensor, list[Group]] = {}
        for group in able:
            size = group.root.results[0].size
            held = {o for n in group.nodes for o in (*n.operands, *n.results) if o.size == size}
            for tensor in held:
                over.setdefault(tensor, []).append(group)
        for rows in reversed(able):
            if not any(n.name == "reduce" for n in rows.nodes):
                continue
            read = {o for n in rows.nodes for o in n.operands if o.producer not in rows.nodes}
            near = (g for o in read for g in self._nearest(over.get(o, []), rows))
            found = {g: None for g in near if g is not rows}
            shared = {g: shared_bytes(g, rows) for g in found if g not in self.gone}
            for whole in sorted(shared, key=lambda g: (-shared[g], position[g.root])):
                if shared[whole] >= LEAST_SHARED and self._take_rows(whole, rows, shared[whole]):
                    break

    def _nearest(self, groups: list[Group], to: Group) -> list[Group]:
        """Of groups in program order, as many as are tried that stand on either side of one."""
        position = self.fusion.position
        at = bisect_left(groups, position[to.root], key=lambda g: position[g.root])
        return groups[max(0, at - MOST_TRIED) : at + MOST_TRIED]

    def _take_rows(self, whole: Group, rows: Group, shared: int) -> bool:
        nodes = whole.nodes | rows.nodes
        if len(nodes) > self.fusion.max_ops or self._comes_early(whole, rows):
            return False
        if max(self._waiting(whole, rows), self._waiting(rows, whole)) > max(MOST_WAITING, shared):
            return False
        places = rows_agree(self.fusion, whole, rows) or columns_agree(self.fusion, whole, rows)
        if places is None or not self._independent(whole, rows):
            return False
        self._merge(rows, whole)
        whole.places = places
        return True

    def _waiting(self, group: Group, other: Group) -> int:
        return _waiting_bytes(self.fusion, group, other)

    def _reads(self, group: Group) -> Iterator[Read]:
        """What a group reads from memory, and where."""
        found: dict[Read, None] = {}
        for node in group.nodes:
            for operand in dict.fromkeys(node.operands):
                if operand.producer in group.nodes:
                    continue
                for number in self.fusion.maps.all_through(node, operand, group.places[node]):
                    found[operand, number] = None
        return iter(found)

    def _fit(self, first: Group, second: Group, shared: int) -> bool:
        if first.root.results[0].size != second.root.results[0].size:
            return False
        nodes = first.nodes | second.nodes
        if len(nodes) > self.fusion.max_ops or not self._loops_agree(first, second):
            return False
        if not self.fusion.folds_are_computed_once(nodes, (*_roots(first), *_roots(second))):
            return False
        if self._are_far_apart(first, second) or not folds_agree(nodes):
            return False
        pairs = ((first, second), (second, first))
        waiting = max(_waiting_bytes(self.fusion, a, b) for a, b in pairs)
        return waiting <= max(MOST_WAITING, shared) and self._independent(first, second)

    def _are_far_apart(self, first: Group, second: Group) -> bool:
        """Whether large results of one would be in memory long before they are needed."""
        position = self.fusion.position
        large = min(sum(bytes_of(n.results[0]) for n in _roots(g)) for g in (first, second))
        apart = abs(position[second.root] - position[first.root])
        return large > MOST_WAITING and apart > MOST_APART

    def _comes_early(self, whole: Group, rows: Group) -> bool:
        """Whether large results would be made with those of rows, long before they are needed."""
        position = self.fusion.position
        large = sum(bytes_of(n.results[0]) for n in _roots(whole))
        return large > MOST_WAITING and position[whole.root] - position[rows.root] > MOST_APART

    def _loops_agree(self, first: Group, second: Group) -> bool:
        """Whether what the groups have in common is made and read at the same elements."""
        chained = [self._feeds(a, b) for a, b in ((first, second), (second, first))]
        if None in chained:
            return False
        if not any(chained):
            return _folds_are_joint(first, second)
        folds = [n for n in (first if chained[0] else second).nodes if n.name == "reduce"]
        folded_again = any(n.name == "reduce" for n in (second if chained[0] else first).nodes)
        if self.fusion.gpu and folds:
            return not folded_again
        return not folded_again or all(map(runs_stay_in_cache, folds))

    def _feeds(self, group: Group, other: Group) -> bool | None:
        """Whether a group reads what another stores; None if not element by element."""
        made = {r for n in _roots(group) for r in n.results}
        numbers = {
            number
            for node in other.nodes
            for operand in node.operands
            if operand in made
            for number in self.fusion.maps.all_through(node, operand, other.places[node])
        }
        return None if numbers - {ROOT} else bool(numbers)

    def _independent(self, first: Group, second: Group) -> bool:
        return not self._needs(first, second) and not self._needs(second, first)

    def _needs(self, group: Group, other: Group) -> bool:
        """Whether something that a group reads comes, by way of a third, of what another stores."""
        position = self.fusion.position
        limit = self._limit(min(position[n] for n in _roots(other)))
        pending = [n for n in self._producers(group) if self.stores.get(n) is not other]
        seen = set(pending)
        while pending:
            node = pending.pop()
            owner = self.stores.get(node)
            if owner is other or len(seen) > MOST_STEPS:
                return True
            behind = (
                [o.producer for o in captured(node)] if owner is None else self._producers(owner)
            )
            for producer in behind:
                if producer is None or producer in seen:
                    continue
                if position.get(producer, -1) >= limit:
                    seen.add(producer)
                    pending.append(producer)
        return False

    def _limit(self, earliest: int) -> int:
        """The place ahead of which nothing can wait for an op at `earliest`.

        Ops wait for what stands ahead of them, those of merged kernels for all that these need.
        """
        limit = earliest
        for first, last in sorted(self.spans, reverse=True):
            if first < limit < last:
                limit = first
        return limit

    def _producers(self, group: Group) -> list[Node]:
        if group not in self._made_by:
            self._made_by[group] = self._find_producers(group)
        return self._made_by[group]

    def _find_producers(self, group: Group) -> list[Node]:
        operands = {o for n in group.nodes for o in captured(n)}
        found = {o.producer for o in operands if o.producer not in group.nodes}
        return [n for n in found if n is not None and n in self.fusion.position]

    def _merge(self, first: Group, second: Group) -> None:
        """Moves what `first` holds into `second`, whose root is the later one."""
        fusion = self.fusion
        yes = f"both read what {_what_they_share(first, second)} makes: once for both"
        self._made_by.pop(second, None)
        fusion.join_siblings(first.root, second.root, yes)
        for node in first.nodes:
            owners = fusion.groups[node]
            owners[:] = [g for g in owners if g is not first and g is not second] + [second]
            second.places[node] = first.places[node] | second.places.get(node, frozenset())
        second.nodes |= first.nodes
        second.more_roots += [n for n in _roots(first) if self._is_needed_outside(n, second)]
        second.repeated |= first.repeated
        second.copies = max(first.copies, second.copies)
        ends = (fusion.position[first.root], fusion.position[second.root])
        self.spans.append((min(ends), max(ends)))
        self.gone.add(first)
        self.stores.update(dict.fromkeys(_roots(first), second))

    def _is_needed_outside(self, node: Node, group: Group) -> bool:
        """Whether an op's result is read by what is not computed in a group alone."""
        fusion, result = self.fusion, node.results[0]
        readers = fusion.readers.get(result, ())
        return result in fusion.leaves or any(fusion.groups.get(r) != [group] for r in readers)


def _roots(group: Group) -> list[Node]:
    return [group.root, *group.more_roots]


def _may_have_siblings(group: Group) -> bool:
    """Whether a group becomes loops over the elements of its root."""
    if group.kind is not None or any(len(n.results) != 1 for n in _roots(group)):
        return False
    # What only spreads or reshapes is made again by whoever reads it, or is a view.
    return all(n.name in _IN_ORDER for n in group.nodes) and group.root.name not in FREE_TO_REPEAT


def _folds_are_joint(first: Group, second: Group) -> bool:
    """Whether reductions that make an element of the root each share loops, if there are any."""
    at_root = [
        [n for n in group.nodes if n.name == "reduce" and group.places[n] == frozenset((ROOT,))]
        for group in (first, second)
    ]
    if not any(at_root):
        return True
    together = sum(len(n.results) for own in at_root for n in own)
    pairs = ((a, b) for a in at_root[0] for b in at_root[1])
    return together <= MOST_ACCUMULATORS and any(
        same_loops(a, b) and may_be_joint(a) and may_be_joint(b) for a, b in pairs
    )


def _waiting_bytes(fusion: BlockFusion, group: Group, other: Group) -> int:
    """Bytes made in the block that a group reads and the other does not."""
    read = {o for n in other.nodes for o in (*n.operands, *n.results)}
    alone = {o for n in group.nodes for o in n.operands if o.producer not in group.nodes} - read
    return sum(
        bytes_of(o)
        for o in alone
        if o.producer in fusion.position and o.producer.name != "constant"
    )


def _what_they_share(first: Group, second: Group) -> str:
    read = {o for n in first.nodes for o in n.operands if o.producer not in first.nodes}
    both = [o for n in second.nodes for o in n.operands if o in read]
    producer = max(both, key=bytes_of).producer if both else first.root
    return "the caller" if producer is None else producer.name
