"""Finds the backward pass of an attention: from dP through the softmax to three gradients.

The sum over the keys of a row that the softmax's derivative has is made of two dots: the scores,
through an exponential, and dP. All that depends on dP, up to the dots that give the gradients of
query and key, and the dot of the probabilities with the same gradient, become one kernel, which
makes the scores and weights again: the forward pass need not store them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hlo.passes.fusion.attention import MAX_CORE, WITHIN, Attention, Search
from hlo.passes.hlo_to_loops.attention_gradient_parts import GradientParts, gradient_parts
from hlo.passes.hlo_to_loops.attention_parts import NotAttentionError
from hlo.passes.hlo_to_loops.graph import Node, Tensor

# Raises NotAttentionError for a backward pass that the target has no kernel for.
Check = Callable[[GradientParts], None]

MOVING = frozenset({"reshape", "transpose"})


def find_gradients(
    nodes: Sequence[Node], readers: Mapping[Tensor, Sequence[Node]], leaves: set[Tensor],
    check: Check,
) -> list[Attention]:  # fmt: skip
    """The backward passes of a block's attentions; arguments as of `find_attention`.

    Args:
        check: what the target has a kernel for.
    """
    search = Search({n: i for i, n in enumerate(nodes)}, readers, leaves)
    found: list[Attention] = []
    taken: set[Node] = set()
    for node in nodes:
        if node.name == "reduce" and node not in taken:
            gradient = _gradient_of(node, search, check)
            if gradient is not None and not taken.intersection(gradient.core):
                found.append(gradient)
                taken.update(gradient.core)
    return found


def _gradient_of(total: Node, search: Search, check: Check) -> Attention | None:
    """The backward pass whose second sum of rows is `total`; None if there is none."""
    cone = search.cone(total.operands[0])
    dots = [n for n in cone if n.name == "dot_general"]
    folds = [n for n in cone if n.name == "reduce"]
    exponentials = [n for n in cone if n.name == "exponential"]
    if (len(dots), len(folds), len(exponentials)) != (2, 2, 1):
        return None
    scores = [n for n in dots if _depends(cone, n, exponentials[0])]
    if len(scores) != 1:
        return None
    slope = next(n for n in dots if n is not scores[0])
    closure = _closure(slope, search)
    if closure is None or total not in closure[0]:
        return None
    inner, ends = closure
    weights = exponentials[0].results[0]
    value = _value_dot(weights, slope, {*inner, *ends}, search)
    if len(ends) != 2 or value is None:
        return None
    core = [*inner, *ends, value]
    copied = _copied(core, scores[0], search)
    moves = {product: _moves_of(product, search) for product in (*ends, value)}
    return _checked(core, copied, moves, search, check)


def _moves_of(product: Node, search: Search) -> list[Node]:
    """The transposes, and the reshapes ahead of them, through which alone a product is read."""
    found: list[Node] = []
    kept, current = 0, product
    while True:
        result = current.results[0]
        readers = set(search.readers.get(result, ()))
        if result in search.leaves or len(readers) != 1:
            return found[:kept]
        (current,) = readers
        if current.name not in MOVING or current not in search.position:
            return found[:kept]
        found.append(current)
        kept = len(found) if current.name == "transpose" else kept


def _checked(
    inner: Sequence[Node],
    copied: Sequence[Node],
    moves: Mapping[Node, Sequence[Node]],
    search: Search,
    check: Check,
) -> Attention | None:
    """The backward pass of some ops, and of what moves the products, if there is a kernel."""
    core = [*inner, *(node for chain in moves.values() for node in chain)]
    held = set(core)
    stored = [chain[-1] if chain else product for product, chain in moves.items()]
    roots = sorted(stored, key=search.position.__getitem__)
    if any(n not in roots and search.outside(n, held) is not None for n in core):
        return None
    side = dict.fromkeys([*copied, *search.side([*core, *copied])])
    nodes = sorted({*core, *side}, key=search.position.__getitem__)
    inside = set(nodes)
    start = search.position[roots[0]]
    for node in nodes:
        for operand in node.operands:
            producer = operand.producer
            if producer is None or producer in inside:
                continue
            if search.position.get(producer, -1) >= start:
                return None
    try:
        check(gradient_parts(nodes))
    except NotAttentionError:
        return None
    return Attention(
        roots[0],
        tuple(sorted(core, key=search.position.__getitem__)),
        tuple(n for n in side if n not in held),
        tuple(moves),
        tuple(roots[1:]),
    )


def _depends(nodes: Sequence[Node], start: Node, end: Node) -> bool:
    """Whether `end` depends on `start` within `nodes`, which are in program order."""
    known: set[Tensor] = set(start.results)
    for node in nodes:
        if any(o in known for o in node.operands):
            known.update(node.results)
    return any(o in known for o in end.operands)


def _closure(slope: Node, search: Search) -> tuple[list[Node], list[Node]] | None:
    """(the ops that depend on dP, the dots they end in); None if they end in others."""
    inner, ends = {slope: None}, dict[Node, None]()
    pending = [slope]
    while pending:
        for result in pending.pop().results:
            for reader in search.readers.get(result, ()):
                if reader in inner or reader in ends:
                    continue
                if reader.name == "dot_general":
                    ends[reader] = None
                elif reader.name in WITHIN and reader in search.position:
                    inner[reader] = None
                    pending.append(reader)
                else:
                    return None
                if len(inner) > MAX_CORE:
                    return None
    return list(inner), list(ends)


def _value_dot(weights: Tensor, slope: Node, taken: set[Node], search: Search) -> Node | None:
    """The dot of the probabilities with the gradient that dP is made of.

    dP is made of the values too, which the forward pass's second dot reads: that one comes before.
    """
    found: list[Node] = []
    bases = {_base(o) for o in slope.operands}
    pending, seen = [weights], set[Tensor]()
    while pending:
        tensor = pending.pop()
        if tensor in seen:
            continue
        seen.add(tensor)
        for reader in search.readers.get(tensor, ()):
            if reader.name == "dot_general" and reader not in taken:
                others = [o for o in reader.operands if o is not tensor]
                if any(_base(o) in bases for o in others):
                    found.append(reader)
            elif reader.name in WITHIN - {"reduce"} and reader not in taken:
                pending.extend(r for r in reader.results if r.size == weights.size)
    return max(found, key=search.position.__getitem__, default=None)


def _base(tensor: Tensor) -> Tensor:
    while tensor.producer is not None and tensor.producer.name in MOVING:
        tensor = tensor.producer.operands[0]
    return tensor


def _copied(core: Sequence[Node], scores: Node, search: Search) -> list[Node]:
    """The ops from the scores on that the backward pass reads the results of.

    `core` begins with the dot that gives dP and ends with that of the probabilities.
    """
    found: dict[Node, None] = {}
    held = set(core)
    depends = set(scores.results)
    slope = core[0]
    in_memory = {_base(o) for o in slope.operands}
    for node in core:
        for operand in node.operands:
            # Of dots only the probabilities are made by the kernel, and what depends on dP.
            made = node is core[-1] and _base(operand) not in in_memory
            if node.name == "dot_general" and not made:
                continue
            for other in search.cone(operand):
                if other not in held:
                    found[other] = None
    ordered = sorted(found, key=search.position.__getitem__)
    kept: list[Node] = []
    for node in ordered:
        if node is scores or any(o in depends for o in node.operands):
            kept.append(node)
            depends.update(node.results)
    return kept
