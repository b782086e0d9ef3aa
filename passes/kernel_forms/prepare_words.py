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
    """Moves input features last in convolutions whose factors can be words, and fills up words.

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
        return any([_with_features_last(op, node), _with_whole_words(op, node, span), marks])


def _is_of_bf16(node: Node) -> bool:
    kinds: list[ElementType] = [operand.type for operand in node.operands]
    return all(kind.name == "bf16" for kind in kinds)


def _with_features_last(op: ir.Operation, node: Node) -> bool:
    numbers = node.attributes["dimension_numbers"]
    labels = numbers["input"]
    if labels[-1] == "f":
        return False
    turned = (*(label for label in labels if label != "f"), "f")
    order = [labels.index(label) for label in turned]
    op.operands[0] = Builder.before(op).transpose(op.operands[0], order)
    op.attributes["dimension_numbers"] = ir.Attribute.parse(
        f"#hlo.conv<[{', '.join(turned)}]x[{', '.join(numbers['kernel'])}]"
        f"->[{', '.join(numbers['output'])}]>",
        op.context,
    )
    return True


def _with_whole_words(op: ir.Operation, node: Node, span: int) -> bool:
    kernel = node.attributes["dimension_numbers"]["kernel"].index("i")
    missing = -node.operands[1].shape[kernel] % span
    if not missing:
        return False
    b = Builder.before(op)
    for number, dimension in ((0, node.operands[0].rank - 1), (1, kernel)):
        value = op.operands[number]
        rank = len(shape_of(value))
        high = [missing if d == dimension else 0 for d in range(rank)]
        zero = b.constant(0, element_of(value))
        op.operands[number] = b.pad(value, zero, [0] * rank, high, [0] * rank)
    return True
