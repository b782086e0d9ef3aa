"""Kernels that only move elements, as those of words of the same width.

A complex number is two registers, of vectors that are woven apart and together again, and a float
of 16 bits is widened to 32. Where nothing is computed of them either is a word: lanes are
shuffled, transposed and gathered as those of integers are, and the bits of a NaN stay.
"""

from __future__ import annotations

from dataclasses import replace

from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.element_types import ElementType, element_type
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor, splat_of
from hlo.passes.hlo_to_loops.kernel_function import Kernel

_WORDS = {"complex<f32>": "i64", "f16": "i16", "bf16": "i16"}
_MOVES = frozenset(
    {
        "broadcast_in_dim", "concatenate", "dynamic_slice", "gather", "pad", "reshape", "reverse",
        "select", "slice", "transpose",
    }
)  # fmt: skip


def as_words(region: Region) -> Region | None:
    """The region that moves words; None if one of its results is something else."""
    if not region.results or any(t.type.name not in _WORDS for t in region.results):
        return None
    if not all(_moves(node) for node in region.nodes):
        return None
    words: dict[Tensor, Tensor] = {}

    def word_of(tensor: Tensor) -> Tensor:
        if (kind := _word(tensor.type)) is None:
            return tensor
        if tensor not in words:
            words[tensor] = Tensor(tensor.shape, kind, None, tensor.index)
        return words[tensor]

    arguments = [word_of(t) for t in region.arguments]
    nodes: list[Node] = []
    for node in region.nodes:
        if not _holds_words(node):
            nodes.append(node)
            continue
        moved = Node(node.name, tuple(map(word_of, node.operands)), node.source)
        moved.results = tuple(map(word_of, node.results))
        moved.attributes = node.attributes
        moved.splat = _word_of_constant(node)
        for result in moved.results:
            result.producer = moved
        nodes.append(moved)
    return Region(arguments, nodes, [word_of(t) for t in region.results])


def with_types_of(kernel: Kernel, region: Region) -> Kernel:
    """A kernel of words, which the host program calls on the buffers of the region's own types."""
    return replace(
        kernel,
        inputs=tuple(Buffer("", t.size, t.type).memref for t in region.arguments),
        outputs=tuple(Buffer("", t.size, t.type).memref for t in region.results),
    )


def _word(kind: ElementType) -> ElementType | None:
    name = _WORDS.get(kind.name)
    return None if name is None else element_type(name)


def _holds_words(node: Node) -> bool:
    return any(t.type.name in _WORDS for t in (*node.operands, *node.results))


def _moves(node: Node) -> bool:
    """Whether an op computes nothing of what becomes words."""
    if not _holds_words(node):
        return not node.regions
    if node.name == "constant":
        return _word_of_constant(node) is not None
    return node.name in _MOVES


def _word_of_constant(node: Node) -> int | None:
    """The bits that a constant repeats; None of other ops, and where elements differ."""
    number = splat_of(node) if node.name == "constant" else None
    return None if number is None else int.from_bytes(number.tobytes(), "little", signed=True)
