"""What attention kernels share: scratch, work units, and where values come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.attention_parts import KEY, AttentionParts, Operand, row_name
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Builder, Value
from hlo.passes.hlo_to_loops.elemental.contractions import product_type
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.graph import Region, Tensor
from hlo.passes.hlo_to_loops.kernel_function import Kernel, argument_buffers, kernel_of

VECTOR_BITS = 512
MOST_STRIPS = 32  # work units: each has scratch of its own
FEWEST_STRIPS = 8
Where = Mapping[str, Affine]


def lanes_of(parts: AttentionParts) -> int:
    """Elements of a vector of products."""
    return VECTOR_BITS // product_type(parts.scores.type).bits


@dataclass(frozen=True)
class Strips:
    """How blocks are divided into work units, each a run of blocks with scratch of its own."""

    blocks: int
    count: int

    @staticmethod
    def of(blocks: int, scratch: int, scores: int, heads: int = 1) -> Strips:
        """Enough units for all threads, but scratch well below the scores if that can be.

        Args:
            heads: what divides the blocks: units have whole ones, or a head whole units, if there
                are enough units with that.
        """
        count = _near(min(blocks, MOST_STRIPS), heads)
        while count > FEWEST_STRIPS and count * scratch * 4 > scores:
            count //= 2
        return Strips(blocks, count)


def _near(most: int, heads: int) -> int:
    """The largest multiple or divisor of `heads` up to `most`, unless it is below half of that."""
    found = most // heads * heads if heads <= most else next(
        n for n in range(most, 0, -1) if heads % n == 0
    )  # fmt: skip
    return found if 2 * found >= most else most


class AttentionEmission:
    """What both kinds of attention kernel share: scratch, strips of blocks, sources of values."""

    def __init__(self, region: Region, parts: AttentionParts) -> None:
        self.region, self.parts = region, parts
        self.inputs, self.outputs = argument_buffers(region)
        self.b = Builder()
        self.em = Emitter(self.b, self.inputs)
        self.kind = product_type(parts.scores.type)
        self.lanes = lanes_of(parts)
        self.vector = f"vector<{self.lanes}x{self.kind.register}>"
        self.base = ZERO
        # Indices of the rows in hand; that of the dimension of the block changes within it.
        self.where: dict[str, Affine] = {}

    def kernel(
        self, heads: int, length: int, scratch: int, emit: Callable[[Affine, Affine], None],
        start: Callable[[Affine], None] | None = None,
    ) -> Kernel:  # fmt: skip
        """The kernel of some heads' blocks, each of which works in `scratch` elements from `base`.

        Args:
            length: the blocks of a head.
            emit: emits a block, given its head and its number there.
            start: emits what a work unit does ahead of its first block of a head.
        """
        em, b = self.em, self.b
        blocks = heads * length
        strips = self.strips(heads, length, scratch, whole=start is not None)
        shared = self._place_scratch(strips.count, scratch)
        with b.loop("%begin", "%end", b.index(1)) as loop:
            strip = em.variable(loop.iv, strips.count)
            self.base = strip * scratch if shared else ZERO
            first, last = (self._block_of(s, strips) for s in (strip, strip + 1))
            if start is None:
                with b.loop(first, last, b.index(1)) as inner:
                    emit(*em.divmod(em.name_index(inner.iv, blocks), length))
            else:
                self._by_heads(first, last, heads, length, emit, start)
        return kernel_of(b, self.inputs.values(), self.outputs, strips.count, scratch=shared)

    def strips(self, heads: int, length: int, scratch: int, *, whole: bool) -> Strips:
        """The work units of some heads of `length` blocks, with whole heads if that can be."""
        return Strips.of(heads * length, scratch, self.parts.logits.size, heads if whole else 1)

    def _place_scratch(self, strips: int, elements: int) -> list[Buffer]:
        """Scratch of a thread's own where its stack has room; else that of all strips, shared."""
        b, memory = self.b, self.kind.memory
        if b.has_stack(elements, memory):
            self.scratch = Buffer(b.stack_buffer(elements, memory), elements, self.kind)
            return []
        self.scratch = Buffer("%scratch0", strips * elements, self.kind)
        return [self.scratch]

    def _by_heads(
        self, first: str, last: str, heads: int, length: int,
        emit: Callable[[Affine, Affine], None], start: Callable[[Affine], None],
    ) -> None:  # fmt: skip
        em, b = self.em, self.b
        low = b.op(f"arith.divui {first}, {b.index(length)} : index")
        high = b.op(f"arith.ceildivui {last}, {b.index(length)} : index")
        with b.loop(low, high, b.index(1)) as loop:
            head = em.name_index(loop.iv, heads)
            start(head)
            ahead = em.index(head * length)
            begin = b.op(f"arith.subi {first}, {ahead} : index")
            begin = b.op(f"arith.maxsi {begin}, {b.index(0)} : index")
            end = b.op(f"arith.subi {last}, {ahead} : index")
            end = b.op(f"arith.minsi {end}, {b.index(length)} : index")
            with b.loop(begin, end, b.index(1)) as inner:
                emit(head, em.name_index(inner.iv, length))

    def _block_of(self, strip: Affine, strips: Strips) -> str:
        """The first block of a strip."""
        b = self.b
        scaled = self.em.index(strip * strips.blocks)
        return b.op(f"arith.divui {scaled}, {b.index(strips.count)} : index")

    # -- memory ------------------------------------------------------------------------------------
    def load(self, at: Affine) -> str:
        """A vector of scratch."""
        place = f"{self.scratch.name}[{self.em.index(self.base + at)}]"
        return self.b.load(f"vector.load {place} : {self.scratch.memref}, {self.vector}")

    def store(self, name: str, at: Affine) -> None:
        """Stores a vector to scratch."""
        place = f"{self.scratch.name}[{self.em.index(self.base + at)}]"
        self.b.effect(f"vector.store {name}, {place} : {self.scratch.memref}, {self.vector}")

    def load_scalar(self, at: Affine) -> str:
        place = f"{self.scratch.name}[{self.em.index(self.base + at)}]"
        return self.b.load(f"memref.load {place} : {self.scratch.memref}")

    def store_scalar(self, name: str, at: Affine) -> None:
        place = f"{self.scratch.name}[{self.em.index(self.base + at)}]"
        self.b.effect(f"memref.store {name}, {place} : {self.scratch.memref}")

    def splatted(self, operand: Operand, where: Where) -> str:
        """An element of an operand in memory, in every lane."""
        em, b = self.em, self.b
        with em.scalar():
            value = em.load(self.inputs[operand.tensor], at(operand.offset, where))
            value = elementwise.convert(b, value, self.kind)
        return em.splat(value, self.lanes).name

    # -- values ------------------------------------------------------------------------------------
    def held(self, tensor: Tensor, name: str) -> Value:
        """A register as an element of a tensor."""
        return Value(tensor.type, (name,), self.b.lanes)

    def rounded(self, tensor: Tensor, name: str) -> Value:
        """A sum of products as an element of a dot's result."""
        return elementwise.convert(self.b, Value(self.kind, (name,), self.b.lanes), tensor.type)

    def provide_constantly(self, tensor: Tensor, value: Value) -> None:
        self.em.provide(tensor, lambda _: value)

    def logits_position(self, where: Where, key: Affine) -> Position:
        """Where a row's logit of a key is in the tensor of logits."""
        dims = [where[row_name(d)] for d in range(len(self.parts.rows))]
        return Position.of_dims([*dims, key])

    def weights_position(self, where: Where, key: Affine) -> Position:
        return Position.of_offset(at(self.parts.weights_at, {**where, KEY: key}))

    def probabilities_position(self, where: Where, key: Affine) -> Position:
        return Position.of_offset(at(self.parts.probabilities_at, {**where, KEY: key}))

    def fma(self, left: str, right: str, total: str) -> str:
        return self.b.op(f"math.fma {left}, {right}, {total} : {self.vector}")

    def zero(self) -> str:
        with self.b.width(self.lanes):
            return elementwise.constant(self.b, self.kind, 0).name


def at(offset: Affine, where: Where) -> Affine:
    """An offset with its variables replaced."""
    total = Affine((), offset.constant)
    for name, coefficient in offset.terms:
        total = total + where[name] * coefficient
    return total
