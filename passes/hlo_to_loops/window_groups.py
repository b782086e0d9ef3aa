"""How elements that collect their sources are taken: in groups, by which windows cover them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from hlo import ir
from hlo.passes.hlo_to_loops.graph import Node, blocks_in, reading, splat_of
from hlo.passes.hlo_to_loops.strided_loads import MOST_SKIPPED_UNDER_MASK
from hlo.passes.hlo_to_loops.window_choice import MOST_UNROLLED, Windows
from hlo.passes.rewrite.walk import body_of, functions

MOST_PHASES = 16
MOST_ENDS = 4  # vectors of windows of which some lanes have no element
NEAR_BYTES, MOST_BYTES = 64 << 10, 1 << 20  # of scratch: of a block of channels; of one vector


@dataclass(frozen=True)
class Along:
    """A dimension that windows walk, whose elements are taken `stride` at a time, in groups.

    Attributes:
        phases: for each element of a group the windows that cover it, by how far their index lies
            beyond the group's, in order, and which of their taps it is.
        first, last: the least and the largest of those distances.
    """

    size: int
    sources: int
    stride: int
    phases: tuple[tuple[tuple[int, int], ...], ...]
    first: int
    last: int

    @staticmethod
    def of(w: Windows, d: int) -> Along:
        stride, phases = w.strides[d], list[tuple[tuple[int, int], ...]]()
        for phase in range(stride):
            beyond, tap = divmod(phase + w.result_low[d], stride)
            taps = range(tap, w.window[d], stride)
            covering = [(beyond - j, tap) for j, tap in enumerate(taps)]
            phases.append(tuple(sorted(covering)))
        distances = [distance for phase in phases for distance, _ in phase]
        first = min(0, *distances)
        last = max(first, *distances)
        return Along(w.results[d], w.sources[d], stride, tuple(phases), first, last)

    @property
    def groups(self) -> int:
        return -(-self.size // self.stride)

    @property
    def kept(self) -> int:
        """Windows that cover elements of one group."""
        return self.last - self.first + 1

    @property
    def windows(self) -> int:
        """Those that cover any, from `first` on."""
        return self.groups + self.kept - 1


def change_selections(
    module: ir.Module, change: Callable[[Node, dict[ir.Operation, Node]], bool]
) -> bool:
    """Whether `change` changed one of a module's select_and_scatters; it is given each, and the
    nodes of its block by their ops.
    """
    changed = False
    for function in functions(module).values():
        if not ir.operations_named(function, ["hlo.select_and_scatter"]):
            continue
        with reading(body_of(function)) as region:
            for block in blocks_in(region):
                nodes = {node.source: node for node in block.nodes}
                for node in block.nodes:
                    if node.name == "select_and_scatter":
                        changed |= change(node, nodes)
    return changed


def surroundings(node: Node, nodes: dict[ir.Operation, Node]) -> tuple[Node | None, Node | None]:
    """The `pad` ahead of a select_and_scatter that nothing else reads, by one value, and the
    `slice` of neighbours behind it that alone reads its result.

    Args:
        nodes: of the block, by their ops.
    """
    padding, part = node.operands[0].producer, _only_reader(node, nodes)
    if padding is None or _only_reader(padding, nodes) is not node or not _is_padding(padding):
        padding = None
    if part is not None and (part.name != "slice" or set(part.attributes["strides"]) != {1}):
        part = None
    return padding, part


def _only_reader(node: Node, nodes: dict[ir.Operation, Node]) -> Node | None:
    """What reads the result of an op, if it is one op of the same block."""
    uses = list(node.source.results[0].uses)
    return nodes.get(uses[0].owner.operation) if len(uses) == 1 else None


def _is_padding(node: Node) -> bool:
    """Whether an op puts one value around a tensor, and cuts nothing off."""
    if node.name != "pad" or any(node.attributes["interior_padding"]):
        return False
    edges = [*node.attributes["edge_padding_low"], *node.attributes["edge_padding_high"]]
    filler = node.operands[1].producer
    return min(edges, default=0) >= 0 and filler is not None and splat_of(filler) is not None


def collects(node: Node, w: Windows) -> bool:
    """Whether elements of a result collect their sources."""
    if not w.walked or not node.operands[1].size or w.taps > MOST_UNROLLED:
        return False
    if math.prod(w.strides) > MOST_PHASES or any(t.type.parts > 1 for t in node.operands):
        return False
    if max(w.sizes) >= 1 << 30 or Scratch.of(node, w).bytes > MOST_BYTES:
        return False
    if w.lanes:
        return True
    if w.walked[-1] != len(w.sizes) - 1 or w.strides[-1] > MOST_SKIPPED_UNDER_MASK:
        return False
    if min(w.sources[-1], w.core_sizes[-1]) == 1:
        return False  # no neighbours, or one element for all of them
    vectors, first, end = vectors_of(w, Along.of(w, len(w.sizes) - 1))
    return vectors - (end - first) <= MOST_ENDS


def vectors_of(w: Windows, along: Along) -> tuple[int, int, int]:
    """Vectors of neighbouring windows, and from where to where all lanes are in the core."""
    lanes, low = w.widest, w.core_low[-1]
    vectors = -(-min(along.sources, along.groups + along.last) // lanes)

    def is_whole(vector: int) -> bool:
        begin, end = vector * lanes, (vector + 1) * lanes
        reach = (end - 1) * along.stride - low + w.window[-1]
        return end <= along.sources and begin * along.stride >= low and reach <= w.core_sizes[-1]

    whole = [v for v in range(vectors) if is_whole(v)]
    return (vectors, whole[0], whole[-1] + 1) if whole else (vectors, vectors, vectors)


@dataclass(frozen=True)
class Scratch:
    """What of windows waits in scratch.

    Attributes:
        extents: rows, windows along inner dimensions, lanes.
        element_bytes: of a window: what it chose, and its source.
    """

    extents: tuple[int, ...]
    element_bytes: int

    @staticmethod
    def of(node: Node, w: Windows) -> Scratch:
        along = [Along.of(w, d) for d in w.walked]
        each = 4 + max(node.operands[1].type.memory_bytes, 1)
        if w.lanes:
            outer, *inner = along
            held = math.prod([outer.kept, *(a.windows for a in inner)]) * w.lanes * each
            block = min(w.vectors, max(1, NEAR_BYTES // held))
            extents = (outer.kept, *(a.windows for a in inner), block * w.lanes)
            return Scratch(extents, each)
        *outers, minor = along
        lanes = w.widest
        longest = max(-(-minor.sources // lanes), -(-minor.groups // lanes)) * lanes
        line = -(-(longest + minor.kept - 1 - minor.first) // lanes) * lanes
        rows = [a.windows for a in outers[1:]]
        return Scratch((outers[0].kept if outers else 1, *rows, line), each)

    @property
    def elements(self) -> int:
        return math.prod(self.extents)

    @property
    def bytes(self) -> int:
        return self.elements * self.element_bytes
