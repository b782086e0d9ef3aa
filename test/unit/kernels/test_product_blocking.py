"""Packed products are cut into blocks that cover them and fit their caches and stacks."""

from __future__ import annotations

import itertools

import pytest
from kernel_regions import region

from hlo.passes.hlo_to_loops.product_blocking import blocking_of, packs

SIZES = (16, 100, 145, 512, 1000, 4096)


@pytest.mark.parametrize(("lanes", "element_bytes"), [(16, 4), (8, 8)])
def test_blocks_cover_the_product_and_fit(lanes: int, element_bytes: int) -> None:
    for m, n, k in itertools.product(SIZES, SIZES, SIZES):
        s = blocking_of(m, n, k, lanes)
        assert 0 < s.last_rows <= s.rows and 0 < s.last_columns <= s.width
        assert 0 < s.last_depth <= s.depth
        assert s.row_blocks * s.tiles >= s.all_tiles
        assert s.column_blocks * s.panels >= s.all_panels
        assert s.panels * s.depth * s.width * element_bytes <= 192 << 10
        assert s.tiles * s.rows * s.depth * element_bytes <= 384 << 10
        assert s.k % s.unrolled == 0 and s.fetching_steps % s.unrolled == 0
        assert s.depth_blocks == 1 or s.depth % s.unrolled == 0
        waiting = s.tiles * s.panels * s.rows * s.width * element_bytes
        assert s.depth_blocks == 1 or waiting <= 512 << 10


def test_large_products_have_work_for_several_threads() -> None:
    for m, n, k in [(128, 768, 768), (256, 256, 1024), (2048, 48, 4096)]:
        s = blocking_of(m, n, k, 16)
        assert s.units >= 8
    assert blocking_of(128, 128, 128, 16).units == 2
    assert blocking_of(64, 64, 64, 16).units == 1


@pytest.mark.parametrize("threads", [2, 4, 8])
def test_threads_have_the_same_work(threads: int) -> None:
    for m, n, k in [(1024, 1024, 256), (128, 3072, 768), (512, 1536, 384), (256, 256, 512)]:
        s = blocking_of(m, n, k, 16)
        units = [
            min(s.tiles, s.all_tiles - row * s.tiles)
            * min(s.panels, s.all_panels - column * s.panels)
            for column in range(s.column_blocks)
            for row in range(s.row_blocks)
        ]
        shares = [0] * threads
        for unit in units:
            shares[shares.index(min(shares))] += unit
        assert max(shares) * threads <= 1.1 * s.all_tiles * s.all_panels


def test_blocks_have_rows_to_pack_a_panel_for() -> None:
    s = blocking_of(1024, 1024, 1024, 16)
    assert s.tiles * s.rows >= 240 and s.panels >= 4


@pytest.mark.parametrize("lanes", [8, 16])
def test_parts_that_end_between_fetches_are_known(lanes: int) -> None:
    """All of the depth may be whole runs of fetches where its parts are not."""
    cut = 0
    for k in range(16, 1200, 16):
        s = blocking_of(256, 256, k, lanes)
        ends = [min(s.k, (part + 1) * s.depth) - part * s.depth for part in range(s.depth_blocks)]
        cut += s.cuts_a_run and s.k % s.fetching_steps == 0
        assert s.cuts_a_run == any(steps % s.fetching_steps for steps in ends)
    assert lanes == 16 or cut


@pytest.mark.parametrize(
    ("m", "k", "n", "packed"),
    [
        (17, 256, 128, True),  # 128 KiB leave the first-level cache
        (17, 256, 112, False),
        (16, 768, 768, False),  # two tiles of register tiles read it as well where it lies
        (17, 1024, 48, False),  # three vectors across
        (13, 1024, 1024, True),  # 4 MiB leave the second-level cache
        (12, 1024, 1024, False),  # a tile has as many rows
    ],
)
def test_right_operands_in_rows_are_packed_for_those_that_share_them(
    m: int, k: int, n: int, packed: bool
) -> None:
    left, right, result = (f"tensor<{a}x{b}xf32>" for a, b in ((m, k), (k, n), (m, n)))
    found = region(f"""
      func.func @main(%x: {left}, %y: {right}) -> {result} {{
        %0 = hlo.dot_general %x, %y, contracting_dims = [1] x [0] : ({left}, {right}) -> {result}
        return %0 : {result}
      }}""")
    assert packs(found.nodes[0]) == packed
