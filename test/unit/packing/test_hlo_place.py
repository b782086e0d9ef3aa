"""`hlo-place`: reports, files, and errors without a traceback."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from hlo.tools.hlo_place import main

EXAMPLE = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n"
INSTANCES = Path(__file__).parent / "instances"


@pytest.fixture
def example(tmp_path: Path) -> str:
    path = tmp_path / "example.csv"
    path.write_text(EXAMPLE)
    return str(path)


def test_prints_height_bound_ratio_and_time(
    example: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([example, "--capacity=12"]) == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["buffers"] == "5"
    assert lines["height"] == "12 bytes, the least possible"
    assert lines["bound"] == "12 bytes"
    assert lines["ratio"] == "1.0000"
    assert lines["time"].endswith(" s")
    assert lines["capacity"] == "12 bytes: placed"


def test_json_has_the_same(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([example, "--json", "--time-budget=0"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report.pop("seconds") >= 0
    assert report == {
        "file": example,
        "buffers": 5,
        "height": 12,
        "bound": 12,
        "ratio": 1.0,
        "optimal": True,
        "capacity": None,
        "fits": True,
        "method": "best fit by size",
    }


def test_a_public_instance(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(INSTANCES / "K.1048576.csv")
    assert main([path, "--capacity=1048576", "--time-budget=20", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["height"] <= 1048576


def test_writes_the_offsets(example: str, tmp_path: Path) -> None:
    output = tmp_path / "placed.csv"
    assert main([example, "-o", str(output)]) == 0
    rows = [line.split(",") for line in output.read_text().splitlines()]
    assert rows[0] == ["id", "lower", "upper", "size", "offset"]
    assert [",".join(row[:4]) for row in rows[1:]] == EXAMPLE.splitlines()[1:]
    assert {int(row[4]) for row in rows[1:]} == {0, 4, 8}


def test_keeps_the_report_out_of_a_placement_on_standard_output(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    aligned = "size,id,upper,lower,alignment\n100,a,2,0,64\n100,b,2,0,64\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(aligned.encode())))
    assert main(["-", "-o", "-"]) == 0
    captured = capfdbinary.readouterr()
    assert captured.out.splitlines()[0] == b"id,lower,upper,size,alignment,offset"
    assert b"height   228 bytes" in captured.err  # 128 (100 aligned to 64) + 100


def test_a_capacity_that_cannot_be_met(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([example, "--capacity=11"]) == 1
    assert "no placement exists, 12 bytes are needed at least" in capsys.readouterr().out


def test_an_empty_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("id,lower,upper,size\n")
    assert main([str(path)]) == 0
    assert "height   0 bytes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ("", "expected a header with id, lower, upper, size"),
        ("id,lower,upper\n", ":1: the header lacks size"),
        ("id,lower,upper,size,gaps\n", ":1: column 'gaps' has no meaning here"),
        ("id,lower,upper,size,size\n", ":1: the header names a column twice"),
        ("id,lower,upper,size\na,0,1\n", ":2: expected 4 fields, found 3"),
        ("id,lower,upper,size\na,0,1,x\n", ":2: expected an integer in column size, found 'x'"),
        ("id,lower,upper,size\na,3,1,8\n", "buffer a is live in [3, 1)"),
        ("id,lower,upper,size\na,0,1,8\na,0,1,8\n", "two buffers have the id a"),
        ("id,lower,upper,size\na,0,1,99999999999999999999\n", "expected less than 2**62"),
        ('id,lower,upper,size\n"a', "this is not CSV text"),
        ("id,lower,upper,size\n\udcff", "this is not CSV text"),
    ],
)
def test_files_at_fault(
    contents: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wrong.csv"
    path.write_bytes(contents.encode(errors="surrogateescape"))
    assert main([str(path)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("hlo-place: error: ")
    assert message in error


def test_a_missing_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["/nowhere/buffers.csv"]) == 2
    assert capsys.readouterr().err.startswith("hlo-place: cannot read /nowhere/buffers.csv")


@pytest.mark.parametrize(
    "options", [["--capacity=-1"], ["--capacity=many"], ["--time-budget=nan"], ["--strategy=x"]]
)
def test_bad_usage(options: list[str], example: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_info:
        main([example, *options])
    assert exit_info.value.code == 2
    assert "hlo-place: error:" in capsys.readouterr().err
