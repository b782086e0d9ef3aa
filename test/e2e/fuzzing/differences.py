"""Runs a program three ways, compares, and cuts a failing program down."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import hlo
from fuzzing.programs import Array, Grower, Program, Value
from hlo import ir
from hlo.driver.reduce_program import Candidate, reduce_program
from hlo.driver.source_lines import source_line
from hlo.importers import load_program
from hlo.passes.hlo_to_host.program import entry_of
from hlo.passes.rewrite.walk import body_of
from hlo.reference.evaluate import evaluate

RELATIVE = {
    "f64": 2.0**-48, "f32": 2.0**-19, "f16": 2.0**-8, "bf16": 2.0**-6,
    "complex<f64>": 2.0**-48, "complex<f32>": 2.0**-19,
}  # fmt: skip


def difference(text: str, arguments: Sequence[Array], values: Sequence[Value]) -> str:
    """What differs between the reference, the optimised and the unoptimised program; or ''.

    Args:
        values: what the program returns: how near each result must be.
    """
    with np.errstate(all="ignore"):
        expected = evaluate(load_program(text), list(arguments))
    for optimize in (False, True):
        name = "optimised" if optimize else "unoptimised"
        try:
            found = hlo.compile(text, optimize=optimize)(*arguments)
        except Exception as error:
            return f"{name}: {type(error).__name__}: {error}"[:600]
        for value, result, right in zip(values, found, expected, strict=True):
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


def reduced(program: Program) -> Candidate:
    """The smallest program found that still differs."""
    module = load_program(program.text)
    ops = [op.operation for op in body_of(entry_of(module)).operations]
    # A step is a line of the text, behind that of the signature.
    steps = [program.steps[line_of(op) - 2] for op in ops[:-1]]

    def differs(candidate: Candidate) -> bool:
        returned = candidate.returned
        if isinstance(returned, int):
            values = steps[returned].results
            if [v.type for v in values] != [str(r.type) for r in ops[returned].results]:
                return False  # another op of the same line
        else:
            values = tuple(v for i, v in enumerate(program.results) if i in returned)
        return bool(difference(candidate.text, candidate.arguments, values))

    return reduce_program(module, list(program.arguments.values()), differs)


def line_of(op: ir.Operation) -> int:
    """The line of the program's text that an op was read from."""
    return int(source_line(str(op.location)).rpartition(":")[2])


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
        arguments = list(program.arguments.values())
        wrong = program.steps and difference(program.text, arguments, program.results)
        if wrong:
            small = reduced(program)
            values = "\n".join(f"argument {i} = {a!r}" for i, a in enumerate(small.arguments))
            reports.append(f"{wrong}\n{small.text}{values}")
    return reports
