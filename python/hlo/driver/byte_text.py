"""Byte counts for people."""

from __future__ import annotations

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def byte_text(count: int) -> str:
    """`1536` as `1.5 KiB`; whole numbers without decimals."""
    amount, unit = float(count), 0
    while abs(amount) >= 1024 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    text = f"{amount:.2f}".rstrip("0").rstrip(".")
    return f"{text} {_UNITS[unit]}"
