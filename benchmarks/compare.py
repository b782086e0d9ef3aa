"""`make bench-check`: whether figures are worse than the committed ones, docs/benchmarks.json of
the programs and docs/benchmark_micro.json of the micro-benchmarks.

Times on two days or machines say little; the ratio of a peer's time to ours, measured in
alternation in one run, says more. A ratio may fall by the tolerance and by what the times varied;
exact figures (kernels, arena, matching results) may not get worse at all, but for a percent.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from report_page import noise_warnings, ratio_of, report_matches

ROOT = Path(__file__).resolve().parent.parent
EXACT = ("kernels", "arena_bytes")
EXACT_TOLERANCE = 0.01
TOLERANCE = 0.1
MOST_NOISE = 0.5  # spreads beyond this excuse no more

Figures = dict[str, Any]


@dataclass(frozen=True)
class Finding:
    """What became of one figure of one program."""

    program: str
    what: str
    before: str
    after: str
    worse: bool

    def __str__(self) -> str:
        verdict = "WORSE " if self.worse else "better"
        return f"{verdict} {self.program}: {self.what}: {self.before} -> {self.after}"


def compare(before: Figures, after: Figures, tolerance: float = TOLERANCE) -> list[Finding]:
    """What changed by more than tolerance and noise, in the programs that both have.

    Args:
        before, after: contents of a JSON file of benchmarks/run.py, or both of benchmarks/micro.py.
        tolerance: how far a ratio may move, relative.
    """
    cases = {case["name"]: case for case in before.get("cases", [])}
    found = [
        finding
        for case in after.get("cases", [])
        if case["name"] in cases
        for finding in _compare_case(cases[case["name"]], case)
    ]
    known = {report["name"]: report for report in before.get("programs", [])}
    return found + [
        finding
        for report in after.get("programs", [])
        if report["name"] in known
        for finding in _compare_program(known[report["name"]], report, tolerance)
    ]


def _compare_case(before: Figures, after: Figures) -> list[Finding]:
    """A micro-benchmark runs for microseconds, and how its times vary is not on record: they are
    taken to vary as much as any may.
    """
    return [
        finding
        for peer in ("jax_us", "torch_us")
        if before[peer] is not None and after[peer] is not None
        for finding in _ratio(
            after["name"], f"{peer.removesuffix('_us')} time / ours",
            before[peer] / before["ours_us"], after[peer] / after["ours_us"], MOST_NOISE,
        )
    ]  # fmt: skip


def _compare_program(before: Figures, after: Figures, tolerance: float) -> list[Finding]:
    name = after["name"]
    if "error" in after:
        return [] if "error" in before else [Finding(name, "runs", "yes", after["error"], True)]
    if "error" in before:
        return [Finding(name, "runs", before["error"], "yes", False)]
    found: list[Finding] = []
    if report_matches(before) != report_matches(after):
        counts = (f"{report['mismatches']} differ" for report in (before, after))
        found.append(Finding(name, "results", *counts, worse=report_matches(before)))
    for key in EXACT:
        if abs(after[key] - before[key]) > EXACT_TOLERANCE * before[key]:
            worse = after[key] > before[key]
            found.append(Finding(name, key, str(before[key]), str(after[key]), worse))
    peers = ("xla", *sorted({*before.get("others", {})} & {*after.get("others", {})}))
    for peer in peers:
        allowed = tolerance + min(MOST_NOISE, _noise(before, peer) + _noise(after, peer))
        found += _ratio(
            name, f"{peer} time / ours", ratio_of(before, peer), ratio_of(after, peer), allowed
        )
    for key in ("compile_s", "cached_compile_s"):
        if key in before and key in after:
            ratios = [report["peer"]["compile_s"] / report[key] for report in (before, after)]
            # One compilation each: as noisy as the noisiest of what is measured here.
            found += _ratio(name, f"xla's compile time / ours ({key})", *ratios, MOST_NOISE)
    return found


def _noise(report: Figures, peer: str) -> float:
    other = report["peer"] if peer == "xla" else report["others"][peer]
    return report.get("spread", 0.0) + other.get("spread", 0.0)


def _ratio(
    name: str, what: str, before: float | None, after: float | None, allowed: float
) -> list[Finding]:
    if before is None or after is None:
        return []
    if 1 / (1 + allowed) <= after / before <= 1 + allowed:
        return []
    return [Finding(name, what, f"{before:.2f}", f"{after:.2f}", after < before)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("after", type=Path, help="the new figures")
    parser.add_argument(
        "before", type=Path, nargs="?", default=ROOT / "docs" / "benchmarks.json",
        help="the figures to compare with (default: docs/benchmarks.json)",
    )  # fmt: skip
    parser.add_argument("--tolerance", type=float, default=TOLERANCE)
    args = parser.parse_args()
    try:
        before, after = (json.loads(path.read_text()) for path in (args.before, args.after))
    except (OSError, ValueError) as error:
        sys.stderr.write(f"cannot read figures: {error}\n")
        return 2
    for label, figures in (("before", before), ("after", after)):
        for warning in noise_warnings(figures):
            print(f"warning: {label}: {warning}")
    findings = compare(before, after, args.tolerance)
    for finding in findings:
        print(finding)
    kind = "cases" if "cases" in after else "programs"
    count = len(after[kind])
    worse = sum(finding.worse for finding in findings)
    print(f"{worse} worse, {len(findings) - worse} better, of {count} {kind}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
