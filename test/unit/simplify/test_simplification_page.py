"""docs/simplification.md is what `make docs` writes."""

from __future__ import annotations

from pathlib import Path

from hlo.passes.simplify.rule_listing import rules_markdown

PAGE = Path(__file__).resolve().parents[3] / "docs" / "simplification.md"


def test_page_is_fresh() -> None:
    assert PAGE.read_text() == rules_markdown(), "run `make docs`"
