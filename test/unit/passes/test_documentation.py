"""docs/passes.md is what `make docs` writes."""

from __future__ import annotations

from pathlib import Path

from hlo.driver.pass_listing import list_passes, passes_markdown
from hlo.passes.registry import all_passes

PAGE = Path(__file__).resolve().parents[3] / "docs" / "passes.md"


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text() == passes_markdown(), "run `make docs`"


def test_the_list_names_every_pass_and_option() -> None:
    listed = list_passes()
    for name, cls in all_passes().items():
        assert f"--{name}\n" in listed
        for option in cls.options():
            assert f"{option.name.replace('_', '-')}: " in listed
