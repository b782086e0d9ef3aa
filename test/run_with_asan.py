"""Runs tests of the runtime on a build of it with AddressSanitizer; `make test-asan` builds that.

python test/run_with_asan.py BUILD_FOLDER [pytest arguments]

The sanitizer must be in the process before anything allocates, so the interpreter starts anew with
its library loaded first. Leaks are not looked for: the interpreter keeps much until it ends, and
test/e2e/core/test_memory_over_time.py watches the runtime's own.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = ("test/unit/runtime", "test/unit/packing", "test/e2e/core/test_buffer_reuse.py")
MODULES = ("_runtime", "_packing")
ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    build, *arguments = sys.argv[1:]
    # The C++ library too: without it the sanitizer does not find what it wraps of exceptions.
    libraries = " ".join(map(_library, ("libasan.so", "libstdc++.so")))
    if os.environ.get("LD_PRELOAD") != libraries:
        os.environ["LD_PRELOAD"] = libraries
        os.environ["ASAN_OPTIONS"] = "detect_leaks=0:allocator_may_return_null=1"
        os.environ["HLO_CACHE"] = "0"
        os.execv(sys.executable, [sys.executable, *sys.argv])
    for name in MODULES:
        _load(name, next(Path(build).rglob(f"{name}.*.so")))
    chosen = arguments or [str(ROOT / test) for test in TESTS]
    return pytest.main(["-q", "-x", "-s", "-p", "no:cacheprovider", "-m", "not slow", *chosen])


def _library(name: str) -> str:
    """A library of the compiler that built the modules."""
    compiler = os.environ.get("CXX", "g++")
    answer = subprocess.run(
        [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True
    )
    return str(Path(answer.stdout.strip()).resolve())


def _load(name: str, path: Path) -> None:
    """Puts a module of the build in the place of the installed one."""
    full = f"hlo_native.{name}"
    spec = importlib.util.spec_from_file_location(full, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[full] = module
    spec.loader.exec_module(module)
    setattr(importlib.import_module("hlo_native"), name, module)


if __name__ == "__main__":
    sys.exit(main())
