"""fuse-sorts: sorts become kernels that make positions themselves and store only what is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.hlo_to_loops.graph import Node, Region, reading
from hlo.passes.hlo_to_loops.sort_kernel import keys_of
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import element_of, shape_of
from hlo.passes.rewrite.walk import body_of, functions, reads_from_outside

KIND = "sort"


@dataclass(frozen=True)
class FuseSorts(Pass):
    """Puts a sort into an `hlo.fusion` of kind `sort`, with the iotas that it carries along and
    the slices that take the first elements of what it gives; results that nothing reads are left
    out.

    Argsort and top-k are written so: the positions that are sorted, and all of a line where its
    first elements are wanted, need no memory then.

    Requires: the core op set, static shapes, comparators that read nothing but elements and
    constants (prepare-sorts). Sorts whose comparators do not order by keys stay as they are.

        %i = hlo.iota dim = 0 : tensor<8xi32>
        %0:2 = hlo.sort(%x, %i) ...                       %1:2 = hlo.fusion(%x) kind "sort" {
        %v = hlo.slice %0#0 [0:3] : tensor<3xf32>   ==>     iota, sort, slice, slice
        %n = hlo.slice %0#1 [0:3] : tensor<3xi32>         }
    """

    def run(self, module: ir.Module) -> bool:
        changed = False
        for function in functions(module).values():
            if not ir.operations_named(function, ["hlo.sort"]):
                continue
            with reading(body_of(function)) as region:
                sorts = [node for node in _nodes(region) if node.name == "sort"]
                changed = sum(_fuse(node) for node in sorts) > 0 or changed
        return changed


def _nodes(region: Region) -> Iterator[Node]:
    for node in region.nodes:
        yield node
        for inner in node.regions:
            yield from _nodes(inner)


def _fuse(node: Node) -> bool:
    op, shape = node.source, node.operands[0].shape
    keys = keys_of(node.regions[0], len(node.operands))
    if keys is None or 0 in shape:
        return False
    dimension = node.attributes["dimension"] % len(shape)
    ordering = {key.operand for key in keys}
    positions = {
        value
        for i, value in enumerate(op.operands)
        if i not in ordering and _is_position(value, dimension)
    } - {op.operands[i] for i in ordering}
    wanted = [result for result in op.results if list(result.uses)]
    first = _first_wanted(op, dimension)
    whole = first == shape[dimension] and len(wanted) == len(op.results)
    if not wanted or first == 0 or (whole and not positions):
        return False
    fused = _fusion(op, positions, wanted, dimension, first)
    for result, part in zip(wanted, fused.results, strict=True):
        _put_in_place(result, part, whole=first == shape[dimension])
    op.erase()
    for value in positions:
        if not list(value.uses):
            value.owner.erase()
    return True


def _put_in_place(result: ir.Value, part: ir.Value, *, whole: bool) -> None:
    """Readers of a sort's result read what the kernel stores of it."""
    if whole:
        result.replace_all_uses_with(part)
        return
    for reader in [use.owner for use in result.uses]:
        if shape_of(reader.results[0]) == shape_of(part):
            reader.results[0].replace_all_uses_with(part)
            reader.erase()
        else:
            reader.operands[0] = part


def _is_position(value: ir.Value, dimension: int) -> bool:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "hlo.iota":
        return False
    kind = element_of(value)
    whole = isinstance(kind, ir.IntegerType) and kind.width in (8, 16, 32, 64)
    return whole and ir.attributes.integer(owner, "iota_dimension") == dimension


def _first_wanted(op: ir.Operation, dimension: int) -> int:
    """How many elements along its dimension are read, if all readers are slices from its start."""
    size = shape_of(op.operands[0])[dimension]
    first = 0
    for result in op.results:
        for use in result.uses:
            reader = use.owner
            if reader.name != "hlo.slice":
                return size
            starts, limits, strides = (
                ir.attributes.ints(reader, name)
                for name in ("start_indices", "limit_indices", "strides")
            )
            if starts[dimension] != 0 or strides[dimension] != 1:
                return size
            first = max(first, limits[dimension])
    return first


def _fusion(
    op: ir.Operation,
    positions: set[ir.Value],
    wanted: Sequence[ir.Value],
    dimension: int,
    first: int,
) -> ir.Operation:
    """The kernel of a sort, ahead of it."""
    inputs = [value for value in dict.fromkeys(op.operands) if value not in positions]
    builder = Builder.before(op)

    def body(b: Builder, arguments: list[ir.Value]) -> list[ir.Value]:
        inner = dict(zip(inputs, arguments, strict=True))
        with b.point:
            for _, _, value in reads_from_outside(op):  # positions, and constants
                if value not in inner:
                    inner[value] = value.owner.clone().results[0]
            copy = op.clone()
        for reader, i, value in reads_from_outside(copy):
            reader.operands[i] = inner[value]
        given = [copy.results[list(op.results).index(value)] for value in wanted]
        return [b.slice_dimension(value, dimension, 0, first) for value in given]

    parts = list(shape_of(op.operands[0]))
    parts[dimension] = first
    fused = builder.create(
        "hlo.fusion",
        inputs,
        [builder.tensor(parts, element_of(value)) for value in wanted],
        {"kind": builder.string(KIND), "name": builder.string("sort_fusion")},
        regions=1,
    )
    builder.fill(fused.regions[0], [value.type for value in inputs], body)
    return fused
