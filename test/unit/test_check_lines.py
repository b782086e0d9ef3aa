"""No test has CHECK lines that no RUN line feeds to FileCheck: such lines check nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent
NOT_CHECKS = {"RUN", "REQUIRES", "UNSUPPORTED", "XFAIL", "NOTE"}
DIRECTIVE = re.compile(
    r"^\s*//\s*(?P<prefix>[A-Z][A-Z0-9_-]*?)(?:-(?:NEXT|SAME|NOT|DAG|LABEL|EMPTY|COUNT-\d+))?(?:\{LITERAL\})?:",
    re.M,
)
RUN = re.compile(r"^\s*//\s*RUN:\s*(.*)$", re.M)
PREFIXES = re.compile(r"--?check-prefix(?:es)?[= ](\S+)")


def fed_prefixes(text: str) -> set[str]:
    """The prefixes that the RUN lines give to FileCheck."""
    command = re.sub(r"\\\s*\n?", " ", "\n".join(RUN.findall(text)).replace("\\\n", " "))
    fed: set[str] = set()
    for stage in re.split(r"[|\n]", command):
        if re.search(r"\bfilecheck\b", stage, re.I):
            named = PREFIXES.findall(stage)
            fed.update(
                prefix for names in named for prefix in names.split(",")
            ) if named else fed.add("CHECK")
    return fed


def unfed_checks(text: str) -> set[str]:
    """The prefixes of check lines that nothing reads."""
    written = {match.group("prefix") for match in DIRECTIVE.finditer(text)} - NOT_CHECKS
    return written - fed_prefixes(text)


@pytest.mark.parametrize(
    "path", sorted(TESTS.rglob("*.mlir")), ids=lambda path: str(path.relative_to(TESTS))
)
def test_every_check_line_is_fed(path: Path) -> None:
    if "Inputs" in path.parts:
        return
    text = path.read_text()
    assert RUN.search(text), "a test without a RUN line tests nothing"
    assert not unfed_checks(text)


def test_finds_a_prefix_that_no_run_line_feeds() -> None:
    assert unfed_checks("// RUN: hlo-opt %s | FileCheck %s\n// CHECK: a\n") == set()
    assert unfed_checks("// RUN: hlo-opt %s\n// CHECK-NEXT: a\n") == {"CHECK"}
    assert unfed_checks(
        "// RUN: x | FileCheck %s --check-prefix=FUSED\n// CHECK: a\n// FUSED-DAG: b\n"
    ) == {"CHECK"}
    assert (
        unfed_checks(
            "// RUN: x | \\\n// RUN: FileCheck %s --check-prefixes=A,B\n// A: a\n// B-SAME: b\n"
        )
        == set()
    )
