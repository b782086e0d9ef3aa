"""Kernels that call the runtime's libraries: sorting, FFT, factorisations."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from hlo.executable import callbacks, runtime
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.kernel_function import Kernel, argument_buffers
from hlo.passes.hlo_to_loops.library_call import library_kernel
from hlo.passes.hlo_to_loops.sort_kernel import emit_sort

FFT_KINDS = ("FFT", "IFFT", "RFFT", "IRFFT")


def emit_fft(region: Region, node: Node) -> Kernel | None:
    """A kernel that calls hlo_rt_fft."""
    operand, result = node.operands[0], node.results[0]
    if operand.size == 0 or result.size == 0:
        return None
    lengths = tuple(node.attributes["fft_length"])
    batch = math.prod(operand.shape[: operand.rank - len(lengths)])
    real_bytes = operand.type.part_type.bits // 8
    inputs, outputs = argument_buffers(region)
    parameters = [
        FFT_KINDS.index(node.attributes["fft_type"]),
        real_bytes,
        batch,
        len(lengths),
        *lengths,
    ]
    same = operand.size * operand.type.memory_bytes == result.size * result.type.memory_bytes
    return library_kernel(
        region, "hlo_rt_fft", [inputs[operand], outputs[0]], parameters,
        replaces=[(1, 0)] if same else [],
    )  # fmt: skip


@dataclass(frozen=True)
class LibraryCall:
    """A call of a library function of the runtime; see kernel_abi.h.

    Attributes:
        function: its name there.
        buffers: operands, then results.
        parameters: its numbers.
        replaces: (result, operand) places in `buffers` that may be the same memory.
    """

    function: str
    buffers: tuple[Buffer, ...]
    parameters: tuple[int, ...]
    replaces: tuple[tuple[int, int], ...] = ()


def emit_custom_call(region: Region, node: Node) -> Kernel | None:
    """A kernel that calls the runtime's function of a target as kernel_abi.h says."""
    call = portable_call(region, node) or python_call(region, node)
    if call is None:
        return None
    return library_kernel(
        region, call.function, call.buffers, call.parameters, replaces=call.replaces
    )


def portable_call(region: Region, node: Node) -> LibraryCall | None:
    """The call of LAPACK, or for a random state, that a custom call is; None for other targets."""
    if str(node.attributes.get("call_target_name", "")) == runtime.RANDOM_STATE:
        outputs = argument_buffers(region)[1]
        return LibraryCall(runtime.RANDOM_STATE_FUNCTION, tuple(outputs), ())
    return lapack_call(region, node)


def lapack_call(region: Region, node: Node) -> LibraryCall | None:
    """The call that a custom call of a LAPACK target is; None for other targets."""
    target = str(node.attributes.get("call_target_name", ""))
    if not target.startswith("lapack_"):
        return None
    inputs, outputs = argument_buffers(region)
    tensors = [*node.operands, *node.results]
    parameters = [
        0,
        len(node.operands),
        len(node.results),
    ]  # 0: our tensors are row-major, whatever layouts it asks for
    for tensor in tensors:
        parameters += [tensor.rank, *tensor.shape]
    config = (
        node.attributes.get("mhlo.backend_config") or node.attributes.get("backend_config") or {}
    )
    parameters += [int(config[key]) for key in sorted(config)]
    buffers = [*(inputs[t] for t in node.operands), *outputs]
    return LibraryCall(
        f"hlo_rt_{target}", tuple(buffers), tuple(parameters), tuple(_aliases_of(node))
    )


def python_call(region: Region, node: Node) -> LibraryCall | None:
    """The call that a custom call of a Python function is; None for other targets."""
    if str(node.attributes.get("call_target_name", "")) != callbacks.TARGET:
        return None
    inputs, outputs = argument_buffers(region)
    number = int(node.attributes["mhlo.backend_config"]["callback"])
    callback = callbacks.find(number)
    assert callback is not None, "drop-no-op-custom-calls has looked for it"
    # An operand beyond the function's only says what the call comes after.
    operands = node.operands[: len(callback.operands)]
    sizes = [t.size * t.type.memory_bytes for t in (*operands, *node.results)]
    parameters = [number, len(operands), len(node.results), *sizes]
    buffers = [*(inputs[t] for t in operands), *outputs]
    return LibraryCall(callbacks.FUNCTION, tuple(buffers), tuple(parameters))


def _aliases_of(node: Node) -> list[tuple[int, int]]:
    """(result, operand) places that may be the same memory; results come after operands."""
    pairs: list[tuple[int, int]] = []
    for alias in node.attributes.get("output_operand_aliases") or ():
        (result,) = alias.get("output_tuple_indices") or (0,)
        operand = alias["operand_index"]
        if node.operands[operand].shape == node.results[result].shape:
            pairs.append((len(node.operands) + result, operand))
    return pairs


# (region, its root) -> the kernel, or None where generated loops are the better or the only way.
LIBRARY_EMITTERS: dict[str, Callable[[Region, Node], Kernel | None]] = {
    "custom_call": emit_custom_call,
    "fft": emit_fft,
    "sort": emit_sort,
}
