"""Broken code is caught: a barrier removed, a bounds check skipped, a shuffle misdirected."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import nn

import hlo
from hlo.driver.gpu_compile import GpuCompiled
from hlo.gpu.emulated_device import EmulatedDevice, EmulationError
from hlo.gpu.plan import LaunchPlan
from hlo.gpu.plan_program import PlanProgram
from hlo.importers.program import load_program
from hlo.reference.evaluate import evaluate

SCHEDULES = (0, 1, 2, 3)
SUM = """
func.func @main(%x: tensor<20000xf32>) -> tensor<f32> {
  %zero = "hlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %s = "hlo.reduce"(%x, %zero) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %r = "hlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "hlo.return"(%r) : (tensor<f32>) -> ()
  }) {dimensions = array<i64: 0>} : (tensor<20000xf32>, tensor<f32>) -> tensor<f32>
  return %s : tensor<f32>
}
"""
DOT = """
func.func @main(%x: tensor<64x96xTYPE>, %y: tensor<96x64xTYPE>) -> tensor<64x64xTYPE> {
  %0 = "hlo.dot_general"(%x, %y) {dot_dimension_numbers = #hlo.dot<
      lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}
    : (tensor<64x96xTYPE>, tensor<96x64xTYPE>) -> tensor<64x64xTYPE>
  return %0 : tensor<64x64xTYPE>
}
"""
TRANSPOSE = """
func.func @main(%x: tensor<20x33xf32>) -> tensor<33x20xf32> {
  %0 = "hlo.transpose"(%x) {permutation = array<i64: 1, 0>}
    : (tensor<20x33xf32>) -> tensor<33x20xf32>
  return %0 : tensor<33x20xf32>
}
"""
# 200 elements: merges of up to 64 within warps, then of 128 and 256.
SORT = """
func.func @main(%x: tensor<200xf32>) -> tensor<200xf32> {
  %y = "hlo.sort"(%x) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %r = "hlo.compare"(%a, %b) {comparison_direction = #hlo<comparison_direction LT>}
        : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "hlo.return"(%r) : (tensor<i1>) -> ()
  }) {dimension = 0 : i64} : (tensor<200xf32>) -> tensor<200xf32>
  return %y : tensor<200xf32>
}
"""
GELU = """
func.func @main(%x: tensor<1000xf32>) -> tensor<1000xf32> {
  %t = "hlo.tanh"(%x) : (tensor<1000xf32>) -> tensor<1000xf32>
  %y = "hlo.multiply"(%x, %t) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
  return %y : tensor<1000xf32>
}
"""
# Four blocks, of which the last one adds up what all of them store.
LAST_STEP = """
func.func @main(%x: tensor<1000xf32>) -> (tensor<1000xf32>, tensor<f32>) {
  %zero = "hlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %t = "hlo.tanh"(%x) : (tensor<1000xf32>) -> tensor<1000xf32>
  %y = "hlo.multiply"(%x, %t) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
  %s = "hlo.reduce"(%y, %zero) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %r = "hlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "hlo.return"(%r) : (tensor<f32>) -> ()
  }) {dimensions = array<i64: 0>} : (tensor<1000xf32>, tensor<f32>) -> tensor<f32>
  return %y, %s : tensor<1000xf32>, tensor<f32>
}
"""
# ROWS queries of 16, 40 keys: a tile and a part of another one.
ATTENTION = """
func.func @main(%q: tensor<ROWSx16xTYPE>, %k: tensor<40x16xTYPE>, %v: tensor<40x16xTYPE>)
    -> tensor<ROWSx16xTYPE> {
  %low = "hlo.constant"() {value = dense<LOW> : tensor<TYPE>} : () -> tensor<TYPE>
  %zero = "hlo.constant"() {value = dense<0.0> : tensor<TYPE>} : () -> tensor<TYPE>
  %s = "hlo.dot_general"(%q, %k) {dot_dimension_numbers = #hlo.dot<
      lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}
    : (tensor<ROWSx16xTYPE>, tensor<40x16xTYPE>) -> tensor<ROWSx40xTYPE>
  %m = "hlo.reduce"(%s, %low) ({
    ^bb0(%a: tensor<TYPE>, %b: tensor<TYPE>):
      %r = "hlo.maximum"(%a, %b) : (tensor<TYPE>, tensor<TYPE>) -> tensor<TYPE>
      "hlo.return"(%r) : (tensor<TYPE>) -> ()
  }) {dimensions = array<i64: 1>} : (tensor<ROWSx40xTYPE>, tensor<TYPE>) -> tensor<ROWSxTYPE>
  %mb = "hlo.broadcast_in_dim"(%m) {broadcast_dimensions = array<i64: 0>}
    : (tensor<ROWSxTYPE>) -> tensor<ROWSx40xTYPE>
  %d = "hlo.subtract"(%s, %mb)
    : (tensor<ROWSx40xTYPE>, tensor<ROWSx40xTYPE>) -> tensor<ROWSx40xTYPE>
  %e = "hlo.exponential"(%d) : (tensor<ROWSx40xTYPE>) -> tensor<ROWSx40xTYPE>
  %t = "hlo.reduce"(%e, %zero) ({
    ^bb0(%a: tensor<TYPE>, %b: tensor<TYPE>):
      %r = "hlo.add"(%a, %b) : (tensor<TYPE>, tensor<TYPE>) -> tensor<TYPE>
      "hlo.return"(%r) : (tensor<TYPE>) -> ()
  }) {dimensions = array<i64: 1>} : (tensor<ROWSx40xTYPE>, tensor<TYPE>) -> tensor<ROWSxTYPE>
  %tb = "hlo.broadcast_in_dim"(%t) {broadcast_dimensions = array<i64: 0>}
    : (tensor<ROWSxTYPE>) -> tensor<ROWSx40xTYPE>
  %p = "hlo.divide"(%e, %tb)
    : (tensor<ROWSx40xTYPE>, tensor<ROWSx40xTYPE>) -> tensor<ROWSx40xTYPE>
  %0 = "hlo.dot_general"(%p, %v) {dot_dimension_numbers = #hlo.dot<
      lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}
    : (tensor<ROWSx40xTYPE>, tensor<40x16xTYPE>) -> tensor<ROWSx16xTYPE>
  return %0 : tensor<ROWSx16xTYPE>
}
"""


def attention(rows: int, kind: str, low: str) -> str:
    return ATTENTION.replace("ROWS", str(rows)).replace("TYPE", kind).replace("LOW", low)


def gradients(rows: int, kind: Any) -> str:
    """The backward pass of an attention of 40 keys: tiles of 32 and 8, and as many of rows."""

    def loss(q: Any, k: Any, v: Any) -> Any:
        out = nn.softmax(q @ k.T) @ v
        return jnp.sin(out.astype(jnp.float32)).sum()

    sizes = (rows, 40, 40)
    arguments = [np.zeros((size, 16), kind) for size in sizes]
    return str(hlo.from_jax(jax.grad(loss, argnums=(0, 1, 2)), *arguments))


def hidden_nan() -> str:
    """An attention of 16 rows and two tiles of keys; a value of the hidden one is NaN."""

    def attend(q: Any, k: Any, v: Any) -> Any:
        scores = jnp.where(jnp.tril(jnp.ones((16, 64), bool)), q @ k.T, -jnp.inf)
        return nn.softmax(scores) @ v.at[63, 3].set(jnp.nan)

    return str(hlo.from_jax(attend, *(np.zeros((size, 16), np.float32) for size in (16, 64, 64))))


PROGRAMS = {
    "hidden_nan": hidden_nan(),
    "gradients": gradients(40, np.float32),
    "gradients_f16": gradients(40, np.float16),
    "attention": attention(24, "f32", "0xFF800000"),
    "attention_f16": attention(24, "f16", "0xFC00").replace("40", "80"),
    "decode": attention(2, "f32", "0xFF800000"),
    "sum": SUM,
    "dot": DOT.replace("TYPE", "f32"),
    "dot_f16": DOT.replace("TYPE", "f16"),
    "transpose": TRANSPOSE,
    "large_transpose": TRANSPOSE.replace("20", "72").replace("33", "60"),
    "gelu": GELU,
    "sort": SORT,
    "last_step": LAST_STEP,
}


def plan_of(text: str) -> LaunchPlan:
    program = hlo.compile(text, target="nvptx:sm_80")
    assert isinstance(program, GpuCompiled)
    return program.plan


def arguments_of(plan: LaunchPlan) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    return [
        rng.standard_normal(kind.shape).astype({"f32": np.float32, "f16": np.float16}[kind.element])
        for kind in plan.arguments
    ]


def with_code(plan: LaunchPlan, module: str, ptx: str) -> LaunchPlan:
    return replace(plan, modules={**plan.modules, module: replace(plan.modules[module], ptx=ptx)})


def is_caught(text: str, plan: LaunchPlan, runs: int = 1) -> bool:
    arguments = arguments_of(plan)
    expected = evaluate(load_program(text), arguments)
    for schedule in SCHEDULES:
        device = EmulatedDevice(schedule, instruction_limit=50_000_000)
        try:
            program = PlanProgram(plan, device)
            found = [program(*arguments) for _ in range(runs)][-1]
        except EmulationError:
            return True
        for one, other in zip(found, expected, strict=True):
            wide = one.astype(np.float64), np.asarray(other).astype(np.float64)
            if not np.allclose(*wide, rtol=1e-2, atol=1e-2, equal_nan=True):
                return True
    return False


def mutants(plan: LaunchPlan, pattern: str, by: str) -> Iterator[tuple[str, LaunchPlan]]:
    """One plan for each match of a pattern in its code, with that match replaced."""
    for module in plan.modules.values():
        for match in re.finditer(pattern, module.ptx, re.MULTILINE):
            ptx = module.ptx[: match.start()] + match.expand(by) + module.ptx[match.end() :]
            line = module.ptx.count("\n", 0, match.start()) + 1
            yield f"{module.name}:{line} {match.group().strip()}", with_code(plan, module.name, ptx)


def survivors(name: str, pattern: str, by: str, runs: int = 1) -> tuple[int, list[str]]:
    text = PROGRAMS[name]
    plan = plan_of(text)
    assert not is_caught(text, plan, runs)
    made = list(mutants(plan, pattern, by))
    return len(made), [what for what, mutant in made if not is_caught(text, mutant, runs)]


GRADIENTS = [pytest.param(name, marks=pytest.mark.slow) for name in ("gradients", "gradients_f16")]
BLOCKED = ["sum", "large_transpose", "dot", "dot_f16", "attention", "attention_f16", "decode",
           "hidden_nan", "sort", "last_step", *GRADIENTS]  # fmt: skip


@pytest.mark.parametrize("name", BLOCKED)
def test_a_removed_barrier_is_caught(name: str) -> None:
    count, left = survivors(name, r"^\s*bar\.sync\s+\d+;", "")
    assert count > 0
    assert left == []


def test_a_removed_barrier_of_a_warp_is_caught() -> None:
    # The block's barrier right after one makes it needless.
    count, left = survivors("sort", r"^\s*bar\.warp\.sync\s+-1;(?!\s*bar\.sync)", "")
    assert count > 0
    assert left == []


@pytest.mark.parametrize("name", ["attention", "attention_f16", *GRADIENTS])
def test_a_removed_wait_for_copies_is_caught(name: str) -> None:
    count, left = survivors(name, r"^\s*cp\.async\.wait_group\s+\d+;", "")
    assert count > 0
    assert left == []


@pytest.mark.parametrize("name", ["transpose", "gelu"])
def test_a_skipped_bounds_check_is_caught(name: str) -> None:
    # The first branch of a kernel is the one of threads past the last element.
    count, left = survivors(name, r"(\.entry[^{]*\{[^@]*?)@!?%p\d+ bra[^;]*;", r"\1")
    assert count > 0
    assert left == []


def test_a_misdirected_shuffle_is_caught() -> None:
    count, left = survivors("sum", r"(shfl\.sync\.\w+\.b32[^,]*,[^,]*, )16,", r"\g<1>1,")
    assert count > 0
    assert left == []


def test_a_value_that_one_thread_alone_finds_not_finite_is_missed() -> None:
    name = "hidden_nan"
    count, left = survivors(name, r"(shfl\.sync\.bfly\.b32[^;]*;\s*)and\.b32(?=\s)", r"\1or.b32")
    assert count == 8  # all but the last of five, twice
    assert len(left) == 4  # with all tiles done, nothing comes of whether hidden ones have weights


@pytest.mark.parametrize("name", ["sum", "attention", "decode"])
def test_a_shuffle_that_names_half_of_the_warp_is_caught(name: str) -> None:
    count, left = survivors(name, r"(shfl\.sync\.\w+\.b32[^;]*, )-1;", r"\g<1>65535;")
    assert count > 0
    assert left == []


def test_a_copy_left_out_of_its_group_is_caught() -> None:
    # In "attention" the query's group and the first keys' are waited for together: one will do.
    count, left = survivors("attention_f16", r"^\s*cp\.async\.commit_group;", "")
    assert count > 0
    assert left == []


@pytest.mark.parametrize("name", ["sum", "dot", "gelu"])
def test_a_store_to_the_next_element_is_caught(name: str) -> None:
    count, left = survivors(name, r"(st\.global[.\w]*\s+\[%rd\d+)(?=\])", r"\1+16")
    assert count > 0
    assert left == []


def test_a_removed_fence_between_blocks_is_caught() -> None:
    count, left = survivors("last_step", r"^\s*fence\.acq_rel\.gpu;", "")
    assert count == 2
    assert left == []


COUNT = r"atom\.global\.inc\.u32(\s+%r\d+, \[%rd\d+\]), 3;"


@pytest.mark.parametrize(
    "by",
    [
        r"ld.global.b32\1;",  # a block that does not count
        r"atom.global.inc.u32\1, 4;",  # the counter wraps a block late
        r"atom.global.inc.u32\1, 2;",
        r"atom.global.add.u32\1, 1;",  # it never wraps
    ],
)
def test_a_wrong_count_of_blocks_is_caught(by: str) -> None:
    count, left = survivors("last_step", COUNT, by, runs=2)
    assert count == 1
    assert left == []
