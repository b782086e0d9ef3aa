"""Object files of kernels, in memory and on disk, found by the text they were made of.

A program that was changed in one place, or another one with layers of the same shapes, is another
program; most of its kernels are not.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict

from hlo.driver.cache.store import Store

_KIND = "kernels"
_MEMORY_BYTES = 32_000_000


class _Recent:
    """The objects used last in this process, up to so many bytes."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit, self._bytes = limit_bytes, 0
        self._objects: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, name: tuple[str, str]) -> bytes | None:
        with self._lock:
            found = self._objects.get(name)
            if found is not None:
                self._objects.move_to_end(name)
            return found

    def keep(self, name: tuple[str, str], code: bytes) -> None:
        with self._lock:
            if name in self._objects:
                return
            self._objects[name] = code
            self._bytes += len(code)
            while self._bytes > self._limit:
                _, dropped = self._objects.popitem(last=False)
                self._bytes -= len(dropped)


_recent = _Recent(_MEMORY_BYTES)


class KernelCache:
    """Object files of modules, for this machine and this compiler.

    Args:
        store: where they are kept between processes.
        setting: everything besides a module's text that decides its machine code.
    """

    def __init__(self, store: Store, setting: bytes) -> None:
        self._store = store
        self._setting = setting

    def name_of(self, text: str, pipeline: str, passes: str, level: int) -> str:
        """The name under which a module's object file is looked up.

        Args:
            text: of the module.
            pipeline, passes, level: how it is compiled; see `hlo.executable.runtime.compile_text`.
        """
        digest = hashlib.sha256(self._setting)
        digest.update(f"{pipeline}\n{passes}\n{level}\n".encode())
        digest.update(text.encode())
        return digest.hexdigest()

    def find(self, name: str) -> bytes | None:
        """The object file of that name; None if there is none that is whole."""
        code = _recent.find(self._key(name))
        if code is not None:
            return code
        data = self._store.read(_KIND, name)
        if data is None:
            return None
        code = bytes(data)
        _recent.keep(self._key(name), code)
        return code

    def keep(self, name: str, code: bytes) -> None:
        """Keeps an object file under a name; on disk nothing happens where that cannot be."""
        _recent.keep(self._key(name), code)
        self._store.write(_KIND, name, [code])

    def _key(self, name: str) -> tuple[str, str]:
        # A folder of its own is a cache of its own in memory too.
        return str(self._store.directory), name
