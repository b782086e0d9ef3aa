"""Text of the host program: SSA numbering and nesting for a function on memrefs."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from hlo.passes.hlo_to_loops.element_types import ElementType


@dataclass(eq=False)
class Storage:
    """A buffer of the host program.

    Attributes:
        name: its SSA memref.
        elements: how many elements of `type`.
        type: element type.
        owned: whether this program may write to it once its present content is dead.
        needed_until: position, in the block that owns it, of the last op that reads its present
            content.
    """

    name: str
    elements: int
    type: ElementType
    owned: bool = False
    needed_until: int = -1

    @property
    def memref(self) -> str:
        return f"memref<{self.elements * self.type.parts}x{self.type.memory}>"

    @property
    def bytes(self) -> int:
        return self.elements * self.type.memory_bytes


class HostText:
    """Lines of the function body under construction."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._next = 0
        self._indent = "    "

    def fresh(self) -> str:
        self._next += 1
        return f"%{self._next}"

    def line(self, text: str) -> None:
        self.lines.append(self._indent + text)

    def value(self, text: str) -> str:
        name = self.fresh()
        self.line(f"{name} = {text}")
        return name

    def constant(self, value: int, kind: str = "index") -> str:
        return self.value(f"arith.constant {value} : {kind}")

    @contextmanager
    def nested(self, head: str, end: str | None = "}") -> Generator[None]:
        self.line(head)
        self._indent += "  "
        yield
        self._indent = self._indent[:-2]
        if end is not None:
            self.line(end)

    def alloc(self, elements: int, kind: ElementType, label: str, location: str) -> Storage:
        storage = Storage("", elements, kind, owned=True)
        storage.name = self.value(
            f"memref.alloc() {{hlo.name = {_quoted(label)}}} : {storage.memref} {location}"
        )
        return storage

    def copy(self, source: Storage, target: Storage, reason: str) -> None:
        if source.elements:
            self.line(
                f"memref.copy {source.name}, {target.name} {{hlo.reason = {_quoted(reason)}}} : "
                f"{source.memref} to {target.memref}"
            )

    def call(self, callee: str, buffers: Sequence[Storage]) -> None:
        names = ", ".join(s.name for s in buffers)
        types = ", ".join(s.memref for s in buffers)
        self.line(f"func.call @{callee}({names}) : ({types}) -> ()")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
