"""What a kernel computes, as plain Python objects: the ops of a region read once out of the IR."""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hlo import ir
from hlo.passes.hlo_to_loops.element_types import ElementType, element_type


@dataclass(eq=False, slots=True)
class Tensor:
    """A value of the region: an input (no producer) or result `index` of `producer`."""

    shape: tuple[int, ...]
    type: ElementType
    producer: Node | None = None
    index: int = 0

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(eq=False)
class Node:
    """An op: its name without the dialect prefix, operands, results, attributes and regions."""

    name: str
    operands: tuple[Tensor, ...]
    source: ir.Operation
    results: tuple[Tensor, ...] = ()
    regions: tuple[Region, ...] = ()

    @cached_property
    def attributes(self) -> Mapping[str, Any]:
        """Attributes as Python values: ints, floats, bools, strings, tuples, dicts of those."""
        return {k: decode_attribute(a) for k, a in self.source.attributes.items() if k != "value"}

    @property
    def location(self) -> str:
        return str(self.source.location)


@dataclass(eq=False)
class Region:
    """A block: its arguments, its ops in order, and the operands of its terminator."""

    arguments: list[Tensor] = field(default_factory=list["Tensor"])
    nodes: list[Node] = field(default_factory=list[Node])
    results: list[Tensor] = field(default_factory=list["Tensor"])


_PAIR = re.compile(r"(\w+) = (\[[^\]]*\]|[\w.]+)")
_ENUM = re.compile(r"^#hlo<\w+ (\w+)>$")
_CONV = re.compile(r"^#hlo\.conv<\[(.*?)\]x\[(.*?)\]->\[(.*?)\]>$")


def decode_attribute(attribute: Any) -> Any:
    """An attribute as a plain Python value; hlo's structured attributes become dicts."""
    if isinstance(attribute, (ir.DenseI64ArrayAttr, ir.DenseBoolArrayAttr, ir.DenseI32ArrayAttr)):
        return tuple(attribute)
    if isinstance(attribute, ir.ArrayAttr):
        return tuple(decode_attribute(a) for a in attribute)
    if isinstance(attribute, (ir.BoolAttr, ir.IntegerAttr, ir.FloatAttr, ir.StringAttr)):
        return attribute.value
    if isinstance(attribute, ir.UnitAttr):
        return True
    if isinstance(attribute, ir.DenseElementsAttr):
        return ir.constants.to_numpy(attribute).tolist()
    if isinstance(attribute, ir.DictAttr):
        return {a.name: decode_attribute(a.attr) for a in attribute}
    text = str(attribute)
    if match := _ENUM.match(text):
        return match.group(1)
    if match := _CONV.match(text):
        return {
            part: tuple(label.strip() for label in labels.split(","))
            for part, labels in zip(("input", "kernel", "output"), match.groups(), strict=True)
        }
    if text.startswith("#hlo."):
        return {key: _decode_field(value) for key, value in _PAIR.findall(text)}
    return text


def _decode_field(text: str) -> Any:
    if text.startswith("["):
        body = text[1:-1].strip()
        return tuple(int(x) for x in body.split(",")) if body else ()
    return int(text) if text.lstrip("-").isdigit() else text


def tensor_of(value: ir.Value) -> Tensor:
    """Shape and element type of an IR value of ranked, static tensor type."""
    return Tensor(*_shape_and_element(value.type))


def _shape_and_element(kind: ir.Type) -> tuple[tuple[int, ...], ElementType]:
    ranked = ir.RankedTensorType(kind)
    return tuple(ranked.shape), element_type(ir.types.name_of(ranked.element_type))


def region_of(block: ir.Block) -> Region:
    """Reads a block, with the regions in it."""
    return _Reader({}).region(block)


def node_of(operation: ir.Operation, known: dict[ir.Value, Tensor]) -> Node:
    """Reads one op whose operands are in `known`; adds there what it and its regions define."""
    return _Reader(known).node(operation, operation.name)


class _Reader:
    """Reads ops whose operands are in `known`, and adds there what they define.

    Every pass that looks at a whole program reads it so: a type is looked at the first time alone.
    """

    def __init__(self, known: dict[ir.Value, Tensor]) -> None:
        self.known = known
        self.types: dict[ir.Type, tuple[tuple[int, ...], ElementType]] = {}

    def define(self, value: ir.Value, producer: Node | None = None, index: int = 0) -> Tensor:
        kind = value.type
        parts = self.types.get(kind)
        if parts is None:
            parts = self.types[kind] = _shape_and_element(kind)
        tensor = self.known[value] = Tensor(parts[0], parts[1], producer, index)
        return tensor

    def tensors(self, values: Sequence[ir.Value]) -> tuple[Tensor, ...]:
        # The end of an iteration over values is an exception of C++; most ops have few operands.
        known, count = self.known, len(values)
        if count == 1:
            return (known[values[0]],)
        if count == 2:
            return (known[values[0]], known[values[1]])
        return tuple([known[v] for v in values]) if count else ()

    def node(self, operation: ir.Operation, name: str) -> Node:
        node = Node(name.removeprefix("hlo."), self.tensors(operation.operands), operation)
        results = operation.results
        if len(results) == 1:
            node.results = (self.define(results[0], node),)
        else:
            node.results = tuple([self.define(r, node, i) for i, r in enumerate(results)])
        if len(operation.regions):
            node.regions = tuple(
                [self.region(r.blocks[0]) for r in operation.regions if len(r.blocks)]
            )
        return node

    def region(self, block: ir.Block) -> Region:
        region = Region([self.define(argument) for argument in block.arguments])
        for op in block.operations:
            operation = op.operation
            name = operation.name
            if name in _TERMINATORS:
                region.results = [self.known[v] for v in operation.operands]
                break
            region.nodes.append(self.node(operation, name))
        return region


_TERMINATORS = frozenset({"hlo.return", "func.return"})


def is_composite(region: Region) -> bool:
    """Whether a kernel's region consists of members, fusions themselves."""
    return bool(region.nodes) and all(node.name == "fusion" for node in region.nodes)


@contextmanager
def reading(block: ir.Block) -> Generator[Region]:
    """A block's region for the time of a `with`, after which its objects know each other no more.

    Ops and tensors refer to one another: until the next collection of cycles they would keep
    memory, and the operations they were read from.
    """
    region = region_of(block)
    yield region
    _release(region)


def _release(region: Region) -> None:
    for node in region.nodes:
        for inner in node.regions:
            _release(inner)
        for tensor in node.results:
            tensor.producer = None
        node.operands, node.results, node.regions = (), (), ()


def users(nodes: Sequence[Node]) -> dict[Tensor, list[Node]]:
    """The ops that read each tensor, in order."""
    readers: dict[Tensor, list[Node]] = {}
    for node in nodes:
        for operand in dict.fromkeys(node.operands):
            readers.setdefault(operand, []).append(node)
    return readers


def captured(node: Node) -> Iterator[Tensor]:
    """Every tensor a node reads, those that its regions take from around it included."""
    yield from node.operands
    for region in node.regions:
        yield from free_tensors(region)


def free_tensors(region: Region) -> Iterator[Tensor]:
    """What a region reads from around it."""
    defined = set(region.arguments)
    for node in region.nodes:
        for operand in captured(node):
            if operand not in defined:
                yield operand
        defined.update(node.results)
    for result in region.results:
        if result not in defined:
            yield result


def splat_of(node: Node) -> Any | None:
    """The one value that all elements of a constant have; None if they differ."""
    return ir.constants.splat_value(node.source.attributes["value"])
