"""Which loops a kernel needs: the coarsest row-major factoring in which every index stays affine.

A space of n elements is described by cuts: inner sizes at which a loop must begin. Elementwise ops
and reshapes pass cuts through, since they keep the row-major order; an op that looks at dimensions
cuts where it must.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import lru_cache

from hlo.passes.hlo_to_loops.affine import suffix_products
from hlo.passes.hlo_to_loops.elementwise import EMITTERS
from hlo.passes.hlo_to_loops.graph import Node, Tensor

_KEEPS_ORDER = frozenset({"reshape", "copy", "optimization_barrier"})


def required_cuts(
    tensor: Tensor, memo: dict[Tensor, frozenset[int]] | None = None
) -> frozenset[int]:
    """Cuts of the row-major space of `tensor` that the ops producing it need."""
    memo = {} if memo is None else memo
    if (known := memo.get(tensor)) is not None:
        return known
    node = tensor.producer
    cuts: frozenset[int] = frozenset()
    if node is not None and node.name != "constant":
        cuts = frozenset(_cuts_of(node, tensor, memo))
    memo[tensor] = cuts
    return cuts


def _cuts_of(node: Node, tensor: Tensor, memo: dict[Tensor, frozenset[int]]) -> Set[int]:
    if node.name in _KEEPS_ORDER:
        return required_cuts(node.operands[tensor.index], memo)
    if node.name == "broadcast_in_dim":
        return _broadcast_cuts(node, memo)
    if node.name == "iota":
        strides = suffix_products(tensor.shape)
        d = node.attributes["iota_dimension"]
        return {strides[d], strides[d] * tensor.shape[d]}
    if node.name in EMITTERS and all(o.shape in (tensor.shape, ()) for o in node.operands):
        return {c for o in node.operands if o.shape == tensor.shape for c in required_cuts(o, memo)}
    if node.name == "transpose":
        return _mapped_cuts(node, node.attributes["permutation"], _transpose_joins(node), memo)
    if node.name == "reduce":
        return _kept_cuts(node, memo)
    return set(suffix_products(tensor.shape))


def _broadcast_cuts(node: Node, memo: dict[Tensor, frozenset[int]]) -> Set[int]:
    operand, shape = node.operands[0], node.results[0].shape
    if operand.size == 1:
        return set()
    mapping, joined = _broadcast_mapping(
        shape, operand.shape, tuple(node.attributes["broadcast_dimensions"])
    )
    return _mapped_cuts(node, mapping, joined, memo)


# A model's layers ask the same again and again.
@lru_cache(maxsize=1024)
def _broadcast_mapping(
    shape: tuple[int, ...], of: tuple[int, ...], dims: tuple[int, ...]
) -> tuple[tuple[int | None, ...], frozenset[int]]:
    """(operand dimension that each result dimension walks, those between which and the next no cut
    is needed).
    """
    source = {d: k for k, d in enumerate(dims) if of[k] != 1}
    joined: set[int] = set()
    for d in range(len(shape) - 1):
        a, b = source.get(d), source.get(d + 1)
        adjacent = (
            a is not None and b is not None and all(of[k] == 1 for k in range(a + 1, b)) and a < b
        )
        if (a is None and b is None) or adjacent or shape[d] == 1 or shape[d + 1] == 1:
            joined.add(d)
    return tuple(source.get(d) for d in range(len(shape))), frozenset(joined)


def _kept_cuts(node: Node, memo: dict[Tensor, frozenset[int]]) -> Set[int]:
    """Of a reduction's result: between kept dimensions that are not neighbours, and where what is
    reduced is cut along them.
    """
    reduced, rank = node.attributes["dimensions"], len(node.operands[0].shape)
    kept = [d for d in range(rank) if d not in reduced]
    joined = {i for i in range(len(kept) - 1) if kept[i + 1] == kept[i] + 1}
    found = set[int]()
    for operand in node.operands[: len(node.results)]:
        found |= _mapped_cuts(node, kept, joined, memo, operand)
    return found


def _transpose_joins(node: Node) -> set[int]:
    permutation = node.attributes["permutation"]
    return {d for d in range(len(permutation) - 1) if permutation[d + 1] == permutation[d] + 1}


def _mapped_cuts(
    node: Node,
    mapping: Sequence[int | None],
    joined: Set[int],
    memo: dict[Tensor, frozenset[int]],
    operand: Tensor | None = None,
) -> Set[int]:
    """Cuts at dimension boundaries not in `joined`, and the operand's cuts moved along `mapping`.

    `mapping[d]` is the operand dimension that result dimension d walks, if any; the operand is the
    first one if it is None.
    """
    operand, shape = operand or node.operands[0], node.results[0].shape
    cuts = required_cuts(operand, memo)
    return _moved(tuple(shape), tuple(operand.shape), tuple(mapping), frozenset(joined), cuts)


@lru_cache(maxsize=4096)
def _moved(
    shape: tuple[int, ...], of: tuple[int, ...], mapping: tuple[int | None, ...],
    joined: frozenset[int], cuts: frozenset[int],
) -> frozenset[int]:  # fmt: skip
    strides, operand_strides = suffix_products(shape), suffix_products(of)
    found = {strides[d] for d in range(len(shape) - 1) if d not in joined}
    for cut in cuts:
        for d, k in enumerate(mapping):
            if k is None or of[k] == 1:
                continue
            low, high = operand_strides[k], operand_strides[k] * of[k]
            if low <= cut < high and cut % low == 0:
                found.add(strides[d] * (cut // low))
    return frozenset(found)
