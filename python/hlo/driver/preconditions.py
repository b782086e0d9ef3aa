"""What `compile` checks before it starts, so that nobody meets it as a crash later."""

from __future__ import annotations

import math
import operator
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from hlo import ir
from hlo.diagnostics import CompileError, UnsupportedError
from hlo.passes.hlo_to_host.program import entry_of
from hlo.recursion import FRAMES, room_for_recursion

_MOST_BYTES = 2**63 - 1
_FLAGS = (
    "reuse", "verify", "optimize", "fast", "memory_first", "vendor", "deterministic", "emulate",
    "tf32",
)  # fmt: skip
EMULATORS = ("ptx", "fibers")
_Type = tuple[tuple[int, ...], str]


def check_options(options: Mapping[str, Any]) -> None:
    """Checks the values of options by themselves.

    Raises:
        CompileError: one has a value it cannot have.
    """
    for name in _FLAGS:
        if name in options and not isinstance(options[name], bool):
            raise CompileError(f"option {name}: expected True or False, found {options[name]!r}")
    if "threads" in options and _index(options["threads"]) is None:
        raise CompileError(
            "option threads: expected a number of threads, or 0 for all processors, found "
            f"{options['threads']!r}"
        )
    if "schedule" in options and _index(options["schedule"]) is None:
        raise CompileError(
            f"option schedule: expected a number from 0, found {options['schedule']!r}"
        )
    if options.get("emulator", "ptx") not in EMULATORS:
        raise CompileError(
            f"option emulator: expected {' or '.join(EMULATORS)}, found {options['emulator']!r}"
        )
    if "max_bytes" in options and _index(options["max_bytes"]) is None:
        raise CompileError(
            "option max_bytes: expected a number of bytes, or 0 for no limit, found "
            f"{options['max_bytes']!r}"
        )
    if "donate" in options:
        _check_donated(options["donate"])


def _check_donated(donate: object) -> None:
    wrong = CompileError(f"option donate: expected distinct indices of arguments, found {donate!r}")
    if not isinstance(donate, Sequence) or isinstance(donate, str | bytes):
        raise wrong
    indices = [_index(index) for index in donate]
    if None in indices or len(set(indices)) < len(indices):
        raise wrong


def check_donated_exist(donate: Sequence[int], arguments: int) -> None:
    """Checks that donated arguments are arguments of the program."""
    if any(index >= arguments for index in donate):
        raise CompileError(
            f"option donate: expected indices below {arguments}, the number of arguments, "
            f"found {tuple(donate)}"
        )


def check_addressable(arguments: Sequence[_Type], results: Sequence[_Type]) -> None:
    """Checks that an address can be given to every byte of every argument and result.

    Raises:
        UnsupportedError: an array is too large for any memory.
    """
    for role, types in (("argument", arguments), ("result", results)):
        for i, (shape, name) in enumerate(types):
            size = math.prod(shape) * ir.types.to_dtype(name).itemsize
            if size > _MOST_BYTES:
                raise UnsupportedError(
                    f"{role} {i} of shape {list(shape)} and type {name} has {size} bytes; an array "
                    f"has at most {_MOST_BYTES}"
                )


def check_functions(module: ir.Module) -> None:
    """Checks that there is an entry to compile, and that control flow is structured.

    Raises:
        UnsupportedError: it is not so.
    """
    entry_of(module)
    for op in module.body.operations:
        function = op.operation
        if function.name == "func.func" and len(function.regions[0].blocks) > 1:
            raise UnsupportedError(
                "expected a function of one block, found branches between blocks; use hlo.if, "
                "hlo.case or hlo.while",
                op="func.func",
                location=str(function.location),
            )


@contextmanager
def depth_as_error() -> Generator[None]:
    """Room for passes that call themselves, and an error that says so where it is too little."""
    with room_for_recursion():
        try:
            yield
        except RecursionError as error:
            raise UnsupportedError(
                f"the passes nest more than {FRAMES} calls of Python for this program; "
                "make it flatter"
            ) from error


def _index(value: object) -> int | None:
    """A count or index as an integer; None when it is none."""
    if isinstance(value, bool):
        return None
    try:
        index = operator.index(value)  # pyright: ignore[reportArgumentType]
    except TypeError:
        return None
    return index if 0 <= index <= _MOST_BYTES else None
