"""Compiled programs as files and bytes: `Compiled.save`, `hlo.load`, and pickles.

A file holds the machine code (or the launch plan of a GPU), the program it was made from, as
bytecode, and the options. What does not run where it is loaded can so be compiled there.

    MAGIC, the SHA-256 of the rest, the length of a header, the header (JSON), then the parts whose
    lengths it gives: the program, the code as the compilation cache has it, large constants
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hlo import knobs
from hlo.diagnostics import CompileError, ParseError, UnsupportedError
from hlo.driver.cache.stored_program import DamagedError, StoredProgram, decode, encode
from hlo.driver.made_program import Options
from hlo.driver.program_source import ProgramSource
from hlo.driver.program_text import bytecode_of
from hlo.executable import runtime
from hlo.importers.python_callbacks import calls_python

if TYPE_CHECKING:
    from hlo.driver.inspected_program import InspectedProgram

MAGIC: Final = b"\x7fhlo program 1\n"
_DIGEST_BYTES = 32
_LENGTH_BYTES = 8


def write(program: InspectedProgram, path: Path, extra: Mapping[str, Any] | None = None) -> None:
    """Writes a program; the file appears whole.

    Args:
        extra: what else the file says, as JSON has it.

    Raises:
        UnsupportedError: the program calls Python functions.
        OSError: the file cannot be written.
    """
    data = to_bytes(program, extra)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(data)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def read(path: Path, *, recompile: bool = False) -> tuple[InspectedProgram, Mapping[str, Any]]:
    """The program of a file, and what else was written there.

    Args:
        recompile: compile what does not run here from the program in the file.

    Raises:
        ParseError: the file holds no saved program, or is damaged.
        CompileError: the program does not run here.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            raise ParseError(f"{path}: expected a saved program, found an empty file")
        # Unmapped with the last view of it.
        return _read(
            memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)), str(path), recompile
        )


def to_bytes(program: InspectedProgram, extra: Mapping[str, Any] | None = None) -> bytes:
    """The program as bytes.

    Raises:
        UnsupportedError: it calls Python functions.
    """
    if calls_python(program.source.module):
        raise UnsupportedError(
            "the program calls Python functions, which this process alone has; expected one "
            "without hlo.pure_callback, io_callback and debug_print"
        )
    source = bytecode_of(program.source.module)
    large: dict[str, memoryview] = {}

    def put(data: memoryview) -> str:
        name = str(len(large))
        large[name] = data
        return name

    parts = encode(program.stored, put)
    header = {
        "target": program.target_name,
        "options": asdict(program.options),
        "machine": _machine(program.target_name),
        "extra": dict(extra or {}),
        "source": len(source),
        "code": sum(len(part) for part in parts),
        "constants": {name: data.nbytes for name, data in large.items()},
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    held = (len(text).to_bytes(_LENGTH_BYTES, "little"), text, source, *parts, *large.values())
    digest = hashlib.sha256()
    for part in held:
        digest.update(part)
    return b"".join((MAGIC, digest.digest(), *held))


def from_bytes(data: bytes) -> InspectedProgram:
    """The program that `to_bytes` was given.

    Raises:
        ParseError: the bytes are no saved program.
        CompileError: it does not run here.
    """
    return _read(memoryview(data), "the data", False)[0]


def _machine(target: str) -> dict[str, Any]:
    """What code needs of the place where it runs."""
    if target != "cpu":
        return {}
    features = [f for f in runtime.host_features().split(",") if f.startswith("+")]
    return {
        "triple": runtime.host_triple(),
        "cpu": runtime.host_cpu(),
        "features": [feature.removeprefix("+") for feature in features],
        "abi": runtime.ABI_VERSION,
        "blas": runtime.BLAS_PATH != "",
    }


def _read(
    data: memoryview, name: str, recompile: bool
) -> tuple[InspectedProgram, Mapping[str, Any]]:
    if bytes(data[: len(MAGIC)]) != MAGIC:
        raise ParseError(f"{name}: expected a program written by Compiled.save, found other data")
    body = data[len(MAGIC) + _DIGEST_BYTES :]
    if hashlib.sha256(body).digest() != bytes(data[len(MAGIC) :][:_DIGEST_BYTES]):
        raise ParseError(f"{name}: the saved program is damaged: its SHA-256 does not hold")
    start = _LENGTH_BYTES + int.from_bytes(body[:_LENGTH_BYTES], "little")
    header = json.loads(bytes(body[_LENGTH_BYTES:start]))
    options = _options(header["options"], name)
    code_at = start + header["source"]
    source = ProgramSource(bytes(body[start:code_at]))
    reason = _why_not(header["target"], header["machine"])
    if reason and recompile:
        return _compiled(source, header["target"], options), header["extra"]
    if reason:
        raise CompileError(
            f"{name}: the program was compiled for another place: {reason}; compile it here with "
            "hlo.load(path, recompile=True)"
        )
    constants_at = code_at + header["code"]
    places: dict[str, memoryview] = {}
    for constant, length in header["constants"].items():
        places[constant] = body[constants_at : constants_at + length]
        constants_at += length
    try:
        stored = decode(body[code_at : code_at + header["code"]], places.get)
    except DamagedError as error:
        raise ParseError(f"{name}: the saved program is of another version: {error}") from error
    return _loaded(source, stored, options, header["target"]), header["extra"]


def _options(written: dict[str, Any], name: str) -> Options:
    try:
        passes = tuple((label, text) for label, text in written["passes"])
        values: dict[str, Any] = {**written, "donate": tuple(written["donate"]), "passes": passes}
        return Options(**values)
    except (KeyError, TypeError) as error:
        raise ParseError(f"{name}: the saved program is of another version: {error}") from error


def _why_not(target: str, machine: Mapping[str, Any]) -> str:
    """Why code does not run here; empty if it does."""
    here = _machine(target)
    for key, what in (("triple", "system"), ("abi", "version of hlo's runtime")):
        if machine.get(key) != here.get(key):
            return f"the {what} is {here.get(key)}, expected {machine.get(key)}"
    missing = sorted({*machine.get("features", ())} - {*here.get("features", ())})
    if missing:
        return f"this processor ({here['cpu']}) lacks {', '.join(missing)} of {machine['cpu']}"
    if machine.get("blas") and not here.get("blas"):
        return "it may call a BLAS library, and none is installed here"
    return ""


def _compiled(source: ProgramSource, target: str, options: Options) -> InspectedProgram:
    from hlo.driver.compile import compile as compile_program

    return compile_program(source.text, target=target, **asdict(options))


def _loaded(
    source: ProgramSource, stored: StoredProgram, options: Options, target: str
) -> InspectedProgram:
    with knobs.scope(vendor=options.vendor):
        if target == "cpu":
            from hlo.driver.compile import load_compiled

            return load_compiled(source, stored, options)
        from hlo.driver import gpu_compile

        return gpu_compile.load_compiled(source, stored, options, target)
