"""Gives every value a buffer and writes the host program: kernel calls and loops on memrefs.

Buffers are shared where that is free: views show their operand's storage, or a part of it; a result
takes the storage of an operand that dies there when the kernel reads it element by element; what a
block yields is computed in place in the carry, branch or entry result it goes to; a
dynamic_update_slice or scatter writes only what it changes. Where two needs overlap a copy is made,
and `Bufferizer.copies` says why.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hlo.passes.hlo_to_host.carried import BRANCHES, branch_source, carried_through
from hlo.passes.hlo_to_host.host_text import HostText, Storage
from hlo.passes.hlo_to_host.kernel_region import kernel_region
from hlo.passes.hlo_to_host.kernel_table import KernelTable, structural_key
from hlo.passes.hlo_to_host.launch_ids import launch_ids
from hlo.passes.hlo_to_host.liveness import VIEWS, BlockLiveness, moving_starts, part_offset
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor, splat_of
from hlo.passes.hlo_to_loops.kernel_function import Kernel
from hlo.passes.hlo_to_loops.kernels import emit_kernel

_PLACE = re.compile(r'"(?:[^"\\]|\\.)*":\d+:\d+')  # the innermost comes first in MLIR's text
LARGEST_STORED_SPLAT = 16  # elements


@dataclass
class Block:
    """The state of one block's emission.

    Attributes:
        nodes: its ops.
        results: what it yields.
        live: its liveness.
        wishes: storages that certain values should be computed in.
        at: position of the op being emitted.
    """

    nodes: Sequence[Node]
    results: Sequence[Tensor]
    live: BlockLiveness
    wishes: dict[Tensor, Storage]
    at: int = 0


@dataclass
class Bufferizer:
    """Emits a host program into `text`, kernels into `table`, each made by `emit`."""

    text: HostText
    table: KernelTable
    constant: Callable[[Node], Storage]
    emit: Callable[[Region], Kernel] = emit_kernel
    copies: list[str] = field(default_factory=list[str])
    _storages: dict[Tensor, Storage] = field(default_factory=dict[Tensor, Storage])
    # Constants filled in by code, in each open block: they exist only there.
    _filled: list[list[Tensor]] = field(default_factory=lambda: [[]])
    _open: list[BlockLiveness] = field(default_factory=list[BlockLiveness])
    _launches: dict[Node, int] = field(default_factory=dict[Node, int])

    # -- entry -------------------------------------------------------------------------------------
    def entry(
        self, region: Region, arguments: Sequence[Storage], results: Sequence[Storage]
    ) -> None:
        """The body of @main; donated arguments are owned storages, perhaps also results."""
        self._launches = launch_ids(region)
        live = BlockLiveness(region.nodes, region.results)
        for tensor, storage in zip(region.arguments, arguments, strict=True):
            self._storages[tensor] = storage
            storage.needed_until = live.last_use(tensor)
        self._block(region, live, results)

    def _block(self, region: Region, live: BlockLiveness, targets: Sequence[Storage]) -> None:
        """Emits a block whose results must end up in `targets`."""
        block = Block(region.nodes, region.results, live, {})
        self._wish(block, targets)
        self._enter(live)
        for at, node in enumerate(region.nodes):
            block.at = at
            self._node(block, node)
        self._deliver_values(region.results, targets)
        self._leave()

    def _enter(self, live: BlockLiveness) -> None:
        self._filled.append([])
        self._open.append(live)

    def _leave(self) -> None:
        self._open.pop()
        for tensor in self._filled.pop():
            del self._storages[tensor]

    def _wish(self, block: Block, targets: Sequence[Storage]) -> None:
        """Works backwards from where results must go to which ops should compute in place there."""
        wishes = block.wishes
        for tensor, target in zip(block.results, targets, strict=True):
            wishes.setdefault(block.live.root(tensor), target)
        taken: set[int] = {id(s) for s in wishes.values()}
        for node in reversed(block.nodes):
            for operand, result in carried_through(node):
                wish, root = wishes.get(result), block.live.root(operand)
                if wish is not None and root not in wishes and id(wish) in taken:
                    wishes[root] = wish
            if node.name in BRANCHES:
                self._wish_through_branches(block, node)

    @staticmethod
    def _wish_through_branches(block: Block, node: Node) -> None:
        """What a branch hands on is computed where the result goes."""
        for region in node.regions:
            for k, result in enumerate(node.results):
                wish, source = block.wishes.get(result), branch_source(region, k)
                if wish is not None and source is not None:
                    block.wishes.setdefault(block.live.root(source), wish)

    def _deliver(self, sources: Sequence[Storage], targets: Sequence[Storage]) -> None:
        """Copies each source into its target, as if all at once."""
        moves = [(s, t) for s, t in zip(sources, targets, strict=True) if s is not t and t.elements]
        while moves:
            read = {id(source) for source, _ in moves}
            ready = next((move for move in moves if id(move[1]) not in read), None)
            if ready is None:  # all targets are sources too: one of them is saved
                lost = moves[0][1]
                saved = self._alloc_like(lost, "swap", "")
                saved.owned = lost.owned
                self.text.copy(lost, saved, "values change places")
                moves = [(saved if source is lost else source, t) for source, t in moves]
                continue
            source, target = ready
            reason = (
                "a value that goes to a result or a carry is needed elsewhere too"
                if source.owned
                else "an argument, a constant or a value from outside is passed on"
            )
            self.copies.append(f"{target.name}: {reason}")
            self.text.copy(source, target, reason)
            moves.remove(ready)

    def _deliver_values(self, values: Sequence[Tensor], targets: Sequence[Storage]) -> None:
        """Moves each value into its target; constants that code fills in are filled in there."""
        splats = [self._unfilled(value) for value in values]
        moved = [i for i, splat in enumerate(splats) if splat is None]
        self._deliver([self.storage(values[i]) for i in moved], [targets[i] for i in moved])
        for splat, target in zip(splats, targets, strict=True):
            if splat is not None:
                self._fill_into(splat, target)

    def _unfilled(self, value: Tensor) -> Node | None:
        """The splat constant that a value is, if no storage holds it so far."""
        value = self._open[-1].root(value) if self._open else value
        node = value.producer
        if node is None or node.name != "constant" or value in self._storages:
            return None
        large = value.size > LARGEST_STORED_SPLAT and splat_of(node) is not None
        return node if large else None

    # -- storage -----------------------------------------------------------------------------------
    def storage(self, tensor: Tensor) -> Storage:
        """The storage that holds a value; constants are laid down when first asked for."""
        known = self._storages.get(tensor)
        if known is None:
            node = tensor.producer
            assert node is not None and node.name == "constant", (
                "a value is used before it is computed"
            )
            if tensor.size > LARGEST_STORED_SPLAT and splat_of(node) is not None:
                return self._fill(node, tensor)
            known = self._storages[tensor] = self.constant(node)
        return known

    def _fill(self, node: Node, tensor: Tensor) -> Storage:
        """A splat constant is not stored: code fills a buffer with it in the block it serves."""
        storage = self.text.alloc(tensor.size, tensor.type, "constant", location_of(node))
        storage.needed_until = self._open[-1].last_use(tensor)
        self._fill_into(node, storage)
        self._storages[tensor] = storage
        self._filled[-1].append(tensor)
        return storage

    def _fill_into(self, node: Node, storage: Storage) -> None:
        region = Region(nodes=[node], results=list(node.results))
        name = self.table.add(structural_key(region), "fill", lambda: self.emit(region))
        if storage.elements:
            self.text.call(name, [storage])

    def _alloc_like(self, storage: Storage, label: str, location: str) -> Storage:
        return self.text.alloc(storage.elements, storage.type, label, location)

    def _result(
        self, block: Block, node: Node, result: Tensor, in_place: Sequence[Tensor]
    ) -> Storage:
        """A storage for a result: the one wished for, an operand that dies here, or a new one.

        Args:
            in_place: operands whose storage the op may overwrite while it reads them.
        """
        live, at = block.live, block.at
        free_now = {id(self.storage(t)) for t in in_place if t in self._storages}
        wish = block.wishes.get(result)
        if wish is not None and self._may_write(wish, at, free_now):
            chosen = wish
        else:
            chosen = None
            for operand in in_place:
                storage = self._storages.get(operand)
                if (
                    storage is not None
                    and storage.owned
                    and storage.bytes == result.size * result.type.memory_bytes
                    and storage.type.memory == result.type.memory
                    and storage.needed_until <= at
                    and live.last_use(operand) <= at
                ):
                    chosen = storage
                    break
            if chosen is None:
                chosen = self.text.alloc(
                    result.size, result.type, label_of(node), location_of(node)
                )
        chosen.needed_until = live.last_use(result)
        self._storages[result] = chosen
        return chosen

    @staticmethod
    def _may_write(storage: Storage, at: int, free_now: set[int]) -> bool:
        if storage.needed_until < at:
            return True
        return storage.needed_until == at and id(storage) in free_now

    # -- ops ---------------------------------------------------------------------------------------
    def _node(self, block: Block, node: Node) -> None:
        if node.name == "constant":
            return
        if node.name in VIEWS:
            for operand, result in zip(node.operands, node.results, strict=True):
                self._storages[result] = self.storage(operand)
            return
        if block.live.is_view(node):
            self._storages[node.results[0]] = self._part(node)
            return
        structured = {"while": self._while, "if": self._if, "case": self._case}.get(node.name)
        if structured is not None:
            structured(block, node)
            return
        self._kernel(block, node)

    def _part(self, node: Node) -> Storage:
        """The view that a result is of its operand."""
        whole, result = self.storage(node.operands[0]), node.results[0]
        if node.name == "bitcast_convert":
            return self.text.under_type(whole, result.size, result.type)
        return self.text.part(whole, self._offset(node), result.size)

    def _offset(self, node: Node) -> int | str:
        """Where a slice that is a view begins in its operand; an SSA `index` if that depends."""
        if (known := part_offset(node)) is not None:
            return known
        text, total = self.text, ""
        for start, largest, stride in moving_starts(node):
            place = text.multiple(text.start_index(self.storage(start), largest), stride)
            total = text.value(f"arith.addi {total}, {place} : index") if total else place
        return total or 0

    def _kernel(self, block: Block, node: Node) -> None:
        """A kernel call: the node's region (or the node itself), emitted once for all alike."""
        region, inputs = kernel_region(node)
        key = structural_key(region)
        name = self.table.add(key, label_of(node), lambda: self.emit(region))
        kernel = self.table.kernels[name]
        if kernel.updates is not None:
            self._update(block, node, name, kernel, inputs)
            return
        sources = [self.storage(t) for t in inputs]
        targets: list[Storage] = []
        for k, result in enumerate(node.results):
            reusable = kernel.reusable(k)
            # Another input may be a view of the same storage.
            kept = [s.root for i, s in enumerate(sources) if i not in reusable] + targets
            usable = [inputs[i] for i in reusable if sources[i] not in kept]
            targets.append(self._result(block, node, result, usable))
        self._call(node, name, sources, targets)

    def _call(self, node: Node, name: str, sources: list[Storage], targets: list[Storage]) -> None:
        kernel = self.table.kernels[name]
        label, place = f"scratch of {label_of(node)}", location_of(node)
        scratch = [self.text.alloc(n, t, label, place) for n, t in kernel.scratch]
        if kernel.units:
            self.text.call(name, [*sources, *targets, *scratch], self._launches[node])

    def _update(
        self, block: Block, node: Node, name: str, kernel: Kernel, inputs: Sequence[Tensor]
    ) -> None:
        """A kernel that changes part of one operand, in place where that operand dies here.

        A splat constant that it changes is filled into the result's own memory.
        """
        updates, reread = kernel.updates or (), not kernel.update_safe
        splats = {} if reread else {i: self._unfilled(inputs[i]) for i in updates}
        sources = {i: self.storage(t) for i, t in enumerate(inputs) if splats.get(i) is None}
        targets: list[Storage] = []
        for result, i in zip(node.results, updates, strict=True):
            splat = splats.get(i)
            usable = [] if reread or splat is not None else [inputs[i]]
            if usable and any(s.root is sources[i].root for j, s in sources.items() if j != i):
                usable = []  # a part of it, or all, is read as another input
            target = self._result(block, node, result, usable)
            if splat is not None:
                self._fill_into(splat, target)
                sources[i] = target
            elif target is not sources[i]:
                reason = f"{label_of(node)} {_why_not_in_place(kernel, sources[i])}"
                self.copies.append(f"{target.name}: {reason}")
                self.text.copy(sources[i], target, reason)
            targets.append(target)
        self._call(node, name, [sources[i] for i in range(len(inputs))], targets)

    # -- control flow ------------------------------------------------------------------------------
    def _while(self, block: Block, node: Node) -> None:
        condition, body = node.regions
        carries = self._carries(block, node, body)
        for tensor, argument, storage in zip(
            body.arguments, condition.arguments, carries, strict=True
        ):
            self._storages[tensor] = self._storages[argument] = storage
        with self.text.nested("scf.while : () -> () {", end=None):
            flag = self._condition(condition)
            self.text.line(f"scf.condition({flag})")
        with self.text.nested("} do {"):
            live = BlockLiveness(body.nodes, body.results)
            saved = [(s, s.needed_until, s.owned) for s in dict.fromkeys(carries)]
            for storage in dict.fromkeys(carries):
                uses = [
                    live.last_use(t)
                    for t, s in zip(body.arguments, carries, strict=True)
                    if s is storage
                ]
                storage.needed_until = max(uses)
            targets = list(carries)
            outer = self._lock_outer(carries)
            self._block(body, live, targets)
            self._unlock(outer)
            for storage, needed, owned in saved:
                storage.needed_until, storage.owned = needed, owned
            self.text.line("scf.yield")
        for result, storage in zip(node.results, carries, strict=True):
            self._storages[result] = storage
            storage.needed_until = max(storage.needed_until, block.live.last_use(result))

    def _carries(self, block: Block, node: Node, body: Region) -> list[Storage]:
        """The storages that hold the carried values, initial values in them."""
        live, at = block.live, block.at
        chosen: list[Storage] = []
        moves: list[tuple[Tensor, Storage]] = []
        captured_storages = self._captured(node)
        for k, (operand, result) in enumerate(zip(node.operands, node.results, strict=True)):
            if body.results[k] is body.arguments[k]:
                chosen.append(self.storage(operand))  # the loop never changes it
                continue
            source = None if self._unfilled(operand) else self.storage(operand)
            wish = block.wishes.get(result)
            own = None  # the initial value's storage, if the loop may have it
            if (
                source is not None
                and source.owned
                and source.needed_until <= at
                and live.last_use(operand) <= at
                and source not in captured_storages
                and sum(self._root_of(o) is source for o in node.operands) == 1
            ):
                own = source
            if own is not None and (wish is None or wish is own or wish in chosen):
                target = own
            elif (
                wish is not None
                and wish not in chosen
                and wish not in captured_storages
                and self._free_for_carry(wish, block, node)
            ):
                target = wish
            elif own is not None:
                target = own
            else:
                target = self.text.alloc(
                    result.size, result.type, f"{label_of(node)} carry {k}", location_of(node)
                )
            if target is not source:
                moves.append((operand, target))
            chosen.append(target)
        self._deliver_values([value for value, _ in moves], [target for _, target in moves])
        return chosen

    def _free_for_carry(self, wish: Storage, block: Block, node: Node) -> bool:
        if wish.needed_until < block.at:
            return True
        # Its content dies at this loop; it must not be another carry's initial value read after
        # being overwritten.
        return wish.needed_until == block.at and all(
            self._root_of(o) is not wish for o in node.operands
        )

    def _captured(self, node: Node) -> set[Storage]:
        """Storages that the regions of an op read from outside, in every iteration of a loop."""
        tensors = (t for region in node.regions for t in region.free)
        return {self._storages[t].root for t in tensors if t in self._storages}

    def _root_of(self, tensor: Tensor) -> Storage | None:
        """The buffer that holds a value, perhaps among others; None if none does so far."""
        known = self._storages.get(tensor)
        return None if known is None else known.root

    def _lock_outer(self, carries: Sequence[Storage]) -> list[Storage]:
        """What exists around a loop body stays as it is in the body, the carries apart."""
        locked = [s for s in dict.fromkeys(self._storages.values()) if s.owned and s not in carries]
        for storage in locked:
            storage.owned = False
        return locked

    @staticmethod
    def _unlock(storages: Sequence[Storage]) -> None:
        for storage in storages:
            storage.owned = True

    def _condition(self, region: Region) -> str:
        """Emits a loop's condition block; returns the SSA i1."""
        live = BlockLiveness(region.nodes, region.results)
        block = Block(region.nodes, region.results, live, {})
        locked = self._lock_outer(())
        self._enter(live)
        for at, node in enumerate(region.nodes):
            block.at = at
            self._node(block, node)
        self._unlock(locked)
        flag = self._flag(self.storage(region.results[0]))
        self._leave()
        return flag

    def _flag(self, storage: Storage) -> str:
        text = self.text
        byte = text.value(f"memref.load {storage.name}[{text.constant(0)}] : {storage.memref}")
        return text.value(f"arith.cmpi ne, {byte}, {text.constant(0, 'i8')} : i8")

    def _branch_targets(self, block: Block, node: Node) -> list[Storage]:
        """Where the results go; branches may read there what they captured and write over it."""
        targets: list[Storage] = []
        for k, result in enumerate(node.results):
            target = block.wishes.get(result)
            if target is None or target.needed_until > block.at or target in targets:
                target = self._captured_target(block, node, k, targets)
            if target is None:
                target = self.text.alloc(
                    result.size, result.type, label_of(node), location_of(node)
                )
            targets.append(target)
        return targets

    def _captured_target(
        self, block: Block, node: Node, k: int, taken: Sequence[Storage]
    ) -> Storage | None:
        """The storage of a value that dies here and that a branch hands on or updates."""
        result = node.results[k]
        for region in node.regions:
            source = branch_source(region, k)
            storage = None if source is None else self._storages.get(source)
            if (
                source is not None
                and storage is not None
                and storage not in taken
                and storage.owned
                and storage.bytes == result.size * result.type.memory_bytes
                and storage.type.memory == result.type.memory
                and storage.needed_until <= block.at
                and block.live.last_use(source) <= block.at
            ):
                return storage
        return None

    def _branch(self, region: Region, targets: Sequence[Storage]) -> None:
        before = [(t, t.needed_until) for t in targets]
        live = BlockLiveness(region.nodes, region.results)
        for target in targets:
            read = [t for t in region.free if self._root_of(t) is target]
            target.needed_until = max((live.last_use(t) for t in read), default=-1)
        locked = self._lock_outer(targets)
        self._block(region, live, targets)
        self._unlock(locked)
        for target, needed in before:
            target.needed_until = needed

    def _finish_branches(self, block: Block, node: Node, targets: Sequence[Storage]) -> None:
        for result, target in zip(node.results, targets, strict=True):
            self._storages[result] = target
            target.needed_until = block.live.last_use(result)

    def _if(self, block: Block, node: Node) -> None:
        flag = self._flag(self.storage(node.operands[0]))
        targets = self._branch_targets(block, node)
        with self.text.nested(f"scf.if {flag} {{", end=None):
            self._branch(node.regions[0], targets)
        with self.text.nested("} else {"):
            self._branch(node.regions[1], targets)
        self._finish_branches(block, node, targets)

    def _case(self, block: Block, node: Node) -> None:
        text, index = self.text, self.storage(node.operands[0])
        raw = text.value(f"memref.load {index.name}[{text.constant(0)}] : {index.memref}")
        chosen = text.value(f"arith.index_cast {raw} : {index.type.memory} to index")
        targets = self._branch_targets(block, node)
        *numbered, last = node.regions
        text.line(f"scf.index_switch {chosen}")
        for k, region in enumerate(numbered):
            with text.nested(f"case {k} {{"):
                self._branch(region, targets)
                text.line("scf.yield")
        with text.nested("default {"):
            self._branch(last, targets)
        self._finish_branches(block, node, targets)


def _why_not_in_place(kernel: Kernel, operand: Storage) -> str:
    """Why an update got memory of its own, as the end of a sentence about its kernel."""
    if not kernel.update_safe:
        return "reads what it updates"
    if not operand.owned:
        return "updates an argument that is not donated, a constant, or a value from outside"
    return "updates an operand that is needed afterwards"


def label_of(node: Node) -> str:
    """A name for what a node computes, for buffers and kernels."""
    if node.name == "fusion":
        name = node.attributes.get("name")
        return str(name) if name else "fusion"
    return node.name


def location_of(node: Node) -> str:
    """The innermost place in the user's source, as an MLIR location's text; empty if unknown."""
    place = _PLACE.search(node.location)
    return "" if place is None else f"loc({place.group()})"
