"""Environment variables: types, errors, scopes, and a page that lists them all."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

import hlo
from hlo import knobs
from hlo.driver.phases import Phase

DOCS = Path(__file__).resolve().parents[2] / "docs" / "env_vars.md"


def test_values_are_typed() -> None:
    found = knobs.from_environment(
        {"HLO_THREADS": "3", "HLO_TIMING": "0", "HLO_DUMP_DIR": "/tmp/x", "OTHER": "y"}
    )
    assert (found.threads, found.timing, found.dump_dir) == (3, False, Path("/tmp/x"))


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"HLO_THREADS": "many"}, "HLO_THREADS: expected a number"),
        ({"HLO_TIMING": "perhaps"}, "HLO_TIMING: expected 1 or 0"),
        ({"HLO_TREADS": "1"}, "unknown environment variable HLO_TREADS"),
    ],
)
def test_mistakes_are_errors(environment: dict[str, str], reason: str) -> None:
    with pytest.raises(knobs.KnobError, match=reason):
        knobs.from_environment(environment)


def test_scopes_nest_and_end() -> None:
    before = knobs.current().threads
    with knobs.scope(threads=1):
        with knobs.scope(timing=True):
            assert (knobs.current().threads, knobs.current().timing) == (1, True)
        assert knobs.current().timing == knobs.Knobs().timing
    assert knobs.current().threads == before


def test_every_variable_is_in_the_docs() -> None:
    text = DOCS.read_text()
    for field in dataclasses.fields(knobs.Knobs):
        assert f"`{knobs.variable_name(field.name)}`" in text


def test_compilations_report_what_the_knobs_ask_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "module @tiny { func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> } }"  # noqa: E501
    with knobs.scope(timing=True, dump_dir=tmp_path):
        hlo.compile(text)
    written = sorted(path.name for path in (tmp_path / "tiny").iterdir())
    assert written == [f"{phase.order}-{phase.label}.mlir" for phase in Phase]
    assert "codegen" in capsys.readouterr().err
