"""Whether a matrix product is a call of the vendor's library or a generated kernel."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from hlo import knobs
from hlo.passes.cost.machine import HOST, Machine
from hlo.passes.cost.product_times import (
    Product,
    Way,
    generated_cycles,
    generated_seconds,
    library_cycles,
    library_seconds,
    moving_seconds,
)
from hlo.passes.cost.transfers import bytes_of
from hlo.passes.hlo_to_loops.contraction_tiling import depth_of, fits_register_tiles, minor_is_free
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.matrix_multiply import library_operands, matrix_operands
from hlo.passes.hlo_to_loops.matrix_vector_kernel import matrix_vector_of
from hlo.passes.hlo_to_loops.product_blocking import is_transposed_left, packed_units, packs
from hlo.passes.hlo_to_loops.product_factors import word_instruction

_WORD = 32  # bits of a lane
# A dot is asked about by several passes, and layers have the same ones.
_KNOWN: dict[tuple[object, ...], ProductChoice] = {}
_MOST_KNOWN = 4096


@dataclass(frozen=True)
class ProductChoice:
    """Seconds that a product takes, with what else each way makes necessary.

    Attributes:
        way: the generated kernel.
        generated: its time.
        library: that of a call of the vendor's library; infinite where it cannot be called.
    """

    way: Way
    generated: float
    library: float

    @property
    def calls_library(self) -> bool:
        """Whether the library is called."""
        return self.library < self.generated

    @property
    def has_two(self) -> bool:
        """Whether there was something to choose."""
        return math.isfinite(self.library)

    @property
    def reason(self) -> str:
        """Why, for people."""
        generated = f"{self.way.value} take {1e6 * self.generated:.3g} us"
        if not self.has_two:
            return f"{generated}; the library has no such product"
        other = f"{1e6 * self.library:.3g} us"
        if self.calls_library:
            return f"the library takes {other}, less than generated code: {generated}"
        return f"{generated}, no more than the library ({other})"


def product_choice(node: Node, machine: Machine = HOST, beside: int = 0) -> ProductChoice:
    """What both ways cost.

    Args:
        node: a `dot_general`.
        beside: bytes that others read and write because the library takes in nothing: the operand
            that is stored first, the result that is read again.
    """
    vendor = knobs.current().vendor
    shapes = tuple((tensor.shape, tensor.type.name) for tensor in (*node.operands, node.results[0]))
    key = shapes, node.attributes.text, machine, beside, vendor
    known = _KNOWN.get(key)
    if known is None:
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        known = _KNOWN[key] = _computed_choice(node, machine, beside, vendor)
    return known


def _computed_choice(node: Node, machine: Machine, beside: int, vendor: bool) -> ProductChoice:
    product, way = product_of(node), way_of(node)
    alone = generated_seconds(product, way, machine, cores=1)
    units = packed_units(node) if way is Way.PACKED else machine.cores
    cores = min(machine.cores, machine.pieces(alone), units)
    generated = generated_seconds(product, way, machine, cores)
    if not vendor or library_operands(node) is None:
        return ProductChoice(way, generated, math.inf)
    library = library_seconds(product, machine)
    if beside:
        library += machine.launch + moving_seconds(beside, machine, cores)
    return ProductChoice(way, generated, library)


def way_of(node: Node) -> Way:
    """The generated kernel of a dot alone, as `hlo_to_loops.kernels` chooses it."""
    if matrix_vector_of(node) is not None:
        return Way.VECTORS
    if packs(node):
        return Way.PACKED
    return Way.TILES if fits_register_tiles(node) else Way.LOOPS


def product_of(node: Node) -> Product:
    """The shape of a `dot_general`, its dimensions merged."""
    result, depth = node.results[0], depth_of(node)
    numbers = node.attributes["dot_dimension_numbers"]
    batch = math.prod(node.operands[0].shape[d] for d in numbers.get("lhs_batching_dimensions", ()))
    rows = node.operands[0].size // max(1, batch * depth)
    operands = matrix_operands(node)
    part = result.type.part_type
    return Product(
        batch=batch,
        rows=rows,
        columns=result.size // max(1, batch * rows),
        depth=depth,
        bits=max(32, part.bits),
        parts=result.type.parts,
        left_transposed=operands is not None and is_transposed_left(operands[0]),
        right_turned=not minor_is_free(node),
        bytes=sum(map(bytes_of, (*node.operands, result))),
        a_lane=1 if word_instruction(node, depth) is None else _WORD // node.operands[0].type.bits,
    )


def product_cycles(node: Node, way: Way | None = None) -> float:
    """Cycles of one core that a `dot_general` takes.

    Args:
        way: the generated kernel; None for the one that it has if it is alone.
    """
    product = product_of(node)
    if way is None and product_choice(node).calls_library:
        calls = HOST.library.entered + product.batch * HOST.library.call
        return library_cycles(product, HOST.library) + calls * HOST.clock
    return generated_cycles(product, way or way_of(node), HOST)


def library_choices(
    region: Region, is_kernel: bool = False
) -> Iterator[tuple[Node, ProductChoice]]:
    """The dots of a fused block, and of the blocks in it, that could be calls of the library.

    Args:
        is_kernel: whether the block is that of a fusion: a dot among others there is generated.
    """
    dots = [node for node in region.nodes if node.name == "dot_general"]
    for node in region.nodes:
        for inner in node.regions:
            yield from library_choices(inner, node.name == "fusion")
    fused = is_kernel and len(region.nodes) > 1
    for node in dots if len(dots) == 1 or not fused else []:
        choice = product_choice(node, beside=2 * bytes_of(node.results[0]) if fused else 0)
        if choice.has_two and not (fused and choice.calls_library):
            yield node, choice
