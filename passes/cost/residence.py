"""Where the bytes that kernels read and write are found: in which cache, or in memory.

What a kernel touches is as far away as all the bytes that were touched since it was touched last
(the reuse distance of Mattson et al., "Evaluation techniques for storage hierarchies", 1970, kept
for whole buffers, each touch counted). The program is followed through two runs, and a loop through
two iterations; the second one counts. Intermediates take over the memory that became free last, as
they do in the arena.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from hlo.passes.cost.machine import L2, MEMORY, Machine
from hlo.passes.cost.transfers import Transfers, bytes_of, transfers_of
from hlo.passes.hlo_to_host.liveness import VIEWS, BlockLiveness
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor, captured

# Bytes found at each level of a machine.
Traffic: TypeAlias = tuple[int, ...]
DEEPEST = 3  # loops within loops whose bodies are followed twice


def residence(
    entry: Region, machine: Machine, donated: Mapping[int, int] | None = None
) -> dict[Node, Traffic]:
    """The traffic of one call of each kernel of a program, those in loops and branches included.

    Args:
        donated: result -> argument whose memory it takes over.
    """
    walk = _Walk(machine)
    for result, argument in (donated or {}).items():
        walk.homes[entry.results[result]] = entry.arguments[argument]
    for _ in range(2):
        walk.block(entry, results_are_free=False)
    return walk.found


@dataclass
class _Walk:
    """Follows a program.

    Attributes:
        clock: bytes touched so far.
        last: the clock when a buffer had been touched, by the value that it first held.
        homes: the value that a buffer first held, of values that share one.
        free: (bytes, clock) of memory that no value needs any longer, the last one at the end.
        found: the result.
    """

    machine: Machine
    clock: int = 0
    depth: int = 0
    last: dict[Tensor, int] = field(default_factory=dict[Tensor, int])
    homes: dict[Tensor, Tensor] = field(default_factory=dict[Tensor, Tensor])
    free: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    found: dict[Node, Traffic] = field(default_factory=dict[Node, Traffic])

    def block(self, region: Region, results_are_free: bool = True) -> None:
        """One run of a block."""
        live = BlockLiveness(region.nodes, region.results)
        own: dict[Tensor, int] = {}  # buffers that the block made, and where they are read last
        kept = set[Tensor]() if results_are_free else {self._home(t) for t in region.results}
        for at, node in enumerate(region.nodes):
            if node.name == "constant":
                continue
            if node.name in VIEWS or live.is_view(node):
                for operand, result in zip(node.operands, node.results, strict=False):
                    self.homes[result] = self._home(operand)
            elif node.name == "while":
                self._loop(node)
            elif node.name in ("if", "case"):
                self._branches(node)
            else:
                ending = [h for h in self._operands(node) if own.get(h, at + 1) <= at]
                self._launch(node, ending, kept)
            for result in node.results:
                home = self._home(result)
                if home is result or home in own:
                    own[home] = max(own.get(home, 0), live.last_use(result))
            for home in [h for h in self._operands(node) if own.get(h, at + 1) <= at]:
                self._release(home)
                del own[home]
        for home in own:
            if home not in kept:
                self._release(home)

    def _operands(self, node: Node) -> list[Tensor]:
        return list(dict.fromkeys(self._home(t) for t in captured(node)))

    def _home(self, tensor: Tensor) -> Tensor:
        return self.homes.get(tensor, tensor)

    def _loop(self, node: Node) -> None:
        condition, body = node.regions
        for k, (start, result) in enumerate(zip(node.operands, node.results, strict=True)):
            home = self._home(start)
            for region in node.regions:
                self.homes[region.arguments[k]] = home
            carried = body.results[k]
            if carried.producer is not None and carried.producer in body.nodes:
                self.homes[carried] = home
            self.homes[result] = home
            self.last.setdefault(home, self.clock)
        self.depth += 1
        for _ in range(2 if self.depth <= DEEPEST else 1):
            self.block(condition)
            self.block(body)
        self.depth -= 1

    def _branches(self, node: Node) -> None:
        for region in node.regions:
            self.block(region)
        self.last.update(dict.fromkeys(node.results, self.clock))

    def _launch(self, node: Node, ending: Sequence[Tensor], kept: set[Tensor]) -> None:
        traffic = [0] * len(self.machine.levels)
        moved = transfers_of(node)
        read = {self._home(tensor) for tensor in moved.read}
        for tensor, count in moved.read.items():
            traffic[self._level(self._home(tensor), count, tensor)] += count
        for tensor, count in moved.written.items():
            home = self._home(tensor)
            if home is not tensor or home in kept:
                level = self._level(home, count, tensor)
            else:
                level = self._fresh(count, ending)
            # A line that is not in a cache is read before it is written.
            whole = level < MEMORY or moved.streams or home in read
            traffic[level] += count if whole else 2 * count
        traffic[L2] += moved.scratch_read + moved.scratch_written
        self._touch(moved)
        self.found[node] = tuple(traffic)

    def _touch(self, moved: Transfers) -> None:
        for touched in (moved.read, moved.written):
            for tensor, count in touched.items():
                self.clock += count
                self.last[self._home(tensor)] = self.clock

    def _level(self, home: Tensor, count: int, tensor: Tensor) -> int:
        """Where `count` bytes of a buffer are found.

        Of a part it is not known which it is: the parts take turns.
        """
        if home not in self.last:
            return len(self.machine.levels) - 1
        whole = bytes_of(tensor)
        turns = whole / max(1, min(count, whole))
        return self.machine.level_of((self.clock - self.last[home] + count) * turns)

    def _fresh(self, count: int, ending: Sequence[Tensor]) -> int:
        """Where a new buffer's memory is: an operand's that ends here, or what became free last."""
        for home in ending:
            if bytes_of(home) == count and home in self.last:
                return self.machine.level_of(self.clock - self.last[home] + count)
        needed, since = count, self.clock
        while needed > 0 and self.free:
            size, since = self.free.pop()
            if size > needed:
                self.free.append((size - needed, since))
            needed -= size
        if needed > 0:
            return len(self.machine.levels) - 1
        return self.machine.level_of(self.clock - since + count)

    def _release(self, home: Tensor) -> None:
        size = bytes_of(home)
        self.free.append((size, self.last.get(home, self.clock)))
