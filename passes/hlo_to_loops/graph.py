"""What a kernel computes, as plain Python objects: the ops of a region read once out of the IR."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from hlo import ir
from hlo.passes.hlo_to_loops.element_types import ElementType, element_type

CONTROL_FLOW = frozenset({"while", "if", "case"})


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


class Attributes(dict[str, Any]):
    """Attributes of ops, of all that were read together and have the same; nobody changes them."""

    @functools.cached_property
    def text(self) -> str:
        """Equal for equal attributes."""
        return repr(sorted(self.items()))


@dataclass(eq=False)
class Node:
    """An op: its name without the dialect prefix, operands, results, attributes and regions.

    Attributes:
        memo: what the reader knows of attributes of nodes that it read together.
        splat: what a constant repeats, if that is not what its source says.
    """

    name: str
    operands: tuple[Tensor, ...]
    source: ir.Operation
    results: tuple[Tensor, ...] = ()
    regions: tuple[Region, ...] = ()
    memo: dict[int, Any] = field(default_factory=dict[int, Any], repr=False)
    splat: Any | None = None

    @functools.cached_property
    def attributes(self) -> Attributes:
        """Attributes as Python values: ints, floats, bools, strings, tuples, dicts of those."""
        return _READER.attributes_of(self)

    @property
    def elements(self) -> str:
        """The elements of a constant, as MLIR writes them."""
        return _READER.elements_of(self)

    @property
    def location(self) -> str:
        return str(self.source.location)


@dataclass(eq=False)
class Region:
    """A block: its arguments, its ops in order, and the operands of its terminator.

    Nobody changes it once it is built: what is asked of nested regions is found once.
    """

    arguments: list[Tensor] = field(default_factory=list["Tensor"])
    nodes: list[Node] = field(default_factory=list[Node])
    results: list[Tensor] = field(default_factory=list["Tensor"])

    @functools.cached_property
    def free(self) -> tuple[Tensor, ...]:
        """What it reads from around it, each tensor once."""
        inside = [self]  # outer ones first; the inner ones' are found first, without recursion
        for region in inside:
            inside += [r for node in region.nodes for r in node.regions if "free" not in vars(r)]
        for region in reversed(inside[1:]):
            _ = region.free
        defined = set(self.arguments)
        found: dict[Tensor, None] = {}
        for node in self.nodes:
            found.update(dict.fromkeys(t for t in captured(node) if t not in defined))
            defined.update(node.results)
        found.update(dict.fromkeys(t for t in self.results if t not in defined))
        return tuple(found)

    @functools.cached_property
    def known(self) -> dict[str, Any]:
        """What passes note about it."""
        return {}


_PAIR = re.compile(r"(\w+) = (\[[^\]]*\]|[\w.]+)")
_CONV = re.compile(r"^#hlo\.conv<\[(.*?)\]x\[(.*?)\]->\[(.*?)\]>$")


def decode_attribute(attribute: ir.Attribute) -> Any:
    """An attribute as a plain Python value; hlo's structured attributes become dicts."""
    return _READER.decode(attribute)


def _decode_rare(attribute: Any) -> Any:
    """What the native reader leaves: the dialect's own attributes, constants, dictionaries."""
    if (word := ir.attributes.enum_value(attribute)) is not None:
        return word
    if isinstance(attribute, ir.DenseElementsAttr):
        return ir.constants.to_numpy(attribute).tolist()
    if isinstance(attribute, ir.IntegerAttr):
        return attribute.value
    if isinstance(attribute, ir.DictAttr):
        return {a.name: decode_attribute(a.attr) for a in attribute}
    return _decode_text(str(attribute))


@functools.lru_cache(maxsize=4096)
def _decode_text(text: str) -> Any:
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


def _shape_and_element(kind: ir.Type) -> tuple[tuple[int, ...], ElementType]:
    ranked = ir.RankedTensorType(kind)
    return tuple(ranked.shape), element_type(ir.types.name_of(ranked.element_type))


_READER = ir.GraphReader(Tensor, Node, Region, Attributes, _shape_and_element, _decode_rare)


def region_of(block: ir.Block) -> Region:
    """Reads a block, with the regions in it.

    Raises:
        KeyError: the block reads a value from around it.
    """
    return _READER.read_block(block)


def node_of(operation: ir.Operation) -> Node:
    """Reads one op; what it and its regions read from outside are tensors without producers."""
    return _READER.read_operation(operation)


def blocks_in(region: Region) -> Iterator[Region]:
    """A block and those of the loops and branches in it, outer ones first, in order."""
    pending = [region]
    while pending:
        block = pending.pop()
        yield block
        inner = [r for node in block.nodes if node.name in CONTROL_FLOW for r in node.regions]
        pending += reversed(inner)


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
    _READER.release(region)


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
        yield from region.free


def splat_of(node: Node) -> Any | None:
    """The one value that all elements of a constant have; None if they differ."""
    if node.splat is not None:
        return node.splat
    return ir.constants.splat_value(node.source.attributes["value"])


def monoid_of(region: Region) -> str | None:
    """The op of a reducer that is one op of its two arguments, such as `add`; else None."""
    if len(region.nodes) != 1 or len(region.arguments) != 2 or len(region.results) != 1:
        return None
    node = region.nodes[0]
    if set(node.operands) != set(region.arguments) or region.results[0] is not node.results[0]:
        return None
    return node.name
