"""The pipeline of compilation, phase by phase."""

from __future__ import annotations

from hlo.driver.pass_pipeline import PipelineElement
from hlo.driver.phases import Phase


def phase_passes(phase: Phase) -> tuple[PipelineElement, ...]:
    """The passes that take a program from the phase before `phase` to it, in order."""
    return {Phase.INPUT: ()}[phase]


def passes_to(phase: Phase) -> list[PipelineElement]:
    """The passes that take an input program to `phase`, in order."""
    return [
        element for step in Phase if step.order <= phase.order for element in phase_passes(step)
    ]
