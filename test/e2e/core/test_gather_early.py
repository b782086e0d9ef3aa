"""The loss of a classifier keeps no logits for its labels' sake."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlo

ROWS, CLASSES = 64, 1024


def loss(w: Any, x: Any, labels: Any) -> Any:
    scores = jax.nn.log_softmax(x @ w)
    return -jnp.take_along_axis(scores, labels[:, None], axis=1).mean()


@pytest.mark.parametrize("labels", [[0, 1023, 5], [-1, 1024, 3]])
def test_logits_are_not_kept_for_a_few_of_them(labels: list[int]) -> None:
    """Labels out of range give NaN, as in jax; negative ones count from the end."""
    source = np.random.default_rng(0)
    w = source.standard_normal((32, CLASSES)).astype(np.float32)
    x = source.standard_normal((ROWS, 32)).astype(np.float32)
    at = np.resize(np.array(labels, np.int32), ROWS)
    step = jax.value_and_grad(loss)
    compiled = hlo.compile(hlo.from_jax(step, w, x, at))
    memory = compiled.memory_analysis()
    logits = ROWS * CLASSES * 4
    # The softmax in the logits' memory, and its gradient's one-hot: not three of that size.
    assert 2 * logits <= memory.arena_bytes < 2.2 * logits
    for want, got in zip(jax.jit(step)(w, x, at), compiled(w, x, at), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-6)
