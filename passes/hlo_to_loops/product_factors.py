"""The factors of a packed matrix product: how they are loaded and packed, how products are added.

One element a lane, of the type of the sums, or a word of 32 bits a lane: four 8-bit integers or two
bf16 numbers along the depth, for instructions that multiply them pair by pair and add all to a
lane of 32 bits (AVX-512 VNNI's `vpdpbusd`, AVX-512 BF16's `vdpbf16ps`).

`vpdpbusd` takes one factor without sign and one with it, and sums modulo 2^32, so that every
integer result of up to 32 bits is exact. The right factor is packed with its upper bit turned: what
has a sign becomes larger by 128 and has none, what has none becomes smaller by 128. 128 times the
sum of the left factor's row makes up for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo.executable import runtime
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import Affine, Position
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.element_types import ElementType, element_type
from hlo.passes.hlo_to_loops.elemental.contractions import product_type
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.graph import Node, Tensor

WORD_BYTES = 4
FLUSHES = "hlo.flushes_subnormals"  # on a dot of bf16 that may take subnormal numbers for zero
UPPER_BITS = 0x80808080 - (1 << 32)  # of the bytes of a word


def in_memory(em: Emitter, operand: Tensor) -> Buffer | None:
    """The buffer that holds an operand's elements in order, whatever their shape in it."""
    while operand not in em.buffers:
        made = operand.producer
        if made is None or made.name != "reshape":
            return None
        operand = made.operands[0]
    return em.buffers[operand]


def sums_type(result: ElementType) -> ElementType:
    """The type of sums: integers of up to 32 bits are exact in i32 modulo their own range."""
    if result.is_integer:
        return element_type("i64" if result.bits == 64 else "i32")
    return product_type(result)


class Factors:
    """Elements as they are, converted to the type of the sums.

    Attributes:
        em: of the kernel.
        kind: element type of the sums.
        packed: MLIR type of a packed lane.
        span: elements along the depth in a lane: a step of the depth is as many.
        biased: whether sums miss 128 times the sum of their row of the left operand.
    """

    span = 1
    biased = False

    def __init__(self, em: Emitter, node: Node) -> None:
        self.em, self.node = em, node
        self.kind = sums_type(node.results[0].type)
        self.packed = self.kind.register

    def in_place(self, left: Tensor) -> bool:
        """Whether a left operand with contiguous rows need not be copied."""
        return left.type == self.kind and in_memory(self.em, left) is not None

    def across(self, side: int, offsets: Sequence[Affine]) -> str:
        """In vector mode: a step's lanes along the free dimension, given the offsets of the
        elements of a lane.
        """
        return self._load(side, offsets[0])

    def along(self, side: int, offset: Affine) -> str:
        """In vector mode: lanes along the depth."""
        return self._load(side, offset)

    def left(self, offset: Affine) -> str:
        """A lane of the left operand, read in place."""
        return self._load(0, offset)

    def for_panel(self, value: str) -> str:
        """A vector of the right operand as it is packed."""
        return value

    def _load(self, side: int, offset: Affine) -> str:
        value = self.em.element(self.node.operands[side], Position.of_offset(offset))
        return elementwise.convert(self.em.b, value, self.kind).name

    def multiply_add(self, left: str, right: str, total: str) -> str:
        """At the sums' width: products of lanes added to sums."""
        b, kind = self.em.b, self.em.b.type_of(self.kind.register)
        if self.kind.is_float:
            return b.op(f"math.fma {left}, {right}, {total} : {kind}")
        product = b.op(f"arith.muli {left}, {right} : {kind}")
        return b.op(f"arith.addi {product}, {total} : {kind}")


@dataclass(frozen=True)
class WordInstruction:
    """An instruction on words.

    Attributes:
        feature: of the processor that has it.
        intrinsic: of LLVM.
        element: MLIR type of what it multiplies.
    """

    feature: str
    intrinsic: str
    element: str


BYTES = WordInstruction("avx512vnni", "llvm.x86.avx512.vpdpbusd.512", "i8")
HALVES = WordInstruction("avx512bf16", "llvm.x86.avx512bf16.dpbf16ps.512", "bf16")


class WordFactors(Factors):
    """Words of neighbours along the depth."""

    packed = "i32"

    def __init__(self, em: Emitter, node: Node, instruction: WordInstruction) -> None:
        super().__init__(em, node)
        self.packed = "i32"
        self.instruction = instruction
        element = node.operands[0].type
        self.memory = element.memory
        self.span = WORD_BYTES // element.memory_bytes
        self.signed = element.is_signed
        self.biased = element.is_integer

    def in_place(self, left: Tensor) -> bool:
        return True

    def across(self, side: int, offsets: Sequence[Affine]) -> str:
        b = self.em.b
        rows = [self._raw(side, offset, b.lanes) for offset in offsets]
        width = 1
        while len(rows) > 1:
            rows = [
                self._interleaved(low, high, b.lanes * width, width)
                for low, high in zip(rows[::2], rows[1::2], strict=True)
            ]
            width *= 2
        return self._as_words(rows[0])

    def _interleaved(self, low: str, high: str, count: int, width: int) -> str:
        """Two vectors of `count` elements as one, in turn `width` elements of each."""
        lanes: list[str] = []
        for start in range(0, count, width):
            lanes += [str(start + i) for i in range(width)]
            lanes += [str(count + start + i) for i in range(width)]
        vector = f"vector<{count}x{self.memory}>"
        return self.em.b.op(
            f"vector.shuffle {low}, {high} [{', '.join(lanes)}] : {vector}, {vector}"
        )

    def along(self, side: int, offset: Affine) -> str:
        return self._as_words(self._raw(side, offset, self.em.b.lanes * self.span))

    def left(self, offset: Affine) -> str:
        word = self._raw(0, offset, self.span)
        kind = f"vector<{self.span}x{self.memory}>"
        with self.em.b.width(0):
            word = self.em.b.op(f"vector.bitcast {word} : {kind} to vector<1xi32>")
            return self.em.b.op(f"vector.extract {word}[0] : i32 from vector<1xi32>")

    def for_panel(self, value: str) -> str:
        if not self.biased:
            return value
        b = self.em.b
        bits = b.constant(UPPER_BITS, "i32")
        return b.op(f"arith.xori {value}, {bits} : {b.type_of('i32')}")

    def _raw(self, side: int, offset: Affine, count: int) -> str:
        """`count` neighbours in memory; in vector mode those of lanes that are masked are 0."""
        em, b, memory = self.em, self.em.b, self.memory
        buffer = in_memory(em, self.node.operands[side])
        assert buffer is not None
        em.note_load(buffer, offset)
        place = f"{buffer.name}[{em.index(offset)}]"
        vector = f"vector<{count}x{memory}>"
        if em.mask is None:
            return b.load(f"vector.load {place} : {buffer.memref}, {vector}")
        mask, bits = em.mask, f"vector<{count}xi1>"
        if count > b.lanes:
            lanes = ", ".join(str(i // self.span) for i in range(count))
            kind = b.type_of("i1")
            mask = b.op(f"vector.shuffle {mask}, {mask} [{lanes}] : {kind}, {kind}")
        with b.width(count):
            zero = b.constant(0, memory)
        return b.load(
            f"vector.maskedload {place}, {mask}, {zero} : {buffer.memref}, {bits}, {vector} "
            f"into {vector}"
        )

    def _as_words(self, value: str) -> str:
        b = self.em.b
        kind = f"vector<{b.lanes * self.span}x{self.memory}>"
        return b.op(f"vector.bitcast {value} : {kind} to {b.type_of('i32')}")

    def multiply_add(self, left: str, right: str, total: str) -> str:
        pair = (right, left) if self.signed else (left, right)
        return self._dot(*pair, total)

    def add_row(self, words: str, total: str) -> str:
        """Elements of the left operand's words, added to sums."""
        ones = self.em.b.constant(0x01010101, "i32")
        return self._dot(*((ones, words) if self.signed else (words, ones)), total)

    def missing(self, rows: str) -> str:
        """What biased sums miss, at the current width, given the sums of their rows."""
        b = self.em.b
        kind, zero = b.type_of("i32"), b.constant(0, "i32")
        scaled = b.op(f"arith.shli {rows}, {b.constant(7, 'i32')} : {kind}")
        return b.op(f"arith.subi {zero}, {scaled} : {kind}") if self.signed else scaled

    def _dot(self, unsigned: str, signed: str, total: str) -> str:
        b, name = self.em.b, self.instruction.intrinsic
        words, sums = b.type_of("i32"), b.type_of(self.kind.register)
        kind = f"vector<{b.lanes * self.span}x{self.instruction.element}>"
        first, second = (
            b.op(f"vector.bitcast {value} : {words} to {kind}") for value in (unsigned, signed)
        )
        return b.op(
            f'llvm.call_intrinsic "{name}"({total}, {first}, {second}) : '
            f"({sums}, {kind}, {kind}) -> {sums}"
        )


def word_instruction(node: Node, depth: int) -> WordInstruction | None:
    """What multiplies and adds words of a product's operands on this machine; None if nothing."""
    types, sums = [operand.type for operand in node.operands], sums_type(node.results[0].type).name
    found = None
    if all(t.is_integer and t.bits == 8 for t in types) and sums == "i32":
        found = BYTES
    elif all(t.name == "bf16" for t in types) and sums == "f32" and FLUSHES in node.attributes:
        found = HALVES
    if found is None or depth % (WORD_BYTES // types[0].memory_bytes):
        return None
    return found if is_faster(found) else None


def is_faster(instruction: WordInstruction) -> bool:
    """Whether the processor has an instruction, and multiplies more by it than one by one.

    `vdpbf16ps` takes Intel's cores as long as four multiply-adds (Sapphire Rapids: 16 of them 12
    ns, not 3), AMD's as long as one.
    """
    slow = instruction is HALVES and not runtime.host_cpu().startswith("znver")
    return has_feature(instruction.feature) and not slow


def has_feature(name: str) -> bool:
    """Whether the processor has a feature, by LLVM's name of it."""
    return f"+{name}" in runtime.host_features().split(",")


def factors_of(em: Emitter, node: Node, depth: int) -> Factors:
    """The best factors for a product of that depth."""
    instruction = word_instruction(node, depth)
    if instruction is None or any(in_memory(em, operand) is None for operand in node.operands):
        return Factors(em, node)
    return WordFactors(em, node, instruction)
