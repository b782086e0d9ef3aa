"""Machine code of a host program and its kernels, compiled side by side."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hlo import ir
from hlo.driver.late_phases import signature_of
from hlo.executable import runtime
from hlo.passes.hlo_to_host.program import HostProgram
from hlo.passes.hlo_to_loops.loop_kernel import Kernel
from hlo.passes.host_to_llvm.convert import host_to_llvm
from hlo.passes.lower_to_llvm.modules import HOST_PIPELINE, KERNEL_PIPELINE, kernels_text, lower

# Enough to share the fixed cost of a module, few enough to balance two threads.
KERNELS_PER_MODULE = 12


def objects_of(host: HostProgram, placed: ir.Module) -> list[bytes]:
    """Object files of the entry and of the kernels.

    Args:
        placed: the host program's module, with the offsets of its buffers.
    """
    names = list(host.kernels)
    groups = max(1, min(len(names) // KERNELS_PER_MODULE + 1, runtime.hardware_threads()))
    parts: list[dict[str, Kernel]] = [
        {n: host.kernels[n] for n in names[i::groups]} for i in range(groups)
    ]
    jobs = [(host_to_llvm(placed, signature_of(host)), HOST_PIPELINE)]
    jobs += [(kernels_text(part), KERNEL_PIPELINE) for part in parts if part]
    if len(names) <= KERNELS_PER_MODULE:
        return [_object(*job) for job in jobs]
    with ThreadPoolExecutor(runtime.hardware_threads()) as pool:
        return list(pool.map(lambda job: _object(*job), jobs))


def _object(text: str, pipeline: str) -> bytes:
    context = ir.make_lowering_context()
    runtime.register_llvm_translation(context)
    return runtime.compile_to_object(
        lower(text, pipeline, context), runtime.CodegenOptions(verify=False)
    )
