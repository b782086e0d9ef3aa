"""Passes and pipelines as text for people."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Sequence

from hlo.driver.pass_pipeline import PipelineElement
from hlo.passes.base import Pass
from hlo.passes.registry import all_passes


def list_passes() -> str:
    """Every pass of hlo: name, first line of its documentation, and its options with types and
    defaults.
    """
    lines: list[str] = []
    for name, cls in all_passes().items():
        lines.append(f"--{name}\n    {summary(cls)}\n")
        lines.extend(_option_line(field) for field in cls.options())
    return "".join(lines)


def summary(cls: type[Pass]) -> str:
    """The first line of a pass's docstring."""
    return (inspect.getdoc(cls) or "").partition("\n")[0]


def show_pipeline(elements: Sequence[PipelineElement]) -> str:
    """A pipeline in the form that `--pass-pipeline` takes, one pass a line."""
    return ",\n".join(str(element) for element in elements) + "\n"


def _option_line(field: dataclasses.Field[object]) -> str:
    default = "" if field.default is dataclasses.MISSING else f" = {field.default}"
    return f"      {field.name.replace('_', '-')}: {field.type}{default}\n"
