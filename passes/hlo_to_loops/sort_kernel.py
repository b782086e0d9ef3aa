"""sort as calls of the runtime: by keys where the comparator is known, else by compiled code."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.builder import Builder, Value
from hlo.passes.hlo_to_loops.element_types import ElementType, Kind
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor, splat_of
from hlo.passes.hlo_to_loops.kernel_function import Kernel, argument_buffers
from hlo.passes.hlo_to_loops.library_call import library_kernel
from hlo.passes.hlo_to_loops.scalar_regions import apply

SIGNED, UNSIGNED, FLOAT_TOTAL, FLOAT_CANONICAL, BFLOAT_CANONICAL = range(5)


@dataclass(frozen=True)
class Key:
    """One key of a comparator: operand, order (HLO_SORT_...), direction."""

    operand: int
    order: int
    descending: bool


def sort_in(region: Region) -> Node | None:
    """The sort that a kernel's region computes; None if there is none."""
    return next((node for node in region.nodes if node.name == "sort"), None)


def emit_sort(region: Region, node: Node) -> Kernel | None:
    """A kernel that calls hlo_rt_sort_keys, or hlo_rt_sort with the comparator compiled.

    Args:
        region: the sort alone, or, where it orders by keys, with iotas along its dimension that it
            carries along and slices of the first elements of its results: see fuse-sorts.
    """
    operands = node.operands
    if operands[0].size == 0:
        return None
    shape, dim = operands[0].shape, node.attributes["dimension"] % max(operands[0].rank, 1)
    outer, inner = math.prod(shape[:dim]), math.prod(shape[dim + 1 :])
    sizes = [t.type.memory_bytes for t in operands]
    inputs, outputs = argument_buffers(region)
    stored = dict(zip((sorted_tensor(t) for t in region.results), outputs, strict=True))
    buffers = [*(inputs.get(t) for t in operands), *(stored.get(t) for t in node.results)]
    first = region.results[0].shape[dim]
    own = [(len(operands) + k, k) for k in range(len(operands)) if first == shape[dim]]
    keys = keys_of(node.regions[0], len(operands))
    if keys is not None:
        flat = [x for key in keys for x in (key.operand, key.order, int(key.descending))]
        parameters = [len(operands), outer, shape[dim], inner, len(keys), *sizes, *flat]
        if first == shape[dim]:
            return library_kernel(region, "hlo_rt_sort_keys", buffers, parameters, replaces=own)
        return library_kernel(region, "hlo_rt_sort_first", buffers, [first, *parameters])
    stable = int(bool(node.attributes.get("is_stable", False)))
    parameters = [len(operands), outer, shape[dim], inner, stable, *sizes]
    return library_kernel(
        region, "hlo_rt_sort", buffers, parameters, callback=_comparator(node), replaces=own
    )


def sorted_tensor(tensor: Tensor) -> Tensor:
    """The sort's result that a result of its kernel is a slice of, or is."""
    node = tensor.producer
    return node.operands[0] if node is not None and node.name == "slice" else tensor


def _comparator(node: Node) -> str:
    """`@NAME__callback(lhs, rhs) -> i8`: the comparator, on pointers to elements."""
    b = Builder()
    em = Emitter(b, {})
    values: list[Value] = []
    for k, tensor in enumerate(node.operands):
        for side in ("%lhs", "%rhs"):
            at = b.op(f"llvm.getelementptr {side}[{k}] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr")
            values.append(_load(b, b.load(f"llvm.load {at} : !llvm.ptr -> !llvm.ptr"), tensor.type))
    before = apply(em, node.regions[0], values)[0]
    byte = b.op(f"arith.extui {before.name} : i1 to i8")
    return (
        "llvm.func @NAME__callback(%lhs: !llvm.ptr, %rhs: !llvm.ptr) -> i8 {\n"
        f"{b.text()}\n  llvm.return {byte} : i8\n}}\n"
    )


def _load(b: Builder, pointer: str, kind: ElementType) -> Value:
    raws: list[str] = []
    for part in range(kind.parts):
        at = b.op(f"llvm.getelementptr {pointer}[{part}] : (!llvm.ptr) -> !llvm.ptr, {kind.memory}")
        raws.append(b.load(f"llvm.load {at} : !llvm.ptr -> {kind.memory}"))
    return elementwise.unpack(b, kind, raws)


# -- recognising comparators -----------------------------------------------------------------------


def keys_of(region: Region, count: int) -> list[Key] | None:
    """The keys of a comparator that orders by operands in turn; None for another comparator."""
    if len(region.results) != 1:
        return None
    return _lexicographic(region, region.results[0], count)


def _lexicographic(region: Region, tensor: Tensor, count: int) -> list[Key] | None:
    """lt(a) or (eq(a) and rest), as JAX writes several keys, or a single comparison."""
    node = tensor.producer
    if node is None:
        return None
    if node.name == "compare":
        key = _key(region, node, count)
        return None if key is None else [key]
    if node.name != "or":
        return None
    less, both = node.operands
    first = _lexicographic(region, less, count)
    if first is None or len(first) != 1 or both.producer is None or both.producer.name != "and":
        return None
    equal, rest = both.producer.operands
    if not _is_equality(region, equal, first[0]):
        return None
    following = _lexicographic(region, rest, count)
    return None if following is None else [*first, *following]


def _is_equality(region: Region, tensor: Tensor, key: Key) -> bool:
    node = tensor.producer
    if node is None or node.name != "compare" or node.attributes["comparison_direction"] != "EQ":
        return False
    sides = [_origin(region, o) for o in node.operands]
    return {s[0] for s in sides if s is not None} == {2 * key.operand, 2 * key.operand + 1}


def _key(region: Region, node: Node, count: int) -> Key | None:
    direction = node.attributes["comparison_direction"]
    left, right = (_origin(region, o) for o in node.operands)
    if left is None or right is None or left[1] != right[1] or direction not in ("LT", "GT"):
        return None
    low, high = sorted((left[0], right[0]))
    if high != low + 1 or low % 2 or low // 2 >= count:
        return None
    order = _order(node.operands[0].type, left[1], node.attributes.get("compare_type", ""))
    return (
        None if order is None else Key(low // 2, order, (direction == "GT") != (left[0] > right[0]))
    )


def _order(kind: ElementType, canonical: bool, compare_type: str) -> int | None:
    if kind.kind is Kind.SINT and kind.bits >= 8:
        return SIGNED
    if kind.kind in (Kind.UINT, Kind.BOOL) and (kind.bits >= 8 or kind.kind is Kind.BOOL):
        return UNSIGNED
    if kind.name not in ("f16", "bf16", "f32", "f64") or compare_type != "TOTALORDER":
        # Without total order NaN has no place: only the comparator itself tells what happens.
        return None
    if not canonical:
        return FLOAT_TOTAL
    return BFLOAT_CANONICAL if kind.name == "bf16" else FLOAT_CANONICAL


def _origin(region: Region, tensor: Tensor) -> tuple[int, bool] | None:
    """(which argument a compared value is, whether zeros and NaNs were made one)."""
    if tensor in region.arguments:
        return region.arguments.index(tensor), False
    node = tensor.producer
    if node is None or node.name != "select":
        return None
    base = node.operands[2].producer
    if base is None or base.name != "select" or not _picks(base, "EQ", 0.0):
        return None
    argument = base.operands[2]
    if argument not in region.arguments or not _replaces_nan(node, argument):
        return None
    return region.arguments.index(argument), True


def _replaces_nan(node: Node, argument: Tensor) -> bool:
    """Whether a node is select(x != x, NaN, y), y the argument with one zero, x either of them."""
    test, replacement, value = node.operands
    constant = None if replacement.producer is None else replacement.producer
    if constant is None or constant.name != "constant":
        return False
    number = splat_of(constant)
    if number is None or float(number) == float(number):
        return False
    compare = test.producer
    if (
        compare is None
        or compare.name != "compare"
        or compare.attributes["comparison_direction"] != "NE"
    ):
        return False
    return set(compare.operands) in ({value}, {argument})


def _picks(node: Node, direction: str, number: float) -> bool:
    """Whether a node is select(x `direction` number, number, x)."""
    test, replacement, value = node.operands
    compare, constant = test.producer, replacement.producer
    if (
        compare is None
        or compare.name != "compare"
        or constant is None
        or constant.name != "constant"
    ):
        return False
    other = compare.operands[1].producer
    if other is None or other.name != "constant":
        return False
    splats = [splat_of(c) for c in (constant, other)]
    same = all(s is not None and float(s) == number for s in splats)
    return (
        same
        and compare.operands[0] is value
        and compare.attributes["comparison_direction"] == direction
    )
