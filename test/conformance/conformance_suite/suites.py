"""The suites by name: makes their cases, runs them, and returns a `SuiteResult`."""

from __future__ import annotations

import collections
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from conformance_suite import jax_harnesses, stablehlo_vectors
from conformance_suite.case_files import case_names, distinct
from conformance_suite.pool import run_cases
from conformance_suite.report import SuiteResult

Progress = Callable[[dict[str, Any]], None]
VECTOR_TITLES = {"v_interp": "StableHLO interpret and CHLO", "v_math": "StableHLO math"}


def run_harnesses(
    folder: Path,
    *,
    x64: bool,
    every: int = 1,
    progress: Progress | None = None,
    sample: int = 1,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> SuiteResult:
    """JAX's primitive harnesses, their cases kept in a subfolder of `folder` for the next time.

    Args:
        every: one in this many harnesses of each primitive.
        sample: of their distinct programs, one in this many.
        environment: variables of the workers, which say what is compiled for.
    """
    import jax

    width = "x64" if x64 else "x32"
    cases = folder / f"jax-{jax.__version__}-{width}-{every}"
    index = jax_harnesses.dump(cases, x64=x64, every=every)
    made = {line["name"]: line for line in index if line["status"] == "case"}
    members = dict(list(distinct(cases, made).items())[::sample])
    left_out = collections.Counter(line["status"] for line in index if line["status"] != "case")
    return SuiteResult(
        title=f"JAX primitive harnesses, x64 {'on' if x64 else 'off'}",
        answers=run_cases(cases, list(members), progress=progress, environment=environment),
        members=members,
        primitives={name: line["primitive"] for name, line in made.items()},
        titles={name: line["title"] for name, line in made.items()},
        left_out=left_out,
    )


def run_vectors(folder: Path, suite: str, *, progress: Progress | None = None) -> SuiteResult:
    """A suite of `stablehlo_vectors.SUITES`."""
    if not (folder / suite).exists():
        stablehlo_vectors.unpack(folder)
    names = case_names(folder / suite)
    return SuiteResult(
        title=VECTOR_TITLES[suite],
        answers=run_cases(folder / suite, names, progress=progress),
        members={name: [name] for name in names},
        primitives={},
        titles={},
        left_out={},
    )
