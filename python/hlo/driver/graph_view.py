"""`hlo-opt --view-graph`: the fused graph as a picture, in one HTML or SVG file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise

from hlo.driver.byte_text import byte_text
from hlo.driver.layered_layout import Box, layout
from hlo.driver.program_analysis import AnalysedProgram
from hlo.driver.program_text import name_of
from hlo.driver.source_lines import short_source_line, source_line
from hlo.passes.cost.kernel_cost import TRIP_COUNT, KernelCost, cost_of, launch_costs
from hlo.passes.cost.transfers import bytes_of
from hlo.passes.fusion.composites import REASON
from hlo.passes.fusion.launches import name_of as kernel_name
from hlo.passes.hlo_to_host.launch_ids import launch_ids
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor, captured, is_composite

LINE = 15.0  # height of a line of text
LETTER = 6.7  # width of a letter at 12 px, roughly
MARGIN = 24.0
LONGEST = 34  # letters of a line

_COLOURS = {
    "argument": "#e8e8e8",
    "result": "#d5d5d5",
    "constant": "#f2f2f2",
    "loop": "#cfe3f7",
    "reduce": "#ffe0b8",
    "row": "#ffd0c4",
    "op": "#d6efcf",
    "update": "#e6ecb8",
    "steps": "#f7e6a8",
    "horizontal": "#c9ece6",
    "control": "#e3d5f5",
}
_STYLE = """\
text { font: 12px system-ui, sans-serif; fill: #222; }
text.h { font-size: 16px; font-weight: 600; }
rect { stroke: #777; stroke-width: 0.8; rx: 4px; }
path { fill: none; stroke: #9a9a9a; stroke-width: 1.1; }
g.n:hover rect { stroke: #000; stroke-width: 2; }
path.on { stroke: #d03030; stroke-width: 2.2; }
"""
_SCRIPT = """\
for (const node of document.querySelectorAll('g.n'))
  for (const [event, on] of [['mouseenter', true], ['mouseleave', false]])
    node.addEventListener(event, () => {
      for (const edge of document.querySelectorAll('.e' + node.dataset.n))
        edge.classList.toggle('on', on);
    });
"""


@dataclass
class _Vertex:
    """A box of the picture: lines of text, and the text shown on hovering."""

    lines: list[str]
    kind: str
    title: str


@dataclass
class _Panel:
    """A block of the program: the entry, or a region of a loop or conditional.

    Attributes:
        leaves: arguments and constants, drawn again beside each reader: no edge crosses the picture
            for them.
        holders: the box that each other value comes from.
    """

    heading: str
    leaves: dict[Tensor, _Vertex] = field(default_factory=dict[Tensor, _Vertex])
    vertices: list[_Vertex] = field(default_factory=list[_Vertex])
    edges: dict[tuple[int, int], list[str]] = field(
        default_factory=dict[tuple[int, int], list[str]]
    )
    holders: dict[Tensor, int] = field(default_factory=dict[Tensor, int])


def graph_svg(program: AnalysedProgram) -> str:
    """The picture as an SVG file."""
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + _svg(program)


def graph_html(program: AnalysedProgram) -> str:
    """The picture in an HTML file, which also marks the edges of the box under the mouse."""
    name = escape(name_of(program.fused))
    return (
        f"<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>{name}: fused graph"
        f"</title></head>\n<body style='margin:0;background:#fff'>\n{_svg(program)}"
        f"<script>\n{_SCRIPT}</script>\n</body></html>\n"
    )


def _svg(program: AnalysedProgram) -> str:
    panels: list[_Panel] = []
    entry = program.fused_entry
    by_launch = launch_costs(entry, program.machine, program.host.donated)
    launches = launch_ids(entry)
    costs = {node: by_launch[number] for node, number in launches.items() if number in by_launch}
    _collect(entry, name_of(program.fused), panels, costs)
    parts: list[str] = []
    width, top, number = 0.0, MARGIN, 0
    for panel in panels:
        text, panel_width, panel_height = _draw(panel, top, number)
        parts.append(text)
        width, top = max(width, panel_width), top + panel_height + 2 * MARGIN
        number += len(panel.vertices)
    size = f"{width + 2 * MARGIN:.0f} {top:.0f}"
    w, h = size.split()
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{w}' height='{h}' viewBox='0 0 {size}'>\n"
        f"<style>{_STYLE}</style>\n"
        "<defs><marker id='tip' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='7' "
        "markerHeight='7' orient='auto'><path d='M0,0 L8,4 L0,8 z' style='fill:#777;stroke:none'/>"
        f"</marker></defs>\n{''.join(parts)}</svg>\n"
    )


def _collect(
    region: Region, heading: str, panels: list[_Panel], costs: Mapping[Node, KernelCost]
) -> None:
    """The panel of a block, then those of the blocks in it."""
    panel = _Panel(heading)
    panels.append(panel)
    used = {t for node in region.nodes for t in captured(node)} | set(region.results)
    for i, tensor in enumerate(region.arguments):
        if tensor in used:
            title = f"argument {i}: {_type(tensor)}, {byte_text(bytes_of(tensor))}"
            panel.leaves[tensor] = _Vertex([f"argument {i}", _type(tensor)], "argument", title)
    for node in region.nodes:
        if node.name == "constant":
            panel.leaves[node.results[0]] = _vertex(node, costs)
            continue
        _add(panel, _vertex(node, costs), list(dict.fromkeys(captured(node))), node.results)
        for i, inner in enumerate(node.regions):
            if node.name in ("while", "if", "case"):
                label = ("condition", "body")[i] if node.name == "while" else f"branch {i}"
                where = short_source_line(node.location)
                title = f"{node.name} {where}: {label}".replace(" :", ":")
                _collect(inner, title, panels, costs)
    for i, tensor in enumerate(region.results):
        vertex = _Vertex([f"result {i}", _type(tensor)], "result", f"result {i}")
        _add(panel, vertex, (tensor,), ())


def _add(
    panel: _Panel, vertex: _Vertex, reads: Sequence[Tensor], results: Sequence[Tensor]
) -> None:
    """Adds a box; what it reads from around the panel's block gets no edge."""
    sources: list[tuple[Tensor, int]] = []
    for tensor in reads:
        if tensor in panel.leaves:
            sources.append((tensor, len(panel.vertices)))
            panel.vertices.append(panel.leaves[tensor])
        elif tensor in panel.holders:
            sources.append((tensor, panel.holders[tensor]))
    number = len(panel.vertices)
    panel.vertices.append(vertex)
    for tensor, source in sources:
        panel.edges.setdefault((source, number), []).append(
            f"{_type(tensor)}, {byte_text(bytes_of(tensor))}"
        )
    panel.holders.update((tensor, number) for tensor in results)


def _vertex(node: Node, costs: Mapping[Node, KernelCost]) -> _Vertex:
    types = ", ".join(_type(t) for t in node.results)
    where = short_source_line(node.location)
    if node.name == "constant":
        return _Vertex(["constant", types], "constant", f"constant {types}")
    if node.name in ("while", "if", "case"):
        times = node.attributes.get(TRIP_COUNT)
        head = node.name if times is None else f"{node.name}, {times} times"
        return _Vertex([head, *_some(where)], "control", f"{head} {source_line(node.location)}")
    cost = costs.get(node) or cost_of(node)
    counts = Counter(n.name for n in _inside(node) if n.name != "constant")
    ops = ", ".join(f"{count} {name}" for name, count in counts.most_common())
    title = (
        f"{cost.name} ({cost.kind}) {source_line(node.location)}\n{ops}\n"
        f"reads {byte_text(cost.bytes_read)}, writes {byte_text(cost.bytes_written)}, "
        f"{cost.flops} flops, {cost.transcendentals} transcendentals"
    )
    kind = cost.kind if cost.kind in _COLOURS else "loop"
    lines = [cost.name, types, *_some(where)]
    if cost.launch >= 0:
        title = f"launch {cost.launch}: {title}"
        lines[0] = f"#{cost.launch} {cost.name}"
    if (timed := cost.estimate) is not None:
        title += f"\nestimated {1e6 * timed.seconds:.2f} us, bound by {timed.bound}"
        lines.append(f"{1e6 * timed.seconds:.2f} us ({timed.bound})")
    if node.name == "fusion" and is_composite(node.regions[0]):
        members = node.regions[0].nodes
        names = "".join(f"\n  {kernel_name(m)} {short_source_line(m.location)}" for m in members)
        title += f"\njoined because {node.attributes[REASON]}:{names}"
        lines.append(f"{len(members)} kernels in one launch")
    return _Vertex(lines, kind, title)


def _inside(node: Node) -> list[Node]:
    """The ops of a kernel, those of its members included."""
    if node.name != "fusion":
        return [node]
    return [inner for n in node.regions[0].nodes for inner in _inside(n)]


def _draw(panel: _Panel, top: float, first: int) -> tuple[str, float, float]:
    """(the panel's SVG, its width, its height); its boxes are numbered from `first`."""
    lines = [[_cut(line) for line in vertex.lines] for vertex in panel.vertices]
    boxes = [
        Box(max(len(line) for line in texts) * LETTER + 14, len(texts) * LINE + 8)
        for texts in lines
    ]
    placed = layout(boxes, list(panel.edges))
    left, under = MARGIN, top + 30
    parts = [f"<text class='h' x='{left}' y='{top + 14:.1f}'>{escape(panel.heading)}</text>\n"]
    for ((a, b), tensors), route in zip(panel.edges.items(), placed.routes, strict=True):
        parts.append(
            f"<path class='e{first + a} e{first + b}' marker-end='url(#tip)' "
            f"d='{_curve(route, left, under)}'><title>{escape('; '.join(tensors))}</title></path>\n"
        )
    for i, (vertex, box, (x, y)) in enumerate(
        zip(panel.vertices, boxes, placed.corners, strict=True)
    ):
        parts.append(
            f"<g class='n' data-n='{first + i}'><title>{escape(vertex.title)}</title>"
            f"<rect x='{left + x:.1f}' y='{under + y:.1f}' width='{box.width:.1f}' "
            f"height='{box.height:.1f}' fill='{_COLOURS[vertex.kind]}'/>"
        )
        parts += [
            f"<text x='{left + x + 7:.1f}' y='{under + y + LINE * (k + 1):.1f}'>"
            f"{escape(line)}</text>"
            for k, line in enumerate(lines[i])
        ]
        parts.append("</g>\n")
    return "".join(parts), placed.width, placed.height + 30


def _curve(route: Sequence[tuple[float, float]], left: float, top: float) -> str:
    """Smooth between rows, straight along the passages through them."""
    points = [(left + x, top + y) for x, y in route]
    text = [f"M{points[0][0]:.1f},{points[0][1]:.1f}"]
    for (x0, y0), (x1, y1) in pairwise(points):
        middle = (y0 + y1) / 2
        text.append(f"C{x0:.1f},{middle:.1f} {x1:.1f},{middle:.1f} {x1:.1f},{y1:.1f}")
    return " ".join(text)


def _type(tensor: Tensor) -> str:
    return f"{tensor.type.name}[{','.join(map(str, tensor.shape))}]"


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def _some(text: str) -> list[str]:
    return [text] if text else []
