"""Layered drawing of a directed acyclic graph. No IR, no pictures: positions only.

After K. Sugiyama, S. Tagawa, M. Toda, "Methods for Visual Understanding of Hierarchical System
Structures" (1981): longest-path layers, an invisible vertex where an edge passes a layer, the order
within a layer by the barycentres of neighbours, then places that pull towards the neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

SWEEPS = 8
GAP_ACROSS = 18.0
GAP_DOWN = 46.0
PASSING_WIDTH = 4.0
MOST_PASSING = 20_000  # beyond this long edges are drawn straight


@dataclass(frozen=True)
class Box:
    """A vertex to be placed."""

    width: float
    height: float


@dataclass
class Layout:
    """Where everything goes.

    Attributes:
        corners: upper left corner of each vertex.
        routes: for each edge the points it passes, its ends included.
        width, height: of the whole.
    """

    corners: list[tuple[float, float]]
    routes: list[list[tuple[float, float]]]
    width: float
    height: float


@dataclass
class _Drawing:
    """Vertices, the passing ones included, while they are placed."""

    width: list[float]
    layer: list[int]
    above: list[list[int]] = field(default_factory=list[list[int]])
    below: list[list[int]] = field(default_factory=list[list[int]])

    def link(self, a: int, b: int) -> None:
        self.below[a].append(b)
        self.above[b].append(a)


def layout(boxes: Sequence[Box], edges: Sequence[tuple[int, int]]) -> Layout:
    """Places boxes so that every edge (from, to) goes down.

    The boxes must be in a topological order: `from < to` for every edge.
    """
    layer = _layers(len(boxes), edges)
    drawing = _Drawing([box.width for box in boxes], list(layer), *_empty(len(boxes)))
    paths = _link(drawing, edges)
    rows = _rows(drawing)
    for sweep in range(SWEEPS):
        _reorder(drawing, rows, downwards=sweep % 2 == 0)
    x = _places(drawing, rows)
    heights = [max((boxes[v].height for v in row if v < len(boxes)), default=0.0) for row in rows]
    tops = [0.0]
    for height in heights:
        tops.append(tops[-1] + height + GAP_DOWN)
    corners = [(x[v], tops[layer[v]]) for v in range(len(boxes))]
    routes = [
        _route(path, x, drawing, [tops[drawing.layer[v]] for v in path], heights, boxes)
        for path in paths
    ]
    right = max((x[v] + drawing.width[v] for v in range(len(x))), default=0.0)
    return Layout(corners, routes, right, max(tops[-1] - GAP_DOWN, 0.0))


def _empty(count: int) -> tuple[list[list[int]], list[list[int]]]:
    return [[] for _ in range(count)], [[] for _ in range(count)]


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The longest path to each vertex; one without predecessors sits right above its readers."""
    below: list[list[int]] = [[] for _ in range(count)]
    above = [0] * count
    layer = [0] * count
    for a, b in edges:
        below[a].append(b)
        above[b] += 1
    for a in range(count):
        for b in below[a]:
            layer[b] = max(layer[b], layer[a] + 1)
    for a in range(count):
        if not above[a] and below[a]:
            layer[a] = min(layer[b] for b in below[a]) - 1
    return layer


def _link(drawing: _Drawing, edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Links neighbours layer by layer; returns the vertices each edge goes through."""
    spans = sum(drawing.layer[b] - drawing.layer[a] - 1 for a, b in edges)
    paths: list[list[int]] = []
    for a, b in edges:
        path = [a]
        between = range(drawing.layer[a] + 1, drawing.layer[b])
        for layer in between if spans <= MOST_PASSING else ():
            drawing.width.append(PASSING_WIDTH)
            drawing.layer.append(layer)
            drawing.above.append([])
            drawing.below.append([])
            path.append(len(drawing.width) - 1)
        path.append(b)
        for v, w in pairwise(path):
            drawing.link(v, w)
        paths.append(path)
    return paths


def _rows(drawing: _Drawing) -> list[list[int]]:
    rows: list[list[int]] = [[] for _ in range(max(drawing.layer, default=-1) + 1)]
    for v, layer in enumerate(drawing.layer):
        rows[layer].append(v)
    return rows


def _reorder(drawing: _Drawing, rows: list[list[int]], downwards: bool) -> None:
    """Sorts each row by where its neighbours in the row before stand."""
    neighbours = drawing.above if downwards else drawing.below
    position = {v: i / max(1, len(row)) for row in rows for i, v in enumerate(row)}
    for row in rows if downwards else reversed(rows):
        row.sort(key=lambda v: _mean([position[n] for n in neighbours[v]], position[v]))
        position.update((v, i / max(1, len(row))) for i, v in enumerate(row))


def _places(drawing: _Drawing, rows: Sequence[Sequence[int]]) -> list[float]:
    """The left edge of each vertex: near its neighbours, in the order of its row, apart."""
    x = [0.0] * len(drawing.width)

    def centre(v: int) -> float:
        return x[v] + drawing.width[v] / 2

    for row in rows:
        _pack(row, [0.0] * len(row), drawing.width, x)
    for sweep in range(SWEEPS):
        neighbours = drawing.above if sweep % 2 == 0 else drawing.below
        for row in rows if sweep % 2 == 0 else reversed(rows):
            centres = [_mean([centre(n) for n in neighbours[v]], centre(v)) for v in row]
            wanted = [c - drawing.width[v] / 2 for c, v in zip(centres, row, strict=True)]
            _pack(row, wanted, drawing.width, x)
    left = min(x, default=0.0)
    return [place - left for place in x]


def _pack(
    row: Sequence[int], wanted: Sequence[float], width: Sequence[float], x: list[float]
) -> None:
    """Places a row from left to right, each at or after its wish, then shifts the row as wished."""
    end = float("-inf")
    for v, wish in zip(row, wanted, strict=True):
        x[v] = max(wish, end + GAP_ACROSS)
        end = x[v] + width[v]
    shift = _mean([wish - x[v] for v, wish in zip(row, wanted, strict=True)], 0.0)
    for v in row:
        x[v] += shift


def _route(
    path: Sequence[int],
    x: Sequence[float],
    drawing: _Drawing,
    tops: Sequence[float],
    heights: Sequence[float],
    boxes: Sequence[Box],
) -> list[tuple[float, float]]:
    centres = [x[v] + drawing.width[v] / 2 for v in path]
    points = [(centres[0], tops[0] + boxes[path[0]].height)]
    for v, centre, top in zip(path[1:-1], centres[1:-1], tops[1:-1], strict=True):
        points += [(centre, top), (centre, top + heights[drawing.layer[v]])]
    return [*points, (centres[-1], tops[-1])]


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
