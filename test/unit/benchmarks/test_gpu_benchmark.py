"""benchmarks/gpu.py checks its workloads on the emulated device, and says if a GPU is missing."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "benchmarks" / "gpu.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gpu_benchmark", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["gpu_benchmark"] = module
    spec.loader.exec_module(module)
    return module


def test_workloads_are_right_on_the_emulated_device(
    script: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    names = "softmax,matmul_f16,dense_relu_f16,conv_f32,conv_relu_f16"
    names += ",conv_input_gradient_f16,conv_weight_gradient_f16"
    assert script.main(["--emulate", "--only", names]) == 0
    assert "| matmul_f16 |" in capsys.readouterr().out


def test_unknown_workloads_are_named(
    script: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main(["--only", "what"]) == 2
    assert "unknown workload what" in capsys.readouterr().out


def test_ratios_above_one_mean_that_we_are_faster(script: ModuleType) -> None:
    row = script.Row("w", 1, 0.0, milliseconds={"hlo": 2.0, "jax": 3.0}, flops=4e9)
    # 4e9 flops in 2 ms are 2 TFLOP/s; 3 ms / 2 ms is 1.5.
    assert script.table([row]).splitlines()[-1] == (
        "| w | 0.0e+00 | 1 | 2.0000 | 2.0 TFLOP/s |  | 1.50 |  |  |"
    )


def test_without_a_gpu_it_says_so() -> None:
    run = subprocess.run(
        [sys.executable, str(SCRIPT), "--only", "softmax", "--no-times"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (run.returncode == 2 and "no GPU:" in run.stdout) or "check" in run.stdout
