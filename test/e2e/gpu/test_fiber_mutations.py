"""Broken LLVM code of kernels is caught by fibers: barriers, waits, checks, shuffles, addresses."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from test_fibers import SCHEDULES, is_right, plan_of

from hlo.executable import runtime
from hlo.gpu.emulated_device import EmulationError
from hlo.gpu.plan import LaunchPlan

CALL = r"^ [^\n]*call void @llvm\.nvvm\."
BARRIER = CALL + r"barrier[^\n]*$"
GRADIENTS = [pytest.param(name, marks=pytest.mark.slow) for name in ("gradients", "gradients_f16")]
BLOCKED = ["sum", "large_transpose", "dot", "dot_f16", "attention", "attention_f16", "decode",
           "hidden_nan", "sort", "last_step", *GRADIENTS]  # fmt: skip
# Barriers ahead of reads, by the tensor cores, of rows that the same warp has copied: the rules of
# PTX ask for them, and the interpreter's search for races finds them gone, but any order is right.
# So it is with the barrier ahead of a block's counting: fibers run blocks one after the other. A
# value that is not finite makes a block do all tiles, whatever its threads say of hidden weights.
RIGHT_IN_ANY_ORDER = {"attention_f16": 1, "gradients_f16": 3, "hidden_nan": 2, "last_step": 1}


def mutants(plan: LaunchPlan, pattern: str, by: str) -> list[tuple[str, LaunchPlan]]:
    """One plan for each match of a pattern in its LLVM code, with that match replaced."""
    made: list[tuple[str, LaunchPlan]] = []
    for module in plan.modules.values():
        assert module.bitcode is not None
        text = runtime.llvm_text(module.bitcode)
        for match in re.finditer(pattern, text, re.MULTILINE):
            changed = text[: match.start()] + match.expand(by) + text[match.end() :]
            broken = replace(module, bitcode=changed.encode())
            line = text.count("\n", 0, match.start()) + 1
            what = f"{module.name}:{line} {match.group().strip()[-100:]}"
            made.append((what, replace(plan, modules={**plan.modules, module.name: broken})))
    return made


def is_caught(name: str, plan: LaunchPlan) -> bool:
    try:
        return not all(is_right(name, plan, schedule) for schedule in SCHEDULES)
    except EmulationError:
        return True


def survivors(name: str, pattern: str, by: str) -> list[str]:
    """Mutants that nothing tells from the program; there is at least one mutant."""
    made = mutants(plan_of(name), pattern, by)
    assert made
    return [what for what, plan in made if not is_caught(name, plan)]


@pytest.mark.parametrize("name", BLOCKED)
def test_a_removed_barrier_is_caught(name: str) -> None:
    assert len(survivors(name, BARRIER, "")) == RIGHT_IN_ANY_ORDER.get(name, 0)


def test_a_removed_barrier_of_a_warp_is_caught() -> None:
    # The block's barrier right after one makes it needless.
    assert (
        survivors("sort", CALL + r"bar\.warp\.sync\(i32 -1\)[^\n]*$(?!\n[^\n]*barrier)", "") == []
    )


@pytest.mark.parametrize("name", ["dot", "dot_f16", "attention", "attention_f16", *GRADIENTS])
def test_a_removed_wait_for_copies_is_caught(name: str) -> None:
    assert survivors(name, CALL + r"cp\.async\.wait\.group[^\n]*$", "") == []


def test_a_copy_left_out_of_its_group_is_caught() -> None:
    assert survivors("attention_f16", CALL + r"cp\.async\.commit\.group[^\n]*$", "") == []


@pytest.mark.parametrize("name", ["transpose", "gelu"])
def test_a_skipped_bounds_check_is_caught(name: str) -> None:
    # The first branch of a kernel is the one of threads past the last element.
    first = r"(ptx_kernel void @[^{]*\{[^}]*?)br i1 %\d+, label (%\d+), label %\d+"
    assert survivors(name, first, r"\1br label \2") == []


def test_a_misdirected_shuffle_is_caught() -> None:
    assert survivors("sum", r"(@llvm\.nvvm\.shfl\.[^\n]*, i32 )16,", r"\g<1>1,") == []


@pytest.mark.parametrize("name", ["sum", pytest.param("attention", marks=pytest.mark.slow),
                                  pytest.param("decode", marks=pytest.mark.slow)])  # fmt: skip
def test_a_shuffle_that_names_half_of_the_warp_is_caught(name: str) -> None:
    assert survivors(name, r"(@llvm\.nvvm\.shfl\.sync\.[^(]*\(i32 )-1,", r"\g<1>65535,") == []


@pytest.mark.parametrize("name", ["sum", "dot", "gelu"])
def test_a_store_to_the_next_element_is_caught(name: str) -> None:
    store = r"^ *(store [^\n]*, ptr )(%\d+), align"
    by = r"  %mutant = getelementptr i8, ptr \2, i64 16\n  \1%mutant, align"
    assert survivors(name, store, by) == []


def test_a_counter_that_wraps_elsewhere_is_caught() -> None:
    assert survivors("last_step", r"(atomicrmw uinc_wrap [^\n]*i32) 3 ", r"\1 2 ") == []
