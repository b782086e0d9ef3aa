"""Expected diagnostics in test files, for `hlo-opt --verify-diagnostics`.

    // expected-error @+1 {{operand shapes differ}}
    // expected-error-re @below {{expected rank {{[0-9]+}}, found}}

The place is the comment's own line, `@+N` or `@-N` lines from it, `@above`, `@below` (several
comments in a row share the line below or above them all), or `@unknown` for diagnostics without a
line. The text is part of the message; with `-re`, what stands in inner double braces is a regular
expression."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

_EXPECTATION = re.compile(
    r"expected-(?P<severity>error|warning|remark|note)(?P<regex>-re)?\s*"
    r"(?:@(?P<place>[+-]\d+|above|below|unknown))?\s*\{\{(?P<text>.*?)\}\}(?=\s*(?:$|//|expected-))"
)
_LINE = re.compile(r":(\d+):\d+")
_INNER_REGEX = re.compile(r"\{\{(.*?)\}\}")


@dataclasses.dataclass(frozen=True)
class FoundDiagnostic:
    """A diagnostic as the compiler gave it; `line` is None when it has no place in the file."""

    severity: str
    line: int | None
    message: str


@dataclasses.dataclass(frozen=True)
class Expectation:
    """What a comment expects. `line` is None for `@unknown`."""

    severity: str
    line: int | None
    pattern: re.Pattern[str]
    text: str
    written_at: int

    def accepts(self, found: FoundDiagnostic) -> bool:
        return (
            self.severity == found.severity
            and self.line == found.line
            and self.pattern.search(found.message) is not None
        )


def line_of(location: str | None) -> int | None:
    """The line that an MLIR location names, or None."""
    match = None if location is None else _LINE.search(location)
    return None if match is None else int(match.group(1))


def parse_expectations(text: str) -> list[Expectation]:
    """The expectations in a test file's comments."""
    lines = text.split("\n")
    return [
        _expectation(lines, number, match)
        for number, line in enumerate(lines, start=1)
        if "expected-" in line
        for match in _EXPECTATION.finditer(line)
    ]


def unmet(expectations: Sequence[Expectation], found: Sequence[FoundDiagnostic]) -> list[str]:
    """What does not fit, one sentence each: diagnostics not expected, and expectations not met.

    Notes that nobody expects are no fault. Each expectation accounts for one diagnostic.
    """
    open_expectations = list(expectations)
    faults: list[str] = []
    for diagnostic in found:
        fitting = next((e for e in open_expectations if e.accepts(diagnostic)), None)
        if fitting is not None:
            open_expectations.remove(fitting)
        elif diagnostic.severity != "note":
            where = "unknown line" if diagnostic.line is None else f"line {diagnostic.line}"
            faults.append(f"{where}: unexpected {diagnostic.severity}: {diagnostic.message}")
    faults.extend(
        f"line {e.written_at}: expected {e.severity} "
        f"{'without a line' if e.line is None else f'at line {e.line}'} was not produced: {e.text}"
        for e in open_expectations
    )
    return faults


def _expectation(lines: Sequence[str], number: int, match: re.Match[str]) -> Expectation:
    text = match.group("text")
    pattern = _regex_with_literals(text) if match.group("regex") else re.escape(text)
    return Expectation(
        severity=match.group("severity"),
        line=_target_line(lines, number, match.group("place")),
        pattern=re.compile(pattern),
        text=text,
        written_at=number,
    )


def _target_line(lines: Sequence[str], number: int, place: str | None) -> int | None:
    if place is None:
        return number
    if place == "unknown":
        return None
    if place in ("above", "below"):
        step = -1 if place == "above" else 1
        target = number + step
        while 1 <= target <= len(lines) and lines[target - 1].lstrip().startswith("// expected-"):
            target += step
        return target
    return number + int(place)


def _regex_with_literals(text: str) -> str:
    parts = _INNER_REGEX.split(text)
    return "".join(part if index % 2 else re.escape(part) for index, part in enumerate(parts))
