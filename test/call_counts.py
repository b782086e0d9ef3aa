"""How much a piece of Python does, told by its calls: times differ from machine to machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def calls_of(f: Callable[..., Any], *arguments: Any) -> int:
    """The calls of functions, Python's and native, that a call makes on its thread."""
    count = 0

    def count_calls(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count_calls)
    try:
        f(*arguments)
    finally:
        sys.setprofile(before)
    return count
