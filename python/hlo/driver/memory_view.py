"""`hlo-opt --view-memory`: the arena as a picture, time across and offset up, in one HTML file."""

from __future__ import annotations

import zlib
from html import escape

from hlo.driver.byte_text import byte_text
from hlo.driver.memory_report import ArenaBuffer, MemoryAnalysis
from hlo.driver.source_lines import source_line

WIDTH, HEIGHT = 1200, 520  # of the arena's box, in pixels
LEFT, TOP = 90, 12
LIVE_HEIGHT = 110  # of the curve of live bytes below it
GAP = 34
FONT_WIDTH = 6.6  # of a letter at 11 px, roughly

_STYLE = """\
body { font: 14px system-ui, sans-serif; margin: 24px; color: #222; background: #fff; }
table { border-collapse: collapse; margin: 12px 0; }
td, th { padding: 2px 14px 2px 0; text-align: left; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
svg text { font: 11px system-ui, sans-serif; fill: #333; pointer-events: none; }
rect.b { stroke: #fff; stroke-width: 0.5; } rect.b:hover { stroke: #000; stroke-width: 2; }
#note { min-height: 1.4em; font-family: ui-monospace, monospace; }
"""
_SCRIPT = """\
const note = document.getElementById('note');
for (const box of document.querySelectorAll('rect.b'))
  box.addEventListener('mouseenter', () => {
    note.textContent = box.querySelector('title').textContent;
  });
"""


def memory_html(memory: MemoryAnalysis, name: str) -> str:
    """The page.

    Args:
        memory: the plan.
        name: of the program, for the title.
    """
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        f"<title>{escape(name)}: memory</title>\n<style>\n{_STYLE}</style></head>\n<body>\n"
        f"<h1>{escape(name)}: memory</h1>\n{_totals(memory)}"
        f"<div id='note'>hover over a box for its name</div>\n{memory_svg(memory)}"
        f"{_copies(memory)}<script>\n{_SCRIPT}</script>\n</body></html>\n"
    )


def memory_svg(memory: MemoryAnalysis) -> str:
    """The picture alone: a box for each buffer, and below it how many bytes are live."""
    height = TOP + HEIGHT + GAP + LIVE_HEIGHT + GAP
    boxes = "".join(_box(memory, buffer) for buffer in memory.arena_buffers)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{LEFT + WIDTH + 20}' height='{height}' "
        f"viewBox='0 0 {LEFT + WIDTH + 20} {height}'>\n"
        f"<rect x='{LEFT}' y='{TOP}' width='{WIDTH}' height='{HEIGHT}' fill='#f4f4f4'/>\n"
        f"{_offset_axis(memory)}{boxes}{_live_curve(memory)}{_time_axis(memory)}</svg>\n"
    )


def _totals(memory: MemoryAnalysis) -> str:
    rows = (
        ("arguments", memory.argument_bytes),
        ("results", memory.result_bytes),
        ("shared by arguments and results", memory.alias_bytes),
        ("stored constants", memory.constant_bytes),
        ("arena", memory.arena_bytes),
        ("intermediates in the memory of results", _lent_bytes(memory)),
        ("most live at once: the arena's floor", memory.floor_bytes),
        ("peak: arguments + results + arena - shared", memory.peak_bytes),
    )
    cells = "".join(
        f"<tr><td>{escape(label)}</td><td class='n'>{byte_text(count)}</td>"
        f"<td class='n'>{count}</td></tr>\n"
        for label, count in rows
    )
    reuse = "" if memory.reuse else "<p>No buffer shares memory: reuse is off.</p>\n"
    return f"<table>\n{cells}</table>\n{reuse}"


def _lent_bytes(memory: MemoryAnalysis) -> int:
    return sum(buffer.bytes for buffer in memory.buffers if buffer.result is not None)


def _x(memory: MemoryAnalysis, step: float) -> float:
    return LEFT + WIDTH * step / max(1, len(memory.steps) + 1)


def _y(memory: MemoryAnalysis, offset: float) -> float:
    return TOP + HEIGHT * (1 - offset / max(1, memory.arena_bytes))


def _box(memory: MemoryAnalysis, buffer: ArenaBuffer) -> str:
    left, right = _x(memory, buffer.start), _x(memory, buffer.end)
    low, high = _y(memory, buffer.offset), _y(memory, buffer.offset + buffer.bytes)
    where = source_line(buffer.location)
    title = (
        f"{buffer.name}{f' at {where}' if where else ''}: {byte_text(buffer.bytes)} "
        f"({buffer.bytes} bytes) at offset {buffer.offset}, live in steps "
        f"[{buffer.start}, {buffer.end}){_made_by(memory, buffer)}"
    )
    hue = zlib.crc32(buffer.name.encode()) % 360
    box = (
        f"<rect class='b' x='{left:.2f}' y='{high:.2f}' width='{max(right - left, 0.6):.2f}' "
        f"height='{max(low - high, 0.6):.2f}' fill='hsl({hue} 55% 68%)'>"
        f"<title>{escape(title)}</title></rect>\n"
    )
    room = int((right - left - 6) / FONT_WIDTH)
    if low - high < 13 or room < 4:
        return box
    label = buffer.name if len(buffer.name) <= room else buffer.name[: room - 1] + "…"
    return f"{box}<text x='{left + 3:.2f}' y='{high + 12:.2f}'>{escape(label)}</text>\n"


def _made_by(memory: MemoryAnalysis, buffer: ArenaBuffer) -> str:
    """The first thing that happens while it lives: what fills it."""
    made = next((s for s in memory.steps[buffer.start - 1 : buffer.end] if s), "")
    return f", first written by {made}" if made else ""


def _offset_axis(memory: MemoryAnalysis) -> str:
    if not memory.arena_bytes:
        return f"<text x='{LEFT + 8}' y='{TOP + 20}'>the program needs no intermediates</text>\n"
    return "".join(
        f"<line x1='{LEFT - 4}' x2='{LEFT + WIDTH}' y1='{y:.1f}' y2='{y:.1f}' stroke='#ddd'/>"
        f"<text x='{LEFT - 8}' y='{y + 4:.1f}' text-anchor='end'>{byte_text(offset)}</text>\n"
        for offset in (round(memory.arena_bytes * k / 4) for k in range(5))
        for y in (_y(memory, offset),)
    )


def _live_curve(memory: MemoryAnalysis) -> str:
    base = TOP + HEIGHT + GAP + LIVE_HEIGHT
    live = memory.live_bytes()
    top = max(live, default=0)
    if not top:
        return ""
    points = [f"{LEFT},{base}"]
    for step, count in enumerate(live):
        y = base - LIVE_HEIGHT * count / top
        points += [f"{_x(memory, step):.2f},{y:.2f}", f"{_x(memory, step + 1):.2f},{y:.2f}"]
    points.append(f"{_x(memory, len(live)):.2f},{base}")
    return (
        f"<polygon points='{' '.join(points)}' fill='#9ab8d8'/>\n"
        f"<text x='{LEFT - 8}' y='{base - LIVE_HEIGHT + 4}' text-anchor='end'>{byte_text(top)}"
        f"</text><text x='{LEFT - 8}' y='{base}' text-anchor='end'>live</text>\n"
    )


def _time_axis(memory: MemoryAnalysis) -> str:
    y = TOP + HEIGHT + GAP + LIVE_HEIGHT + 18
    count = len(memory.steps)
    marks = sorted({round(count * k / 8) for k in range(9)})
    numbers = "".join(
        f"<text x='{_x(memory, step):.1f}' y='{y}' text-anchor='middle'>{step}</text>"
        for step in marks
    )
    middle = LEFT + WIDTH / 2
    caption = (
        f"<text x='{middle}' y='{y + 14}' text-anchor='middle'>step of the host program</text>"
    )
    return f"{numbers}{caption}\n"


def _copies(memory: MemoryAnalysis) -> str:
    if not memory.copies:
        return "<p>No copies.</p>\n"
    rows = "".join(
        f"<tr><td class='n'>{copy.step}</td><td>{escape(copy.source)}</td>"
        f"<td>{escape(copy.target)}</td><td class='n'>{byte_text(copy.bytes)}</td>"
        f"<td>{escape(copy.reason)}</td></tr>\n"
        for copy in memory.copies
    )
    return (
        f"<h2>Copies: {len(memory.copies)}</h2>\n<table><tr><th>step</th><th>from</th><th>to</th>"
        f"<th>size</th><th>because</th></tr>\n{rows}</table>\n"
    )
