"""How long a matrix product takes, by each kind of kernel there is and by the vendor's library.

Rates were measured on Zen 5, one thread (`python benchmarks/product_choice.py`, which writes
docs/benchmark_products.md: what is foretold here beside what is measured).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from hlo.passes.cost.machine import L1, L2, LibraryRates, Machine, ProductLibrary

VECTOR_BYTES = 64
FUSED = 0.5  # cycles of a multiply-add of vectors in registers
# Of a row of a register tile, by its vectors: one loads nearly as much as it multiplies.
_ACROSS = {1: 1.3, 2: 2.1, 3: 3.0, 4: 4.0}
_WIDEST = 3  # vectors of a tile of a wide result
_TILE_ROWS, _TILE_ENDS = 12, 15.0  # rows of a tile; cycles to begin and to store one
_TILES, _PACKED, _VECTORS = 1.05, 1.1, 1.15  # of the cycles of multiply-adds alone
_PACKED_ROWS, _PACKED_TURNED, _PACKED_LEFT = 1.5, 4.0, 2.0  # cycles for a vector that is packed
# Of plain loops, multiply-adds of reals a cycle. By bits and parts of an element; along the depth
# with the depth at which half of the rate is reached, else by where the right operand stays.
_ALONG = {(32, 1): (9.5, 28), (64, 1): (3.2, 4), (32, 2): (14.0, 28), (64, 2): (3.1, 2)}
_ACROSS_ROWS = {
    (32, 1): (17.0, 10.0, 5.0), (64, 1): (9.0, 5.5, 2.5), (32, 2): (17.5, 10.0, 4.5),
    (64, 2): (9.0, 4.8, 1.9),
}  # fmt: skip
_FEW = 8  # columns, at the least, of rows that are computed at that rate
_FEW_COLUMNS, _FEW_OF_TRANSPOSED = 0.3, 0.06  # of it where rows are shorter, or than a vector
# Where both operands walk memory across the depth: of few rows, of complex elements.
_APART, _APART_OF_FEW, _APART_OF_COMPLEX, _FEW_ROWS = 0.6, 2.0, 1.9, 8
_SHORT, _OF_SHORT = 4, 5.5  # steps of the depth that are unrolled; rate of f32 then
_SUMMED = 2.3  # cycles to add up the lanes of a result's products
_SMALL = 1_000_000  # multiply-adds up to which the library packs nothing
_RESULT_ENDS = 6.0  # cycles of it for a result, one after another
_HALF_SMALL = 3  # rows, or columns, with which a small product has half of the library's rate
_HALF_BITS = 512  # the same along the depth: rows that have so many bits together
_HALF_DEPTH = 8  # at which a product of the library has half of its rate


class Way(Enum):
    """The kernels there are for a product, by what computes it."""

    VECTORS = "a matrix walked once with all vectors"
    PACKED = "packed panels"
    TILES = "register tiles"
    LOOPS = "plain loops"


@dataclass(frozen=True)
class Product:
    """A batch of products [rows, depth] x [depth, columns].

    Attributes:
        bits: of an element's part.
        parts: 2 of complex elements.
        left_transposed: whether rows of the left operand lie across memory.
        right_turned: whether columns of the right operand lie along memory.
        bytes: of operands and result.
        a_lane: factors that an instruction multiplies and adds up in a lane.
    """

    batch: int
    rows: int
    columns: int
    depth: int
    bits: int
    parts: int
    left_transposed: bool
    right_turned: bool
    bytes: int
    a_lane: int = 1

    @property
    def multiply_adds(self) -> int:
        """Of reals, in one product of the batch."""
        return self.rows * self.columns * self.depth * self.parts**2

    @property
    def lanes(self) -> int:
        """Elements of a vector."""
        return VECTOR_BYTES * 8 // (self.bits * self.parts)


def generated_cycles(product: Product, way: Way, machine: Machine) -> float:
    """Arithmetic of generated code, on one core."""
    if not product.multiply_adds:
        return 0.0
    if way is Way.VECTORS:
        each = _by_vectors(product)
    elif way is Way.LOOPS:
        each = product.multiply_adds / _loop_rate(product, machine)
    else:
        each = _by_tiles(product, packed=way is Way.PACKED)
    return product.batch * each


def _vectors_across(product: Product) -> float:
    """What a row of tiles costs across the result, in vectors."""
    whole, rest = divmod(-(-product.columns // product.lanes), _WIDEST)
    return whole * _ACROSS[_WIDEST] + (_ACROSS[rest] if rest else 0.0)


def _by_tiles(product: Product, packed: bool) -> float:
    p = product
    across = _vectors_across(p)
    tiles = -(-p.rows // _TILE_ROWS) * -(-p.columns // (_WIDEST * p.lanes))
    multiplied = p.rows * p.depth * across * FUSED / p.a_lane + tiles * _TILE_ENDS
    if not packed:
        return _TILES * multiplied
    each = _PACKED_TURNED if p.right_turned else _PACKED_ROWS
    packing = each * p.depth * p.columns / p.lanes
    if p.left_transposed:
        packing += _PACKED_LEFT * p.rows * p.depth / p.lanes
    return _PACKED * multiplied + packing


def _by_vectors(product: Product) -> float:
    """Either operand is the matrix: the other one has few rows, or one column."""
    p = product
    along = p.right_turned if p.rows < p.columns else not p.left_transposed
    summed = _SUMMED * p.rows * p.columns if along else 0.0
    return summed + _VECTORS * FUSED * p.rows * p.columns * p.depth / p.lanes


def _loop_rate(product: Product, machine: Machine) -> float:
    p = product
    kind = (p.bits, p.parts)
    if p.depth <= _SHORT:
        return _OF_SHORT * 32 / p.bits
    if not p.left_transposed and (p.right_turned or p.columns == 1):
        rate, half = _ALONG[kind]
        return rate * p.depth / (p.depth + half)
    if p.right_turned and p.parts > 1:
        return _APART_OF_COMPLEX
    if p.right_turned:
        return _APART_OF_FEW if p.rows <= _FEW_ROWS else _APART
    # Of a single column neighbours are rows.
    walked = p.rows if p.columns == 1 else p.columns
    level = machine.level_of(walked * p.depth * p.bits * p.parts // 8)
    rate = _ACROSS_ROWS[kind][min(level, L2 + 1) - L1]
    if p.columns == 1:
        return rate
    if p.columns >= max(p.lanes, _FEW):
        return rate
    return rate * (_FEW_OF_TRANSPOSED if p.left_transposed else _FEW_COLUMNS)


def library_cycles(product: Product, library: ProductLibrary) -> float:
    """Arithmetic of the vendor's library, on one core; its calls are not counted."""
    p = product
    if not p.multiply_adds:
        return 0.0
    rates = _rates(p, library)
    if min(p.rows, p.columns) == 1:  # the matrix is read as fast as it can be
        each = p.depth * p.bits * p.parts / 8 / library.streamed
        return p.batch * max(p.rows, p.columns) * max(each, _RESULT_ENDS)
    along = p.right_turned and not p.left_transposed
    small = rates.small_turned if along else rates.small
    deep = min(1.0, p.depth / _HALF_DEPTH)
    if small and p.multiply_adds <= _SMALL:
        if along:
            filled = p.rows / (p.rows + _HALF_BITS / p.bits)
        else:
            filled = p.rows / (p.rows + _HALF_SMALL) * p.columns / (p.columns + _HALF_SMALL)
        return p.batch * p.multiply_adds / (small * filled * deep)
    half = rates.half_turned if p.right_turned else rates.half
    shares = p.rows / (p.rows + half), p.columns / (p.columns + half)
    rate = rates.most * math.prod(shares) * deep * p.depth / (p.depth + _HALF_DEPTH)
    return p.batch * p.multiply_adds / rate


def _rates(product: Product, library: ProductLibrary) -> LibraryRates:
    kinds = {
        (32, 1): library.f32, (64, 1): library.f64, (32, 2): library.c64, (64, 2): library.c128
    }  # fmt: skip
    return kinds[product.bits, product.parts]


def library_cores(product: Product, machine: Machine) -> int:
    """Threads that a call of the library is split over (runtime/blas.cpp)."""
    pieces = product.batch * product.multiply_adds / machine.library.smallest_piece
    if product.batch > 1:
        pieces *= 4  # whole products are handed out in smaller pieces
    return max(1, min(machine.cores, int(pieces)))


def generated_seconds(product: Product, way: Way, machine: Machine, cores: int) -> float:
    """Of a kernel that is the product alone, from launch to return."""
    computing = generated_cycles(product, way, machine) / machine.clock / cores
    return machine.around(cores) + max(computing, moving_seconds(product.bytes, machine, cores))


def library_seconds(product: Product, machine: Machine) -> float:
    """Of a kernel that calls the vendor's library."""
    cores = library_cores(product, machine)
    computing = library_cycles(product, machine.library) / machine.clock
    calls = machine.library.entered + product.batch * machine.library.call
    moving = moving_seconds(product.bytes, machine, cores)
    return machine.around(cores) + max((computing + calls) / cores, moving)


def moving_seconds(amount: int, machine: Machine, cores: int) -> float:
    """Of bytes that were touched by the same kernels before."""
    return machine.seconds_from(machine.level_of(amount), amount, cores)
