"""Machine code of a host program and its kernels, compiled side by side."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

from hlo import ir
from hlo.driver.late_phases import signature_of
from hlo.executable import runtime
from hlo.passes.hlo_to_host.program import HostProgram
from hlo.passes.host_to_llvm.convert import host_to_llvm
from hlo.passes.lower_to_llvm.modules import (
    HOST_PIPELINE,
    KERNEL_PIPELINE,
    kernels_text,
    lower,
    program_text,
)

# Text that is worth a module of its own, which costs 2 ms, and a thread's attention.
MODULE_CHARACTERS = 40_000
# A context keeps every type and attribute it has seen: bounded by the text of its modules.
_CONTEXT_CHARACTERS = 2_000_000
_OPTIONS = runtime.CodegenOptions(verify=False)
# An entry without loops runs once, each line of it: making it well costs more than it saves.
_ONCE = runtime.CodegenOptions(passes="", level=0, verify=False)


def objects_of(host: HostProgram, placed: ir.Module, timed: bool = False) -> list[bytes]:
    """Object files of the entry and of the kernels.

    Args:
        placed: the host program's module, with the offsets of its buffers.
        timed: whether the entry measures its kernels; see `hlo.passes.host_to_llvm.Signature`.
    """
    entry = host_to_llvm(placed, replace(signature_of(host), timed=timed))
    if sum(len(kernel.text) for kernel in host.kernels.values()) < MODULE_CHARACTERS // 2:
        together = program_text(entry, host.kernels)
        if together is not None:
            return [_object(together, KERNEL_PIPELINE)]
    once = "scf.while" not in entry
    jobs = [(entry, HOST_PIPELINE, _ONCE if once else _OPTIONS)]
    for names in balanced({name: len(kernel.text) for name, kernel in host.kernels.items()}):
        text = kernels_text({name: host.kernels[name] for name in names}, merged=True)
        jobs.append((text, KERNEL_PIPELINE, _OPTIONS))
    # The longest first: then the threads end at about the same time.
    jobs.sort(key=lambda job: -len(job[0]))
    if sum(len(text) for text, *_ in jobs) < 2 * MODULE_CHARACTERS:
        return [_object(*job) for job in jobs]
    with ThreadPoolExecutor(runtime.hardware_threads()) as pool:
        return list(pool.map(lambda job: _object(*job), jobs))


def balanced(sizes: dict[str, int], most: int = MODULE_CHARACTERS) -> list[list[str]]:
    """Names in groups of about the same total size, `most` if that can be.

    Args:
        sizes: size of each name; one that is larger than `most` makes a group of its own.
    """
    count = max(1, -(-sum(sizes.values()) // most))
    groups: list[list[str]] = [[] for _ in range(count)]
    totals = [0] * count
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        smallest = totals.index(min(totals))
        groups[smallest].append(name)
        totals[smallest] += sizes[name]
    return [group for group in groups if group]


def _object(text: str, pipeline: str, options: runtime.CodegenOptions = _OPTIONS) -> bytes:
    with _lowering_context(len(text)) as context:
        return runtime.compile_to_object(lower(text, pipeline, context), options)


_spare: list[tuple[ir.Context, int]] = []


@contextmanager
def _lowering_context(characters: int) -> Generator[ir.Context]:
    """A context for a module of so many characters, used by no other thread for that time.

    Making one takes 4 ms and destroying it as long, so they are used again, up to a size.
    """
    try:
        context, used = _spare.pop()
    except IndexError:
        context, used = ir.make_lowering_context(), 0
        runtime.register_llvm_translation(context)
    yield context
    if used + characters < _CONTEXT_CHARACTERS:
        _spare.append((context, used + characters))
