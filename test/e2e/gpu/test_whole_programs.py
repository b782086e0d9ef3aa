"""Whole programs on the emulated GPUs, against XLA:CPU; their PTX through the assembler."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import hlo
from hlo.driver.gpu_compile import GpuCompiled
from hlo.driver.run_program import RunOptions, run_program
from hlo.gpu.ptxas import assemble

PROGRAMS = Path(__file__).resolve().parents[4] / "shared" / "programs"
PTX = {"emulate": True}
FIBERS = {"emulate": True, "emulator": "fibers"}
CHIPS = ("sm_80", "sm_90")
ALL = sorted(path.stem for path in PROGRAMS.glob("*.mlir"))


def check(name: str, chip: str, options: dict[str, object]) -> None:
    path = PROGRAMS / f"{name}.mlir"
    wanted = RunOptions(
        str(path), target=f"nvptx:{chip}", specification=path.with_suffix(".json"), check="jax",
        compile_options=options,
    )  # fmt: skip
    report = run_program(name, path.read_bytes(), wanted, hlo.compile)
    assert report.comparisons
    assert report.matches, [c.complaint for c in report.comparisons if not c.matches]


SLOW = ("seed_demo", "mlp_train", "gpt2_decode", "minilm", "gru_train", "gnn_train", "sort_topk",
        "wave2d")  # fmt: skip


@pytest.mark.parametrize(
    "name", ["attention", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]
)
def test_the_interpreter_of_ptx_agrees_with_xla_and_finds_no_race(name: str) -> None:
    check(name, "sm_80", PTX)


@pytest.mark.slow
@pytest.mark.parametrize("schedule", [0, 3, 17])
@pytest.mark.parametrize("name", ["minilm", "resnet50", "gpt2_decode", "mlp_train", "attention"])
def test_fibers_agree_with_xla_in_several_orders(name: str, schedule: int) -> None:
    check(name, "sm_90", {**FIBERS, "schedule": schedule})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert_base", "vit_b16", "gpt2_prefill"])
def test_fibers_agree_with_xla_on_transformers(name: str) -> None:
    check(name, "sm_90", FIBERS)


@pytest.mark.slow
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", ALL)
def test_no_kernel_spills_registers(name: str, chip: str) -> None:
    program = hlo.compile(PROGRAMS / f"{name}.mlir", target=f"nvptx:{chip}")
    assert isinstance(program, GpuCompiled)
    for module in program.plan.modules.values():
        taken = assemble(module.ptx, chip).kernels
        spilled = {name: kernel.spill_store_bytes for name, kernel in taken.items()}
        assert {k: size for k, size in spilled.items() if size} == {}


def block(x: jax.Array, first: jax.Array, second: jax.Array, scale: jax.Array) -> jax.Array:
    """A residual block: convolutions, normalisation over the batch, a shortcut."""

    def convolved(x: jax.Array, w: jax.Array) -> jax.Array:
        return lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    def normalized(x: jax.Array) -> jax.Array:
        mean = x.mean((0, 1, 2))
        variance = ((x - mean) ** 2).mean((0, 1, 2))
        return scale * (x - mean) * lax.rsqrt(variance + 1e-5)

    y = jax.nn.relu(normalized(convolved(x, first)))
    return jax.nn.relu(x + normalized(convolved(y, second)))


@pytest.mark.parametrize("options", [PTX, FIBERS], ids=["ptx", "fibers"])
def test_a_residual_block_and_its_gradients(options: dict[str, object]) -> None:
    rng = np.random.default_rng(0)
    shapes = ((2, 8, 8, 16), (3, 3, 16, 16), (3, 3, 16, 16), (16,))
    arguments = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]

    def loss(*arguments: jax.Array) -> jax.Array:
        return jnp.sum(block(*arguments) ** 2)

    f = jax.jit(jax.value_and_grad(loss, argnums=(0, 1, 2, 3)))
    expected = jax.tree.leaves(f(*arguments))
    text = f.lower(*arguments).as_text()
    found = hlo.compile(text, target="nvptx:sm_80", **options)(*arguments)
    for one, other in zip(found, expected, strict=True):
        largest = np.abs(np.asarray(other)).max()
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5 * largest)
