"""Finds the pass after which a program computes something else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hlo import ir
from hlo.diagnostics import CompileError
from hlo.driver.comparison import Comparison, Tolerance, compare_all
from hlo.driver.module_copy import copy_of
from hlo.driver.pass_pipeline import PipelineElement
from hlo.reference.evaluate import evaluate

CODE_GENERATION = "code generation"


@dataclass(frozen=True)
class Culprit:
    """A pass that changes results.

    Attributes:
        name: of the pass, or `CODE_GENERATION` where machine code alone differs.
        position: of the pass in the pipeline, from 0.
        before, after: the program before the pass and after it, as text; empty after the last pass.
        comparisons: of each result with that of the program as it was given.
    """

    name: str
    position: int
    before: str
    after: str
    comparisons: tuple[Comparison, ...]


def bisect_passes(
    module: ir.Module,
    arguments: Sequence[np.ndarray],
    pipeline: Sequence[PipelineElement],
    tolerance: Tolerance,
) -> Culprit | None:
    """The first pass whose program gives other results, by interpreting O(log n) of the stages.

    Args:
        module: a program, left alone.
        arguments: of its entry.
        pipeline: passes to run, in order.
        tolerance: what difference is still the same result.

    Returns:
        None if the program after the last pass gives the results of the first.

    Raises:
        CompileError: a pass fails; the message names it.
    """
    stages = [copy_of(module)]
    for position, element in enumerate(pipeline):
        stage = copy_of(stages[-1])
        try:
            element.run(stage)
        except CompileError as error:
            raise CompileError(f"pass {position} ({element.name}) fails: {error}") from error
        stages.append(stage)
    expected = _results(module, arguments)

    def differences(stage: int) -> tuple[Comparison, ...]:
        return tuple(compare_all(_results(stages[stage], arguments), expected, tolerance))

    wrong = len(pipeline)
    compared = differences(wrong)
    if all(c.matches for c in compared):
        return None
    right = 0
    while wrong - right > 1:
        middle = (right + wrong) // 2
        found = differences(middle)
        if all(c.matches for c in found):
            right = middle
        else:
            wrong, compared = middle, found
    return Culprit(pipeline[right].name, right, str(stages[right]), str(stages[wrong]), compared)


def _results(module: ir.Module, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        return [np.asarray(result) for result in evaluate(module, list(arguments))]
