"""Finds passes by name in the packages under `hlo.passes`."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import ModuleType

from hlo import passes
from hlo.passes.base import Pass


def find_pass(name: str) -> type[Pass] | None:
    """The pass of that name, or None. Only the file of that name is imported."""
    file_name = name.replace("-", "_")
    for module_name in _module_names():
        if module_name.rpartition(".")[2] == file_name:
            for candidate in _passes_of(importlib.import_module(module_name)):
                if candidate.name == name:
                    return candidate
    return None


@functools.cache
def all_passes() -> dict[str, type[Pass]]:
    """Every pass by name, sorted by name."""
    found: dict[str, type[Pass]] = {}
    for module_name in _module_names():
        for candidate in _passes_of(importlib.import_module(module_name)):
            found[candidate.name] = candidate
    return dict(sorted(found.items()))


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
