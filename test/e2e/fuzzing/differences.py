"""Runs a program three ways, compares, and cuts a failing program down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import hlo
from fuzzing.programs import Array, Grower, Program, Value
from hlo.importers import load_program
from hlo.reference.evaluate import evaluate

RELATIVE = {
    "f64": 2.0**-48, "f32": 2.0**-19, "f16": 2.0**-8, "bf16": 2.0**-6,
    "complex<f64>": 2.0**-48, "complex<f32>": 2.0**-19,
}  # fmt: skip


def difference(program: Program) -> str:
    """What differs between the reference, the optimised and the unoptimised program; or ''."""
    arguments = list(program.arguments.values())
    with np.errstate(all="ignore"):
        expected = evaluate(load_program(program.text), arguments)
    for optimize in (False, True):
        name = "optimised" if optimize else "unoptimised"
        try:
            found = hlo.compile(program.text, optimize=optimize)(*arguments)
        except Exception as error:
            return f"{name}: {type(error).__name__}: {error}"[:600]
        for value, result, right in zip(program.results, found, expected, strict=True):
            wrong = mismatches(value, result, np.asarray(right))
            if wrong:
                return f"{name}: {value.name}: {wrong}"
    return ""


def mismatches(value: Value, found: Array, expected: Array) -> str:
    """What differs of one result: exact values to the bit, but for which NaN it is."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"{found.dtype}{found.shape}, expected {expected.dtype}{expected.shape}"
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        if expected.dtype.kind in "biu" or "int" in expected.dtype.name:
            same = found == expected
        else:
            f, e = found.astype(wide), expected.astype(wide)
            same = (f == e) | (np.isnan(f) & np.isnan(e))
            if not value.exact:
                room = value.slack + RELATIVE[value.kind] * np.abs(e)
                same |= np.isfinite(e) & (np.abs(f - e) <= room)
    if np.all(same):
        return ""
    at = tuple(int(i) for i in np.argwhere(~np.atleast_1d(same))[0])
    pair = [np.atleast_1d(a)[at] for a in (found, expected)]
    return f"{int(np.sum(~same))} of {same.size} differ, at {at} found {pair[0]}, not {pair[1]}"


def reduced(program: Program) -> Program:
    """The smallest program found that still differs: one result, and as few steps as do it."""
    for value in program.results:
        alone = _pruned(program, [value])
        if difference(alone):
            program = alone
            break
    for step in list(program.steps):
        if step not in program.steps:
            continue
        shorter = _cut(program, step.results)
        if shorter is not None and difference(shorter):
            program = shorter
    return program


def _pruned(program: Program, results: Sequence[Value]) -> Program:
    """The steps and arguments that the results need."""
    needed, steps = {r.name for r in results}, []
    for step in reversed(program.steps):
        if any(r.name in needed for r in step.results):
            needed |= step.operands
            steps.append(step)
    arguments = {v: a for v, a in program.arguments.items() if v.name in needed}
    return Program(arguments, steps[::-1], list(results))


def _cut(program: Program, values: Sequence[Value]) -> Program | None:
    """The program with values as arguments, which the reference computes, instead of steps."""
    if any(value in program.results for value in values):
        return None
    upstream = Program(program.arguments, program.steps, list(values))
    computed: list[Any] = list(
        evaluate(load_program(upstream.text), list(program.arguments.values()))
    )
    steps = [step for step in program.steps if step.results != tuple(values)]
    arguments = {**program.arguments, **dict(zip(values, map(np.asarray, computed), strict=True))}
    return _pruned(Program(arguments, steps, program.results), program.results)


def check_seeds(seeds: Sequence[int], steps: int) -> list[str]:
    """Reports of the seeds whose programs differ, cut down."""
    reports = []
    for seed in seeds:
        reports += [f"seed {seed}: {r}" for r in check_programs([Grower(seed, steps).program])]
    return reports


def check_programs(programs: Sequence[Program]) -> list[str]:
    """Reports of the programs that differ, cut down."""
    reports = []
    for program in programs:
        if program.steps and difference(program):
            small = reduced(program)
            values = "\n".join(f"{v.name} = {a!r}" for v, a in small.arguments.items())
            reports.append(f"{difference(small)}\n{small.text}{values}")
    return reports
