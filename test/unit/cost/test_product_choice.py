"""Products by generated kernels or by the vendor's library: the faster one by the model's rates."""

from __future__ import annotations

import math
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from regions import entry

import hlo
from hlo import knobs
from hlo.passes.cost.cycles import cycles
from hlo.passes.cost.machine import HOST, LibraryRates, Machine
from hlo.passes.cost.product_choice import ProductChoice, product_choice
from hlo.passes.cost.product_times import Way
from hlo.passes.fusion.groups import BlockFusion
from hlo.passes.hlo_to_loops.graph import Node


def dot(m: int, k: int, n: int, kind: str = "f32", *, turned: bool = False, after: str = "") -> str:
    right = f"tensor<{n}x{k}x{kind}>" if turned else f"tensor<{k}x{n}x{kind}>"
    left, result = f"tensor<{m}x{k}x{kind}>", f"tensor<{m}x{n}x{kind}>"
    return f"""
    func.func @main(%a: {left}, %b: {right}) -> {result} {{
      %0 = hlo.dot_general %a, %b, contracting_dims = [1] x [{1 if turned else 0}]
        : ({left}, {right}) -> {result}
      {after}
      return %{1 if after else 0} : {result}
    }}
    """


def node(text: str) -> Node:
    return next(n for n in entry(text).nodes if n.name == "dot_general")


def with_f32_rates(most: float) -> Machine:
    rates = LibraryRates(most, most, most, 1.0, 1.0)
    return replace(HOST, library=replace(HOST.library, f32=rates))


@pytest.mark.parametrize(
    ("m", "k", "n", "kind", "way", "library"),
    [
        (512, 512, 512, "f32", Way.PACKED, False),
        (128, 128, 128, "f32", Way.PACKED, False),
        (64, 64, 64, "f32", Way.TILES, False),
        (1, 768, 3072, "f32", Way.VECTORS, False),
        (512, 512, 512, "f64", Way.PACKED, False),
        (512, 512, 2, "f32", Way.LOOPS, True),
        (256, 256, 256, "complex<f32>", Way.LOOPS, True),
        (512, 512, 512, "complex<f64>", Way.LOOPS, True),
        (16, 16, 16, "complex<f32>", Way.LOOPS, False),  # a call takes as long as the product
        (4, 4, 4, "f32", Way.TILES, False),
    ],
)
def test_the_faster_one_is_chosen(
    m: int, k: int, n: int, kind: str, way: Way, library: bool
) -> None:
    choice = product_choice(node(dot(m, k, n, kind)))
    assert choice.way is way
    assert choice.calls_library is library
    assert ("less than generated code" in choice.reason) is library


def test_equal_products_are_thought_about_once() -> None:
    choice = product_choice(node(dot(96, 112, 80)))
    assert product_choice(node(dot(96, 112, 80))) is choice
    assert product_choice(node(dot(96, 112, 80)), beside=1 << 20) is not choice
    assert product_choice(node(dot(96, 112, 80, turned=True))) is not choice
    with knobs.scope(vendor=False):
        assert product_choice(node(dot(96, 112, 80))).library == math.inf


def test_a_faster_library_changes_the_choice() -> None:
    product = node(dot(512, 512, 512))
    assert not product_choice(product).calls_library
    assert product_choice(product, with_f32_rates(64.0)).calls_library
    assert not product_choice(product, with_f32_rates(8.0)).calls_library


def test_a_slower_library_is_left_alone() -> None:
    product = node(dot(256, 256, 256, "complex<f32>"))
    slow = LibraryRates(1.0, 1.0, 1.0, 1.0, 1.0)
    machine = replace(HOST, library=replace(HOST.library, c64=slow))
    assert product_choice(product).calls_library
    assert not product_choice(product, machine).calls_library


def test_what_the_library_takes_in_by_no_kernel_of_its_own_counts() -> None:
    product, machine = node(dot(512, 64, 512)), with_f32_rates(34.0)
    alone = product_choice(product, machine)
    beside = product_choice(product, machine, beside=2 * 4 * 512 * 512)
    assert alone.calls_library
    assert not beside.calls_library
    assert beside.library > alone.library + HOST.launch
    assert beside.generated == alone.generated


def test_products_that_the_library_has_not() -> None:
    mixed = """
    func.func @main(%a: tensor<64x64xbf16>, %b: tensor<64x64xbf16>) -> tensor<64x64xf32> {
      %0 = hlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
      return %0 : tensor<64x64xf32>
    }
    """
    choice = product_choice(node(mixed))
    assert not choice.has_two
    assert choice.library == math.inf
    assert "has no such product" in choice.reason
    with knobs.scope(vendor=False):
        assert not product_choice(node(dot(512, 512, 2, "f32"))).calls_library


@pytest.mark.parametrize("shape", [(0, 4, 4), (4, 0, 4), (4, 4, 0)])
def test_products_of_nothing_have_a_time(shape: tuple[int, int, int]) -> None:
    choice = product_choice(node(dot(*shape)))
    assert 0 < choice.generated < 1e-6
    assert not choice.calls_library


def test_estimates_are_of_the_kernel_there_is() -> None:
    product = node(dot(512, 512, 512, "complex<f32>"))
    with knobs.scope(vendor=False):
        loops = cycles(product)
    assert cycles(product) < loops / 2  # 27 multiply-adds a cycle, not 10


def test_one_core_leaves_few_columns_to_the_library() -> None:
    product = node(dot(512, 512, 2, "f64"))  # 6 of a vector's 8 lanes would be idle
    assert product_choice(product, HOST.on(1)).calls_library
    assert not product_choice(product, HOST.on(4)).calls_library  # a small call stays on one


def test_fusion_leaves_a_product_for_the_library_alone() -> None:
    def fast(product: Node, beside: int) -> ProductChoice:
        return product_choice(product, with_f32_rates(128.0), beside)

    region = entry(dot(256, 256, 256, after="%1 = hlo.tanh %0 : tensor<256x256xf32>"))
    fusion = BlockFusion(region.nodes, region.results)
    fusion.run()
    assert [edge.decision.fused for edge in fusion.all_edges()] == [True]
    fusion = BlockFusion(region.nodes, region.results)
    with mock.patch("hlo.passes.fusion.groups.product_choice", fast):
        fusion.run()
    (edge,) = fusion.all_edges()
    assert not edge.decision.fused
    assert edge.decision.reason.startswith("the library takes ")


def test_reports_have_both_times() -> None:
    (choice,) = hlo.compile(dot(64, 64, 64)).explain().choices
    assert choice.kernel.startswith("dot_general")
    assert "register tiles take " in choice.reason
    assert "no more than the library (" in choice.reason
    (choice,) = hlo.compile(dot(256, 256, 256, "complex<f32>")).explain().choices
    assert "less than generated code: plain loops take " in choice.reason
    assert not hlo.compile(dot(128, 128, 128), vendor=False).explain().choices


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("kind", ["f32", "f64", "complex<f32>"])
def test_results_agree_whichever_is_chosen(kind: str, turned: bool) -> None:
    dtype = {"f32": np.float32, "f64": np.float64, "complex<f32>": np.complex64}[kind]
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((37, 65)), rng.standard_normal((65, 41))
    free = LibraryRates(1e9, 1e9, 1e9, 0.0, 0.0)
    library = replace(HOST.library, call=-1.0, f32=free, f64=free, c64=free, streamed=1e9)
    machine = replace(HOST, library=library)

    def always(product: Node) -> object:
        return product_choice(product, machine)

    text = dot(37, 65, 41, kind, turned=turned)
    with (
        knobs.scope(cache=False),
        mock.patch("hlo.passes.hlo_to_loops.kernels.product_choice", always),
    ):
        called = hlo.compile(text)
    generated = hlo.compile(text, vendor=False)
    assert "hlo_rt_gemm" in called.as_text("host")
    assert "hlo_rt_gemm" not in generated.as_text("host")
    arguments = [a.astype(dtype), (b.T if turned else b).astype(dtype)]
    for program in (called, generated):
        np.testing.assert_allclose(program(*arguments)[0], a @ b, rtol=1e-4, atol=1e-4)
