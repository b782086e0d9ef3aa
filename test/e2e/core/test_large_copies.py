"""Large arguments that a program may not change are copied by all threads, past the caches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hlo
from hlo import lax

FEW = 8 << 20  # bytes, up to which one thread copies


def updated(x: Any, y: Any, at: Any) -> Any:
    return lax.dynamic_update_slice(x, y, (at,))


@pytest.mark.parametrize(
    ("elements", "dtype", "shared"),
    [
        ((FEW // 4) - 1, np.float32, False),
        ((FEW // 4) + 3, np.float32, True),
        ((16 << 20) + 77, np.uint8, True),  # past the caches, not in whole words
        ((20 << 20) // 8 + 1, np.float64, True),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("moved", [0, 1])
def test_copies_are_whole(
    elements: int, dtype: type, shared: bool, threads: int, moved: int
) -> None:
    x = (np.arange(elements + moved) % 251).astype(dtype)[moved:]
    y, at = np.full(100, 7, dtype), np.int32(elements - 100)
    compiled = hlo.jit(updated, threads=threads).lower(x, y, at).compile()
    expected = x.copy()
    expected[-100:] = 7
    np.testing.assert_array_equal(compiled(x, y, at), expected)
    assert ("@hlo_rt_copy(" in compiled.as_text("llvm")) == shared
