"""prepare-words: convolutions of 8 and 16 bits in the form that instructions on words need."""

from __future__ import annotations

from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.hlo_to_loops.contraction_tiling import groups_of
from hlo.passes.hlo_to_loops.element_types import ElementType
from hlo.passes.hlo_to_loops.graph import Node, node_of
from hlo.passes.hlo_to_loops.product_factors import FLUSHES, WORD_BYTES, word_instruction
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import element_of, shape_of
from hlo.passes.rewrite.walk import operations_named


@dataclass(frozen=True)
class PrepareWords(Pass):
    """Moves input features last in convolutions whose factors can be words, and last but output
    features in their kernels, and fills up words.

    A word is 32 bits: four neighbouring input features of 8 bits, or two of bf16, which one
    instruction multiplies pair by pair. Features that are missing in the last word are zeros, in
    input and kernel. Convolutions with groups stay, and so do all where the processor has no such
    instructions.

    Requires: the core op set, static shapes.

        %0 = hlo.convolution(%x, %k) [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]
            : (tensor<1x224x224x3xi8>, tensor<7x7x3x64xi8>) -> tensor<1x218x218x64xi32>
      ==>
        %p = hlo.pad %x ... : tensor<1x224x224x4xi8>
        %q = hlo.pad %k ... : tensor<7x7x4x64xi8>
        %0 = hlo.convolution(%p, %q)

    Attributes:
        fast: mark convolutions of bf16 with `hlo.flushes_subnormals`: kernels may use instructions
            that take subnormal factors and sums for zero.
    """

    fast: bool = False

    def run(self, module: ir.Module) -> bool:
        changed = [self._prepare(op) for op in operations_named(module, ("hlo.convolution",))]
        return any(changed)

    def _prepare(self, op: ir.Operation) -> bool:
        node = node_of(op)
        if groups_of(node) > 1 or not all(operand.size for operand in node.operands):
            return False
        marks = self.fast and _is_of_bf16(node) and FLUSHES not in op.attributes
        if marks:
            op.attributes[FLUSHES] = ir.UnitAttr.get(op.context)
            node = node_of(op)
        span = WORD_BYTES // node.operands[0].type.memory_bytes
        if span < 2 or word_instruction(node, span) is None:
            return marks
        turned = [_turned(op, 0, ("f",)), _turned(op, 1, ("i", "o"))]
        return any([*turned, _with_whole_words(op, span), marks])


def _is_of_bf16(node: Node) -> bool:
    kinds: list[ElementType] = [operand.type for operand in node.operands]
    return all(kind.name == "bf16" for kind in kinds)


def _turned(op: ir.Operation, operand: int, last: tuple[str, ...]) -> bool:
    """Puts some dimensions of an operand last: input features, or those and output features."""
    names = ("input", "kernel", "output")
    numbers = node_of(op).attributes["dimension_numbers"]
    labels = numbers[names[operand]]
    turned = (*(label for label in labels if label not in last), *last)
    if turned == tuple(labels):
        return False
    order = [labels.index(label) for label in turned]
    op.operands[operand] = Builder.before(op).transpose(op.operands[operand], order)
    written = [turned if name == names[operand] else numbers[name] for name in names]
    texts = [f"[{', '.join(each)}]" for each in written]
    text = f"#hlo.conv<{texts[0]}x{texts[1]}->{texts[2]}>"
    op.attributes["dimension_numbers"] = ir.Attribute.parse(text, op.context)
    return True


def _with_whole_words(op: ir.Operation, span: int) -> bool:
    """Fills up input features, which are last in the input and last but one in the kernel."""
    shape = shape_of(op.operands[1])
    missing = -shape[-2] % span
    if not missing:
        return False
    b = Builder.before(op)
    for number, dimension in ((0, len(shape) - 1), (1, len(shape) - 2)):
        value = op.operands[number]
        rank = len(shape_of(value))
        high = [missing if d == dimension else 0 for d in range(rank)]
        zero = b.constant(0, element_of(value))
        op.operands[number] = b.pad(value, zero, [0] * rank, high, [0] * rank)
    return True
