"""Kernels that call the runtime's libraries: matrix multiplication, sorting, FFT, factorisations."""

from __future__ import annotations

from collections.abc import Callable

from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.loop_kernel import Kernel
from hlo.passes.hlo_to_loops.matrix_multiply import emit_matrix_multiply

# (region, its root) -> the kernel, or None where generated loops are the better or the only way.
LIBRARY_EMITTERS: dict[str, Callable[[Region, Node], Kernel | None]] = {
    "dot_general": emit_matrix_multiply,
}
