"""A compiled program as bytes: what it takes to load it, and nothing of how it was made."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hlo import ir
from hlo.driver.statistics import ProgramStatistics
from hlo.executable import runtime

INLINE_BYTES = 65536
"""A constant of more bytes is a file of its own, which programs share."""

_ALIGNMENT = 64
_LENGTH_BYTES = 8
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class StoredProgram:
    """A program in machine code.

    Attributes:
        name: of the program.
        objects: object files.
        signature: arguments and results.
        constants: what the program reads through its frame; only their bytes are kept.
        statistics: counts and sizes, without times.
    """

    name: str
    objects: tuple[bytes, ...]
    signature: runtime.Signature
    constants: tuple[Array, ...]
    statistics: ProgramStatistics


class DamagedError(Exception):
    """Bytes that are no stored program, or one whose constants are gone."""


def encode(
    program: StoredProgram, put: Callable[[memoryview], str]
) -> list[bytes | memoryview]:  # fmt: skip
    """The program as bytes, in parts.

    Args:
        put: keeps the bytes of a large constant and gives a name for them.
    """
    contents = [_bytes_of(constant) for constant in program.constants]
    inline = [data for data in contents if data.nbytes <= INLINE_BYTES]
    header = {
        "name": program.name,
        "objects": [len(code) for code in program.objects],
        "arguments": [
            [a.name, ir.types.type_name(a.dtype), list(a.shape), a.donated]
            for a in program.signature.arguments
        ],
        "results": [
            [ir.types.type_name(r.dtype), list(r.shape), r.donated_argument]
            for r in program.signature.results
        ],
        "constants": [
            data.nbytes if data.nbytes <= INLINE_BYTES else put(data) for data in contents
        ],
        "statistics": dataclasses.asdict(program.statistics),
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    return [len(text).to_bytes(_LENGTH_BYTES, "little"), text, *program.objects, *inline]


def decode(data: memoryview, get: Callable[[str], memoryview | None]) -> StoredProgram:
    """The program that `encode` was given; its constants are flat arrays of bytes.

    Args:
        get: the bytes that `put` of `encode` gave a name to.

    Raises:
        DamagedError: the bytes are no stored program, or `get` has nothing of that name.
    """
    try:
        return _decoded(data, get)
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedError(f"unexpected contents: {error}") from error


def _decoded(data: memoryview, get: Callable[[str], memoryview | None]) -> StoredProgram:
    start = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "little")
    header = json.loads(bytes(data[_LENGTH_BYTES:start]))
    rest = data[start:]

    def take(length: int) -> memoryview:
        nonlocal rest
        if length > len(rest):
            raise DamagedError(f"{len(rest)} bytes are left, expected {length}")
        taken, rest = rest[:length], rest[length:]
        return taken

    objects = tuple(bytes(take(length)) for length in header["objects"])
    constants: list[Array] = []
    for constant in header["constants"]:
        found = take(constant) if isinstance(constant, int) else get(constant)
        if found is None:
            raise DamagedError(f"constant {constant} is gone")
        constants.append(_aligned(found))
    if len(rest):
        raise DamagedError(f"{len(rest)} bytes more than expected")
    arguments = tuple(
        runtime.Argument(name, ir.types.to_dtype(kind), tuple(shape), donated)
        for name, kind, shape, donated in header["arguments"]
    )
    results = tuple(
        runtime.Result(ir.types.to_dtype(kind), tuple(shape), donated)
        for kind, shape, donated in header["results"]
    )
    return StoredProgram(
        header["name"],
        objects,
        runtime.Signature(arguments, results),
        tuple(constants),
        ProgramStatistics(**header["statistics"]),
    )


def _bytes_of(constant: Array) -> memoryview:
    """The memory of an array, in row-major order."""
    return np.ascontiguousarray(constant).reshape(-1).view(np.uint8).data


def _aligned(data: memoryview) -> Array:
    """A copy of bytes at an address that vectors can be loaded from."""
    room = np.empty(len(data) + _ALIGNMENT, np.uint8)
    start = -room.ctypes.data % _ALIGNMENT
    copy = room[start : start + len(data)]
    copy[:] = np.frombuffer(data, np.uint8)
    return copy
