"""Text of the host program: SSA numbering and nesting for a function on memrefs."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from hlo.passes.hlo_to_host.launch_ids import LAUNCH
from hlo.passes.hlo_to_loops.element_types import ElementType, Kind


@dataclass(eq=False)
class Storage:
    """A buffer of the host program.

    Attributes:
        name: its SSA memref.
        elements: how many elements of `type`.
        type: element type.
        owned: whether this program may write to it once its present content is dead.
        base: the buffer that it is a part of, if it is one.
        needed_until: position, in the block that owns it, of the last op that reads its present
            content.
    """

    name: str
    elements: int
    type: ElementType
    owned: bool = False
    needed_until: int = -1
    base: Storage | None = None

    @property
    def root(self) -> Storage:
        """The buffer whose memory this is or is in."""
        return self if self.base is None else self.base.root

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

    def multiple(self, value: str, factor: int) -> str:
        """An SSA `index` times a constant."""
        if factor == 1:
            return value
        return self.value(f"arith.muli {value}, {self.constant(factor)} : index")

    def start_index(self, storage: Storage, largest: int) -> str:
        """An SSA `index`: the integer in a buffer of one, brought into [0, largest]."""
        kind = storage.type.memory
        zero, last = self.constant(0), self.constant(largest)
        raw = self.value(f"memref.load {storage.name}[{zero}] : {storage.memref}")
        cast = "index_castui" if storage.type.kind is Kind.UINT else "index_cast"
        index = self.value(f"arith.{cast} {raw} : {kind} to index")
        # An unsigned index of 64 bits that is negative now was larger than any tensor.
        if storage.type.kind is not Kind.UINT:
            index = self.value(f"arith.maxsi {index}, {zero} : index")
        return self.value(f"arith.minui {index}, {last} : index")

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

    def part(self, whole: Storage, offset: int | str, elements: int) -> Storage:
        """A view of some elements of a buffer, from one of them on, known or an SSA `index`."""
        count = elements * whole.type.parts
        if isinstance(offset, str):
            start, known = self.multiple(offset, whole.type.parts), "?"
        else:
            start = known = str(offset * whole.type.parts)
        strided = f"memref<{count}x{whole.type.memory}, strided<[1], offset: {known}>>"
        name = self.value(
            f"memref.subview {whole.name}[{start}] [{count}] [1] : {whole.memref} to {strided}"
        )
        return self._shown(name, strided, Storage("", elements, whole.type, base=whole))

    def under_type(self, whole: Storage, elements: int, kind: ElementType) -> Storage:
        """A view of a buffer's bytes as elements of another type."""
        return self._shown(whole.name, whole.memref, Storage("", elements, kind, base=whole))

    def _shown(self, name: str, memref: str, view: Storage) -> Storage:
        view.name = self.value(
            f"builtin.unrealized_conversion_cast {name} : {memref} to {view.memref}"
        )
        return view

    def copy(self, source: Storage, target: Storage, reason: str) -> None:
        if source.elements:
            self.line(
                f"memref.copy {source.name}, {target.name} {{hlo.reason = {_quoted(reason)}}} : "
                f"{source.memref} to {target.memref}"
            )

    def call(self, callee: str, buffers: Sequence[Storage], launch: int | None = None) -> None:
        """Args:
        launch: its number in the program; None for a fill, which no op of the program is.
        """
        names = ", ".join(s.name for s in buffers)
        types = ", ".join(s.memref for s in buffers)
        mark = "" if launch is None else f" {{{LAUNCH} = {launch} : i64}}"
        self.line(f"func.call @{callee}({names}){mark} : ({types}) -> ()")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
