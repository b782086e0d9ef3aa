"""Packing problems and placements as CSV: the format of MiniMalloc's public instances.

A header names the columns: `id`, `lower`, `upper`, `size`, in any order, and `alignment` if wanted.
A buffer is live in [lower, upper). A placement is the same table with a column `offset`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from hlo.diagnostics import ParseError
from hlo.passes.memory.packing.model import Buffer, Placement, check_buffers

_REQUIRED = ("id", "lower", "upper", "size")
_OPTIONAL = ("alignment",)


@dataclass(frozen=True)
class _Table:
    """Where the columns are."""

    name: str
    columns: dict[str, int]

    def buffer(self, row: list[str], line: int) -> Buffer:
        if len(row) != len(self.columns):
            raise ParseError(
                f"expected {len(self.columns)} fields, found {len(row)}",
                location=f"{self.name}:{line}",
            )
        return Buffer(
            id=row[self.columns["id"]].strip(),
            start=self._integer(row, "lower", line),
            end=self._integer(row, "upper", line),
            size=self._integer(row, "size", line),
            alignment=self._integer(row, "alignment", line) if "alignment" in self.columns else 1,
        )

    def _integer(self, row: list[str], column: str, line: int) -> int:
        text = row[self.columns[column]]
        try:
            return int(text)
        except ValueError:
            raise ParseError(
                f"expected an integer in column {column}, found {text!r}",
                location=f"{self.name}:{line}",
            ) from None


def read_buffers(contents: bytes, name: str) -> list[Buffer]:
    """The buffers of a CSV file's contents; `name` is what errors call the file.

    Raises:
        ParseError: it is not such a table.
        InvalidBufferError: it is one, but its buffers are no packing problem.
    """
    try:
        text = contents.decode("utf-8-sig")
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ParseError(f"this is not CSV text: {error}", location=name) from error
    if not rows:
        raise ParseError(f"expected a header with {', '.join(_REQUIRED)}", location=name)
    table = _Table(name, _columns(rows[0], name))
    buffers = [table.buffer(row, line) for line, row in enumerate(rows[1:], 2) if row]
    check_buffers(buffers)
    return buffers


def _columns(header: list[str], name: str) -> dict[str, int]:
    names = [column.strip() for column in header]
    missing = [column for column in _REQUIRED if column not in names]
    if missing:
        raise ParseError(
            f"the header lacks {', '.join(missing)}; expected {', '.join(_REQUIRED)} "
            f"and optionally {', '.join(_OPTIONAL)}",
            location=f"{name}:1",
        )
    unknown = [column for column in names if column not in _REQUIRED + _OPTIONAL]
    if unknown:
        raise ParseError(
            f"column {unknown[0]!r} has no meaning here; "
            f"known are {', '.join(_REQUIRED + _OPTIONAL)}",
            location=f"{name}:1",
        )
    if len(set(names)) != len(names):
        raise ParseError("the header names a column twice", location=f"{name}:1")
    return {column: index for index, column in enumerate(names)}


def write_placement(buffers: Sequence[Buffer], placement: Placement) -> str:
    """The placement as CSV text; alignments are left out if all are 1."""
    aligned = any(buffer.alignment != 1 for buffer in buffers)
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow((*_REQUIRED, *(_OPTIONAL if aligned else ()), "offset"))
    for b in buffers:
        alignment = (b.alignment,) if aligned else ()
        writer.writerow((b.id, b.start, b.end, b.size, *alignment, placement.offsets[b.id]))
    return output.getvalue()
