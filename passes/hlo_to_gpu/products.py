"""Which kernel a dot or convolution gets: by warpgroups on sm_90a, by warps, or by threads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hlo.gpu.tensor_map import ELEMENT_BYTES, SWIZZLE_BYTES
from hlo.passes.hlo_to_gpu.contraction_space import ContractionSpace
from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel
from hlo.passes.hlo_to_gpu.matrix_tiles import (
    EIGHT_BIT_FLOATS,
    MatrixTiles,
    matrix_tiles,
    multiplier_of,
)
from hlo.passes.hlo_to_gpu.operand_maps import MappedOperand, mapped_operand
from hlo.passes.hlo_to_gpu.target import GpuTarget
from hlo.passes.hlo_to_gpu.warpgroup_builder import DEPTH_BYTES, WarpgroupMultiply
from hlo.passes.hlo_to_gpu.warpgroup_shapes import (
    Problem,
    WarpgroupShape,
    best_shape,
    cycles,
    warp_cycles,
)
from hlo.passes.hlo_to_gpu.warpgroup_tiles import WarpgroupProduct, emit_warpgroup_tiles
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor

# Of the multipliers of warps: the element type of tensor maps, and that of the instruction.
_WARPGROUP = {
    "f16": ("f16", "f16"),
    "bf16": ("bf16", "bf16"),
    "tf32": ("tf32", "tf32"),
    "s8": ("u8", "s8"),
    "u8": ("u8", "u8"),
}
_MEMORY = {"f16": "f16", "bf16": "bf16", "tf32": "f32", "s8": "i8", "u8": "ui8"}


def emit_product(region: Region, *, tf32: bool, target: GpuTarget | None) -> GpuKernel | None:
    """The kernel of a dot or convolution and elementwise ops after it; None if it is small.

    Args:
        tf32: as of `multiplier_of`.
        target: the chip; if None, one that all have.
    """
    native = target is not None and target.has_byte_float_products
    tiles = matrix_tiles(region, tf32, native)
    if tiles is None:
        return None
    if target is None or not target.has_warpgroup_products:
        return tiles.emit()
    inputs = tiles.inputs
    found = _warpgroup_product(tiles, inputs, tf32, target)
    if isinstance(found, str):
        return replace(tiles.emit(), reason=f"products by warps or threads, since {found}")
    ours, theirs = _estimates(found, tiles)
    reason = (
        f"products by warpgroups, {found.shape.name} tiles in {found.shape.stages} stages: about "
        f"{ours:.0f} cycles, by warps {theirs:.0f}"
    )
    return replace(emit_warpgroup_tiles(region, found), reason=reason)


def _warpgroup_product(
    tiles: MatrixTiles, inputs: Mapping[Tensor, Buffer], tf32: bool, target: GpuTarget
) -> WarpgroupProduct | str:
    """The product by warpgroups, or why there is none or a slower one."""
    node, space = tiles.node, tiles.space
    if node.name != "dot_general":
        return "the windows of a convolution are fetched an element at a time"
    named = _names(node, tf32)
    if named is None:
        return "warpgroups do not multiply its types"
    element, names, total = named
    mapped: list[MappedOperand] = []
    for left in (True, False):
        operand = mapped_operand(space, left, inputs, element)
        if isinstance(operand, str):
            return f"its {'left' if left else 'right'} operand {operand}"
        if not operand.along_depth and ELEMENT_BYTES[element] != 2:
            return f"its {'left' if left else 'right'} operand is not contiguous along the depth"
        mapped.append(operand)
    made = _product(space, mapped, element, names, total, target)
    ours, theirs = _estimates(made, tiles)
    if ours >= theirs:
        return f"warpgroups would take about {ours:.0f} cycles, warps {theirs:.0f}"
    return made


def _names(node: Node, tf32: bool) -> tuple[str, tuple[str, str], str] | None:
    """(element type of maps, those of factors, type of a sum) of what warpgroups multiply."""
    kinds = [operand.type.name for operand in node.operands]
    name = multiplier_of(node, tf32)
    if name == "f16" and all(kind in EIGHT_BIT_FLOATS for kind in kinds):
        left, right = (EIGHT_BIT_FLOATS[kind] for kind in kinds)
        return "u8", (left, right), "f32"
    if name not in _WARPGROUP or any(kind != _MEMORY[name] for kind in kinds):
        return None
    element, factor = _WARPGROUP[name]
    return element, (factor, factor), "i32" if element == "u8" else "f32"


def _product(
    space: ContractionSpace, mapped: list[MappedOperand], element: str, names: tuple[str, str],
    total: str, target: GpuTarget,
) -> WarpgroupProduct:  # fmt: skip
    width = ELEMENT_BYTES[element]
    promoted = names[0] in EIGHT_BIT_FLOATS.values()
    problem = Problem(space.batches, space.rows, space.columns, space.depth, width, promoted)
    shape: WarpgroupShape = best_shape(problem, target.largest_shared_bytes)
    turned = (not mapped[0].along_depth, not mapped[1].along_depth)
    how = WarpgroupMultiply(*names, shape.columns, DEPTH_BYTES // width, total, turned)
    return WarpgroupProduct(space, (mapped[0], mapped[1]), shape, how, promoted)


def _estimates(product: WarpgroupProduct, tiles: MatrixTiles) -> tuple[float, float]:
    """Cycles by warpgroups, and by warps, which multiply 8-bit floats as f16."""
    problem = _problem(product)
    by_warps = replace(problem, width=2) if product.promoted else problem
    return cycles(problem, product.shape), warp_cycles(by_warps, tiles.shape)


def _problem(product: WarpgroupProduct) -> Problem:
    space = product.space
    width = SWIZZLE_BYTES // product.step
    return Problem(space.batches, space.rows, space.columns, space.depth, width, product.promoted)
