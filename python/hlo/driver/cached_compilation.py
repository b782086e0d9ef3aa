"""A compilation by way of the cache: what is stored is loaded, what is not is made and stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from hlo.diagnostics import CompileError
from hlo.driver.cache.program_cache import ProgramCache
from hlo.driver.cache.stored_program import StoredProgram
from hlo.driver.made_program import MadeProgram, Stopwatch
from hlo.driver.program_source import ProgramSource
from hlo.importers.python_callbacks import calls_python

Code = TypeVar("Code")
Program = TypeVar("Program")


@dataclass(frozen=True)
class Compilation(Generic[Code, Program]):
    """How a target compiles.

    Attributes:
        make: compiles a program; its stages are timed on the watch.
        load: makes stored code ready to run; a `CompileError` says that it cannot be.
        wrap: what the caller gets, of the source, what is stored (its statistics are those of this
            compilation), the code, and what is known of the program if it was just made.
    """

    make: Callable[[ProgramSource, Stopwatch], tuple[StoredProgram, MadeProgram]]
    load: Callable[[StoredProgram], Code]
    wrap: Callable[[ProgramSource, StoredProgram, Code, MadeProgram | None], Program]

    def run(self, source: ProgramSource, cache: ProgramCache | None, watch: Stopwatch) -> Program:
        """The compiled program; `cache` is None if there is to be none."""
        if cache is None:
            return self._afresh(source, watch, None, "")
        return self._through(cache, source, watch)

    def _through(self, cache: ProgramCache, source: ProgramSource, watch: Stopwatch) -> Program:
        text = source.text
        source_name = ""
        if text is not None:
            with watch.stage("cache"):
                source_name = cache.name_of_source(text)
                name = cache.find_source(source_name)
            if name and (stored := self._found(cache, name, source, watch)):
                return stored
        with watch.stage("import"):
            module = source.module
        if calls_python(module):
            return self._afresh(source, watch, None, "")
        with watch.stage("cache"):
            name = cache.name_of_module(module)
            if source_name:
                cache.keep_source(source_name, name)
        if stored := self._found(cache, name, source, watch):
            return stored
        return self._afresh(source, watch, cache, name)

    def _found(
        self, cache: ProgramCache, name: str, source: ProgramSource, watch: Stopwatch
    ) -> Program | None:
        """The program of that name in the cache; None if there is none that can be loaded."""
        with watch.stage("cache"):
            found = cache.find(name)
        if found is None:
            return None
        try:
            with watch.stage("load"):
                code = self.load(found)
        except CompileError as error:
            cache.discard(name, str(error))
            return None
        statistics = replace(found.statistics, stage_seconds=watch.seconds, cache="hit")
        return self.wrap(source, replace(found, statistics=statistics), code, None)

    def _afresh(
        self, source: ProgramSource, watch: Stopwatch, cache: ProgramCache | None, name: str
    ) -> Program:
        with watch.stage("import"):
            _ = source.module
        program, made = self.make(source, watch)
        statistics = replace(program.statistics, cache="off" if cache is None else "miss")
        with watch.stage("load"):
            code = self.load(program)
        if cache is not None:
            with watch.stage("cache"):
                cache.keep(name, replace(program, statistics=statistics))
        statistics = replace(statistics, stage_seconds=watch.seconds)
        return self.wrap(source, replace(program, statistics=statistics), code, made)
