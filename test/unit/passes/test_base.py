"""Passes as dataclasses: names, options from text, and back to text."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Literal

import pytest

from hlo import ir
from hlo.passes.base import Pass, PassOptionError, kebab_case
from hlo.passes.registry import all_passes, find_pass


class Mode(enum.Enum):
    STRICT = "strict"
    FAST = "fast"


@dataclass(frozen=True)
class ExampleLoops(Pass):
    """Does nothing."""

    max_ops: int = 8
    ratio: float = 0.5
    deep: bool = False
    mode: Mode = Mode.STRICT
    order: Literal["rows", "columns"] = "rows"
    names: tuple[str, ...] = ()
    limit: int | None = None

    def run(self, module: ir.Module) -> bool:
        return False


def test_a_pass_is_named_after_its_class() -> None:
    assert ExampleLoops.name == "example-loops"
    assert kebab_case("HLOToLLVM") == "hlo-to-llvm"


def test_options_are_converted_to_the_types_of_fields() -> None:
    made = ExampleLoops.from_text(
        {
            "max-ops": "3",
            "ratio": "1e-2",
            "deep": "true",
            "mode": "fast",
            "order": "columns",
            "names": "a,b",
            "limit": "4",
        }
    )
    assert made == ExampleLoops(3, 0.01, True, Mode.FAST, "columns", ("a", "b"), 4)
    assert ExampleLoops.from_text({"max_ops": "3", "limit": "none"}) == ExampleLoops(3)


def test_the_text_of_a_pass_shows_what_differs_from_the_default() -> None:
    assert str(ExampleLoops()) == "example-loops"
    changed = ExampleLoops(max_ops=3, deep=True, mode=Mode.FAST, names=("a", "b"))
    assert str(changed) == "example-loops{max-ops=3 deep=true mode=fast names=a,b}"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"depth": "1"}, "no option 'depth'; its options are: max-ops"),
        ({"max-ops": "x"}, "expected int, found 'x'"),
        ({"deep": "maybe"}, "expected true or false"),
        ({"mode": "slow"}, "expected one of strict, fast"),
        ({"order": "x"}, "expected one of rows, columns"),
    ],
)
def test_bad_options(options: dict[str, str], reason: str) -> None:
    with pytest.raises(PassOptionError, match=reason):
        ExampleLoops.from_text(options)


def test_every_pass_is_found_by_the_name_of_its_file_and_documented() -> None:
    for name, cls in all_passes().items():
        assert find_pass(name) is cls, f"{cls} must stand in {name.replace('-', '_')}.py"
        assert cls.__doc__ and not cls.__doc__.startswith(cls.__name__ + "("), (
            f"{cls} has no docstring"
        )
