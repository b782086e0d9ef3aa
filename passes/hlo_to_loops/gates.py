"""The factors of GELU, 1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3)) and 1 + erf(x), as functions of
their own.

A sum with one is rounded to a multiple of its unit: of tanh and erf it shows an absolute precision
alone, and the first is a function of x rather than of a polynomial. In 32 pieces they take 16
operations, the parts 28 and 22. Results differ from those of the parts by what these round.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hlo.passes.hlo_to_loops.affine import Position
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.elementwise import piece_tables, storage
from hlo.passes.hlo_to_loops.elementwise.host_instructions import host_features
from hlo.passes.hlo_to_loops.elementwise.pieces import EvenPieces, even_pieces
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor, splat_of, users

_LINEAR, _CUBIC = math.sqrt(2 / math.pi), math.sqrt(2 / math.pi) * 0.044715
_SAME = 3e-7  # by how much, relatively, a product of constants in `f32` may be off
_DEEPEST = 6  # ops from the argument of tanh to x
_HIGHEST = 3  # power of x

# Of a polynomial the coefficients, by power.
_Polynomial = Mapping[int, float]


def provide_gates(em: Emitter, region: Region) -> None:
    """From here on these factors in a region are computed as functions of their own, in `f32` where
    the host has the look-up.
    """
    if not em.b.is_for_host or "avx512f" not in host_features():
        return
    readers = users(region.nodes)
    for node in region.nodes:
        if (gate := _gate_of(node, readers, region.results)) is not None:
            # Not `provide`: where rows begin is still asked of what x is made of.
            em.sources[gate.result] = gate.source(em)


@dataclass(frozen=True)
class _Gate:
    """`result` is a function of `x`."""

    x: Tensor
    result: Tensor
    pieces: EvenPieces

    def source(self, em: Emitter) -> _Source:
        return _Source(em, self)


@dataclass(frozen=True)
class _Source:
    """Gives the elements of a gate's result."""

    em: Emitter
    gate: _Gate

    def __call__(self, position: Position) -> Value:
        gate = self.gate
        x = storage.real(self.em.b, self.em.element(gate.x, position))
        found = even_pieces(x.at_most(gate.pieces.high), gate.pieces)
        assert found is not None, "the host has the look-up"
        return storage.value_of(gate.result.type, found)


def _gate_of(
    node: Node, readers: Mapping[Tensor, Sequence[Node]], results: Sequence[Tensor]
) -> _Gate | None:
    """The gate that a tanh or erf is the middle of, if nothing else reads that."""
    if node.name not in ("tanh", "erf") or node.results[0].type.name != "f32":
        return None
    x = node.operands[0] if node.name == "erf" else _cubed(node.operands[0])
    if x is None or x.shape != node.results[0].shape:
        return None
    pieces = piece_tables.ONE_PLUS_ERF if node.name == "erf" else piece_tables.GELU_FACTOR

    def only_reader(tensor: Tensor, name: str, constant: float) -> Tensor | None:
        found = readers.get(tensor, ())
        if tensor in results or len(found) != 1 or found[0].name != name:
            return None
        others = [t for t in found[0].operands if t is not tensor]
        same = len(others) == 1 and _constant(others[0]) == constant
        return found[0].results[0] if same else None

    total = only_reader(node.results[0], "add", 1.0)
    if total is None:
        return None
    if (half := only_reader(total, "multiply", 0.5)) is not None:
        return _Gate(x, half, _halved(pieces))
    return _Gate(x, total, pieces)


def _halved(pieces: EvenPieces) -> EvenPieces:
    rows = ((row[0], *(value / 2 for value in row[1:])) for row in pieces.rows)
    return replace(pieces, rows=tuple(rows))


def _constant(tensor: Tensor) -> float | None:
    node = tensor.producer
    if node is None or node.name != "constant":
        return None
    value = splat_of(node)
    return None if value is None else float(value)


def _cubed(argument: Tensor) -> Tensor | None:
    """The x of which a tensor is GELU's polynomial."""
    for x in dict.fromkeys(_made_of(argument, _DEEPEST)):
        found = _polynomial(argument, x, _DEEPEST)
        if found is not None and {k for k, c in found.items() if c} == {1, 3}:
            pairs = ((found[1], _LINEAR), (found[3], _CUBIC))
            if all(math.isclose(a, b, rel_tol=_SAME) for a, b in pairs):
                return x
    return None


def _made_of(tensor: Tensor, depth: int) -> Iterator[Tensor]:
    node = tensor.producer
    if depth and node is not None and node.name in _RULES:
        for operand in node.operands:
            yield operand
            yield from _made_of(operand, depth - 1)


def _polynomial(tensor: Tensor, x: Tensor, depth: int) -> _Polynomial | None:
    """A tensor as a polynomial in x; None if it is none, of a degree in question."""
    if tensor is x:
        return {1: 1.0}
    if (value := _constant(tensor)) is not None:
        return {0: value}
    node = tensor.producer
    if not depth or node is None or node.name not in _RULES:
        return None
    parts: list[_Polynomial] = []
    for operand in node.operands:
        if (part := _polynomial(operand, x, depth - 1)) is None:
            return None
        parts.append(part)
    return _RULES[node.name](*parts)


def _sum(left: _Polynomial, right: _Polynomial) -> _Polynomial:
    return {k: left.get(k, 0.0) + right.get(k, 0.0) for k in left.keys() | right.keys()}


def _product(left: _Polynomial, right: _Polynomial) -> _Polynomial | None:
    if max(left) + max(right) > _HIGHEST:
        return None
    total: dict[int, float] = {}
    for i, a in left.items():
        for j, b in right.items():
            total[i + j] = total.get(i + j, 0.0) + a * b
    return total


_RULES = {
    "add": _sum,
    "multiply": _product,
    "square": lambda part: _product(part, part),
}
