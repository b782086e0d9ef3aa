"""The text of a program from `Phase.HOST` on: a host program and a module of kernels."""

from __future__ import annotations

from collections.abc import Sequence

from hlo import ir
from hlo.driver.phases import Phase
from hlo.passes.hlo_to_host.program import HostProgram, hlo_to_host
from hlo.passes.host_to_llvm.convert import Signature, host_to_llvm
from hlo.passes.host_to_llvm.local_buffers import MOST_COPIED_BYTES
from hlo.passes.lower_to_llvm.modules import (
    HOST_PIPELINE,
    KERNEL_PIPELINE,
    entry_text,
    kernels_text,
    lower,
)
from hlo.passes.memory.deallocate import Deallocate
from hlo.passes.memory.place import Place

SPLIT_MARKER = "// -----"


def is_late(phase: Phase) -> bool:
    """Whether the program is no longer one module of `hlo` at that phase."""
    return phase.order >= Phase.HOST.order


def late_phase_text(
    fused: ir.Module, phase: Phase, donate: Sequence[int] = (), reuse: bool = True
) -> str:
    """The program at a late phase, compiled on from `Phase.FUSED`; see `text_of_host`."""
    return text_of_host(hlo_to_host(fused, donate), fused.context, phase, reuse)


def text_of_host(
    host: HostProgram, context: ir.Context, phase: Phase, reuse: bool = True, kernels: str = ""
) -> str:
    """The host program and its kernels at a late phase.

    Args:
        reuse: whether buffers may share memory.
        kernels: the module of kernels, of another target than the CPU.

    They are two modules with a `// -----` line between them, as `--split-input-file` reads them.
    """
    program = ir.parse_module(host.text, context)
    kernels = kernels or kernels_text(host.kernels, merged=phase is Phase.LLVM)
    if phase.order >= Phase.DEALLOCATED.order:
        Deallocate().run(program)
    if phase.order >= Phase.PLACED.order:
        Place(reuse=reuse).run(program)
    if phase is not Phase.LLVM:
        return f"{program}\n{SPLIT_MARKER}\n{kernels}"
    lowering = ir.make_lowering_context()
    text = host_to_llvm(program, signature_of(host))
    complete = entry_text(text, host.kernels)
    entry = lower(complete, HOST_PIPELINE if complete is text else KERNEL_PIPELINE, lowering)
    return f"{entry}\n{SPLIT_MARKER}\n{lower(kernels, KERNEL_PIPELINE, lowering)}"


def signature_of(host: HostProgram) -> Signature:
    """What the entry depends on beside its text: counts of what it takes, small constants."""
    return Signature(
        len(host.argument_types),
        len(host.result_types),
        len(host.constants),
        contents=tuple(
            array.tobytes() if array.nbytes <= MOST_COPIED_BYTES else b""
            for array in host.constants
        ),
    )
