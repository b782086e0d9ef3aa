"""Finds passes by name: those in the packages under `hlo.passes`, and those of other files that
were registered.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from hlo import passes
from hlo.diagnostics import CompileError
from hlo.passes.base import Pass

_REGISTERED: dict[str, type[Pass]] = {}


def register(pass_class: type[Pass]) -> type[Pass]:
    """Makes a pass of another file known by its name; also a decorator.

    A pass of the same name that was registered before is forgotten, so that a file can be changed
    and loaded again.

    Raises:
        CompileError: it is abstract, or hlo itself has a pass of that name.
    """
    if inspect.isabstract(pass_class):
        raise CompileError(f"{pass_class.__name__}: expected a pass with a method run, found none")
    own = _find_own(pass_class.name)
    if own is not None and own is not pass_class:
        raise CompileError(
            f"{pass_class.__name__}: hlo itself has a pass {pass_class.name!r} "
            f"({own.__module__}); name the class differently"
        )
    if own is None:
        _REGISTERED[pass_class.name] = pass_class
    return pass_class


def load_passes(path: str | Path) -> list[type[Pass]]:
    """Runs a Python file and registers the passes that it defines.

    Raises:
        CompileError: the file cannot be read or run, or defines no pass.
    """
    file = Path(path).absolute()
    try:
        source = file.read_bytes()
    except OSError as error:
        raise CompileError(
            f"{path}: expected a Python file with passes, found none: {error.strerror}"
        ) from error
    module = ModuleType(f"hlo_loaded_passes.{file.stem}")
    module.__file__ = str(file)
    sys.modules[module.__name__] = module  # where dataclasses look their annotations up
    try:
        # Not imported: bytecode of a file that changed within a second would be taken for its own.
        exec(compile(source, str(file), "exec"), module.__dict__)
    except Exception as error:
        del sys.modules[module.__name__]
        raise CompileError(
            f"{path}: {_where(error, file)}{type(error).__name__}: {error}"
        ) from error
    found = [register(pass_class) for pass_class in _passes_of(module)]
    if not found:
        raise CompileError(f"{path}: expected subclasses of hlo.Pass, found none")
    return found


def _where(error: Exception, file: Path) -> str:
    """`line 3: ` where the file itself has a part in the error."""
    lines: list[int] = []
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(file):
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    if isinstance(error, SyntaxError) or not lines:
        return ""
    return f"line {lines[-1]}: "


def find_pass(name: str) -> type[Pass] | None:
    """The pass of that name, or None. Only the file of that name is imported."""
    return _REGISTERED.get(name) or _find_own(name)


def _find_own(name: str) -> type[Pass] | None:
    file_name = name.replace("-", "_")
    for module_name in _module_names():
        if module_name.rpartition(".")[2] == file_name:
            for candidate in _passes_of(importlib.import_module(module_name)):
                if candidate.name == name:
                    return candidate
    return None


def all_passes() -> dict[str, type[Pass]]:
    """Every pass by name, sorted by name."""
    return dict(sorted((own_passes() | _REGISTERED).items()))


@functools.cache
def own_passes() -> dict[str, type[Pass]]:
    """The passes of hlo itself, by name."""
    found: dict[str, type[Pass]] = {}
    for module_name in _module_names():
        for candidate in _passes_of(importlib.import_module(module_name)):
            found[candidate.name] = candidate
    return found


@functools.cache
def _module_names() -> tuple[str, ...]:
    return tuple(_walk(passes))


def _walk(package: ModuleType) -> Iterator[str]:
    for info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        yield info.name
        if info.ispkg:
            yield from _walk(importlib.import_module(info.name))


def _passes_of(module: ModuleType) -> Iterator[type[Pass]]:
    for value in vars(module).values():
        if (
            isinstance(value, type)
            and issubclass(value, Pass)
            and value.__module__ == module.__name__
            and not inspect.isabstract(value)
        ):
            yield value
