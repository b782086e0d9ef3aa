"""Programs compile and run on threads whose stacks are smaller than what kernels keep there."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from isolation import Outcome, isolated

import hlo
from hlo.executable import runtime
from hlo.executable.callbacks import ArrayType, PythonCallback, register
from hlo.passes.hlo_to_loops import stack
from hlo.passes.hlo_to_loops.builder import Builder
from hlo.passes.hlo_to_loops.product_blocking import blocking_of, woven_rows_of

SMALL_STACK = 256 << 10
# Transposed left operand, several parts of the depth: panels, rows and sums are all packed.
PRODUCT = """
func.func @main(%a: tensor<1024x1024xf64>, %b: tensor<1024x1024xf64>) -> tensor<1024x1024xf64> {
  %0 = "hlo.dot_general"(%a, %b) {dot_dimension_numbers = #hlo.dot<
    lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>}
    : (tensor<1024x1024xf64>, tensor<1024x1024xf64>) -> tensor<1024x1024xf64>
  return %0 : tensor<1024x1024xf64>
}"""
CALLING = """
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = "hlo.custom_call"(%a) {{call_target_name = "hlo.python_callback", has_side_effect = true,
    mhlo.backend_config = {{callback = {number} : i64}}}} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}}"""


def in_thread(function: Callable[[], Any], stack_bytes: int) -> Any:
    found: list[Any] = []
    before = threading.stack_size(stack_bytes)
    try:
        thread = threading.Thread(target=lambda: found.append(function()))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert found, "the thread raised"
    return found[0]


def call_product() -> float:
    compiled = hlo.compile(PRODUCT)
    assert compiled.memory_analysis().stack_bytes > 2 * SMALL_STACK
    a, b = np.random.default_rng(0).standard_normal((2, 1024, 1024))
    return float(np.abs(compiled(a, b)[0] - a.T @ b).max())


def product_on_small_stack() -> float:
    return in_thread(call_product, SMALL_STACK)


def raise_on_small_stack() -> str:
    def fail(_: Any) -> Any:
        raise KeyError(threading.get_ident())

    types = (ArrayType(np.dtype(np.float32), (4,)),)
    callback = PythonCallback(fail, types, types)  # which lives until it is compiled
    compiled = hlo.compile(CALLING.format(number=register(callback)))

    def call() -> str:
        try:
            compiled(np.zeros(4, np.float32))
        except KeyError as error:
            return str(error.args[0] != threading.get_ident())
        return "nothing was raised"

    return in_thread(call, SMALL_STACK)


def let_go_on_small_stack(what: str) -> float:
    """Nothing of MLIR that was made on the larger stack outlives the call there."""
    text = CALLING.format(number=0) if what == "fails" else PRODUCT.replace("1024", "8")
    argument = np.zeros((8, 8))

    def call() -> float:
        try:
            return float(
                runtime.on_large_stack(lambda: hlo.compile(text)(argument, argument)[0]).sum()
            )
        except hlo.CompileError:
            return 0.0

    return sum(in_thread(call, SMALL_STACK) for _ in range(3))


def test_panels_beyond_the_stack_of_the_calling_thread() -> None:
    outcome = isolated(product_on_small_stack)
    assert not outcome.aborted and outcome.value < 1e-10, outcome


def test_what_a_callback_raises_comes_back_from_the_larger_stack() -> None:
    assert isolated(raise_on_small_stack).value == "True"


@pytest.mark.parametrize("what", ["compiles", "fails"])
def test_a_thread_ends_whose_context_goes_with_the_larger_stack(what: str) -> None:
    assert isolated(let_go_on_small_stack, what) == Outcome(value=0.0)


def test_the_context_and_errors_of_a_small_stack_are_the_callers() -> None:
    variable = contextvars.ContextVar("variable", default=0)

    def call() -> tuple[int, str, bool]:
        variable.set(7)
        here = threading.get_ident()
        moved = runtime.on_large_stack(threading.get_ident) != here
        try:
            hlo.compile("not a program")
        except hlo.CompileError as error:
            return runtime.on_large_stack(variable.get), type(error).__name__, moved
        return 0, "", moved

    assert in_thread(call, SMALL_STACK) == (7, "ParseError", True)
    assert runtime.on_large_stack(threading.get_ident) == threading.get_ident()


def test_the_compiler_and_the_runtime_agree_on_the_stack() -> None:
    assert stack.KERNEL_STACK_BYTES == runtime.KERNEL_STACK_BYTES


@pytest.mark.parametrize("lanes", [8, 16])
@pytest.mark.parametrize("transposed", [False, True])
def test_packed_products_of_all_sizes_fit_the_stack(lanes: int, transposed: bool) -> None:
    sizes = (1, 2, 15, 16, 17, 48, 64, 255, 257, 577, 1153, 2000, 5000, 20000)
    largest = 0
    for m in sizes:
        for n in sizes:
            for k in sizes:
                s = blocking_of(m, n, k, lanes)
                woven = -(-s.depth // lanes) * lanes * woven_rows_of(s.rows)
                left = s.tiles * (woven + lanes)
                if transposed:
                    left = -(-s.tiles * s.rows // lanes) * (s.depth * lanes + lanes)
                waiting = s.tiles * s.panels if s.depth_blocks > 1 else 1
                elements = s.panels * s.depth * s.width + left + waiting * s.rows * s.width
                largest = max(largest, elements * (64 // lanes))
    assert 512 << 10 < largest < stack.KERNEL_STACK_BYTES


def test_a_builder_knows_when_the_stack_is_full() -> None:
    builder = Builder()
    assert builder.has_stack(1 << 18, "f64")
    builder.stack_buffer(1 << 18, "f64")
    assert not builder.has_stack(1, "i1")


def test_stack_bytes_of_a_text_are_those_of_its_largest_function() -> None:
    builder = Builder()
    builder.stack_buffer(100, "f32")
    builder.stack_buffer(3, "i1")
    text = f"func.func @a() {{\n{builder.text()}\n}}\nfunc.func @b() {{\n}}"
    assert stack.stack_bytes(text) == 403  # 100 * 4 + 3
    assert stack.stack_bytes("func.func @b() {\n}") == 0
