"""The kernels of a program: identical ones are one."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from hlo.diagnostics import CompileError
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor
from hlo.passes.hlo_to_loops.kernel_function import Kernel
from hlo.passes.hlo_to_loops.stack import KERNEL_STACK_BYTES, stack_bytes


def structural_key(region: Region) -> tuple[object, ...]:
    """Equal for regions that compute the same from inputs of the same types."""
    number: dict[Tensor, int] = {}
    return _region_key(region, number)


def _region_key(region: Region, number: dict[Tensor, int]) -> tuple[object, ...]:
    for tensor in region.arguments:
        number.setdefault(tensor, len(number))
    arguments = tuple((number[t], t.shape, t.type.name) for t in region.arguments)
    return (
        arguments,
        tuple(_node_key(n, number) for n in region.nodes),
        tuple(number[t] for t in region.results),
    )


def _node_key(node: Node, number: dict[Tensor, int]) -> tuple[object, ...]:
    operands = tuple(number[t] for t in node.operands)
    attributes = node.elements if node.name == "constant" else node.attributes.text
    regions = tuple(_region_key(r, number) for r in node.regions)
    for tensor in node.results:
        number[tensor] = len(number)
    results = tuple((t.shape, t.type.name) for t in node.results)
    return (node.name, operands, attributes, regions, results)


class KnownKernels:
    """Kernels that were emitted before, by structural key; those used last, up to so much text.

    An emitter sees nothing but the region, so the key is all that decides what it gives. Any number
    of threads may use one.
    """

    def __init__(self, characters: int = 16_000_000) -> None:
        self._room = characters
        self._kernels: OrderedDict[object, Kernel] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: object) -> Kernel | None:
        """The kernel for a key, if it is known."""
        with self._lock:
            found = self._kernels.get(key)
            if found is not None:
                self._kernels.move_to_end(key)
            return found

    def keep(self, key: object, kernel: Kernel) -> None:
        """Notes the kernel for a key."""
        with self._lock:
            if key in self._kernels:
                return
            self._kernels[key] = kernel
            self._room -= len(kernel.text)
            while self._room < 0:
                _, dropped = self._kernels.popitem(last=False)
                self._room += len(dropped.text)


def _check_stack(kernel: Kernel, name: str) -> None:
    """A frame beyond what threads have would be written past their stacks, unnoticed."""
    if (found := stack_bytes(kernel.text)) > KERNEL_STACK_BYTES:
        raise CompileError(
            f"the kernel {name} keeps {found} bytes on the stack, expected at most "
            f"{KERNEL_STACK_BYTES}; turn fusion off (--disable-pass=fuse) and report this"
        )


@dataclass
class KernelTable:
    """Kernels by structural key and by text, each with its name.

    Attributes:
        announce: told of each new kernel.
        known: kernels of other programs, which need not be emitted again.
    """

    announce: Callable[[str, Kernel], None] | None = None
    known: KnownKernels | None = None
    kernels: dict[str, Kernel] = field(default_factory=dict[str, Kernel])
    _by_key: dict[object, str] = field(default_factory=dict[object, str])
    _by_text: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, key: object, name: str, emit: Callable[[], Kernel]) -> str:
        """The name of the kernel for `key`, emitted the first time; `name` is made unique."""
        if (known := self._by_key.get(key)) is not None:
            return known
        kernel = self._emitted(key, emit)
        known = self._by_text.get(kernel.text)
        if known is None:
            _check_stack(kernel, name)
            known = f"{re.sub(r'[^A-Za-z0-9_]', '_', name)}_{len(self.kernels)}"
            self.kernels[known] = kernel
            self._by_text[kernel.text] = known
            if self.announce is not None:
                self.announce(known, kernel)
        self._by_key[key] = known
        return known

    def _emitted(self, key: object, emit: Callable[[], Kernel]) -> Kernel:
        if self.known is None:
            return emit()
        kernel = self.known.find(key)
        if kernel is None:
            kernel = emit()
            self.known.keep(key, kernel)
        return kernel
