"""Pulls values through a kernel's ops: the value of any tensor at any position, in registers.

Each op is a function from a position in its result to a value, which asks its operands for theirs
(the elemental emission of XLA's `elemental_ir_emitter`); loads happen at the kernel's inputs. In
vector mode the lane variable advances by the width: positions affine in it are vectorisable.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from hlo.diagnostics import UnsupportedError
from hlo.passes.cost.op_cost import looks_elements_up
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position, suffix_products
from hlo.passes.hlo_to_loops.bounds import known_of
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Builder, Value
from hlo.passes.hlo_to_loops.graph import Node, Tensor, splat_of
from hlo.passes.hlo_to_loops.loop_space import required_cuts
from hlo.passes.hlo_to_loops.strided_loads import MOST_SKIPPED, Lanes, load_strided
from hlo.passes.hlo_to_loops.vector_stores import store_first_lanes, store_past_caches

if TYPE_CHECKING:
    from hlo.passes.hlo_to_loops.column_folds import ColumnBlock, ColumnKeeper

# What is computed at an element of its operands that lies where the result's does.
PLAIN = elementwise.EMITTERS.keys() | {
    "broadcast_in_dim", "constant", "iota", "reshape", "slice", "transpose"
}  # fmt: skip
UNROLLED = 8
LINE_BYTES = 64  # of a cache line


class NotVectorizableError(Exception):
    """A position is not affine in the lane variable: this code must be emitted for scalars."""


SCALAR = Position.of_dims(())

Elemental = Callable[["Emitter", Node, int, Position], Value]
# A position -> the value there, at the builder's current width.
Source = Callable[[Position], Value]


class StridedSource(Protocol):
    """Gives vectors of loads with a lane stride by other means than gathers."""

    def load(self, em: Emitter, buffer: Buffer, offset: Affine) -> Value | None:
        """The lanes at `offset`; None where it has none."""
        ...


class RowOfLanes(Protocol):
    """What a fold along a row has kept of it."""

    def load(self, em: Emitter, lane: str) -> Value:
        """The elements at a lane variable."""
        ...


class Fetcher(Protocol):
    """Fetches what will be read soon."""

    def fetch(self, em: Emitter, buffer: Buffer, offset: Affine) -> None:
        """Called where the lanes at `offset` are loaded."""
        ...


def row_key(tensor: Tensor, offset: Affine, lane: str) -> tuple[object, ...]:
    """What a row is remembered by: where it begins, given an offset in it at a lane variable."""
    return ("row", tensor, offset + Affine.variable(lane) * -1)


class Emitter:
    """The state of one kernel's emission.

    Attributes:
        b: the builder.
        extents: for each loop variable v, the bound of 0 <= v < extents[v].
        lane: the lane variable while the builder's width is not 0.
        mask: in vector mode, the SSA i1 vector of lanes that may be loaded; None if all.
        gathers: whether loads with a lane stride other than 1 may be emitted as vector gathers.
        folds_gather: whether those of what a fold reads may, too.
        row_lanes: vector width for reductions met in scalar code; 0 keeps them scalar.
        share_fold: computes a `Fold` in another way than loops; gives None where it cannot.
        sources: tensors whose elements the kernel has somewhere already; see `provide`.
        stores_in_pieces: whether the first lanes of a vector are stored without a mask.
        unrolled: up to how many elements reductions fold without loops.
        apart: how far apart lanes may lie that are shuffled out of whole vectors.
        branch_free: whether what a window meets outside its tensor is loaded from inside it and not
            used, so that no load waits for a branch.
    """

    unrolled = UNROLLED
    apart = MOST_SKIPPED
    branch_free = False
    stores_in_pieces = False

    def __init__(self, builder: Builder, buffers: Mapping[Tensor, Buffer]) -> None:
        self.b = builder
        self.buffers = dict(buffers)
        self.extents: dict[str, int] = {}
        self.lane: str | None = None
        self.mask: str | None = None
        self.gathers = False
        self.folds_gather = True
        self._folds = 0  # around what is emitted
        # Whether the lanes are those of several registers, and whether folds along rows may do so.
        self.is_wide = self.folds_widely = False
        self.row_lanes = 0
        # Tensors of which folds along a row keep what they compute.
        self.kept: frozenset[Tensor] = frozenset()
        # What keeps them where columns are folded.
        self.columns: ColumnKeeper | None = None
        # What needs such a fold: computed ahead of other operands, which may read what is kept.
        self.ahead: frozenset[Tensor] = frozenset()
        # Lane variables of neighbouring vectors whose columns are folded in the same loops.
        self.neighbours: tuple[str, ...] = ()
        # For a reduction those that share its loop, itself included; see `joint_folds`.
        self.joint: dict[Node, tuple[Node, ...]] = {}
        # The reductions whose results it needs at the same elements: their loops come first.
        self.earlier: dict[Node, tuple[Node, ...]] = {}
        # If set: emits what is made once for each run of the innermost loop, given where it begins.
        self.at_row: Callable[[Affine], None] | None = None
        # The columns of the innermost loop, where they are folded a block at a time.
        self.block: ColumnBlock | None = None
        # While tiles are computed: where their strided loads come from.
        self.tile: StridedSource | None = None
        # If a list: where loads with a lane stride other than 1 are, which are then not emitted.
        self.strided: list[Affine] | None = None
        # If a set: the values of the lane variable at which conditions on it alone change.
        self.boundaries: set[int] | None = None
        # For inputs that come from memory: what fetches them ahead of their loads.
        self.fetchers: dict[Buffer, Fetcher] = {}
        # Indices read from memory: the next turn of a loop has another, anywhere.
        self.looked_up: set[str] = set()
        # The loop around that over the lanes whose next turn reads what is fetched, and its step.
        self.next_turn: tuple[str, int] | None = None
        # Outputs that begin at a cache line and are written past the caches.
        self.streams: frozenset[Buffer] = frozenset()
        # An offset that is a multiple of the lanes, which its terms do not tell.
        self.at_line: Affine | None = None
        self.share_fold: Callable[[Any], list[Value] | None] | None = None
        # Offsets at which each buffer was read; what was read before a loop counts as well.
        self.loaded: dict[Buffer, set[Affine]] = {}
        # The region whose loads may follow stores of the same row, and what was loaded in it.
        self.body: object = None
        self.loaded_in_body: dict[Buffer, set[Affine]] = {}
        self._lane_level = 0
        self._lane_is_multiple = False
        # The level around the innermost loop, where its turns are single elements.
        self._step_level: int | None = None
        self._cuts: dict[Tensor, frozenset[int]] = {t: frozenset() for t in buffers}
        self.sources: dict[Tensor, Source] = {}

    @contextmanager
    def fold(self) -> Generator[None]:
        """What is emitted inside belongs to a fold: it is done for each element folded."""
        self._folds += 1
        try:
            yield
        finally:
            self._folds -= 1

    def provide(self, tensor: Tensor, source: Source) -> None:
        """From here on elements of `tensor` come from `source` instead of from its producer."""
        self.sources[tensor] = source
        self._cuts[tensor] = frozenset()

    def cuts(self, tensor: Tensor) -> frozenset[int]:
        """Where the row-major space of a tensor must be cut into loops; see loop_space."""
        return required_cuts(tensor, self._cuts)

    # -- loops -------------------------------------------------------------------------------------
    def variable(self, name: str, extent: int) -> Affine:
        """Declares an SSA index value in [0, extent) as a variable of index expressions."""
        self.extents[name] = extent
        return Affine.variable(name)

    @contextmanager
    def vector(
        self, lane: str, lanes: int, mask: str | None = None, *, level: int | None = None,
        wide: bool = False, aligned: bool = False,
    ) -> Generator[None]:  # fmt: skip
        """Vector mode: `lane` is the SSA name of lane 0's index; call inside the loop over it.

        Args:
            level: where that loop is, if other loops lie between.
            wide: whether the lanes are those of several registers, for elementwise ops alone.
            aligned: whether `lane` is always a multiple of `lanes`.
        """
        saved = self.lane, self.mask, self._lane_level, self.is_wide, self._lane_is_multiple
        self.lane, self.mask, self.is_wide, self._lane_is_multiple = lane, mask, wide, aligned
        self._lane_level = self.b.level - 1 if level is None else level
        try:
            with self.b.width(lanes):
                yield
        finally:
            self.lane, self.mask, self._lane_level, self.is_wide, self._lane_is_multiple = saved

    @contextmanager
    def step(self) -> Generator[None]:
        """The body of the loop it is called in, whose turns are single elements."""
        saved, self._step_level = self._step_level, self.b.level - 1
        try:
            yield
        finally:
            self._step_level = saved

    @property
    def lane_level(self) -> int:
        """Where what all lanes share is computed, if no condition lies between."""
        return self._lane_level

    def hoist_from_here(self) -> None:
        """Vector code in no loop of its own: what lanes share is computed right here."""
        self._lane_level = self.b.level

    @contextmanager
    def scalar(self) -> Generator[None]:
        """Scalar mode inside vector code, for what is the same in every lane."""
        saved = self.lane, self.mask, self.is_wide
        self.lane, self.mask, self.is_wide = None, None, False
        try:
            with self.b.width(0):
                yield
        finally:
            self.lane, self.mask, self.is_wide = saved

    @contextmanager
    def masked(self, condition: str) -> Generator[None]:
        """Lanes where `condition` (i1 at the current width) does not hold load nothing."""
        saved = self.mask
        self.mask = (
            condition
            if saved is None
            else self.b.op(f"arith.andi {saved}, {condition} : {self.b.type_of('i1')}")
        )
        try:
            yield
        finally:
            self.mask = saved

    # -- index arithmetic --------------------------------------------------------------------------
    def is_uniform(self, index: Affine) -> bool:
        """Whether an index is the same in every lane."""
        return self.lane is None or index.coefficient(self.lane) == 0

    def index(self, index: Affine) -> str:
        """The SSA `index` value of an expression, for lane 0."""
        b = self.b
        with b.width(0):
            total: str | None = None
            # Names are numbered as they are defined: outer loop variables first keeps partial sums
            # invariant.
            for name, coefficient in sorted(index.terms, key=lambda term: (len(term[0]), term[0])):
                term = name
                if coefficient != 1:
                    term = b.op(f"arith.muli {name}, {b.index(coefficient)} : index")
                total = term if total is None else b.op(f"arith.addi {total}, {term} : index")
            if total is None:
                return b.index(index.constant)
            if index.constant:
                total = b.op(f"arith.addi {total}, {b.index(index.constant)} : index")
            return total

    def name_index(self, name: str, extent: int) -> Affine:
        """An index expression for an SSA `index` value in [0, extent); constants stay constants."""
        return ZERO if extent == 1 else self.variable(name, extent)

    def bounded(self, index: Affine, size: int) -> Affine:
        """An index known from context to be in [0, size): named, so that its range is known too."""
        low, high = index.bounds(self.extents)
        if (low >= 0 and high < size) or not self.is_uniform(index):
            return index
        with self.b.width(0):
            return self.name_index(
                self.b.load(f"arith.addi {self.index(index)}, {self.b.index(0)} : index"), size
            )

    def divmod(self, index: Affine, divisor: int) -> tuple[Affine, Affine]:
        """Quotient and remainder by a positive constant of an index that is not negative."""
        if (exact := index.divmod(divisor, self.extents)) is not None:
            return exact
        if (split := index.split(divisor, self.extents)) is not None:
            factor, high_part, low_part = split
            quotient_index, rest = self.divmod(high_part, divisor // factor)
            return quotient_index, rest * factor + low_part
        within = self._stays_within(index, divisor)
        if not within and not self.is_uniform(index):
            raise NotVectorizableError("a lane crosses a row boundary")
        _, high = index.bounds(self.extents)
        with self.b.width(0):
            name, by = self.index(index), self.b.index(divisor)
            quotient = self.b.op(f"arith.divui {name}, {by} : index")
            if within:
                row = self.name_index(quotient, high // divisor + 1)
                return row, index + row * -divisor
            remainder = self.b.op(f"arith.remui {name}, {by} : index")
        return self.name_index(quotient, high // divisor + 1), self.name_index(remainder, divisor)

    def _stays_within(self, index: Affine, divisor: int) -> bool:
        """Whether no vector reaches over a multiple of a divisor: all begin at multiples of their
        lanes, of which the divisor is one.
        """
        lanes, lane = self.b.lanes, self.lane
        if lane is None or not self._lane_is_multiple or index.coefficient(lane) != 1:
            return False
        others = [divisor, index.constant, *(c for name, c in index.terms if name != lane)]
        return not any(c % lanes for c in others)

    def dims(self, position: Position, shape: Sequence[int]) -> tuple[Affine, ...]:
        """The index in each dimension of a position in a tensor of `shape`."""
        if position.dims is not None:
            return position.dims
        assert position.offset is not None
        rest, result = position.offset, list[Affine]()
        for size, stride in zip(shape, suffix_products(shape), strict=True):
            if size == 1:
                result.append(ZERO)
            elif stride == 1:
                result.append(rest)
            else:
                quotient, rest = self.divmod(rest, stride)
                result.append(quotient)
        return tuple(result)

    # -- values ------------------------------------------------------------------------------------
    def element(self, tensor: Tensor, position: Position) -> Value:
        """The value of `tensor` at `position`, at the current width."""
        b = self.b
        if b.lanes and self.lane is not None and self._is_uniform_position(tensor, position):
            return self._uniform(tensor, position)
        key = (tensor, position.linear(tensor.shape), b.lanes, self.mask)
        if (known := b.recall(key)) is not None:
            return known
        value = None
        if tensor in self.kept and b.lanes:
            keeper = self.columns
            at = (tensor, position)
            value = self._recall_row(*at) if keeper is None else keeper.load(*at)
        if value is None:
            value = self._ahead_of_steps(tensor, position)
        if value is None:
            value = self._emit(tensor, position)
        b.remember(key, value)
        return value

    def _ahead_of_steps(self, tensor: Tensor, position: Position) -> Value | None:
        """A fold that is the same in every turn of a loop over single elements, ahead of it."""
        level, node = self._step_level, tensor.producer
        if level is None or self.b.lanes or node is None or node.name != "reduce":
            return None
        if not self.b.can_hoist_to(level) or not self._defined_at(tensor, position, level):
            return None
        self._step_level = None
        try:
            with self.b.at_level(level):
                return self.element(tensor, position)
        finally:
            self._step_level = level

    def _recall_row(self, tensor: Tensor, position: Position) -> Value | None:
        """The lanes at a position, if a fold along their row has kept them."""
        offset, lane = position.linear(tensor.shape), self.lane
        if lane is None or offset.coefficient(lane) != 1:
            return None
        row: RowOfLanes | None = self.b.recall(row_key(tensor, offset, lane))
        return None if row is None else row.load(self, lane)

    def _is_uniform_position(self, tensor: Tensor, position: Position) -> bool:
        if position.offset is not None:
            return self.is_uniform(position.offset)
        assert position.dims is not None
        return all(self.is_uniform(i) for i in position.dims)

    def _uniform(self, tensor: Tensor, position: Position) -> Value:
        """A value that all lanes share: computed once, ahead of the lane loop where it may."""
        return self.splat(self.shared_element(tensor, position), self.b.lanes)

    def shared_element(self, tensor: Tensor, position: Position) -> Value:
        """As a scalar what all lanes share."""
        level = self._lane_level
        with self.scalar():
            if self.b.can_hoist_to(level) and self._defined_at(tensor, position, level):
                with self.b.at_level(level):
                    return self.element(tensor, position)
            return self.element(tensor, position)

    def _defined_at(self, tensor: Tensor, position: Position, level: int) -> bool:
        """Whether every variable of a position is defined at an enclosing level."""
        indices = (position.offset,) if position.dims is None else position.dims
        names = {name for index in indices if index is not None for name, _ in index.terms}
        return all(self.b.is_visible(name, level) for name in names)

    def splat(self, value: Value, lanes: int) -> Value:
        with self.b.width(lanes):
            parts = tuple(self.b.splat(p, value.type.register) for p in value.parts)
        return Value(value.type, parts, lanes)

    def _emit(self, tensor: Tensor, position: Position) -> Value:
        if (source := self.sources.get(tensor)) is not None:
            return source(position)
        if (buffer := self.buffers.get(tensor)) is not None:
            return self.load(buffer, position.linear(tensor.shape))
        node = tensor.producer
        assert node is not None, "an input of the kernel has no buffer"
        if node.name == "constant":
            return self.constant(node)
        if self.is_wide and node.name not in PLAIN and not looks_elements_up(node):
            raise NotVectorizableError("lanes of several registers are not moved or folded")
        if (elemental := ELEMENTALS.get(node.name)) is not None:
            return elemental(self, node, tensor.index, position)
        if (emit := elementwise.EMITTERS.get(node.name)) is not None:
            places = [position if o.shape == tensor.shape else SCALAR for o in node.operands]
            if self.ahead:
                for operand, place in zip(node.operands, places, strict=True):
                    if operand in self.ahead:
                        self.element(operand, place)
            operands = [self.element(o, p) for o, p in zip(node.operands, places, strict=True)]
            return emit(self.b, operands, tensor.type, known_of(node))
        raise UnsupportedError(
            "no kernel code can be generated for this op",
            op=f"hlo.{node.name}",
            location=node.location,
        )

    def constant(self, node: Node) -> Value:
        """The element that a constant repeats."""
        scalar = splat_of(node)
        if scalar is None:
            raise UnsupportedError(
                "a constant with distinct elements must be an input of the kernel",
                op="hlo.constant", location=node.location,
            )  # fmt: skip
        return elementwise.constant(self.b, node.results[0].type, scalar)

    def pin(self, tensor: Tensor, position: Position, value: Value) -> None:
        """Declares a value already computed, until the current region closes."""
        key = (tensor, position.linear(tensor.shape), self.b.lanes, self.mask)
        self.b.remember(key, value)

    # -- memory ------------------------------------------------------------------------------------
    def note_load(self, buffer: Buffer, offset: Affine) -> None:
        """Of who loads without `load`: a result takes an input's memory by where that is read."""
        self.loaded.setdefault(buffer, set()).add(offset)
        if self.body is not None and self.b.is_inside(self.body):
            self.loaded_in_body.setdefault(buffer, set()).add(offset)

    def load(self, buffer: Buffer, offset: Affine) -> Value:
        """Loads the element (or lanes) at a row-major offset."""
        b, lanes = self.b, self.b.lanes
        self.note_load(buffer, offset)
        stride = 0 if self.lane is None else offset.coefficient(self.lane)
        if not lanes or self.lane is None:
            return self._load_scalar(buffer, offset)
        if stride == 1 and not (self.is_wide and buffer.type.parts > 1):
            return self._load_contiguous(buffer, offset)
        if self.is_wide:
            raise NotVectorizableError("lanes of several registers are not shuffled")
        if self.strided is not None:
            self.strided.append(offset)
            return elementwise.constant(b, buffer.type, 0)
        if self.tile is not None and (row := self.tile.load(self, buffer, offset)) is not None:
            return row
        if buffer.type.parts == 1:
            source = Lanes(
                buffer.name, buffer.memref, buffer.type.memory, lambda k: self.index(offset + k)
            )
            if (raw := load_strided(b, source, stride, self.mask, self.apart)) is not None:
                return elementwise.unpack(b, buffer.type, [raw])
        if not self.gathers or (self._folds and not self.folds_gather):
            raise NotVectorizableError("a load is not contiguous in the lanes")
        raws: list[str] = []
        memory, mask = buffer.type.memory, self.mask or b.constant(True, "i1")
        parts = buffer.type.parts
        steps = ", ".join(str(i * stride * parts) for i in range(lanes))
        ramp = b.op(f"arith.constant dense<[{steps}]> : vector<{lanes}xi64>")
        for part in range(parts):
            base = self.index(offset * parts + part)
            passthru = b.constant(0, memory)
            vector = b.type_of(memory)
            raws.append(
                b.load(
                    f"vector.gather {buffer.name}[{base}] [{ramp}], {mask}, {passthru} : "
                    f"{buffer.memref}, "
                    f"vector<{lanes}xi64>, {b.type_of('i1')}, {vector} into {vector}"
                )
            )
        return elementwise.unpack(b, buffer.type, raws)

    def _load_scalar(self, buffer: Buffer, offset: Affine) -> Value:
        parts = buffer.type.parts
        raws = [
            self.b.load(
                f"memref.load {buffer.name}[{self.index(offset * parts + i)}] : {buffer.memref}"
            )
            for i in range(parts)
        ]
        return elementwise.unpack(self.b, buffer.type, raws)

    def _load_contiguous(self, buffer: Buffer, offset: Affine) -> Value:
        b, memory, parts = self.b, buffer.type.memory, buffer.type.parts
        base = self.index(offset * parts)
        vector = f"vector<{b.lanes * parts}x{memory}>"
        if self.mask is None:
            if (fetcher := self.fetchers.get(buffer)) is not None:
                fetcher.fetch(self, buffer, offset)
            raw = b.load(f"vector.load {buffer.name}[{base}] : {buffer.memref}, {vector}")
        else:
            mask = self.mask
            bits = f"vector<{b.lanes * parts}xi1>"
            if parts == 2:
                mask = b.op(f"vector.interleave {mask}, {mask} : {b.type_of('i1')} -> {bits}")
            with b.width(b.lanes * parts):
                passthru = b.constant(0, memory)
            raw = b.load(
                f"vector.maskedload {buffer.name}[{base}], {mask}, {passthru} : "
                f"{buffer.memref}, {bits}, "
                f"{vector} into {vector}"
            )
        if parts == 1:
            return elementwise.unpack(b, buffer.type, [raw])
        half = b.type_of(memory)
        pair = b.fresh()
        b.effect(f"{pair}:2 = vector.deinterleave {raw} : {vector} -> {half}")
        return elementwise.unpack(b, buffer.type, [f"{pair}#0", f"{pair}#1"])

    def store(self, value: Value, buffer: Buffer, offset: Affine) -> None:
        """Stores the element (or lanes) at a row-major offset."""
        b, parts = self.b, buffer.type.parts
        raws = elementwise.pack(b, value)
        if not b.lanes or self.lane is None:
            for i, raw in enumerate(raws):
                b.effect(
                    f"memref.store {raw}, {buffer.name}[{self.index(offset * parts + i)}] : "
                    f"{buffer.memref}"
                )
            return
        if offset.coefficient(self.lane) != 1:
            raise NotVectorizableError("a store is not contiguous in the lanes")
        raw, mask, bits = raws[0], self.mask, b.type_of("i1")
        vector = b.type_of(buffer.type.memory)
        count = 0 if mask is None else b.lanes_of_mask.get(mask, 0)
        if parts == 2:
            half, vector = vector, f"vector<{2 * b.lanes}x{buffer.type.memory}>"
            raw = b.op(f"vector.interleave {raws[0]}, {raws[1]} : {half} -> {vector}")
            if mask is not None:
                bits = f"vector<{2 * b.lanes}xi1>"
                mask = b.op(f"vector.interleave {mask}, {mask} : {b.type_of('i1')} -> {bits}")
        if count == 1 or (count and self.stores_in_pieces):
            # LLVM 22 makes two lanes of a masked store of one 16-bit lane.
            first = offset * parts
            store_first_lanes(
                b, raw, parts * b.lanes, parts * count, buffer, lambda at: self.index(first + at)
            )
            return
        base = self.index(offset * parts)
        if mask is None:
            if alignment := self._streaming(buffer, offset):
                store_past_caches(b, raw, buffer, base, parts * b.lanes, alignment)
                return
            b.effect(f"vector.store {raw}, {buffer.name}[{base}] : {buffer.memref}, {vector}")
        else:
            b.effect(
                f"vector.maskedstore {buffer.name}[{base}], {mask}, {raw} : "
                f"{buffer.memref}, {bits}, {vector}"
            )

    def _streaming(self, buffer: Buffer, offset: Affine) -> int:
        """The alignment, in bytes, of a store of whole vectors past the caches; 0 if it may not be
        one.
        """
        size = buffer.type.memory_bytes
        width = min(self.b.lanes * size, LINE_BYTES)
        # The lane variable is a multiple of the lanes in loops over whole vectors.
        others = [offset.constant, *(c for name, c in offset.terms if name != self.lane)]
        unaligned = offset != self.at_line and any(c * size % width for c in others)
        if buffer not in self.streams or unaligned:
            return 0
        return width


ELEMENTALS: dict[str, Elemental] = {}


def elemental(*names: str) -> Callable[[Elemental], Elemental]:
    """Registers how to compute an element of an op's result."""

    def register(function: Elemental) -> Elemental:
        for name in names:
            ELEMENTALS[name] = function
        return function

    return register
