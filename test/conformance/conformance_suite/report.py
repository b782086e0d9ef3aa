"""Runs the conformance suites and writes docs/conformance.md.

python test/conformance/run.py [--folder build/conformance] [--every N] [--suite NAME ...]
"""

from __future__ import annotations

import collections
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

GOOD = ("pass", "loose")
Answer = Mapping[str, Any]


@dataclass(frozen=True)
class SuiteResult:
    """What became of a suite.

    Attributes:
        title: its name in the report.
        answers: of each distinct program, by the name of its first case.
        members: that name -> the names of all cases with the same program.
        primitives: the primitive of each case; empty for suites without.
        left_out: reasons why harnesses gave no case -> how many.
    """

    title: str
    answers: Mapping[str, Answer]
    members: Mapping[str, Sequence[str]]
    primitives: Mapping[str, str]
    titles: Mapping[str, str]
    left_out: Mapping[str, int]

    def statuses(self) -> collections.Counter[str]:
        """Distinct programs by status."""
        return collections.Counter(str(answer["status"]) for answer in self.answers.values())

    def case_statuses(self) -> collections.Counter[str]:
        """All cases by the status of their program."""
        counts: collections.Counter[str] = collections.Counter()
        for first, names in self.members.items():
            counts[str(self.answers[first]["status"])] += len(names)
        return counts

    def by_primitive(self) -> dict[str, tuple[int, int]]:
        """Primitive -> (good cases, all cases)."""
        good: collections.Counter[str] = collections.Counter()
        total: collections.Counter[str] = collections.Counter()
        for first, names in self.members.items():
            for name in names:
                total[self.primitives[name]] += 1
                good[self.primitives[name]] += self.answers[first]["status"] in GOOD
        return {primitive: (good[primitive], total[primitive]) for primitive in sorted(total)}

    def failures(self) -> dict[str, Answer]:
        """Programs that are not good."""
        return {name: a for name, a in self.answers.items() if a["status"] not in GOOD}


def macro_average(by_primitive: Mapping[str, tuple[int, int]]) -> float:
    """The mean over primitives of their part of good cases: 56% of all cases are scatter."""
    return sum(good / total for good, total in by_primitive.values()) / max(len(by_primitive), 1)


def summary(result: SuiteResult) -> list[str]:
    """The lines of the totals table: distinct programs, and all cases where they differ."""
    lines = [_row(result.title + ", distinct programs", result.statuses())]
    if result.primitives:
        lines.append(_row(result.title + ", all harnesses", result.case_statuses()))
    return lines


def _row(title: str, counts: collections.Counter[str]) -> str:
    total = sum(counts.values())
    good = sum(counts[status] for status in GOOD)
    return (
        f"| {title} | {total} | {counts['pass']} | {counts['loose']} | {total - good} "
        f"| {100 * good / max(total, 1):.2f}% |"
    )


def primitive_lines(result: SuiteResult) -> list[str]:
    """The macro average, and the primitives that are not whole."""
    by_primitive = result.by_primitive()
    whole = sum(1 for good, total in by_primitive.values() if good == total)
    lines = [
        f"Macro average over the {len(by_primitive)} primitives: "
        f"{100 * macro_average(by_primitive):.2f}%; {whole} primitives pass whole."
    ]
    partial = [f"{p} {good}/{total}" for p, (good, total) in by_primitive.items() if good < total]
    if partial:
        lines += ["", f"Not whole: {', '.join(partial)}."]
    return lines


def failure_lines(result: SuiteResult, known: Mapping[str, str]) -> list[str]:
    """A table of what failed, by reason."""
    reasons: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    for name, answer in result.failures().items():
        reason = known.get(result.titles.get(name, name)) or _general(str(answer.get("info", "")))
        reasons[str(answer["status"]), reason].append(name)
    if not reasons:
        return ["None."]
    lines = ["| status | programs | reason | for example |", "|---|---|---|---|"]
    for (status, reason), names in sorted(reasons.items(), key=lambda item: -len(item[1])):
        example = result.titles.get(names[0], names[0])
        lines.append(f"| {status} | {len(names)} | {_cell(reason)} | {_cell(example)} |")
    return lines


def _general(info: str) -> str:
    """A message without what differs from case to case."""
    info = re.sub(r"loc\([^)]*\): ", "", info)
    info = re.sub(r"tensor<[^>]*>+", "tensor", info)
    info = re.sub(r"\b0x[0-9A-Fa-f]+", "0x..", info)
    return re.sub(r"\d+(\.\d+)?(e[-+]\d+)?", "N", info)[:140]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")[:140]
