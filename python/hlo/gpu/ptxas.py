"""NVIDIA's assembler, `ptxas`: PTX to machine code, and what a kernel takes of a multiprocessor.

It is optional: the driver assembles PTX too. It comes with the CUDA toolkit or with the wheel
`nvidia-cuda-nvcc-cu12`, which `hlo[cuda]` installs; no GPU and no driver are needed.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hlo.diagnostics import CompileError, MissingExtraError, UnsupportedError

_TIMEOUT_SECONDS = 300
# Where the wheels put it, under the folder of the namespace package `nvidia`.
_IN_WHEELS = ("cuda_nvcc/bin/ptxas", "cu13/bin/ptxas", "cu12/bin/ptxas")


@dataclass(frozen=True)
class KernelResources:
    """What a kernel takes.

    Attributes:
        registers: 32-bit registers of a thread.
        stack_bytes: local memory of a thread, spills included.
        spill_store_bytes, spill_load_bytes: moved between registers and local memory.
        shared_bytes: static shared memory of a block.
        barriers: hardware barriers of a block.
    """

    registers: int = 0
    stack_bytes: int = 0
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    shared_bytes: int = 0
    barriers: int = 0

    @property
    def spills(self) -> bool:
        return self.spill_store_bytes > 0 or self.spill_load_bytes > 0


@dataclass(frozen=True)
class Assembly:
    """Assembled code.

    Attributes:
        cubin: an ELF file for one chip.
        kernels: by name.
        warnings: of the assembler.
    """

    cubin: bytes
    kernels: dict[str, KernelResources]
    warnings: tuple[str, ...] = ()


@functools.cache
def find_ptxas() -> Path | None:
    """The assembler: of an installed wheel, of the `PATH`, or of the toolkit in `CUDA_HOME`."""
    spec = importlib.util.find_spec("nvidia")
    roots = [] if spec is None else list(spec.submodule_search_locations or ())
    candidates = [Path(root) / tail for root in roots for tail in _IN_WHEELS]
    on_path = shutil.which("ptxas")
    candidates += [Path(on_path)] if on_path else []
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    candidates.append(Path(home) / "bin" / "ptxas")
    return next((path for path in candidates if os.access(path, os.X_OK)), None)


def assemble(ptx: str, chip: str, *, level: int = 3) -> Assembly:
    """Assembles a module.

    Args:
        chip: such as `sm_80`.
        level: of optimisation, 0 to 3.

    Raises:
        MissingExtraError: there is no assembler on this machine.
        UnsupportedError: the assembler is too old for the chip or the PTX version.
        CompileError: it refuses the code.
    """
    program = find_ptxas()
    if program is None:
        raise MissingExtraError(
            "ptxas, NVIDIA's assembler, is not installed: pip install 'hlo[cuda]', or put the one "
            "of a CUDA toolkit on the PATH"
        )
    with tempfile.TemporaryDirectory(prefix="hlo-ptxas-") as folder:
        source, target = Path(folder) / "module.ptx", Path(folder) / "module.cubin"
        source.write_text(ptx)
        command = [
            str(program),
            "-v",
            f"-arch={chip}",
            f"-O{level}",
            str(source),
            "-o",
            str(target),
        ]
        try:
            run = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CompileError(f"{program} cannot be run: {error}") from error
        report = run.stdout + run.stderr
        if run.returncode != 0 or not target.exists():
            raise _refusal(report, program, chip, ptx)
        warnings = tuple(line for line in report.splitlines() if "warning" in line.lower())
        return Assembly(target.read_bytes(), resources_of(report), warnings)


_ENTRY = re.compile(r"(?:Compiling entry function|Function properties for) '?(\w+)'?")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")


def resources_of(report: str) -> dict[str, KernelResources]:
    """Reads what `ptxas -v` prints."""
    found: dict[str, dict[str, int]] = {}
    name = ""
    entries: set[str] = set()
    for line in report.splitlines():
        if entry := _ENTRY.search(line):
            name = entry.group(1)
            if "entry function" in line:
                entries.add(name)
            found.setdefault(name, {})
        elif stack := _STACK.search(line):
            keys = ("stack_bytes", "spill_store_bytes", "spill_load_bytes")
            found.setdefault(name, {}).update(zip(keys, map(int, stack.groups()), strict=True))
        elif used := _USED.search(line):
            values = found.setdefault(name, {})
            values["registers"] = int(used.group(1))
            values["barriers"] = _amount(line, r"used (\d+) barriers")
            values["shared_bytes"] = _amount(line, r"(\d+) bytes smem")
    return {name: KernelResources(**found[name]) for name in found if name in entries}


def _amount(line: str, pattern: str) -> int:
    match = re.search(pattern, line)
    return int(match.group(1)) if match else 0


def _refusal(report: str, program: Path, chip: str, ptx: str) -> CompileError:
    errors = [line.strip() for line in report.splitlines() if "error" in line or "fatal" in line]
    first = errors[0] if errors else report.strip()[:500]
    if "not defined for option" in report or "Unsupported .version" in report:
        return UnsupportedError(
            f"{program} is too old for {chip}: {first}; install a newer one: "
            "pip install -U nvidia-cuda-nvcc-cu12"
        )
    line = re.search(r"line (\d+)", first)
    lines = ptx.splitlines()
    text = ""
    if line and 0 < int(line.group(1)) <= len(lines):
        text = f" `{lines[int(line.group(1)) - 1].strip()}`"
    return CompileError(f"ptxas refuses the code for {chip}: {first}{text}")
