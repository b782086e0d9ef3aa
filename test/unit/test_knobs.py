"""Environment variables: types, errors, scopes, and a page that lists them all."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from hlo import knobs

DOCS = Path(__file__).resolve().parents[2] / "docs" / "env_vars.md"


def test_values_are_typed() -> None:
    found = knobs.from_environment(
        {"HLO_THREADS": "3", "HLO_CACHE": "0", "HLO_DUMP_DIR": "/tmp/x", "OTHER": "y"}
    )
    assert (found.threads, found.cache, found.dump_dir) == (3, False, Path("/tmp/x"))


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"HLO_THREADS": "many"}, "HLO_THREADS: expected a number"),
        ({"HLO_CACHE": "perhaps"}, "HLO_CACHE: expected 1 or 0"),
        ({"HLO_TREADS": "1"}, "unknown environment variable HLO_TREADS"),
    ],
)
def test_mistakes_are_errors(environment: dict[str, str], reason: str) -> None:
    with pytest.raises(knobs.KnobError, match=reason):
        knobs.from_environment(environment)


def test_scopes_nest_and_end() -> None:
    before = knobs.current().threads
    with knobs.scope(threads=1):
        with knobs.scope(cache=False):
            assert (knobs.current().threads, knobs.current().cache) == (1, False)
        assert knobs.current().cache == knobs.Knobs().cache
    assert knobs.current().threads == before


def test_every_variable_is_in_the_docs() -> None:
    text = DOCS.read_text()
    for field in dataclasses.fields(knobs.Knobs):
        assert f"`{knobs.variable_name(field.name)}`" in text
