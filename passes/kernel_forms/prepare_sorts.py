"""prepare-sorts: comparators read nothing but elements."""

from __future__ import annotations

from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.kernel_forms.building import create, integers
from hlo.passes.rewrite.walk import operations_named, reads_from_outside, replace


@dataclass(frozen=True)
class PrepareSorts(Pass):
    """Makes operands of the values that a sort's comparator takes from around it.

    The runtime calls a comparator with pointers to elements and nothing else.

    Requires: the core op set, static shapes.
    Guarantees: comparators read their arguments and constants only. The operands added do not
    change the order; what is sorted of them is not read.

        %0 = hlo.sort(%x) ({^bb0(%a, %b): ... %a, %b, %k ...}) : tensor<8xf32>
        ==>
        %w = hlo.broadcast_in_dim %k : tensor<8xf32>
        %0:2 = hlo.sort(%x, %w) ({^bb0(%a, %b, %k1, %k2): ... %a, %b, %k1 ...})
    """

    def run(self, module: ir.Module) -> bool:
        prepared = [_prepare(op) for op in operations_named(module, {"hlo.sort"})]
        return any(prepared)


def _prepare(op: ir.Operation) -> bool:
    outside = [value for reader, _, value in reads_from_outside(op) if reader != op]
    taken = [value for value in dict.fromkeys(outside) if not _is_constant(value)]
    if not taken:
        return False
    shape = ir.RankedTensorType(op.results[0].type).shape
    with op.location, ir.InsertionPoint(op):
        wide = [
            create(
                "hlo.broadcast_in_dim",
                [value],
                shape,
                ir.RankedTensorType(value.type).element_type,
                {"broadcast_dimensions": integers([])},
            ).results[0]
            for value in taken
        ]
        new = ir.Operation.create(
            "hlo.sort",
            results=[*(r.type for r in op.results), *(w.type for w in wide)],
            operands=[*op.operands, *wide],
            attributes={key: op.attributes[key] for key in op.attributes},
            regions=1,
        )
    old_block = op.regions[0].blocks[0]
    kinds = [a.type for a in old_block.arguments] + [v.type for v in taken for _ in range(2)]
    with op.location:
        block = new.regions[0].blocks.append(*kinds)
    count = len(old_block.arguments)
    inner: dict[ir.Value, ir.Value] = dict(
        zip(old_block.arguments, list(block.arguments)[:count], strict=True)
    )
    for i, value in enumerate(taken):
        inner[value] = block.arguments[count + 2 * i]
    with ir.InsertionPoint(block):
        for source in old_block.operations:
            copy = source.operation.clone()
            for reader, i, value in reads_from_outside(copy):
                reader.operands[i] = inner.get(value, value)
            inner.update(zip(source.operation.results, copy.results, strict=True))
    replace(op, list(new.results)[: len(op.results)])
    return True


def _is_constant(value: ir.Value) -> bool:
    owner = value.owner
    return not isinstance(owner, ir.Block) and owner.operation.name == "hlo.constant"
