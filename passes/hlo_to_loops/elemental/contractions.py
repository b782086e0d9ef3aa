"""dot_general and convolution, one element at a time, for every element type and dimension order.

Large ones of the common types are kernels of their own; see passes/hlo_to_host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.conditions import ALWAYS, both, guarded
from hlo.passes.hlo_to_loops.element_types import ElementType, Kind, element_type
from hlo.passes.hlo_to_loops.elemental.interior_padding import unpadded
from hlo.passes.hlo_to_loops.elemental.reductions import padding_pairs
from hlo.passes.hlo_to_loops.emitter import UNROLLED, Emitter, NotVectorizableError, elemental
from hlo.passes.hlo_to_loops.folds import Fold, fold
from hlo.passes.hlo_to_loops.graph import Node

_UNROLLED_IN_LANES = 64  # products of a convolution's sum in each lane
# (indices in the contracted space, type of the products) -> the two factors.
FactorsAt = Callable[[Sequence[Affine], ElementType], tuple[Value, Value]]


def product_type(result: ElementType) -> ElementType:
    """The type products are formed and summed in: f32 for floats narrower than it."""
    return element_type("f32") if result.is_float and result.name != "f64" else result


@dataclass(frozen=True)
class Contraction:
    """A sum of products at one result position: extents of the contracted space, factors there."""

    extents: tuple[int, ...]
    factors: FactorsAt
    right_at: Callable[[Sequence[Affine]], Position]


def _sum_of_products(
    em: Emitter, result: ElementType, contraction: Contraction, unrolled: int
) -> Value:
    extents, factors = contraction.extents, contraction.factors
    kind = product_type(result)
    boolean = kind.kind is Kind.BOOL
    times, plus = ("and", "or") if boolean else ("multiply", "add")

    def element(indices: Sequence[Affine]) -> list[Value]:
        left, right = (elementwise.convert(em.b, v, kind) for v in factors(indices, kind))
        return [elementwise.EMITTERS[times](em.b, [left, right], kind, {})]

    def combine(acc: Sequence[Value], new: Sequence[Value]) -> list[Value]:
        return [elementwise.EMITTERS[plus](em.b, [acc[0], new[0]], kind, {})]

    zero: float | int | bool = False if boolean else 0
    work = Fold(extents, element, combine, (elementwise.constant(em.b, kind, zero),), (zero,))
    total = fold(em, work, unrolled)[0]
    return elementwise.convert(em.b, total, result)


@elemental("dot_general", "convolution")
def contraction(em: Emitter, node: Node, _: int, position: Position) -> Value:
    result = node.results[0]
    at = contraction_of(em, node, em.dims(position, result.shape))
    many = node.name == "convolution" and em.b.lanes
    return _sum_of_products(em, result.type, at, _UNROLLED_IN_LANES if many else UNROLLED)


def contraction_of(em: Emitter, node: Node, dims: Sequence[Affine]) -> Contraction:
    """What a dot_general or convolution sums at the position `dims` of its result."""
    return (
        _dot_general(em, node, dims) if node.name == "dot_general" else _convolution(em, node, dims)
    )


def _dot_general(em: Emitter, node: Node, dims: Sequence[Affine]) -> Contraction:
    lhs, rhs = node.operands
    numbers = node.attributes["dot_dimension_numbers"]
    lhs_batch = numbers.get("lhs_batching_dimensions", ())
    rhs_batch = numbers.get("rhs_batching_dimensions", ())
    lhs_sum = numbers.get("lhs_contracting_dimensions", ())
    rhs_sum = numbers.get("rhs_contracting_dimensions", ())
    lhs_at, rhs_at = [ZERO] * lhs.rank, [ZERO] * rhs.rank
    for k, (p, q) in enumerate(zip(lhs_batch, rhs_batch, strict=True)):
        lhs_at[p] = rhs_at[q] = dims[k]
    lhs_free = [d for d in range(lhs.rank) if d not in lhs_batch and d not in lhs_sum]
    rhs_free = [d for d in range(rhs.rank) if d not in rhs_batch and d not in rhs_sum]
    rest = dims[len(lhs_batch) :]
    for d, index in zip(lhs_free, rest, strict=False):
        lhs_at[d] = index
    for d, index in zip(rhs_free, rest[len(lhs_free) :], strict=True):
        rhs_at[d] = index

    def factors(indices: Sequence[Affine], _: ElementType) -> tuple[Value, Value]:
        for p, index in zip(lhs_sum, indices, strict=True):
            lhs_at[p] = index
        return em.element(lhs, Position.of_dims(lhs_at)), em.element(rhs, right_at(indices))

    def right_at(indices: Sequence[Affine]) -> Position:
        for q, index in zip(rhs_sum, indices, strict=True):
            rhs_at[q] = index
        return Position.of_dims(rhs_at)

    return Contraction(tuple(lhs.shape[d] for d in lhs_sum), factors, right_at)


@dataclass(frozen=True)
class Windows:
    """Where a convolution reads its operands for one position of its result.

    Attributes:
        taps: extents of the window, one for each spatial dimension.
        inputs: input features of a group.
        first: where the window begins in each spatial dimension of the input, its holes counted.
        sizes, gaps: of the spatial dimensions of the input; gaps are its dilation.
        spread: how far apart the taps are.
        turn: where lanes walk small groups: which feature of its group each lane multiplies by; -1
            for the one that is summed over. `left_at` is then the lane's own feature.
    """

    taps: tuple[int, ...]
    inputs: int
    first: tuple[Affine, ...]
    sizes: tuple[int, ...]
    gaps: tuple[int, ...]
    spread: tuple[int, ...]
    _left_labels: tuple[str, ...]
    _right_labels: tuple[str, ...]
    _reversal: tuple[bool, ...]
    _batch: Affine
    _group: Affine
    _feature: Affine
    turn: int | None = None

    @property
    def rank(self) -> int:
        return len(self.taps)

    def at(self, k: int, tap: Affine) -> Affine:
        """What a tap meets in spatial dimension `k` of the input: perhaps padding, or a hole."""
        return self.first[k] + tap * self.spread[k]

    def left_at(self, places: Sequence[Affine], channel: Affine) -> tuple[Affine, ...]:
        """The index in each dimension of the input, at an element of it."""
        spatial = {str(k): place for k, place in enumerate(places)}
        feature = self._group * self.inputs + channel if self.turn != -1 else self._feature
        found = {**spatial, "b": self._batch, "f": feature}
        return tuple(found[label] for label in self._left_labels)

    def right_at(self, indices: Sequence[Affine]) -> Position:
        """The position in the kernel: taps, then the input feature."""
        *taps, channel = indices
        turned = zip(taps, self.taps, self._reversal, strict=True)
        spatial = {
            str(k): tap * -1 + (size - 1) if back else tap
            for k, (tap, size, back) in enumerate(turned)
        }
        found = {**spatial, "i": channel, "o": self._feature}
        return Position.of_dims(tuple(found[label] for label in self._right_labels))


def windows_of(
    em: Emitter, node: Node, dims: Sequence[Affine], *, small_groups: bool = False
) -> Windows:
    """The windows of a convolution at the position `dims` of its result.

    Args:
        small_groups: whether the lanes walk several groups, of as many features in as out.
    """
    lhs, rhs = node.operands
    attributes = node.attributes
    labels = attributes["dimension_numbers"]
    rank = lhs.rank - 2
    ones = (1,) * rank
    strides = attributes.get("window_strides") or ones
    padding = padding_pairs(attributes.get("padding"), rank)
    groups, batch_groups = attributes["feature_group_count"], attributes["batch_group_count"]
    output = dict(zip(labels["output"], dims, strict=True))
    left = dict(zip(labels["input"], lhs.shape, strict=True))
    right = dict(zip(labels["kernel"], rhs.shape, strict=True))
    batch, group, turn = output["b"], ZERO, None
    if small_groups and batch_groups > 1:
        if batch.terms:
            raise NotVectorizableError("which feature of a group is multiplied is not known")
        batch, turn = output["f"], batch.constant
    elif small_groups:
        turn = -1
    elif batch_groups > 1:
        part, _rest = em.divmod(output["f"], right["o"] // batch_groups)
        batch = batch + part * (left["b"] // batch_groups)
    elif groups > 1:
        group, _rest = em.divmod(output["f"], right["o"] // groups)
    spatial = [str(k) for k in range(rank)]
    return Windows(
        taps=tuple(right[label] for label in spatial),
        inputs=right["i"],
        first=tuple(
            output[label] * stride + -low
            for label, stride, (low, _) in zip(spatial, strides, padding, strict=True)
        ),
        sizes=tuple(left[label] for label in spatial),
        gaps=tuple(attributes.get("lhs_dilation") or ones),
        spread=tuple(attributes.get("rhs_dilation") or ones),
        _left_labels=labels["input"],
        _right_labels=labels["kernel"],
        _reversal=tuple(attributes.get("window_reversal") or (False,) * rank),
        _batch=batch,
        _group=group,
        _feature=output["f"],
        turn=turn,
    )


def _moved_inside(
    em: Emitter, inside: str, places: Sequence[Affine], sizes: Sequence[int]
) -> list[Affine]:
    """Places in an input where `inside` holds, its first ones where it does not."""
    moved: list[Affine] = []
    for place, size in zip(places, sizes, strict=True):
        low, high = place.bounds(em.extents)
        if low >= 0 and high < size:
            moved.append(place)
            continue
        with em.b.width(0):
            origin = em.b.index(0)
            name = em.b.op(f"arith.select {inside}, {em.index(place)}, {origin} : index")
        moved.append(em.name_index(name, size) if size > 1 else ZERO)
    return moved


def _convolution(em: Emitter, node: Node, dims: Sequence[Affine]) -> Contraction:
    lhs, rhs = node.operands
    windows = windows_of(em, node, dims)

    def factors(indices: Sequence[Affine], kind: ElementType) -> tuple[Value, Value]:
        *taps, channel = indices
        places: list[Affine] = []
        inside = ALWAYS
        for k, tap in enumerate(taps):
            held, place = unpadded(em, windows.at(k, tap), windows.sizes[k], windows.gaps[k])
            inside = both(em, inside, held)
            places.append(place)

        def load() -> list[Value]:
            dims = zip(windows.left_at(places, channel), lhs.shape, strict=True)
            at = [em.bounded(i, size) for i, size in dims]
            return [elementwise.convert(em.b, em.element(lhs, Position.of_dims(at)), kind)]

        zero = elementwise.constant(em.b, kind, False if kind.kind is Kind.BOOL else 0)
        whole = inside.varying is None and all(gap == 1 for gap in windows.gaps)
        if em.branch_free and whole and inside.uniform is not None:
            places = _moved_inside(em, inside.uniform, places, windows.sizes)
            predicate = Value(element_type("i1"), (em.b.splat(inside.uniform, "i1"),), em.b.lanes)
            left = elementwise.select(em.b, predicate, load()[0], zero)
        else:
            left = guarded(em, inside, [kind], load, lambda: [zero])[0]
        return left, em.element(rhs, windows.right_at(indices))

    return Contraction((*windows.taps, windows.inputs), factors, windows.right_at)
