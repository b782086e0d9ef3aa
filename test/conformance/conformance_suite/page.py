"""The text of docs/conformance.md."""
# ruff: noqa: E501 - lines of the page

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance_suite.report import SuiteResult, failure_lines, primitive_lines, summary

_INTRODUCTION = """# Conformance

Suites that others wrote, through `hlo.compile`. This page is written by `python test/conformance/run.py`; a sample of it
runs in `make test`, all of it in `make test-all`.

- JAX's primitive harnesses (in the jax wheel): each is lowered by JAX, and our result is compared with XLA:CPU's. "pass"
  is within JAX's own default tolerances (f32 1e-6, f16 1e-3, bf16 1e-2, f64 1e-15; integers equal), "loose" within
  f32 1e-4, f16 1e-2, bf16 4e-2, f64 1e-9: another order of summation. Many harnesses lower to the same program, so both
  counts are given. More than half of them are scatters: the macro average weighs each primitive the same.
- StableHLO's own interpreter, CHLO and math tests, each with its own check.
- ONNX's cases of its operators are in onnx.md, PyTorch's in pytorch.md.
"""
# Measured with the same vectors and the same rules (strict + loose / total).
_PEERS = """## Peers

Measured on the same cases with the same rules, x64 off; JAX's harnesses take XLA:CPU as right.

| suite | XLA:CPU | StableHLO's reference interpreter | IREE 3.13 llvm-cpu |
|---|---|---|---|
| harnesses, distinct programs | is the reference | 2383+53 of 2620 (93.0%) | 2176+49 of 2620 (84.9%) |
| harnesses, all | is the reference | 5188+89 of 5485 (96.2%) | 4447+62 of 5485 (82.2%) |
| harnesses, macro average | is the reference | 91.0%, 116 of 132 whole | 88.4%, 102 of 132 whole |
| StableHLO interpret and CHLO | 444 of 462 | 457 of 462 | 349 of 462 |
| StableHLO math | 17+3 of 45 | 41+2 of 45 | 10+5 of 45 |

XLA:CPU and IREE flush subnormals, which this compiler keeps.
"""


def page(
    harnesses: Sequence[SuiteResult],
    vectors: Sequence[SuiteResult],
    known_jax: Mapping[str, str],
    known_stablehlo: Mapping[str, str],
) -> str:
    """The whole page.

    Args:
        known_jax, known_stablehlo: why a case differs, by its name.
    """
    lines = [_INTRODUCTION, "## Totals", ""]
    lines += ["| suite | total | pass | loose | fail | good |", "|---|---|---|---|---|---|"]
    for result in [*harnesses, *vectors]:
        lines += summary(result)
    if not any("x64 on" in result.title for result in harnesses):
        lines += ["", "The harnesses with x64 on are not part of this run."]
    lines += ["", _PEERS]
    for result in harnesses:
        lines += [f"## {result.title}", "", *primitive_lines(result)]
        left_out = ", ".join(f"{count} {reason}" for reason, count in result.left_out.items())
        if left_out:
            lines += ["", f"Harnesses without a case, for JAX or XLA:CPU refuses them: {left_out}."]
        lines += ["", "Failures:", "", *failure_lines(result, known_jax), ""]
    for result in vectors:
        lines += [f"## {result.title}", "", *failure_lines(result, known_stablehlo), ""]
    return "\n".join(lines).rstrip() + "\n"
