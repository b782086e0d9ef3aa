"""PTX of small kernels, and running them on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hlo.gpu.device import DeviceBuffer
from hlo.gpu.emulated_device import EmulatedDevice
from hlo.gpu.plan import Dimensions

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"
Array = np.ndarray[Any, Any]


def kernel(body: str, buffers: int, *, name: str = "k", declarations: str = "") -> str:
    """A kernel of pointers in %rd0, ...; %r0 is the thread of all, %r1 the one of the block."""
    parameters = ", ".join(f".param .u64 {name}_param_{i}" for i in range(buffers))
    loads = "\n".join(f"  ld.param.b64 %rd{i}, [{name}_param_{i}];" for i in range(buffers))
    return f"""{HEADER}
{declarations}
.visible .entry {name}({parameters})
{{
  .reg .pred %p<20>;
  .reg .b16 %rs<40>;
  .reg .b32 %r<90>;
  .reg .b64 %rd<60>;
{loads}
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.s32 %r0, %r2, %r3, %r1;
{body}
  ret;
}}
"""


REGISTERS = {1: "%rs", 2: "%rs", 4: "%r", 8: "%rd"}


def elementwise(instruction: str, sources: Sequence[np.dtype[Any]], result: np.dtype[Any]) -> str:
    """One thread an element: `instruction` uses D, A, B, C for the registers."""
    lines: list[str] = []
    names: dict[str, str] = {}
    for i, dtype in enumerate(sources):
        register = f"{REGISTERS[dtype.itemsize]}{10 + i}"
        names["ABC"[i]] = register
        lines.append(_address(i, dtype.itemsize, 40))
        lines.append(f"  ld.global.b{8 * dtype.itemsize} {register}, [%rd40];")
    names["D"] = f"{REGISTERS[result.itemsize]}20"
    text = "".join(names.get(c, c) if _stands_alone(instruction, k) else c
                   for k, c in enumerate(instruction))  # fmt: skip
    lines.append("  " + text)
    lines.append(_address(len(sources), result.itemsize, 41))
    lines.append(f"  st.global.b{8 * result.itemsize} [%rd41], {names['D']};")
    return kernel("\n".join(lines), len(sources) + 1)


def _stands_alone(text: str, at: int) -> bool:
    around = text[max(at - 1, 0) : at] + text[at + 1 : at + 2]
    return text[at] in "ABCD" and not any(c.isalnum() or c in "_.$%" for c in around)


def _address(buffer: int, size: int, register: int) -> str:
    return f"  mul.wide.u32 %rd50, %r0, {size};\n  add.s64 %rd{register}, %rd{buffer}, %rd50;"


def run(
    text: str, inputs: Sequence[Array], results: Sequence[Array], *, grid: Dimensions = (1, 1, 1),
    block: Dimensions = (32, 1, 1), shared_bytes: int = 0, name: str = "k",
    device: EmulatedDevice | None = None,
) -> list[Array]:  # fmt: skip
    """Runs a kernel on inputs and results; the results start as they are given."""
    device = device or EmulatedDevice()
    module = device.load_ptx(text)
    buffers: list[DeviceBuffer] = []
    for array in (*inputs, *results):
        address = device.allocate(array.nbytes, f"buffer {len(buffers)}")
        device.write(address, np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        buffers.append(DeviceBuffer(address, array.nbytes, len(buffers) >= len(inputs)))
    device.launch(module, name, grid, block, shared_bytes, buffers)
    made: list[Array] = []
    for array, buffer in zip(results, buffers[len(inputs) :], strict=True):
        data = np.empty(array.nbytes, np.uint8)
        device.read(buffer.address, data)
        made.append(data.view(array.dtype).reshape(array.shape))
    return made
