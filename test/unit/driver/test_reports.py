"""Reports of compiled programs: their figures, their schema, their pictures."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

import hlo
import hlo.numpy as hnp
from hlo.driver.byte_text import byte_text
from hlo.driver.graph_view import graph_html, graph_svg
from hlo.driver.layered_layout import Box, layout
from hlo.driver.memory_report import DonationError, MemoryAnalysis
from hlo.driver.memory_view import memory_html, memory_svg
from hlo.driver.program_analysis import analyse
from hlo.driver.source_lines import short_source_line, source_line
from hlo.importers.program import load_program

TWO_DOTS = """
module @two_dots {
  func.func @main(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {
    %0 = hlo.exponential %x : tensor<32x32xf32>
    %1 = hlo.dot_general %0, %w, contracting_dims = [1] x [0]
      : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
    %2 = hlo.dot_general %1, %w, contracting_dims = [1] x [0]
      : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
    return %2 : tensor<32x32xf32>
  }
}
"""
LOOP = """
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %0:2 = hlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<64xf32>
  cond {
    %n = hlo.constant dense<40> : tensor<i32>
    %c = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  } do {
    %one = hlo.constant dense<1> : tensor<i32>
    %j = hlo.add %i, %one : tensor<i32>
    %z = hlo.sine %y : tensor<64xf32>
    hlo.return %j, %z : tensor<i32>, tensor<64xf32>
  }
  return %0#1 : tensor<64xf32>
}
"""
SIZE = 32 * 32 * 4  # bytes of a 32 x 32 array of f32


def test_explain_names_ops_source_lines_and_reasons() -> None:
    def chain(x: hlo.numpy.ndarray) -> hlo.numpy.ndarray:
        return hnp.sin(x * 2.0)

    line = chain.__code__.co_firstlineno + 1
    x = np.ones(1000, np.float32)
    report = hlo.jit(chain).lower(x).compile().explain()
    (edge,) = report.edges
    assert (edge.producer, edge.consumer, edge.fused) == ("multiply", "sine", True)
    assert short_source_line(edge.producer_location) == f"test_reports.py:{line}"
    assert edge.reason
    assert f"multiply (test_reports.py:{line}) -> sine" in str(report)
    # Unfused, multiply and sine each read and write 4000 bytes; fused, 4000 in and 4000 out.
    assert (report.traffic.unfused, report.traffic.fused) == (16000, 8000)
    assert (report.traffic.floor, report.traffic.above_floor) == (8000, 0.0)


def test_cost_analysis_counts_flops_and_bytes_of_each_kernel() -> None:
    cost = hlo.compile(TWO_DOTS).cost_analysis()
    dots = [kernel for kernel in cost.kernels if "dot_general" in kernel.name]
    assert len(dots) == 2
    # 32 x 32 results of 32 multiply-adds; two operands read, one result written.
    assert [kernel.flops for kernel in dots] == [2 * 32**3] * 2
    assert [(k.bytes_read, k.bytes_written) for k in dots] == [(2 * SIZE, SIZE)] * 2
    assert cost.flops == 4 * 32**3
    assert cost.transcendentals == 32 * 32
    assert cost.bytes_accessed == sum(kernel.bytes for kernel in cost.kernels)


def test_kernels_in_a_loop_count_as_often_as_it_runs() -> None:
    cost = hlo.compile(LOOP).cost_analysis()
    assert cost.unknown_trip_counts == 0
    assert cost.transcendentals == 40 * 64


def test_what_is_only_sliced_counts_as_what_is_taken() -> None:
    text = """
    func.func @main(%table: tensor<1000x64xf32>) -> tensor<2x64xf32> {
      %0 = hlo.slice %table [4:6, 0:64] : (tensor<1000x64xf32>) -> tensor<2x64xf32>
      %1 = hlo.negate %0 : tensor<2x64xf32>
      return %1 : tensor<2x64xf32>
    }
    """
    report = hlo.compile(text).explain()
    assert report.traffic.fused == report.traffic.floor == 2 * (2 * 64 * 4)


def test_memory_analysis_accounts_for_every_byte() -> None:
    memory = hlo.compile(TWO_DOTS).memory_analysis()
    assert (memory.argument_bytes, memory.result_bytes, memory.alias_bytes) == (2 * SIZE, SIZE, 0)
    # The first product; exp(x) is computed as it is packed.
    assert [buffer.bytes for buffer in memory.buffers] == [SIZE]
    assert memory.arena_bytes == memory.floor_bytes == SIZE
    assert memory.peak_bytes == 4 * SIZE
    assert max(memory.live_bytes()) == memory.floor_bytes
    assert all(source_line(buffer.location).startswith("-:") for buffer in memory.buffers)


def test_memory_analysis_agrees_with_the_program_that_runs() -> None:
    for reuse in (True, False):
        compiled = hlo.compile(TWO_DOTS, reuse=reuse)
        memory, counted = compiled.memory_analysis(), compiled.statistics
        assert memory.reuse is reuse
        assert memory.arena_bytes == counted.arena_bytes
        assert memory.argument_bytes == counted.argument_bytes
        assert memory.result_bytes == counted.result_bytes
        assert memory.alias_bytes == counted.alias_bytes


def test_the_json_schemas_are_stable() -> None:
    compiled = hlo.compile(TWO_DOTS)
    memory = json.loads(compiled.memory_analysis().to_json())
    assert list(memory) == [
        "version", "argument_bytes", "result_bytes", "alias_bytes", "constant_bytes",
        "arena_bytes", "peak_bytes", "floor_bytes", "stack_bytes", "reuse", "arguments", "results",
        "buffers", "copies", "unused_donations", "schedule", "steps",
    ]  # fmt: skip
    assert list(memory["arguments"][0]) == ["name", "shape", "dtype", "bytes", "shares"]
    assert list(memory["buffers"][0]) == [
        "name",
        "source",
        "bytes",
        "start",
        "end",
        "offset",
        "result",
    ]
    fusion = json.loads(compiled.explain().to_json())
    assert list(fusion) == [
        "version", "edges", "kernels", "traffic", "layouts", "launches", "choices"
    ]  # fmt: skip
    assert list(fusion["edges"][0]) == [
        "producer", "producer_source", "consumer", "consumer_source", "fused", "reason",
    ]  # fmt: skip
    assert list(fusion["traffic"]) == ["unfused", "fused", "copied", "floor", "moved"]
    cost = json.loads(compiled.cost_analysis().to_json())
    assert list(cost) == [
        "version", "flops", "transcendentals", "bytes_accessed", "estimated_seconds",
        "bytes_cached", "bytes_of_memory", "unknown_trip_counts", "kernels",
    ]  # fmt: skip
    assert list(cost["kernels"][0]) == [
        "launch", "name", "kind", "source", "calls", "flops", "transcendentals", "bytes_read",
        "bytes_written", "estimate",
    ]  # fmt: skip
    assert list(cost["kernels"][0]["estimate"]) == [
        "seconds", "bound", "cached", "memory", "cores",
    ]  # fmt: skip


def test_explain_says_which_layouts_were_asked_for() -> None:
    def gradient(x: Any, y: Any, z: Any) -> Any:
        product = hnp.transpose(x) @ y
        both = hnp.tanh(hnp.transpose(product)) * hnp.transpose(hnp.exp(product))
        return both + hnp.transpose(z)

    shapes = [(128, 64), (128, 32), (64, 32)]
    compiled = hlo.jit(gradient).lower(*(np.ones(s, np.float32) for s in shapes)).compile()
    report = compiled.explain()
    # The product as 32 x 64 saves two transposes, of 2 * 64 * 32 * 4 bytes; z is an argument.
    first, second = report.layouts
    assert (first.op, first.shape, first.minor_to_major) == ("transpose", (64, 32), (0, 1))
    assert first.taken
    assert "move 0 bytes, not 32768" in first.reason
    assert not second.taken
    (listed, _) = json.loads(report.to_json())["layouts"]
    assert list(listed) == ["op", "source", "shape", "minor_to_major", "taken", "ops", "reason"]
    assert "layouts asked for: 2, taken: 1" in report.as_text()


def test_assert_donated_accepts_a_donation_that_is_used() -> None:
    x = np.ones(8, np.float32)
    compiled = hlo.jit(lambda x: x + 1.0, donate_argnums=0).lower(x).compile()
    compiled.assert_donated()
    assert compiled.memory_analysis().alias_bytes == x.nbytes


def test_assert_donated_names_a_donation_in_vain() -> None:
    lowered = hlo.jit(hnp.sum, donate_argnums=0).lower(np.ones(8, np.float32))
    with pytest.warns(UserWarning, match=r"takes over the donated arguments 0 \(float32\[8\]\)"):
        compiled = lowered.compile()
    with pytest.raises(DonationError, match=r"argument 0 .*f32\[8\].*no result has its shape"):
        compiled.assert_donated()


def test_the_memory_picture_has_a_box_for_each_buffer() -> None:
    memory = hlo.compile(TWO_DOTS).memory_analysis()
    boxes = ET.fromstring(memory_svg(memory)).findall(".//{*}rect[@class='b']")
    assert len(boxes) == len(memory.buffers)
    assert "two_dots" in memory_html(memory, "two_dots")


def test_a_program_without_intermediates_has_an_empty_picture() -> None:
    memory = MemoryAnalysis((), (), (), (), (), (), 0, 0, 0, reuse=True)
    assert "needs no intermediates" in memory_svg(memory)


def test_the_graph_picture_has_a_box_for_each_kernel_and_escapes_names() -> None:
    program = analyse(load_program(TWO_DOTS.replace("@two_dots", '@"a<b>&c"')))
    svg = graph_svg(program)
    root = ET.fromstring(svg.partition("\n")[2])
    titles = [title.text or "" for title in root.findall(".//{*}g/{*}title")]
    assert sum(bool(re.match(r"launch \d+: \w*dot_general", title)) for title in titles) == 2
    assert "a&lt;b&gt;&amp;c" in svg
    assert "<script>" in graph_html(program)


def test_the_graph_picture_has_a_panel_for_each_region_of_a_loop() -> None:
    headings = re.findall(r"<text class='h'[^>]*>([^<]*)<", graph_svg(analyse(load_program(LOOP))))
    assert [heading.rpartition(": ")[2] for heading in headings] == ["program", "condition", "body"]


def test_layout_keeps_boxes_apart_and_edges_downwards() -> None:
    random = np.random.default_rng(0)
    boxes = [Box(float(w), 20.0) for w in random.integers(20, 120, 60)]
    edges = sorted({(int(a), int(b)) for a, b in random.integers(0, 60, (150, 2)) if a < b})
    placed = layout(boxes, edges)
    for a, b in edges:
        assert placed.corners[a][1] + boxes[a].height < placed.corners[b][1]
    for a, (ax, ay) in enumerate(placed.corners):
        for b, (bx, by) in enumerate(placed.corners[:a]):
            assert ay != by or ax + boxes[a].width <= bx or bx + boxes[b].width <= ax
    assert len(placed.routes) == len(edges)


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (1 << 30, "1 GiB")]
)
def test_byte_text(count: int, text: str) -> None:
    assert byte_text(count) == text


@pytest.mark.parametrize(
    ("location", "line"),
    [
        ('loc("a/model.py":12:5)', "a/model.py:12"),
        ('loc("jit(f)/sin"(callsite("f"("m.py":3:1 to :9) at "g"("n.py":4:1))))', "m.py:3"),
        ("loc(unknown)", ""),
    ],
)
def test_source_lines(location: str, line: str) -> None:
    assert source_line(location) == line
