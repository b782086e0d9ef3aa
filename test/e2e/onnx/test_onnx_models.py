"""Models that PyTorch exported, with the results it recorded (make_models.py)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hlo

DATA = Path(__file__).parent / "data"
NAMES = sorted(path.stem for path in DATA.glob("*.onnx"))


def test_there_are_models() -> None:
    assert NAMES == ["bert", "images", "llama", "recurrent", "residual"]


@pytest.mark.parametrize("name", NAMES)
def test_results_are_those_of_the_exporter(name: str) -> None:
    with np.load(DATA / f"{name}.npz") as recorded:
        arguments = [recorded[f"argument_{i}"] for i in range(len(recorded) - 1)]
        expected = recorded["result"]
    found = hlo.from_onnx(DATA / f"{name}.onnx").compile()(*arguments)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize(("name", "layers"), [("bert", 2), ("llama", 2)])
def test_attention_is_one_kernel_a_layer(name: str, layers: int) -> None:
    compiled = hlo.from_onnx(DATA / f"{name}.onnx").compile()
    kernels = compiled.executable.cost_analysis().kernels
    assert sum(kernel.calls for kernel in kernels if kernel.kind == "attention") == layers
