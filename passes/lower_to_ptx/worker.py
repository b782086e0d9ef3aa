"""A process that compiles modules of kernels, one after another, until its input ends.

A message is eight bytes of length and a pickled object. The process says first that it is ready;
then it is sent a `ModuleSource` and answers an `Answer`. It may die on a source: `worker_process`
is the other end, which is prepared for that.
"""

from __future__ import annotations

import os
import pickle
import struct
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from hlo import ir
from hlo.diagnostics import CompileError
from hlo.executable import runtime
from hlo.passes.lower_to_ptx.module_code import ModuleSource, compiled

READY = "ready"
_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True)
class Answer:
    """What became of a source: code by form, or why there is none."""

    code: dict[str, bytes] = field(default_factory=dict[str, bytes])
    refused: str = ""


def write_message(stream: BinaryIO, message: object) -> None:
    """Writes a message.

    Raises:
        OSError: there is no reader.
    """
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    rest = memoryview(_LENGTH.pack(len(data)) + data)
    while rest:
        rest = rest[stream.write(rest) :]


def read_message(stream: BinaryIO) -> Any:
    """The next message.

    Raises:
        EOFError: the writer is gone.
    """
    (length,) = _LENGTH.unpack(_read(stream, _LENGTH.size))
    return pickle.loads(_read(stream, length))


def _read(stream: BinaryIO, count: int) -> bytes:
    parts: list[bytes] = []
    while count:
        part = stream.read(count)
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def answer_to(source: ModuleSource) -> Answer:
    """Compiles a source."""
    try:
        return Answer(runtime.on_large_stack(lambda: compiled(source)))
    except (CompileError, ir.MLIRError) as error:
        return Answer(refused=str(error))


def serve() -> None:
    """Answers messages of standard input. Whatever else is printed goes to standard error."""
    requests = os.fdopen(os.dup(0), "rb", buffering=0)
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    try:
        write_message(answers, READY)
        while True:
            write_message(answers, answer_to(read_message(requests)))
    except (EOFError, OSError):
        os._exit(0)  # who asked is gone, and nothing is worth tidying up
