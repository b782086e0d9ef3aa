"""Cycles of one core that an op takes, whatever kernel it ends up in: vector code, data at hand."""

from __future__ import annotations

import math
import re

from hlo.passes.cost.op_cost import has_wide_window, multiply_adds
from hlo.passes.cost.product_choice import product_cycles, way_of
from hlo.passes.cost.product_times import Way
from hlo.passes.hlo_to_loops.cumulative_kernel import cumulative_dim
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor

VECTOR_BYTES = 64
LEAST_BYTES = 4  # an element takes as much in a register

# Of a vector of 32-bit elements. Measured on Zen 5, 8192 elements from a core's own cache.
SIMPLE = 0.5
_VECTOR = {
    "acos": 20.0,
    "acosh": 35.0,
    "asin": 20.0,
    "asinh": 35.0,
    "atan": 20.0,
    "atan2": 24.0,
    "atanh": 20.0,
    "bessel_i1e": 30.0,
    "cbrt": 25.0,
    "clamp": 1.0,
    "complex": 0.0,
    "cosh": 10.0,
    "cosine": 13.5,
    "digamma": 220.0,
    "divide": 3.0,
    "erf": 7.5,
    "erf_inv": 30.0,
    "erfc": 16.0,
    "exponential": 5.0,
    "exponential_minus_one": 7.0,
    "imag": 0.0,
    "lgamma": 150.0,
    "log": 10.5,
    "log_plus_one": 13.0,
    "logistic": 7.5,
    "polygamma": 600.0,
    "power": 77.0,
    "real": 0.0,
    "remainder": 10.0,
    "rsqrt": 8.0,
    "sine": 13.5,
    "sinh": 10.0,
    "sqrt": 3.5,
    "tan": 24.0,
    "tanh": 7.5,
    "zeta": 600.0,
}
_WIDER = 1.5  # of a function of f64: longer polynomials
_NARROW_CONVERT = 4.0  # to or from floats of 8 and 16 bits
_MOVED = frozenset({"concatenate", "dynamic_slice", "pad", "reverse", "slice", "transpose"})
_FREE = frozenset({"broadcast_in_dim", "constant", "copy", "optimization_barrier", "reshape"})

_FEW_SIDES = 2.5  # flops a cycle of a triangular solution for a few right-hand sides

# One element after another.
_INTEGER_DIVISION = {64: 6.7}  # by bits, for each element
_SHORT_INTEGER_DIVISION = 0.6
GATHERED = 1.2
_SCATTERED = 1.2
_COMPARED = 0.65  # of a sort, in n log2 n
_ROW_END = 16.0  # to add up the lanes of a row's accumulators
_SELECTED = 1.0  # elements of windows, of which select_and_scatter chooses one
_LONG_RUN = 16  # neighbours that a gather or scatter moves as vectors

MULTIPLY_ADDS = 32.0  # f32 a cycle in register tiles
_TILE_OVERHEAD = 1.1  # packing, and the ends of tiles
_WIDE_WINDOW = 0.6  # of that rate, where a window is larger than the result: gradients of kernels
_NARROW = 0.5  # of that rate, where a row of the result is shorter than a vector
_FFT_FLOPS = 10.0  # a cycle
# Flops of LAPACK's routines on n x n matrices in n^3 (LAPACK Working Note 41), and flops a cycle.
_LAPACK = re.compile(r"^lapack_([sdcz])([a-z0-9]+)_ffi$")
_ROUTINES = {
    "gees": (25.0, 1.0),
    "geev": (25.0, 1.0),
    "geqrf": (1.33, 8.0),
    "gesdd": (22.0, 2.0),
    "gesvd": (22.0, 2.0),
    "getrf": (0.67, 21.0),
    "heevd": (9.0, 3.0),
    "hetrd": (1.33, 3.0),
    "orgqr": (1.33, 8.0),
    "ormqr": (2.0, 8.0),
    "potrf": (0.33, 21.0),
    "syevd": (9.0, 3.0),
    "sytrd": (1.33, 3.0),
    "trsm": (1.0, 30.0),
    "ungqr": (1.33, 8.0),
    "unmqr": (2.0, 8.0),
}


def cycles(node: Node) -> float:
    """Cycles of one core, of a kernel's op or of one that is a kernel of its own."""
    if node.name == "fusion":
        return region_cycles(node.regions[0])
    if not node.results or node.name in _FREE:
        return 0.0
    if node.name == "dot_general":
        return product_cycles(node)
    if node.name == "convolution":
        return _convolution_cycles(node)
    if node.name in ("reduce", "reduce_window", "select_and_scatter"):
        return _fold_cycles(node)
    if node.name in ("gather", "scatter"):
        return _picking_cycles(node)
    result = node.results[0]
    if node.name == "sort":
        length = max(node.operands[0].shape[node.attributes["dimension"]], 2)
        return _COMPARED * len(node.results) * result.size * math.log2(length)
    if node.name == "fft":
        length = max(math.prod(node.attributes["fft_length"]), 2)
        numbers = min(result.size, node.operands[0].size)  # complex ones: half as many as real ones
        return 5 * numbers * math.log2(length) / _FFT_FLOPS
    if node.name == "custom_call":
        return _library_cycles(node)
    if node.name == "dynamic_update_slice":
        return vectors(node.operands[1]) * SIMPLE
    return elementwise_cycles(node)


def region_cycles(region: Region) -> float:
    """Cycles of one core of what a kernel holds; counted once."""
    key = "cycles"
    if key not in region.known:
        region.known[key] = _counted_cycles(region)
    return region.known[key]


def _counted_cycles(region: Region) -> float:
    inside = region.nodes
    if len(inside) == 1:
        return cycles(inside[0])
    dots = [n for n in inside if n.name == "dot_general"]
    # Those of an attention are in its register tiles.
    multiplying = sum(product_cycles(n, Way.TILES if len(dots) > 1 else way_of(n)) for n in dots)
    return multiplying + sum(cycles(n) for n in inside if n.name != "dot_general")


def elementwise_cycles(node: Node) -> float:
    """Cycles of an op that makes each element of its result from one of each operand."""
    result = node.results[0]
    if node.name in ("divide", "remainder") and not (
        result.type.is_float or result.type.is_complex
    ):
        return _INTEGER_DIVISION.get(result.type.bits, _SHORT_INTEGER_DIVISION) * result.size
    return _vector_cycles(node) * max([vectors(result), *(vectors(o) for o in _wide(node))])


def vectors(tensor: Tensor) -> float:
    """Vectors that a tensor's elements fill in registers."""
    width = max(tensor.type.part_type.bits // 8, LEAST_BYTES)
    return tensor.size * tensor.type.parts * width / VECTOR_BYTES


def _wide(node: Node) -> tuple[Tensor, ...]:
    """Operands of an elementwise op as wide as its result: a comparison of f64 is one of f64."""
    return tuple(o for o in node.operands if o.size == node.results[0].size)


def _vector_cycles(node: Node) -> float:
    if node.name == "convert":
        types = (node.results[0].type, node.operands[0].type)
        narrow = any(t.is_float and t.bits < 32 for t in types)
        return _NARROW_CONVERT if narrow else SIMPLE
    if node.name in _MOVED:
        return SIMPLE
    each = _VECTOR.get(node.name, SIMPLE)
    result = node.results[0].type
    if result.is_complex and node.name in ("multiply", "divide"):
        return 3 * each
    return each * (_WIDER if result.part_type.bits == 64 and each > SIMPLE else 1.0)


def _convolution_cycles(node: Node) -> float:
    """Lanes beyond its last columns are idle."""
    kind = node.operands[0].type
    result = node.results[0]
    lanes = VECTOR_BYTES // max(kind.part_type.bits // 8, LEAST_BYTES)
    last = result.shape[-1] if result.shape and result.shape[-1] > 1 else lanes
    used = last / (-(-last // lanes) * lanes) * (_NARROW if last < lanes else 1.0)
    rate = MULTIPLY_ADDS * LEAST_BYTES / max(kind.part_type.bits // 8, LEAST_BYTES)
    if has_wide_window(node):
        rate *= _WIDE_WINDOW
    times = 4 if kind.is_complex else 1
    return times * multiply_adds(node) / (rate * max(used, 0.1)) * _TILE_OVERHEAD


def _fold_cycles(node: Node) -> float:
    operand = node.operands[0]
    folded = operand.size
    if node.name == "select_and_scatter":
        window = math.prod(node.attributes.get("window_dimensions") or ())
        return _SELECTED * node.operands[1].size * window
    if node.name == "reduce_window" and cumulative_dim(node) is None:
        folded = node.results[0].size * math.prod(node.attributes["window_dimensions"])
    each = sum(_body_cycles(region) for region in node.regions)
    rows = 0
    if node.name == "reduce":
        wide = [d for d, size in enumerate(operand.shape) if size != 1]
        rows = node.results[0].size if wide and wide[-1] in node.attributes["dimensions"] else 0
    return each * folded / max(operand.size, 1) * vectors(operand) + _ROW_END * rows


def _library_cycles(node: Node) -> float:
    """A LAPACK routine's; other library calls are not known, and count nothing."""
    found = _LAPACK.match(str(node.attributes.get("call_target_name", "")))
    if found is None or found[2] not in _ROUTINES or node.operands[0].rank < 2:
        return 0.0
    matrix = node.operands[0]
    flops, rate = _ROUTINES[found[2]]
    *batch, rows, columns = matrix.shape
    size = math.prod(batch) * rows * columns * min(rows, columns)
    if found[2] == "trsm":
        sides = node.operands[1].size // max(math.prod(batch) * rows, 1)
        size = matrix.size * sides
        rate = rate if sides >= _LONG_RUN else _FEW_SIDES
    wide = {"s": 1, "d": 2, "c": 4, "z": 8}[found[1]]
    return flops * size * wide / rate


def _body_cycles(region: Region) -> float:
    """Of a reducer's body, for each vector it is applied to: its tensors are scalars."""
    return sum(_vector_cycles(n) for n in region.nodes if n.results and n.name not in _FREE)


def _picking_cycles(node: Node) -> float:
    """A gather's or a scatter's: element by element, or in runs of neighbours."""
    moved = node.results[0] if node.name == "gather" else node.operands[-1]
    operand = node.operands[0]
    if node.name == "gather":
        run = node.attributes["slice_sizes"][-1] if operand.rank else 1
        return moved.size * GATHERED if run < _LONG_RUN else vectors(moved) * SIMPLE
    windows = node.attributes["scatter_dimension_numbers"].get("update_window_dims", ())
    run = moved.shape[-1] if windows and windows[-1] == moved.rank - 1 else 1
    count = len(node.results)
    if run < _LONG_RUN:
        return moved.size * _SCATTERED * count
    return vectors(moved) * 2 * SIMPLE * count
