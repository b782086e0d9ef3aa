"""Cumulative sums and the like: a reduce_window over all elements up to each one, in one pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position, suffix_products
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Builder, Value
from hlo.passes.hlo_to_loops.conditions import rebuild, register_types
from hlo.passes.hlo_to_loops.elemental.reductions import padding_pairs, reducer
from hlo.passes.hlo_to_loops.emitter import Emitter, NotVectorizableError
from hlo.passes.hlo_to_loops.folds import accumulator_type
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor, monoid_of, splat_of
from hlo.passes.hlo_to_loops.kernel_function import Kernel, argument_buffers, kernel_of
from hlo.passes.hlo_to_loops.loop_kernel import NEIGHBOURS

# Reducers that may be applied to the initial value, which is the padding too, any number of times,
# and those with the constant for which that holds.
_IDEMPOTENT = frozenset({"maximum", "minimum", "and", "or"})
_NEUTRAL = {"add": 0, "multiply": 1, "xor": 0}


# log(exp(a) + exp(b)), of the arguments 0 and 1, as JAX writes it.
_DIFFERENCE = ("subtract", 0, 1)
_LOG_OF_SUM = (
    "select",
    ("compare NE", _DIFFERENCE, _DIFFERENCE),
    ("add", 0, 1),
    (
        "add",
        ("log_plus_one", ("exponential", ("negate", ("abs", _DIFFERENCE)))),
        ("maximum", 0, 1),
    ),
)
Expression = int | tuple[Any, ...]


def _may_repeat_initial(node: Node) -> bool:
    op = monoid_of(node.regions[0])
    if op in _IDEMPOTENT:
        return True
    initial = node.operands[1].producer
    if initial is None or initial.name != "constant":
        return False
    value = splat_of(initial)
    neutral = _NEUTRAL.get(op or "")
    if neutral is None and _adds_exponentials(node.regions[0]):
        neutral = -math.inf
    return value is not None and neutral is not None and bool(value == neutral)


def _adds_exponentials(region: Region) -> bool:
    if len(region.arguments) != 2 or len(region.results) != 1:
        return False
    return _expression(region.results[0], region) == _LOG_OF_SUM


def _expression(value: Tensor, region: Region) -> Expression:
    """A value of a reducer as its op and operands; those that may be exchanged are in order."""
    if value in region.arguments:
        return region.arguments.index(value)
    node = value.producer
    if node is None or node not in region.nodes or len(node.results) != 1:
        return -1
    operands = [_expression(operand, region) for operand in node.operands]
    if node.name in ("add", "maximum"):
        operands.sort(key=str)
    direction = f" {node.attributes['comparison_direction']}" if node.name == "compare" else ""
    return (node.name + direction, *operands)


def cumulative_dim(node: Node) -> tuple[int, bool] | None:
    """(dimension, whether from its end) if a reduce_window accumulates along one; else None."""
    operand, attributes = node.operands[0], node.attributes
    rank = operand.rank
    ones = (1,) * rank
    plain = all(
        (attributes.get(k) or ones) == ones
        for k in ("window_strides", "base_dilations", "window_dilations")
    )
    window = attributes["window_dimensions"]
    wide = [d for d in range(rank) if window[d] != 1]
    if len(node.operands) != 2 or not plain or len(wide) != 1 or not _may_repeat_initial(node):
        return None
    d, padding = wide[0], padding_pairs(attributes.get("padding"), rank)
    size = operand.shape[d]
    others = all(padding[k] == (0, 0) for k in range(rank) if k != d)
    if window[d] != size or not others or padding[d] not in ((size - 1, 0), (0, size - 1)):
        return None
    return d, padding[d] == (0, size - 1)


def emit_cumulative(region: Region, node: Node) -> Kernel | None:
    """A kernel with a running accumulator for each line along a dimension; None if not one."""
    found = cumulative_dim(node)
    if found is None or node.results[0].size == 0:
        return None
    widest = node.results[0].type.part_type.bits
    for lanes in (512 // max(widest, 32), 0):
        try:
            return _emit(region, node, *found, lanes)
        except NotVectorizableError:
            continue
    return None


def _emit(region: Region, node: Node, dim: int, backwards: bool, lanes: int) -> Kernel:
    shape = node.results[0].shape
    outer, inner = math.prod(shape[:dim]), math.prod(shape[dim + 1 :])
    if inner == 1 and lanes:
        return _emit_in_lanes(region, node, backwards, lanes)
    while lanes > inner:
        lanes //= 2
    if 0 < lanes < 4:
        raise NotVectorizableError("there are fewer lines than lanes of a vector")
    step = max(lanes, 1)
    together = min(inner // step, NEIGHBOURS) if lanes else 1
    width = step * together
    blocks = -(-inner // width)

    def run(em: Emitter, unit: Affine) -> None:
        b, (row, block) = em.b, em.divmod(unit, blocks)
        base = row * (shape[dim] * inner)
        if not lanes:
            run_along_line(em, node, base + block, dim, backwards)
            return
        first = em.index(block * width)
        if inner % width:  # the last block takes some lines of the one before again
            first = b.op(f"arith.minsi {first}, {b.index(inner - width)} : index")
        names = [
            b.load(f"arith.addi {first}, {b.index(k * step)} : index") for k in range(together)
        ]
        lines = [_Line(base + em.variable(name, inner), name, lanes) for name in names]
        _Run(em, node, lines, inner, backwards).in_turn(0, shape[dim])

    return _kernel(region, outer * blocks, run)


def _emit_in_lanes(region: Region, node: Node, backwards: bool, lanes: int) -> Kernel:
    """A kernel for lines that are contiguous: running totals within a vector, then from the vector
    before it (Hillis and Steele, "Data parallel algorithms", 1986).
    """
    extent = node.results[0].shape[-1]
    register = node.results[0].type.part_type.register
    if extent < 2 * lanes or register == "i1":
        raise NotVectorizableError("a line is shorter than two vectors")
    whole = extent // lanes * lanes

    def run(em: Emitter, unit: Affine) -> None:
        line = _Run(em, node, [_Line(unit * extent)], 1, backwards)
        if backwards:
            line.in_turn(whole, extent)
            line.in_lanes(whole, lanes)
        else:
            line.in_lanes(whole, lanes)
            line.in_turn(whole, extent)

    return _kernel(region, node.results[0].size // extent, run)


def _kernel(region: Region, units: int, run: Callable[[Emitter, Affine], None]) -> Kernel:
    """A kernel whose work units `run` emits, by their number."""
    inputs, outputs = argument_buffers(region)
    b = Builder()
    em = Emitter(b, inputs)
    with b.loop("%begin", "%end", b.index(1)) as loop:
        run(em, em.variable(loop.iv, units) if units > 1 else ZERO)
    return kernel_of(b, inputs.values(), outputs, units)


def run_along_line(em: Emitter, node: Node, base: Affine, dim: int, backwards: bool) -> None:
    """Runs along one line, whose first element is at the offset `base`."""
    shape = node.results[0].shape
    stride = suffix_products(shape)[dim]
    _Run(em, node, [_Line(base)], stride, backwards).in_turn(0, shape[dim])


@dataclass(frozen=True)
class _Line:
    """A line that starts at the offset `base`, or `lanes` neighbouring ones, at the lane variable
    `lane`.
    """

    base: Affine
    lane: str = ""
    lanes: int = 0

    @contextmanager
    def width(self, em: Emitter) -> Generator[None]:
        """Emits for all of its lanes."""
        if not self.lanes:
            yield
            return
        with em.vector(self.lane, self.lanes, level=em.b.level):
            yield


class _Run:
    """Running totals along lines whose elements lie `stride` apart, piece after piece."""

    def __init__(
        self, em: Emitter, node: Node, lines: Sequence[_Line], stride: int, backwards: bool
    ) -> None:
        self._em, self._node, self._lines, self._stride = em, node, lines, stride
        self._backwards = backwards
        self._tensor = node.results[0]
        op = monoid_of(node.regions[0])
        self._kind = accumulator_type(op, self._tensor.type)
        self._combine = reducer(em, node.regions[0], op)
        self._buffer = Buffer("%out0", self._tensor.size, self._tensor.type)
        self._totals: list[Value] = []
        for line in lines:
            with line.width(em):
                initial = em.element(node.operands[1], Position.of_dims(()))
                self._totals.append(elementwise.convert(em.b, initial, self._kind))

    def in_turn(self, low: int, high: int) -> None:
        """Elements low to high of each line, one after the other."""
        if low == high:
            return
        em, b = self._em, self._em.b
        with b.loop(b.index(0), b.index(high - low), b.index(1), self._carried()) as loop:
            index = em.variable(loop.iv, high - low)
            at = index * -1 + (high - 1) if self._backwards else index + low
            for line, total in zip(self._lines, self._from(loop.carried), strict=True):
                with line.width(em):
                    offset = line.base + at * self._stride
                    behind = self._combine([total], [self._element(offset)])[0]
                    self._store(behind, offset)
                    loop.yielded += behind.parts
        self._totals = self._from(loop.results)

    def in_lanes(self, whole: int, lanes: int) -> None:
        """Elements 0 to `whole` of a contiguous line, a vector at a time."""
        em, b, [line] = self._em, self._em.b, self._lines
        totals = self._carried()
        with b.width(lanes):
            vectors = register_types(em, [self._kind])
        carried = [
            (b.op(f"vector.broadcast {name} : {part} to {vector}"), vector)
            for (name, part), vector in zip(totals, vectors, strict=True)
        ]
        with b.loop(b.index(0), b.index(whole), b.index(lanes), carried) as loop:
            name = loop.iv
            if self._backwards:
                name = b.load(f"arith.subi {b.index(whole - lanes)}, {loop.iv} : index")
            offset = line.base + em.variable(name, whole)
            with em.vector(name, lanes):
                running = rebuild([self._kind], loop.carried, lanes)
                value = self._within(self._element(offset))
                self._store(self._combine(running, [value])[0], offset)
                # What the next vector waits for is this one step.
                end = [0 if self._backwards else lanes - 1] * lanes
                loop.yielded += self._combine(running, [self._shuffle(value, end)])[0].parts
        parts = [
            b.op(f"vector.extract {name}[0] : {part} from {vector}")
            for name, (_, part), vector in zip(loop.results, totals, vectors, strict=True)
        ]
        self._totals = [Value(self._kind, tuple(parts))]

    def _carried(self) -> list[tuple[str, str]]:
        """The totals' registers and their types."""
        carried: list[tuple[str, str]] = []
        for line, total in zip(self._lines, self._totals, strict=True):
            with line.width(self._em):
                types = register_types(self._em, [self._kind])
            carried += zip(total.parts, types, strict=True)
        return carried

    def _from(self, names: Sequence[str]) -> list[Value]:
        """The totals in registers in the order of _carried."""
        kinds = [self._kind] * len(self._lines)
        return rebuild(kinds, names, self._lines[0].lanes)

    def _within(self, value: Value) -> Value:
        """Running totals of the lanes: each adds to itself the one 1, 2, 4, ... lanes before.

        By rotations and a mask: lanes shifted in beside a constant become `vexpandps`, which waits
        for ten cycles on Zen 5.
        """
        b, lanes, shift = self._em.b, value.lanes, 1
        while shift < lanes:
            turn = shift if self._backwards else -shift
            turned = self._shuffle(value, [(lane + turn) % lanes for lane in range(lanes)])
            total = self._combine([turned], [value])[0]
            first, rest = (total, value) if self._backwards else (value, total)
            count = lanes - shift if self._backwards else shift
            mask = b.first_lanes(count, lanes)
            types = register_types(self._em, [self._kind])
            parts = [
                b.op(f"arith.select {mask}, {x}, {y} : vector<{lanes}xi1>, {part}")
                for x, y, part in zip(first.parts, rest.parts, types, strict=True)
            ]
            value = Value(self._kind, tuple(parts), lanes)
            shift *= 2
        return value

    def _shuffle(self, value: Value, order: Sequence[int]) -> Value:
        b, listed = self._em.b, ", ".join(map(str, order))
        parts = [
            b.op(f"vector.shuffle {x}, {x} [{listed}] : {part}, {part}")
            for x, part in zip(value.parts, register_types(self._em, [self._kind]), strict=True)
        ]
        return Value(self._kind, tuple(parts), value.lanes)

    def _element(self, offset: Affine) -> Value:
        value = self._em.element(self._node.operands[0], Position.of_offset(offset))
        return elementwise.convert(self._em.b, value, self._kind)

    def _store(self, value: Value, offset: Affine) -> None:
        self._em.store(
            elementwise.convert(self._em.b, value, self._tensor.type), self._buffer, offset
        )
