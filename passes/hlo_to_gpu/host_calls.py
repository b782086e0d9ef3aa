"""Library functions that no GPU has, and functions of Python: the host runs them, on copies."""

from __future__ import annotations

from hlo.executable import runtime
from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel, HostFunction
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.kernel_function import argument_buffers
from hlo.passes.hlo_to_loops.library_kernels import portable_call, python_call


def emit_host_call(region: Region, node: Node) -> GpuKernel | None:
    """A call of the runtime's library, or of Python, on the host; None for other custom calls."""
    call = portable_call(region, node) or python_call(region, node)
    if call is None or call.function not in runtime.symbols():
        return None
    inputs, outputs = argument_buffers(region)
    buffers = [*inputs.values(), *outputs]
    places = [buffers.index(buffer) for buffer in call.buffers]
    count = len(places) - len(outputs)  # operands that only say what it comes after are left out
    function = HostFunction(
        call.function, tuple(places[:count]), tuple(places[count:]), call.parameters
    )
    return GpuKernel(
        text=f"// {function} on {', '.join(b.memref for b in buffers)}\n",
        units=1,
        inputs=tuple(b.memref for b in inputs.values()),
        outputs=tuple(b.memref for b in outputs),
        host=function,
    )
