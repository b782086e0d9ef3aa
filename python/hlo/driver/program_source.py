"""A program as it was given to the compiler, read when that is first needed."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path

from hlo import ir
from hlo.driver.preconditions import check_functions
from hlo.importers.program import load_program, read_contents


class ProgramSource:
    """A program in any form that `load_program` takes.

    A path is read at once, so that later changes of the file make no difference.
    """

    def __init__(self, program: object) -> None:
        self._program = program
        self._name: str | None = None
        if isinstance(program, os.PathLike):
            path = Path(program)
            self._name = str(path)
            self._program = read_contents(path)
        elif isinstance(program, bytearray | memoryview):
            self._program = bytes(program)

    @property
    def text(self) -> bytes | None:
        """The program's text or bytecode; None where it was given as a module."""
        if isinstance(self._program, str):
            return self._program.encode("utf-8", "surrogatepass")
        return self._program if isinstance(self._program, bytes) else None

    @cached_property
    def module(self) -> ir.Module:
        """The program, checked to have an entry.

        Raises:
            CompileError: it is not well-formed, or has none.
        """
        module = load_program(self._program, source_name=self._name)
        check_functions(module)
        return module
