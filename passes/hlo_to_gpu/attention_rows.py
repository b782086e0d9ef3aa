"""What a thread keeps of rows of an attention while keys go by, and how a result comes of it.

For each row in hand: the largest logit so far and the sum of the weights relative to it. Sums of
values are kept relative to it too, by the kernels. See `hlo_to_loops.online_softmax`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_gpu.thread_builder import WARP, ThreadBuilder
from hlo.passes.hlo_to_gpu.thread_emitter import ThreadEmitter
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.attention_emission import at
from hlo.passes.hlo_to_loops.attention_parts import (
    KEY,
    WIDTH,
    AttentionParts,
    Operand,
    row_name,
)
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.element_types import element_type
from hlo.passes.hlo_to_loops.elemental.contractions import product_type
from hlo.passes.hlo_to_loops.emitter import SCALAR
from hlo.passes.hlo_to_loops.graph import Region
from hlo.passes.hlo_to_loops.kernel_function import argument_buffers
from hlo.passes.hlo_to_loops.online_softmax import OnlineSoftmax

Where = Mapping[str, Affine]


@dataclass(frozen=True)
class RowState:
    """SSA names: the largest logit of a row so far, and the sum of its weights relative to it."""

    peak: str
    total: str


@dataclass(frozen=True)
class RowSpace:
    """The row dimensions of an attention: those that share keys and values, and the others.

    Attributes:
        shared: dimensions of the logits along which neither keys nor values change.
        outer: the other row dimensions.
    """

    parts: AttentionParts
    shared: tuple[int, ...]
    outer: tuple[int, ...]

    @staticmethod
    def of(parts: AttentionParts) -> RowSpace:
        moving = [
            bool(parts.key.offset.coefficient(n) or parts.value.offset.coefficient(n))
            for n in map(row_name, range(len(parts.rows)))
        ]
        wide = [size > 1 for size in parts.rows]
        dims = range(len(parts.rows))
        shared = tuple(d for d in dims if wide[d] and not moving[d])
        return RowSpace(parts, shared, tuple(d for d in dims if d not in shared))

    @property
    def shared_extents(self) -> list[int]:
        return [self.parts.rows[d] for d in self.shared]

    @property
    def outer_extents(self) -> list[int]:
        return [self.parts.rows[d] for d in self.outer]

    @property
    def rows(self) -> int:
        """How many rows share keys and values."""
        return math.prod(self.shared_extents)

    @property
    def groups(self) -> int:
        """How many sets of keys and values there are."""
        return math.prod(self.outer_extents)


class AttentionThread:
    """The code of one thread; kernels of several rows and keys a thread derive from it."""

    builder: type[ThreadBuilder] = ThreadBuilder

    def __init__(
        self, region: Region, parts: AttentionParts, online: OnlineSoftmax, threads: int
    ) -> None:
        self.parts, self.online, self.space = parts, online, RowSpace.of(parts)
        self.inputs, self.outputs = argument_buffers(region)
        self.b = self.builder(threads)
        self.em = ThreadEmitter(self.b, self.inputs)
        self.kind = product_type(parts.scores.type)
        self.scalar = self.kind.register
        self.group: Where = {}
        if (normalizer := online.normalizer) is not None:
            kind = normalizer.node.results[0].type
            self.em.provide(
                normalizer.node.results[0],
                lambda position: elementwise.convert(
                    self.b, self.em.element(normalizer.kept, position), kind
                ),
            )

    # -- where -------------------------------------------------------------------------------------
    def enter(self, group: Affine) -> None:
        """Chooses the set of keys and values that rows are of from here on."""
        places = self.em.dims(Position.of_offset(group), self.space.outer_extents)
        self.group = {row_name(d): p for d, p in zip(self.space.outer, places, strict=True)}

    def row(self, index: Affine) -> Where:
        """The row dimensions of one of the rows that share keys and values."""
        places = self.em.dims(Position.of_offset(index), self.space.shared_extents)
        return {
            **self.group,
            **{row_name(d): p for d, p in zip(self.space.shared, places, strict=True)},
        }

    def any_row(self) -> Where:
        """Row dimensions for what rows share."""
        return {**self.group, **{row_name(d): ZERO for d in self.space.shared}}

    # -- arithmetic --------------------------------------------------------------------------------
    def number(self, value: float) -> str:
        return self.b.constant(value, self.scalar)

    def fma(self, left: str, right: str, total: str) -> str:
        return self.b.op(f"math.fma {left}, {right}, {total} : {self.scalar}")

    def binary(self, op: str, left: str, right: str) -> str:
        """An op of arith on two names: `mulf`, `addf`, `subf`, `divf` or `maximumf`."""
        return self.b.op(f"arith.{op} {left}, {right} : {self.scalar}")

    def exponential(self, name: str) -> str:
        value = Value(self.kind, (name,))
        return elementwise.EMITTERS["exponential"](self.b, [value], self.kind, {}).name

    def across(self, name: str, op: str, distances: Sequence[int]) -> str:
        """Combines what the lanes at xor distances of one another have."""
        for distance in distances:
            name = self.binary(op, name, self.b.shuffle_xor(name, self.scalar, distance))
        return name

    def anchor(self, peak: str) -> str:
        """What exponentials are relative to: the peak, or 0 while it is -infinity."""
        low = self.b.op(f"arith.cmpf oeq, {peak}, {self.number(-math.inf)} : {self.scalar}")
        return self.b.op(f"arith.select {low}, {self.number(0.0)}, {peak} : {self.scalar}")

    def as_kind(self, value: Value) -> str:
        return elementwise.convert(self.b, value, self.kind).name

    # -- memory ------------------------------------------------------------------------------------
    def run_of(
        self, operand: Operand, where: Where, name: str, start: Affine, count: int
    ) -> list[str]:
        """`count` neighbours of an operand along the variable `name`, from a multiple of it."""
        em, b, buffer = self.em, self.b, self.inputs[operand.tensor]
        if count == 1 or operand.offset.coefficient(name) != 1:
            places = [at(operand.offset, {**where, name: start + i}) for i in range(count)]
            return [self.as_kind(em.load(buffer, place)) for place in places]
        lane = (
            em.index(start)
            if start.terms
            else b.load(f"arith.addi {b.index(start.constant)}, {b.index(0)} : index")
        )
        em.variable(lane, start.bounds(em.extents)[1] + 1)
        with em.vector(lane, count):
            em.hoist_from_here()
            value = em.load(buffer, at(operand.offset, {**where, name: Affine.variable(lane)}))
            vector = elementwise.convert(b, value, self.kind).name
        kind = f"vector<{count}x{self.scalar}>"
        return [
            b.op(f"vector.extract {vector}[{i}] : {self.scalar} from {kind}") for i in range(count)
        ]

    def are_finite(self, where: Where, start: Affine, count: int, flag: str) -> str:
        """An i1: `flag`, and whether `count` neighbours of a row of values are finite."""
        b = self.b
        for name in self.run_of(self.parts.value, where, WIDTH, start, count):
            size = b.op(f"math.absf {name} : {self.scalar}")
            low = b.op(f"arith.cmpf olt, {size}, {self.number(math.inf)} : {self.scalar}")
            flag = b.op(f"arith.andi {flag}, {low} : i1")
        return flag

    # -- keys --------------------------------------------------------------------------------------
    def start(self) -> RowState:
        """The state of a row ahead of all keys."""
        initial = self.em.element(self.parts.peak.operands[1], SCALAR)
        return RowState(self.as_kind(initial), self.number(0.0))

    def logits(
        self, where: Where, keys: Sequence[Affine], exist: Sequence[str | None],
        scores: Sequence[str],
    ) -> list[str]:  # fmt: skip
        """The logits of a row for keys, -infinity where a key does not exist, an i1."""
        parts, em, b = self.parts, self.em, self.b
        dims = [where[row_name(d)] for d in range(len(parts.rows))]
        found: list[str] = []
        for key, exists, score in zip(keys, exist, scores, strict=True):
            value = elementwise.convert(b, Value(self.kind, (score,)), parts.scores.type)
            em.provide(parts.scores, lambda _, value=value: value)
            logit = self.as_kind(em.element(parts.logits, Position.of_dims([*dims, key])))
            if exists is not None:
                hidden = self.number(-math.inf)
                logit = b.op(f"arith.select {exists}, {logit}, {hidden} : {self.scalar}")
            found.append(logit)
        return found

    def weigh(
        self, logits: Sequence[str], state: RowState, distances: Sequence[int] = ()
    ) -> tuple[list[Value], str, RowState]:
        """Takes the logits of keys into a row's state; see `absorb`.

        Returns:
            The keys' weights, of their own type, what sums so far are to be multiplied by, and the
            new state.
        """
        highest = logits[0]
        for logit in logits[1:]:
            highest = self.binary("maximumf", highest, logit)
        peak = self.binary("maximumf", state.peak, self.across(highest, "maximumf", distances))
        anchor = self.anchor(peak)
        shrink = self.exponential(self.binary("subf", state.peak, anchor))
        total = self.binary("mulf", state.total, shrink)
        weights: list[Value] = []
        for logit in logits:
            exponential = self.exponential(self.binary("subf", logit, anchor))
            value = Value(self.kind, (exponential,))
            weights.append(elementwise.convert(self.b, value, self.parts.weights.type))
            total = self.binary("addf", total, self.as_kind(weights[-1]))
        return weights, shrink, RowState(peak, total)

    def absorb(
        self, where: Where, keys: Sequence[Affine], logits: Sequence[str], state: RowState,
        distances: Sequence[int] = (),
    ) -> tuple[list[Value], str, RowState]:  # fmt: skip
        """Takes keys into a row's state.

        Args:
            distances: xor distances of the lanes that have other keys of the same row.

        Returns:
            The factors of the keys' values, of the type of the probabilities, what all sums of
            values so far are to be multiplied by, and the new state. Its sum is that of this lane's
            keys alone.
        """
        parts, em = self.parts, self.em
        weights, shrink, state = self.weigh(logits, state, distances)
        if parts.probabilities is parts.weights:
            return weights, shrink, state
        factors: list[Value] = []
        for key, weight in zip(keys, weights, strict=True):
            em.provide(parts.weights, lambda _, weight=weight: weight)
            place = Position.of_offset(at(parts.probabilities_at, {**where, KEY: key}))
            factors.append(em.element(parts.probabilities, place))
        return factors, shrink, state

    # -- the end -----------------------------------------------------------------------------------
    def conclude(self, where: Where, state: RowState) -> str:
        """From here on the peak and the sum of a row are known.

        Returns:
            What makes of numbers relative to the state's peak numbers relative to the shift.
        """
        parts, em, b = self.parts, self.em, self.b
        peak, sums = parts.peak.results[0], parts.total.results[0]
        highest = elementwise.convert(b, Value(self.kind, (state.peak,)), peak.type)
        em.provide(peak, lambda _: highest)
        place = Position.of_offset(at(parts.weights_at, {**where, KEY: ZERO}))
        shift = self.as_kind(em.element(self.online.shift, place))
        # Of a row without any logit above -infinity this is infinite if the peak itself is
        # subtracted: 0 times it is NaN, as exp(-inf - -inf) is.
        scale = self.exponential(self.binary("subf", self.anchor(state.peak), shift))
        initial = self.as_kind(em.element(parts.total.operands[1], SCALAR))
        total = self.fma(state.total, scale, initial)
        rounded = elementwise.convert(b, Value(self.kind, (total,)), sums.type)
        em.provide(sums, lambda _: rounded)
        return scale

    def finish(self, where: Where, state: RowState) -> Callable[[str], str]:
        """From here on the sum of a row is known.

        Returns:
            What makes an element of the product of a sum of values.
        """
        em = self.em
        scale = self.conclude(where, state)
        normalizer = self.online.normalizer
        if normalizer is None:
            return lambda name: self.binary("mulf", name, scale)
        place = Position.of_offset(at(normalizer.at, {**where, KEY: ZERO}))
        factor = self.as_kind(em.element(normalizer.factor, place))
        op = "divf" if normalizer.node.name == "divide" else "mulf"
        return lambda name: self.binary(op, self.binary("mulf", name, scale), factor)

    def store(self, where: Where, column: Affine, product: str) -> None:
        """Stores an element of the result, given that of the product."""
        parts, em, b = self.parts, self.em, self.b
        value = elementwise.convert(b, Value(self.kind, (product,)), parts.product.type)
        em.provide(parts.product, lambda _: value)
        offset = at(parts.result_at, {**where, WIDTH: column})
        em.store(em.element(parts.result, Position.of_offset(offset)), self.outputs[0], offset)

    # -- blocks ------------------------------------------------------------------------------------
    def all_of_block(self, flag: str, *, in_loop: bool = False) -> str:
        """Whether an i1 holds in all threads of the block; all of them must run."""
        b, warps = self.b, self.b.block // WARP
        with b.width(0):
            word = b.op(f"arith.extui {flag} : i1 to i32")
            for distance in (16, 8, 4, 2, 1):
                other = b.shuffle_xor(word, "i32", distance)
                word = b.op(f"arith.andi {word}, {other} : i32")
            if warps > 1:
                word = self._all_of_warps(word, warps, in_loop)
            return b.op(f"arith.cmpi ne, {word}, {b.constant(0, 'i32')} : i32")

    def _all_of_warps(self, word: str, warps: int, in_loop: bool) -> str:
        b = self.b
        slots, memref = b.shared(warps, "i32")
        thread = self.em.variable(b.as_index(b.thread()), b.block)
        warp, lane = self.em.divmod(thread, WARP)
        first = b.op(f"arith.cmpi eq, {self.em.index(lane)}, {b.index(0)} : index")
        if in_loop:
            b.barrier()  # what was there before has been read
        with b.when(first):
            b.effect(f"memref.store {word}, {slots}[{self.em.index(warp)}] : {memref}")
        b.barrier()
        held = [b.load(f"memref.load {slots}[{b.index(i)}] : {memref}") for i in range(warps)]
        for other in held[1:]:
            held[0] = b.op(f"arith.andi {held[0]}, {other} : i32")
        return held[0]


I32 = element_type("i32")
