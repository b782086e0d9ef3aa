"""Compiled programs on disk, found by what they were made of."""

from __future__ import annotations

import atexit
import dataclasses
import functools
import hashlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hlo import ir, knobs
from hlo.driver.cache.fingerprint import compiler_fingerprint, machine_fingerprint
from hlo.driver.cache.kernel_cache import KernelCache
from hlo.driver.cache.store import Store, digest_of
from hlo.driver.cache.stored_program import DamagedError, StoredProgram, decode, encode

FORMAT = 1
LARGE_CONSTANT = 4096
"""Elements of a constant that is not hashed as text."""
_ELIDED = b"dense_resource<__elided__>"
_MEGABYTE = 1_000_000
# Knobs that change what is reported or where, not what is compiled; `Options` carries threads.
_NEUTRAL_KNOBS = frozenset(
    {
        "cache",
        "cache_dir",
        "cache_limit_mb",
        "dump_dir",
        "isolate",
        "threads",
        "timing",
        "traceback",
        "verify_each",
    }
)


def default_directory() -> Path:
    """`HLO_CACHE_DIR`, else the folder `hlo` of the user's cache directory."""
    chosen = knobs.current().cache_dir
    if chosen is not None:
        return chosen
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification has relative paths ignored.
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "hlo"


def open_store() -> Store:
    """The store that the knobs name."""
    return _store(default_directory(), knobs.current().cache_limit_mb * _MEGABYTE)


def open_cache(target: str, options: Mapping[str, Any]) -> ProgramCache | None:
    """The cache for compilations with these options; None if there is to be none.

    Args:
        target: what is compiled for.
        options: everything else besides the program that the caller chose; as JSON has it.
    """
    if not knobs.current().cache:
        return None
    try:
        store = open_store()
    except RuntimeError:  # no home directory is known
        return None
    return ProgramCache(store, target, options)


class ProgramCache:
    """Stored programs for one set of options, on this machine, by this compiler.

    A program is known by its canonical text (generic form, without locations). Where it was given
    as text, that text by itself is looked up first, which saves reading it.

    Attributes:
        kernels: object files that programs with other options have in common too.
    """

    def __init__(self, store: Store, target: str, options: Mapping[str, Any]) -> None:
        self._store = store
        self._setting = _setting(store, target, options)
        self.kernels = KernelCache(store, _setting(store, target, {}))

    def name_of_source(self, source: bytes) -> str:
        """The name under which a program given as these bytes is looked up."""
        return self._name(b"source", source)

    def name_of_module(self, module: ir.Module) -> str:
        """The name under which a module is kept.

        Its large constants are hashed where they are: as text they take twice their memory.
        """
        text = _generic_text(module, LARGE_CONSTANT)
        elided = text.count(_ELIDED)
        if not elided:
            return self._name(b"module", text)
        constants = ir.operations_named(module.operation, {"hlo.constant"})
        values = [op.attributes["value"] for op in constants]
        large = [value for value in values if _is_large(value)]
        if elided != len(large):  # constants elsewhere, as in attributes of custom calls
            return self._name(b"module", _generic_text(module, None))
        return self._name(b"module", text, *map(ir.constants.raw_bytes, large))

    def find_source(self, source_name: str) -> str | None:
        """The name of the program that a source is known to be."""
        found = self._store.read("sources", source_name)
        return None if found is None else bytes(found).decode("ascii", "replace")

    def find(self, name: str) -> StoredProgram | None:
        """The program of that name, if it and its constants are there and whole."""
        data = self._store.read("programs", name)
        if data is None:
            return None
        try:
            return decode(data, lambda constant: self._store.read("constants", constant))
        except DamagedError as error:
            self._store.discard("programs", name, str(error))
            return None

    def keep(self, name: str, program: StoredProgram) -> None:
        """Stores a program under a name; nothing happens where that cannot be."""
        statistics = dataclasses.replace(program.statistics, stage_seconds={})
        parts = encode(dataclasses.replace(program, statistics=statistics), self._put_constant)
        self._store.write("programs", name, parts)

    def keep_source(self, source_name: str, name: str) -> None:
        """Notes which program a source is."""
        self._store.write("sources", source_name, [name.encode()])

    def discard(self, name: str, reason: str) -> None:
        """Removes a program that cannot be used."""
        self._store.discard("programs", name, reason)

    def _put_constant(self, data: memoryview) -> str:
        name = digest_of(data).hex()
        if not self._store.touch("constants", name):
            self._store.write("constants", name, [data])
        return name

    def _name(self, kind: bytes, *data: bytes | memoryview) -> str:
        digest = hashlib.sha256(self._setting)
        for part in (kind, *data):
            digest.update(part)
        return digest.hexdigest()


def _generic_text(module: ir.Module, most_elements: int | None) -> bytes:
    """Text in generic form without locations; constants of more elements are left out."""
    found: Any = module.operation.get_asm(
        binary=True, print_generic_op_form=True, enable_debug_info=False, assume_verified=True,
        large_elements_limit=most_elements,
    )  # fmt: skip
    return found


def _is_large(value: ir.Attribute) -> bool:
    """Whether `_generic_text` leaves a constant out."""
    if not isinstance(value, ir.DenseElementsAttr) or value.is_splat:
        return False
    return math.prod(ir.ShapedType(value.type).shape) > LARGE_CONSTANT


def _setting(store: Store, target: str, options: Mapping[str, Any]) -> bytes:
    """Everything but the program that decides what is compiled."""
    found = dataclasses.asdict(knobs.current())
    return json.dumps(
        {
            "format": FORMAT,
            "compiler": compiler_fingerprint(store),
            "machine": machine_fingerprint(),
            "target": target,
            "options": dict(options),
            "knobs": {name: found[name] for name in sorted(set(found) - _NEUTRAL_KNOBS)},
        },
        sort_keys=True,
        default=str,
    ).encode()


@functools.lru_cache(maxsize=16)
def _store(directory: Path, limit_bytes: int) -> Store:
    store = Store(directory, limit_bytes)
    atexit.register(_evict_at_exit, store, os.getpid())
    return store


def _evict_at_exit(store: Store, process: int) -> None:
    if store.has_written and os.getpid() == process:
        store.evict()
