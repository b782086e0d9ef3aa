"""What ptxas says of products by warpgroups on sm_90a, and which are chosen; a part of gpu_figures.

python benchmarks/warpgroup_figures.py

Nothing runs. Cycles are the estimates that choose between kernels.
"""

from __future__ import annotations

from dataclasses import dataclass

import hlo
from hlo.driver.gpu_compile import GpuCompiled
from hlo.gpu.ptxas import assemble

CHIP = "sm_90a"
HEADING = """
## Products on sm_90a
Written by `python benchmarks/warpgroup_figures.py`: both operands along the depth. Registers,
spills and warnings (of products that ptxas would make wait for each other) are those that ptxas
reports; shared memory is what the launch asks for.

| product | type | kernel | registers | spills | shared | warnings |
|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Product:
    """Extents and element types of a dot."""

    rows: int
    columns: int
    depth: int
    kind: str
    result: str


PRODUCTS = (
    Product(8192, 8192, 8192, "bf16", "bf16"),
    Product(4096, 4096, 4096, "f16", "f32"),
    Product(4096, 4096, 4096, "f32", "f32"),
    Product(4096, 4096, 4096, "i8", "i32"),
    Product(4096, 4096, 4096, "f8E4M3FN", "f32"),
    Product(1024, 1024, 1024, "bf16", "bf16"),
    Product(512, 512, 512, "bf16", "bf16"),
    Product(128, 4096, 4096, "bf16", "bf16"),
    Product(4096, 4096, 64, "bf16", "bf16"),
    Product(256, 256, 64, "bf16", "bf16"),
    Product(32, 4096, 4096, "bf16", "bf16"),
)


def row_of(product: Product) -> str:
    """A line of the table."""
    left = f"tensor<{product.rows}x{product.depth}x{product.kind}>"
    right = f"tensor<{product.columns}x{product.depth}x{product.kind}>"
    result = f"tensor<{product.rows}x{product.columns}x{product.result}>"
    numbers = "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]"
    text = (
        f"func.func @main(%a: {left}, %b: {right}) -> {result} {{\n"
        f'  %0 = "hlo.dot_general"(%a, %b) {{dot_dimension_numbers = #hlo.dot<{numbers}>}} : '
        f"({left}, {right}) -> {result}\n  return %0 : {result}\n}}\n"
    )
    program = hlo.compile(text, target=f"nvptx:{CHIP}", vendor=False, tf32=True)
    assert isinstance(program, GpuCompiled)
    (kernel,) = program.kernels.values()
    assembly = assemble(program.as_text("ptx"), CHIP)
    (taken,) = assembly.kernels.values()
    shared = taken.shared_bytes + kernel.stages[0].dynamic_bytes
    extents = f"{product.rows} x {product.columns} x {product.depth}"
    spilled = taken.spill_store_bytes + taken.spill_load_bytes
    return (
        f"| {extents} | {product.kind} to {product.result} | {kernel.reason} | {taken.registers} | "
        f"{spilled or 'none'} | {shared} | {len(assembly.warnings) or 'none'} |"
    )


def section() -> str:
    """The part of docs/gpu_figures.md."""
    return HEADING + "\n".join(map(row_of, PRODUCTS)) + "\n"


if __name__ == "__main__":
    print(section())
