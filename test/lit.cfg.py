"""lit over test/: every .mlir file with a RUN line; `make test` runs it in test/unit/test_lit.py.

By hand: `.venv/bin/lit -v test/passes/fusion`.
"""

import importlib.util
import os
import sys
from pathlib import Path

import lit.formats

config.name = "hlo"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["Inputs", "instances", "Output"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = str(Path(__file__).parent.parent / "build" / "lit")
config.maxIndividualTestTime = 60


def _executable(package: str, *parts: str) -> str:
    """The path of a program inside an installed package."""
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.submodule_search_locations is not None
    return str(Path(next(iter(spec.submodule_search_locations))).joinpath(*parts))


# What the compiler does with factors of 8 and 16 bits depends on the processor.
_flags = set(Path("/proc/cpuinfo").read_text().split()) if Path("/proc/cpuinfo").exists() else set()
if {"avx512_vnni", "avx512_bf16"} <= _flags:
    config.available_features.add("words")
    if "AuthenticAMD" in _flags:  # where pairs of bf16 are multiplied as fast as one of f32
        config.available_features.add("pairs")
# The tools run with the interpreter that runs lit, so the tests see the same installation.
for variable in ("PATH", "PYTHONPATH", "HOME", "XDG_CACHE_HOME"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]
# What is tested is compilation: nothing may come from an earlier run.
config.environment["HLO_CACHE"] = "0"
TOOLS = "opt run translate place cache reduce bisect"
_start = f"{sys.executable} -m"
if "LIT_TOOL_SERVER" in os.environ:  # they are in a process that waits for them
    _client = Path(__file__).parent / "served_tool.py"
    _start = f"{sys.executable} -I -S {_client} {os.environ['LIT_TOOL_SERVER']}"
for tool in (f"hlo-{name}" for name in TOOLS.split()):
    module = f"hlo.tools.{tool.replace('-', '_')}"
    config.substitutions.append((rf"\b{tool}\b(?!\.)", f"{_start} {module}"))
config.substitutions.append(
    (
        r"\bFileCheck\b",
        _executable("llvm", "bin", "FileCheck") + " --enable-var-scope --dump-input-filter=error",
    )
)
config.substitutions.append(
    (r"\bfilecheck\b", _executable("llvm", "bin", "FileCheck") + " --enable-var-scope")
)
config.substitutions.append(
    (r"%not", f"{sys.executable} {Path(__file__).parent / 'expect_failure.py'}")
)
