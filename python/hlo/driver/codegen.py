"""Machine code of a host program and its kernels, begun while the kernels are made."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from hlo import ir
from hlo.driver.late_phases import signature_of
from hlo.executable import runtime
from hlo.passes.hlo_to_host.program import HostProgram
from hlo.passes.hlo_to_loops.loop_kernel import Kernel
from hlo.passes.host_to_llvm.convert import host_to_llvm
from hlo.passes.lower_to_llvm.modules import (
    HOST_PIPELINE,
    KERNEL_PIPELINE,
    kernels_text,
    program_text,
)

# Text that is worth a module of its own, which costs a millisecond.
MODULE_CHARACTERS = 40_000
_OPTIONS = runtime.CodegenOptions(verify=False)
# An entry without loops runs once, each line of it: making it well costs more than it saves.
_ONCE = runtime.CodegenOptions(passes="", level=0, verify=False)


class ProgramCode:
    """Machine code of one program.

    Kernels go to other threads in modules as they come, so that these work while this thread makes
    the next ones; few and small kernels wait for the entry, to be one module with it.
    """

    def __init__(self) -> None:
        self._begun: list[dict[str, Kernel]] = []
        self._waiting: dict[str, Kernel] = {}
        self._characters = 0

    @cached_property
    def _queue(self) -> runtime.CodegenQueue:
        return runtime.CodegenQueue()

    def add(self, name: str, kernel: Kernel) -> None:
        """Takes a kernel as soon as there is one."""
        self._waiting[name] = kernel
        self._characters += len(kernel.text)
        if self._characters >= MODULE_CHARACTERS:
            self._begin(self._waiting)
            self._waiting, self._characters = {}, 0

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
        characters = sum(len(kernel.text) for kernel in host.kernels.values())
        if not self._begun and characters < MODULE_CHARACTERS // 2:
            together = program_text(entry, host.kernels)
            if together is not None:
                return [runtime.compile_text(together, KERNEL_PIPELINE, _OPTIONS)]
        used, done = self._parts_of(host)
        for group in grouped({n: k for n, k in host.kernels.items() if n not in done}):
            self._begin(group)
            used.append(True)
        once = "scf.while" not in entry
        self._queue.add(entry, HOST_PIPELINE, _ONCE if once else _OPTIONS)
        objects = self._queue.finish()
        return [objects[-1], *(o for o, wanted in zip(objects[:-1], used, strict=True) if wanted)]

    def _begin(self, kernels: dict[str, Kernel]) -> None:
        self._begun.append(kernels)
        self._queue.add(kernels_text(kernels, merged=True), KERNEL_PIPELINE, _OPTIONS)

    def _parts_of(self, host: HostProgram) -> tuple[list[bool], set[str]]:
        """Which groups hold only kernels of the program, each once, and the names of these."""
        used: list[bool] = []
        done: set[str] = set()
        for group in self._begun:
            used.append(done.isdisjoint(group) and _is_part_of(group, host))
            if used[-1]:
                done.update(group)
        return used, done


def grouped(kernels: dict[str, Kernel]) -> list[dict[str, Kernel]]:
    """Kernels in groups, in order, each but the last of at least `MODULE_CHARACTERS`."""
    groups: list[dict[str, Kernel]] = []
    room = 0
    for name, kernel in kernels.items():
        if room <= 0:
            groups.append({})
            room = MODULE_CHARACTERS
        groups[-1][name] = kernel
        room -= len(kernel.text)
    return groups


def _is_part_of(group: dict[str, Kernel], host: HostProgram) -> bool:
    known = host.kernels
    return all(name in known and known[name].text == k.text for name, k in group.items())
