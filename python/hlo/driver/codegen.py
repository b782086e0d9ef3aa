"""Machine code of a host program and its kernels, begun while the kernels are made."""

from __future__ import annotations

import hashlib
import re
import threading
from dataclasses import dataclass, replace
from functools import cached_property

from hlo import ir
from hlo.driver.cache.kernel_cache import KernelCache
from hlo.driver.late_phases import signature_of
from hlo.executable import runtime
from hlo.passes.hlo_to_host.program import HostProgram
from hlo.passes.hlo_to_loops.kernel_function import Kernel
from hlo.passes.host_to_llvm.convert import host_to_llvm
from hlo.passes.lower_to_llvm.merged_members import with_members_inside
from hlo.passes.lower_to_llvm.modules import (
    HOST_PIPELINE,
    KERNEL_PIPELINE,
    WARM_UP,
    entry_text,
    kernels_text,
    program_text,
)
from hlo.passes.lower_to_llvm.rare_functions import with_rare_apart

# Text that is worth a module of its own, which costs a millisecond.
MODULE_CHARACTERS = 40_000
# Kernels of less text altogether are one module with the entry.
WITH_ENTRY_CHARACTERS = 20_000
# A kernel that is a module of its own: it is found in the cache whatever else a program has.
OWN_MODULE_CHARACTERS = 8_000
_OPTIONS = runtime.CodegenOptions(verify=False)
# An entry whose loops hold the bodies of kernels.
_INLINING = runtime.CodegenOptions(passes=runtime.INLINING_PASSES, verify=False)
# An entry without loops runs once, each line of it: making it well costs more than it saves.
_ONCE = runtime.CodegenOptions(passes="", level=0, verify=False)


@dataclass(frozen=True)
class _Unit:
    """Kernels that are compiled as one module.

    Attributes:
        kernels: by their names in the program; none in the module of a rare function.
        name: of its object file in the cache.
        code: the object file, if there is one from before.
        text: of the module.
    """

    kernels: dict[str, Kernel]
    name: str = ""
    code: bytes | None = None
    text: str = ""


class ProgramCode:
    """Machine code of one program.

    Kernels go to other threads in modules as they come, so that these work while this thread makes
    the next ones: large ones at once, small ones when they are enough for a module. Few and small
    kernels wait for the entry, to be one module with it. A module of
    kernels that the cache has is not made again: its text does not depend on where in the program
    the kernels come.

    Args:
        cache: of object files of kernels; None for none.
    """

    def __init__(self, cache: KernelCache | None = None) -> None:
        self._cache = cache
        self._begun: list[_Unit] = []
        self._waiting: dict[str, Kernel] = {}
        self._characters = 0
        self._symbols: dict[tuple[str, str], str] = {}
        # Modules of functions that kernels rarely need, by what they define, and those begun.
        self._rare: dict[str, str] = {}
        self._rare_begun: set[str] = set()

        self._first = 0 if _warm.is_set() else self._warm_up()

    @cached_property
    def _queue(self) -> runtime.CodegenQueue:
        return runtime.CodegenQueue()

    def _warm_up(self) -> int:
        """Has another thread make the tables of MLIR and LLVM, as the first kernel of a process
        otherwise does; how many modules that takes.
        """
        if runtime.hardware_threads() < 2:
            return 0
        _warm.set()
        self._queue.add(WARM_UP, KERNEL_PIPELINE, _OPTIONS)
        return 1

    def add(self, name: str, kernel: Kernel) -> None:
        """Takes a kernel as soon as there is one."""
        self._waiting[name] = kernel = self._apart(kernel)
        self._characters += len(kernel.text)
        if self._characters < WITH_ENTRY_CHARACTERS:
            return
        for group in grouped(self._waiting):
            size = sum(len(kernel.text) for kernel in group.values())
            if size >= (OWN_MODULE_CHARACTERS if len(group) == 1 else MODULE_CHARACTERS):
                self._begin(group)
                for begun in group:
                    del self._waiting[begun]

    def objects_of(
        self, host: HostProgram, placed: ir.Module, *, timed: bool = False
    ) -> list[bytes]:
        """Object files of the entry and of the kernels.

        Args:
            host: the program. `add` may have got its kernels, also those of other attempts at it.
            placed: the host program's module, with the offsets of its buffers.
            timed: whether the entry measures its kernels; see `hlo.passes.host_to_llvm.Signature`.
        """
        entry = host_to_llvm(placed, replace(signature_of(host), timed=timed))
        host = replace(host, kernels={n: self._apart(k) for n, k in host.kernels.items()})
        characters = sum(len(kernel.text) for kernel in host.kernels.values())
        if not self._begun and characters < WITH_ENTRY_CHARACTERS:
            together = program_text(entry, host.kernels)
            if together is not None:
                code = runtime.compile_text(together, KERNEL_PIPELINE, _options_of(entry))
                return [code, *(self._rare_code(s) for s in self._rare if s in together)]
        used, done = self._parts_of(host)
        for group in grouped({n: k for n, k in host.kernels.items() if n not in done}):
            self._begin(group)
        used += [True] * (len(self._begun) - len(used))
        once = "scf.while" not in entry
        complete = entry_text(entry, host.kernels)
        pipeline = HOST_PIPELINE if complete is entry else KERNEL_PIPELINE
        symbols = {name: self._symbol_of(name, kernel) for name, kernel in host.kernels.items()}
        entry = _CALLED.sub(lambda found: f"@{symbols[found['name']]}__packed", complete)
        self._queue.add(entry, pipeline, _ONCE if once else _options_of(entry))
        *made, entry_code = self._queue.finish()
        codes = self._codes(made[self._first :])
        return [entry_code, *(c for c, wanted in zip(codes, used, strict=True) if wanted)]

    def _symbol_of(self, name: str, kernel: Kernel) -> str:
        key = name, kernel.text
        symbol = self._symbols.get(key)
        if symbol is None:
            symbol = self._symbols[key] = symbol_of(name, kernel)
        return symbol

    def _apart(self, kernel: Kernel) -> Kernel:
        """The kernel without its rare functions, which are noted, and with its members inside."""
        kernel, modules = with_rare_apart(kernel)
        self._rare.update(modules)
        return with_members_inside(kernel)

    def _rare_code(self, symbol: str) -> bytes:
        """The object file of a rare function: of this process, of the cache, or made now."""
        text = self._rare[symbol]
        if (code := _RARE_CODE.get(text)) is None:
            unit = self._found(text)
            code = unit.code or runtime.compile_text(text, KERNEL_PIPELINE, _OPTIONS)
            self._keep(unit, text, code)
        return code

    def _begin_rare(self, kernels: dict[str, Kernel]) -> None:
        """Has the rare functions of kernels made, each once."""
        texts = [kernel.text for kernel in kernels.values()]
        for symbol, text in self._rare.items():
            if symbol not in self._rare_begun and any(symbol in own for own in texts):
                self._rare_begun.add(symbol)
                known = _RARE_CODE.get(text)
                self._begin_unit(_Unit({}, code=known) if known else self._found(text), text)

    def _begin(self, kernels: dict[str, Kernel]) -> None:
        self._begin_rare(kernels)
        symbols = {self._symbol_of(name, kernel): kernel for name, kernel in kernels.items()}
        text = kernels_text(symbols, merged=True)
        self._begin_unit(self._found(text, kernels), text)

    def _begin_unit(self, unit: _Unit, text: str) -> None:
        if unit.code is None:
            self._queue.add(text, KERNEL_PIPELINE, _OPTIONS)
        self._begun.append(replace(unit, text=text))

    def _found(self, text: str, kernels: dict[str, Kernel] | None = None) -> _Unit:
        """A module's unit, with its object file if the cache has it."""
        if self._cache is None:
            return _Unit(kernels or {})
        name = self._cache.name_of(text, KERNEL_PIPELINE, _OPTIONS.passes, _OPTIONS.level)
        return _Unit(kernels or {}, name, self._cache.find(name))

    def _keep(self, unit: _Unit, text: str, code: bytes) -> None:
        """Keeps an object file that was made or found."""
        if self._cache is not None and unit.code is None:
            self._cache.keep(unit.name, code)
        if not unit.kernels:
            _RARE_CODE[text] = code

    def _codes(self, made: list[bytes]) -> list[bytes]:
        """The object files of all units, of those that were `made` now in order; these are kept."""
        codes: list[bytes] = []
        following = iter(made)
        for unit in self._begun:
            code = next(following) if unit.code is None else unit.code
            self._keep(unit, unit.text, code)
            codes.append(code)
        return codes

    def _parts_of(self, host: HostProgram) -> tuple[list[bool], set[str]]:
        """Which units hold only kernels of the program, each once, and the names of these."""
        used: list[bool] = []
        done: set[str] = set()
        for unit in self._begun:
            used.append(done.isdisjoint(unit.kernels) and _is_part_of(unit.kernels, host))
            if used[-1]:
                done.update(unit.kernels)
        return used, done


def symbol_of(name: str, kernel: Kernel) -> str:
    """The kernel's name in object files: from its ops and its text, whatever the program.

    Args:
        name: as `hlo.passes.hlo_to_host.kernel_table` makes it, with the number of the kernel.
    """
    digest = hashlib.sha256(kernel.text.encode()).hexdigest()
    return f"{name.rpartition('_')[0]}_{digest[:16]}"


def _options_of(entry: str) -> runtime.CodegenOptions:
    return _INLINING if "__inlined(" in entry else _OPTIONS


# Object files of functions that kernels rarely need, by their modules' texts: whatever a process
# compiles, there are few.
_RARE_CODE: dict[str, bytes] = {}

# Set when a program of this process has begun the tables that machine code is made by.
_warm = threading.Event()

_CALLED = re.compile(r"@(?P<name>\w+)__packed\b")


def grouped(kernels: dict[str, Kernel]) -> list[dict[str, Kernel]]:
    """Kernels in groups, in order: large ones alone, of small ones `MODULE_CHARACTERS` together."""
    groups: list[dict[str, Kernel]] = []
    small: dict[str, Kernel] = {}
    room = 0
    for name, kernel in kernels.items():
        if len(kernel.text) >= OWN_MODULE_CHARACTERS:
            groups.append({name: kernel})
            continue
        if room <= 0:
            small = {}
            groups.append(small)
            room = MODULE_CHARACTERS
        small[name] = kernel
        room -= len(kernel.text)
    return groups


def _is_part_of(group: dict[str, Kernel], host: HostProgram) -> bool:
    known = host.kernels
    return all(name in known and known[name].text == k.text for name, k in group.items())
