"""Ops that become one kernel."""

from __future__ import annotations

from dataclasses import dataclass, field

from hlo.passes.hlo_to_loops.graph import Node, Tensor


@dataclass(eq=False)
class Group:
    """Ops that become one kernel.

    Attributes:
        root: the op whose result leaves the kernel.
        nodes: the ops, in program order once `ordered` ran.
        more_roots: other ops whose results leave the kernel, each computed at the root's elements.
        repeated: tensors read more than once for each element computed: expensive producers stay
            out.
        copies: how many of the ops other kernels compute too.
        places: for each op the index maps it is computed at; see `IndexMaps`.
        prologue: ops that make operands of the kernel's dot or convolution, and which of them.
        kind: of the kernel, where a pattern chose the ops: nothing else joins then.
    """

    root: Node
    nodes: set[Node] = field(default_factory=set[Node])
    more_roots: list[Node] = field(default_factory=list[Node])
    repeated: set[Tensor] = field(default_factory=set[Tensor])
    copies: int = 0
    places: dict[Node, frozenset[int]] = field(default_factory=dict[Node, frozenset[int]])
    prologue: dict[Node, frozenset[int]] = field(default_factory=dict[Node, frozenset[int]])
    kind: str | None = None

    def ordered(self, position: dict[Node, int]) -> list[Node]:
        return sorted(self.nodes, key=position.__getitem__)
