"""Random programs keep every bit of their results, at values where identities of floats fail."""

from __future__ import annotations

import numpy as np
import pytest
from random_graphs import RandomGraph
from simplify_cases import assert_same


@pytest.mark.parametrize("seed", range(150))
def test_random_program_is_unchanged(seed: int) -> None:
    graph = RandomGraph(seed, 30)
    rng = np.random.default_rng(seed + 1000)
    special = np.asarray([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-44, -1.5, 3.0, 2.5], np.float32)
    arguments = [
        special[rng.integers(0, len(special), shape)]
        if element == "f32"
        else rng.integers(-4, 5, shape).astype(np.int32)
        for shape, element in graph.arguments
    ]
    assert_same(graph.text(), *(np.asarray(x) for x in arguments))
