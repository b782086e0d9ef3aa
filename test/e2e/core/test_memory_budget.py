"""`max_bytes`: programs that make intermediates again to stay within it give the same bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from random_programs import RandomProgram

import hlo
from hlo import ir
from hlo.driver.arguments import from_specification
from hlo.driver.memory_budget import MemoryBudgetError
from hlo.reference.evaluate import evaluate

N, WIDTH = 64, 256
PROGRAMS = Path(__file__).resolve().parents[4] / "shared" / "programs"


def u_net(depth: int) -> str:
    """Goes down `depth` levels and up again; each level's values are read on both ways."""
    lines: list[str] = []
    widths = [WIDTH] * (depth + 1)
    arguments = [f"%x: tensor<{N}x{WIDTH}xf32>"]
    last = "%x"
    for i in range(depth):
        wide, narrow = (f"tensor<{N}x{w}xf32>" for w in (widths[i], widths[i + 1]))
        down = f"tensor<{widths[i]}x{widths[i + 1]}xf32>"
        arguments.append(f"%w{i}: {down}")
        lines += [
            f"%s{i} = hlo.sine {last} : {wide}",
            f"%d{i} = hlo.dot_general %s{i}, %w{i}, contracting_dims = [1] x [0] "
            f": ({wide}, {down}) -> {narrow}",
        ]
        last = f"%d{i}"
    for i in reversed(range(depth)):
        wide, narrow = (f"tensor<{N}x{w}xf32>" for w in (widths[i], widths[i + 1]))
        down = f"tensor<{widths[i]}x{widths[i + 1]}xf32>"
        lines += [
            f"%u{i} = hlo.dot_general {last}, %w{i}, contracting_dims = [1] x [1] "
            f": ({narrow}, {down}) -> {wide}",
            f"%v{i} = hlo.multiply %u{i}, %s{i} : {wide}",
        ]
        last = f"%v{i}"
    body = "\n".join(lines)
    kind = f"tensor<{N}x{WIDTH}xf32>"
    return (
        f"func.func @main({', '.join(arguments)}) -> {kind} {{\n{body}\nreturn {last} : {kind}\n}}"
    )


def chain(length: int) -> str:
    """Each link is read by the next and, in reverse order, once more at the end."""
    kind = f"tensor<{N}x{N}xf32>"
    lines = [
        f"%h0 = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : ({kind}, {kind}) -> {kind}"
    ]
    for i in range(1, length):
        lines += [
            f"%t{i} = hlo.tanh %h{i - 1} : {kind}",
            f"%h{i} = hlo.dot_general %t{i}, %w, contracting_dims = [1] x [0] "
            f": ({kind}, {kind}) -> {kind}",
        ]
    last = f"%h{length - 1}"
    for i in reversed(range(length - 1)):
        lines += [
            f"%g{i} = hlo.dot_general {last}, %w, contracting_dims = [1] x [1] "
            f": ({kind}, {kind}) -> {kind}",
            f"%b{i} = hlo.multiply %g{i}, %h{i} : {kind}",
        ]
        last = f"%b{i}"
    body = "\n".join(lines)
    return (
        f"func.func @main(%x: {kind}, %w: {kind}) -> {kind} {{\n{body}\nreturn {last} : {kind}\n}}"
    )


def in_loop(program: str, branch: bool = False) -> str:
    """What a program makes of %x, three times over; in a branch of the loop if asked."""
    head, body = program.split("{\n", 1)
    body, returned = body.rsplit("return ", 1)
    last, kind = returned.split(" : ")
    kind = kind.split("\n")[0]
    if branch:
        inner = f"""
        %b = "hlo.if"(%even) ({{ {body}
          "hlo.return"({last}) : ({kind}) -> () }}, {{
          "hlo.return"(%x) : ({kind}) -> () }}) : (tensor<i1>) -> {kind}"""
        last = "%b"
    else:
        inner = body
    return (
        head.replace("%x:", "%first:")
        + f"""{{
      %zero = hlo.constant dense<0> : tensor<i32>
      %one = hlo.constant dense<1> : tensor<i32>
      %three = hlo.constant dense<3> : tensor<i32>
      %loop:2 = hlo.while(%i = %zero, %x = %first) : tensor<i32>, {kind}
       cond {{
        %c = hlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        hlo.return %c : tensor<i1>
      }} do {{
        %even = hlo.compare NE, %i, %one, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        {inner}
        %next = hlo.add %i, %one : tensor<i32>
        hlo.return %next, {last} : tensor<i32>, {kind}
      }}
      return %loop#1 : {kind}
    }}"""
    )


def arguments_of(program: str) -> list[np.ndarray]:
    source = np.random.default_rng(0)
    compiled = hlo.compile(program)
    shapes = [a.shape for a in compiled.memory_analysis().arguments]
    return [(source.standard_normal(s) / np.sqrt(s[0])).astype(np.float32) for s in shapes]


@pytest.mark.parametrize("share", [0.9, 0.8, 0.65])
@pytest.mark.parametrize("program", [u_net(6), chain(12)], ids=["u-net", "chain"])
def test_budgets_are_met_with_the_same_bits(program: str, share: float) -> None:
    free = hlo.compile(program)
    analysis = free.memory_analysis()
    budget = int(analysis.peak_bytes - (1 - share) * analysis.arena_bytes)
    tight = hlo.compile(program, max_bytes=budget)
    assert tight.memory_analysis().peak_bytes <= budget < analysis.peak_bytes
    assert tight.statistics.kernels > free.statistics.kernels
    arguments = arguments_of(program)
    for expected, found in zip(free(*arguments), tight(*arguments), strict=True):
        assert expected.tobytes() == found.tobytes()


@pytest.mark.parametrize(("share", "branch"), [(0.9, False), (0.8, True)])
@pytest.mark.parametrize("program", [u_net(6), chain(12)], ids=["u-net", "chain"])
def test_values_of_loops_and_branches_are_made_again_there(
    program: str, branch: bool, share: float
) -> None:
    test_budgets_are_met_with_the_same_bits(in_loop(program, branch), share)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "part"), [("lm_train_remat", 5), ("cnn_train", 4)])
def test_programs_give_the_same_bits_within_a_budget(name: str, part: int) -> None:
    """A fifth or a quarter less; the least is 21.0 of 27.3 MB, and 8.0 of 13.0."""
    text = (PROGRAMS / f"{name}.mlir").read_text()
    arguments = from_specification(PROGRAMS / f"{name}.json")
    free = hlo.compile(text)
    analysis = free.memory_analysis()
    budget = analysis.peak_bytes - analysis.arena_bytes // part
    tight = hlo.compile(text, max_bytes=budget)
    assert tight.memory_analysis().peak_bytes <= budget
    expected = free(*(a.copy() for a in arguments))
    for want, got in zip(expected, tight(*(a.copy() for a in arguments)), strict=True):
        assert np.asarray(want).tobytes() == np.asarray(got).tobytes()


def test_a_budget_that_is_met_anyway_changes_nothing() -> None:
    free = hlo.compile(chain(6))
    roomy = hlo.compile(chain(6), max_bytes=1 << 40)
    assert roomy.as_text("host") == free.as_text("host")


def test_a_budget_that_cannot_be_met_is_an_error_that_tells_the_least() -> None:
    with pytest.raises(MemoryBudgetError, match="expected a budget of at least") as raised:
        hlo.compile(chain(12), max_bytes=3 * 4 * N * N)
    least = int(str(raised.value).split("at least ")[1].split()[0])
    assert hlo.compile(chain(12), max_bytes=least).memory_analysis().peak_bytes <= least


@pytest.mark.parametrize("seed", range(300, 312))
def test_random_programs_under_the_least_budget(seed: int) -> None:
    """Loops, branches and updates in place among what runs again; donated arguments, too."""
    program = RandomProgram(seed, "i32", ops=40)
    donate = (0, 1, 2) if seed % 2 else ()
    with pytest.raises(MemoryBudgetError) as raised:
        hlo.compile(program.text, donate=donate, max_bytes=1)
    least = int(str(raised.value).split("at least ")[1].split()[0])
    compiled = hlo.compile(program.text, donate=donate, max_bytes=least)
    assert compiled.memory_analysis().peak_bytes <= least
    expected = evaluate(ir.parse_module(program.text), program.arguments)
    for want, got in zip(expected, compiled(*(a.copy() for a in program.arguments)), strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_budget_that_is_no_number_of_bytes_is_an_error() -> None:
    for wrong in (-1, 1.5, "1 GB", True):
        with pytest.raises(hlo.CompileError, match="option max_bytes"):
            hlo.compile(chain(2), max_bytes=wrong)
