"""`expected-error` comments and the diagnostics they account for."""

from __future__ import annotations

from hlo.driver.diagnostic_expectations import (
    FoundDiagnostic,
    line_of,
    parse_expectations,
    unmet,
)


def faults(text: str, *found: FoundDiagnostic) -> list[str]:
    return unmet(parse_expectations(text), found)


def error(line: int | None, message: str) -> FoundDiagnostic:
    return FoundDiagnostic("error", line, message)


def test_places() -> None:
    text = "\n".join(
        [
            "// expected-error @+1 {{plus}}",  # line 1 -> 2
            "op // expected-error {{same}}",  # line 2
            "// expected-error @below {{first}}",  # line 3 -> 5: shared
            "// expected-error @below {{second}}",  # line 4 -> 5
            "op",  # line 5
            "// expected-error @above {{over}}",  # line 6 -> 5
            "// expected-error @-1 {{minus}}",  # line 7 -> 6
            "// expected-warning @unknown {{nowhere}}",
        ]
    )
    places = [(e.text, e.line) for e in parse_expectations(text)]
    assert places == [
        ("plus", 2),
        ("same", 2),
        ("first", 5),
        ("second", 5),
        ("over", 5),
        ("minus", 6),
        ("nowhere", None),
    ]


def test_a_part_of_the_message_is_enough() -> None:
    assert faults("// expected-error @+1 {{rank}}", error(2, "expected rank 2 (C1)")) == []


def test_literal_text_is_not_a_regular_expression() -> None:
    assert faults("// expected-error {{(C1)}}", error(1, "broken (C1)")) == []
    assert faults("// expected-error {{a.c}}", error(1, "abc")) != []


def test_regular_expressions_stand_in_inner_braces() -> None:
    text = "// expected-error-re {{rank {{[0-9]+}} (C1)}}"
    assert faults(text, error(1, "expected rank 12 (C1)")) == []
    assert faults(text, error(1, "expected rank x (C1)")) != []


def test_several_on_one_line() -> None:
    text = "op // expected-error {{a}} expected-note {{b}}"
    assert faults(text, error(1, "a"), FoundDiagnostic("note", 1, "b")) == []


def test_what_is_missing_and_what_is_unexpected_is_told() -> None:
    (missing,) = faults("// expected-error {{a}}")
    assert missing == "line 1: expected error at line 1 was not produced: a"
    (unexpected,) = faults("", error(3, "b"))
    assert unexpected == "line 3: unexpected error: b"
    assert len(faults("// expected-error {{a}}", error(2, "a"))) == 2


def test_an_expectation_accounts_for_one_diagnostic() -> None:
    assert len(faults("// expected-error {{a}}", error(1, "a"), error(1, "a"))) == 1


def test_severity_counts_and_notes_are_free() -> None:
    assert len(faults("// expected-warning {{a}}", error(1, "a"))) == 2
    assert faults("", FoundDiagnostic("note", 1, "see current operation")) == []


def test_line_of_a_location() -> None:
    assert line_of('loc("a.mlir":12:3)') == 12
    assert line_of("loc(unknown)") is None
    assert line_of(None) is None
