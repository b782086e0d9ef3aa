"""Files of a cache: checked when read, replaced at once when written, the longest unused removed.

Any number of processes may use one folder at a time. A file is written under another name and then
renamed, so a reader finds the old contents or the new, never a part. Nothing here raises for a
folder that cannot be read or written, or for a damaged file: the cache then has nothing, and says
so on the logger `hlo.cache`.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import os
import secrets
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

logger = logging.getLogger("hlo.cache")

KINDS = ("programs", "kernels", "sources", "constants", "compilers")
_MAGIC = b"hlocach2"
_DIGEST_BYTES = 32
_HEADER_BYTES = len(_MAGIC) + _DIGEST_BYTES
_KEPT = 0.8  # of the limit: so that not every write evicts
_SECONDS_UNTIL_ABANDONED = 3600.0
_WRITES_BETWEEN_EVICTIONS = 256


@dataclass(frozen=True)
class Usage:
    """What a store holds: how many files, and their bytes."""

    files: int
    bytes: int


class Store:
    """Named byte strings in a folder.

    Args:
        directory: made when first written to, for its owner alone.
        limit_bytes: what the files together may take; the longest unused are removed.
    """

    def __init__(self, directory: Path, limit_bytes: int) -> None:
        self.directory = directory
        self.limit_bytes = limit_bytes
        self._written_bytes = 0
        self._writes = 0
        self._complained = False

    def read(self, kind: str, name: str) -> memoryview | None:
        """The contents of a file, marked as used now; None if there is none that is whole."""
        path = self._path(kind, name)
        try:
            data = _contents(path, _HEADER_BYTES + self.limit_bytes)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._complain("read", error)
            return None
        body = memoryview(data)[_HEADER_BYTES:]
        checksum = _checksum(kind, name, [body])
        if data[: len(_MAGIC)] != _MAGIC or data[len(_MAGIC) : _HEADER_BYTES] != checksum:
            self.discard(kind, name, "its checksum does not hold")
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return body

    def write(self, kind: str, name: str, parts: Sequence[bytes | memoryview]) -> bool:
        """Writes a file, its contents in parts; whether that succeeded."""
        size = _HEADER_BYTES + sum(memoryview(part).nbytes for part in parts)
        if size > self.limit_bytes:
            return False
        path = self._path(kind, name)
        # By chance: processes of two containers or machines may have one number.
        temporary = path.with_name(f".{name}.{secrets.token_hex(8)}")
        try:
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.parent.mkdir(exist_ok=True, mode=0o700)
            try:
                with temporary.open("xb") as file:
                    file.write(_MAGIC)
                    file.write(_checksum(kind, name, parts))
                    file.writelines(parts)
                temporary.replace(path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
        except OSError as error:
            self._complain("write", error)
            return False
        self._written_bytes += size
        self._writes += 1
        if self._writes > _WRITES_BETWEEN_EVICTIONS or self._written_bytes > self.limit_bytes // 16:
            self.evict()
        return True

    def touch(self, kind: str, name: str) -> bool:
        """Whether there is such a file, which is then marked as used now."""
        path = self._path(kind, name)
        try:
            os.utime(path)
        except OSError:
            return path.exists()
        return True

    def discard(self, kind: str, name: str, reason: str) -> None:
        """Removes a file that is of no use, with a warning."""
        path = self._path(kind, name)
        logger.warning("%s in the compilation cache is ignored: %s", path, reason)
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)

    def evict(self) -> int:
        """Removes the longest unused files until the rest fits the limit; how many."""
        self._writes = self._written_bytes = 0
        files = sorted(self._files())
        total = sum(size for _, size, _ in files)
        removed = 0
        if total <= self.limit_bytes:
            return removed
        for _, size, path in files:
            if total <= _KEPT * self.limit_bytes:
                break
            with contextlib.suppress(OSError):
                path.unlink()
                removed += 1
            total -= size
        return removed

    @property
    def has_written(self) -> bool:
        """Whether something was written since the last eviction."""
        return self._writes > 0

    def usage(self) -> Usage:
        """How much there is."""
        sizes = [size for _, size, _ in self._files()]
        return Usage(len(sizes), sum(sizes))

    def clear(self) -> int:
        """Removes every file of the cache, and nothing else in the folder; how many."""
        removed = 0
        for _, _, path in list(self._files()):
            with contextlib.suppress(OSError):
                path.unlink()
                removed += 1
        return removed

    def _path(self, kind: str, name: str) -> Path:
        return self.directory / kind / name

    def _files(self) -> Iterator[tuple[float, int, Path]]:
        """(time of the last use, bytes, path) of each file; files left half-written are removed."""
        for kind in KINDS:
            try:
                entries = list(os.scandir(self.directory / kind))
            except OSError:
                continue
            for entry in entries:
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue  # another process removed it
                if not entry.name.startswith("."):
                    yield status.st_mtime, status.st_size, Path(entry.path)
                elif status.st_mtime < time.time() - _SECONDS_UNTIL_ABANDONED:
                    with contextlib.suppress(OSError):
                        Path(entry.path).unlink()

    def _complain(self, what: str, error: OSError) -> None:
        if not self._complained:
            logger.warning("cannot %s the compilation cache %s: %s", what, self.directory, error)
        self._complained = True


def _contents(path: Path, most: int) -> bytes:
    """Of a regular file; nothing of one that is longer than `most`, which is none of the cache's.

    Raises:
        OSError: it is something else. A device or a pipe may have no end, or never begin.
    """
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return file.read() if status.st_size <= most else b""


def _checksum(kind: str, name: str, parts: Sequence[bytes | memoryview]) -> bytes:
    """Of contents and the file's name, so that no file is taken for another."""
    return digest_of(f"{kind}/{name}\0".encode(), *parts)


def digest_of(*parts: bytes | memoryview) -> bytes:
    """SHA-256 of the parts, one after the other."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.digest()
