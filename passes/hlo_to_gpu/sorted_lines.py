"""What a sort orders, what it moves along, and what of it is stored."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_gpu.thread_emitter import ThreadEmitter
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.graph import Node, Region, captured
from hlo.passes.hlo_to_loops.scalar_regions import apply
from hlo.passes.hlo_to_loops.sort_kernel import sorted_tensor


@dataclass(frozen=True)
class SortedLines:
    """Lines of `length` elements, `inner` apart.

    Attributes:
        node: the sort.
        size: elements of an operand.
        keys: operands that the comparator reads.
        results: for each result of the kernel the operand it is of, and how many elements of each
            line are stored; None for all.
    """

    node: Node
    region: Region
    length: int
    inner: int
    size: int
    keys: tuple[int, ...]
    results: tuple[tuple[int, int | None], ...]

    @staticmethod
    def of(region: Region, node: Node) -> SortedLines:
        """Of a kernel: the sort, iotas that it carries along, and slices of its results."""
        shape = node.operands[0].shape
        dim = node.attributes["dimension"] % max(len(shape), 1)
        length = shape[dim] if shape else 1
        comparator = node.regions[0]
        read = {t for inner in comparator.nodes for t in captured(inner)}
        read |= set(comparator.results)
        keys = {i // 2 for i, t in enumerate(comparator.arguments) if t in read}
        results: list[tuple[int, int | None]] = []
        for tensor in region.results:
            first = tensor.shape[dim] if shape else 1
            k = node.results.index(sorted_tensor(tensor))
            results.append((k, first if first < length else None))
        return SortedLines(
            node, region, length, math.prod(shape[dim + 1 :]), node.operands[0].size,
            tuple(sorted(keys)), tuple(results),
        )  # fmt: skip

    @property
    def lines(self) -> int:
        return self.size // self.length

    @property
    def carried(self) -> list[int]:
        """Operands whose elements are moved: the keys, and those whose results are stored."""
        return sorted({*self.keys, *(k for k, _ in self.results)})

    def stored_in(self, outputs: Sequence[Buffer]) -> dict[int, tuple[Buffer, int | None]]:
        """For each operand that is stored its buffer, and how many elements of each line."""
        pairs = zip(self.results, outputs, strict=True)
        return {k: (buffer, first) for (k, first), buffer in pairs}

    def before(
        self, em: ThreadEmitter, first: Mapping[int, Value], second: Mapping[int, Value]
    ) -> str:
        """SSA i1: whether the comparator puts `first` before `second`, given their keys."""
        values: list[Value] = []
        for k, tensor in enumerate(self.node.operands):
            unread = None if k in first else elementwise.constant(em.b, tensor.type, 0)
            values += [first[k], second[k]] if unread is None else [unread, unread]
        return apply(em, self.node.regions[0], values)[0].name

    def store(
        self, em: ThreadEmitter, value: Value, where: tuple[Buffer, int | None],
        line: tuple[Affine, Affine], place: Affine,
    ) -> None:  # fmt: skip
        """Stores a result's element, if it is one of those that are stored.

        Args:
            where: as of `stored_in`.
            line: the lines' number in the dimensions ahead of the sorted one, and behind it.
            place: the index in the line.
        """
        buffer, first = where
        row, column = line
        if first is None:
            em.store(value, buffer, (row * self.length + place) * self.inner + column)
            return
        b = em.b
        wanted = b.op(f"arith.cmpi ult, {em.index(place)}, {b.index(first)} : index")
        with b.when(wanted):
            near = em.name_index(em.index(place), first) if first > 1 else Affine()
            em.store(value, buffer, (row * first + near) * self.inner + column)
