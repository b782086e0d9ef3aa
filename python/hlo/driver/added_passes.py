"""Passes that users add to the compiler's own: the option `passes`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hlo.diagnostics import CompileError
from hlo.driver.pass_pipeline import parse_pipeline
from hlo.driver.phases import Phase
from hlo.passes.base import Pass
from hlo.passes.registry import register

PHASES = (Phase.INPUT, Phase.LEGALIZED, Phase.SIMPLIFIED, Phase.FUSED)
PHASE_LABELS = ", ".join(phase.label for phase in PHASES)


def added_passes(value: object, optimize: bool = True) -> tuple[tuple[str, str], ...]:
    """The option `passes` in its normal form: pairs of a phase's label and a pipeline as text.

    Args:
        value: by phases' labels, or as pairs of a label and: a pipeline as text, a pass, or a
            sequence of these. The classes of passes given as objects are registered.
        optimize: the option of that name; without, no phase behind `legalized` is reached.

    Raises:
        CompileError: unknown phase, pass or option of a pass.
    """
    pairs: Iterable[Any] = value.items() if isinstance(value, Mapping) else _pairs(value)
    normal: list[tuple[str, str]] = []
    for label, elements in pairs:
        phase = next((phase for phase in PHASES if phase.label == label), None)
        if phase is None:
            raise CompileError(
                f"option passes: expected one of the phases {PHASE_LABELS}, found {label!r}"
            )
        if not optimize and phase.order > Phase.LEGALIZED.order:
            raise CompileError(
                f"option passes: with optimize=False the phase {phase.label!r} is not reached; "
                f"add the passes to {Phase.LEGALIZED.label!r}"
            )
        text = _text_of(elements)
        parse_pipeline(text)
        normal.append((phase.label, text))
    return tuple(normal)


def _pairs(value: object) -> Sequence[Any]:
    pairs = value if isinstance(value, Sequence) and not isinstance(value, str) else None
    if pairs is not None and all(isinstance(p, Sequence) and len(p) == 2 for p in pairs):
        return pairs
    raise CompileError(
        "option passes: expected pipelines by the phase that they follow, such as "
        f"{{'simplified': [MyPass()]}}, found {value!r}"
    )


def _text_of(elements: object) -> str:
    if isinstance(elements, str):
        return elements
    if isinstance(elements, Pass):
        register(type(elements))
        return str(elements)
    if isinstance(elements, Sequence):
        return ",".join(_text_of(element) for element in elements)
    raise CompileError(f"option passes: expected passes, or a pipeline as text, found {elements!r}")
