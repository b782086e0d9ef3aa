"""How matrices that stay in a core's own cache, and larger ones, are read for a few vectors."""

from __future__ import annotations

import pytest
from kernel_regions import region

from hlo.passes.cost import caches
from hlo.passes.hlo_to_loops.matrix_vector_kernel import emit_matrix_vector


def _fetches(rows: int) -> int:
    """Lines that a step asks for ahead, of a matrix of so many rows of 4 KiB."""
    types = f"tensor<1x1024xf32>, tensor<{rows}x1024xf32>"
    kernel = emit_matrix_vector(
        region(
            f"func.func @main(%a: tensor<1x1024xf32>, %b: tensor<{rows}x1024xf32>) "
            f"-> tensor<1x{rows}xf32> {{\n%0 = hlo.dot_general %a, %b, contracting_dims = [1] x "
            f"[1] : ({types}) -> tensor<1x{rows}xf32>\nreturn %0 : tensor<1x{rows}xf32> }}"
        )
    )
    assert kernel is not None
    return kernel.text.count("memref.prefetch")


@pytest.mark.parametrize(
    ("processor", "rows", "fetched"),
    [
        ("znver5", 256, 0),
        ("znver5", 320, 4),
        ("emeraldrapids", 320, 0),
        ("graniterapids-d", 512, 0),
        ("sapphirerapids", 576, 4),
    ],
)
def test_what_leaves_the_cache_of_a_core_is_asked_for_ahead(
    monkeypatch: pytest.MonkeyPatch, processor: str, rows: int, fetched: int
) -> None:
    monkeypatch.setattr(caches.runtime, "host_cpu", lambda: processor)
    assert _fetches(rows) == fetched
