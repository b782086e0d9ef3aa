"""Every kind of GPU kernel, run on the emulated device, against the reference evaluator."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import hlo
from hlo import ir
from hlo.diagnostics import CompileError, UnsupportedError
from hlo.driver.gpu_compile import GpuCompiled
from hlo.reference.evaluate import evaluate

Array = np.ndarray[Any, Any]


def check(text: str, *arguments: Array, ulps: float = 0) -> None:
    """The device gives what the evaluator gives, warps in order and backwards.

    Args:
        ulps: units in the last place of the largest element that floats may be off.
    """
    program = hlo.compile(text, target="nvptx:sm_80")
    assert isinstance(program, GpuCompiled)
    expected = evaluate(ir.parse_module(text), [a.copy() for a in arguments])
    for schedule in (0, 1):
        found = program.emulated(schedule)(*arguments)
        for want, got in zip(expected, found, strict=True):
            wide = np.complex128 if want.dtype.kind == "c" else np.float64
            w, g = np.asarray(want).astype(wide), got.astype(wide)
            scale = 0.0
            if ulps:
                scale = ulps * float(ml_dtypes.finfo(want.dtype).eps) * np.abs(w).max(initial=0.0)
            np.testing.assert_allclose(g, w, rtol=0, atol=scale)


def sample(shape: tuple[int, ...], kind: str = "f32", seed: int = 0) -> Array:
    """Small numbers of a type."""
    numbers = np.random.default_rng([seed, *shape]).integers(-16, 17, shape)
    return (numbers if kind.startswith("i") else numbers / 8).astype(ir.types.to_dtype(kind))


def reducer(op: str, kind: str = "f32") -> str:
    scalar = f"tensor<{kind}>"
    return (
        f'({{^bb0(%p: {scalar}, %q: {scalar}): %s = "hlo.{op}"(%p, %q) : ({scalar}, {scalar}) -> '
        f'{scalar} "hlo.return"(%s) : ({scalar}) -> ()}})'
    )


def reduction(rows: int, columns: int, dimension: int, op: str, kind: str) -> str:
    left = rows if dimension else columns
    zero = "0" if kind.startswith("i") else "0.0"
    return f"""
func.func @main(%x: tensor<{rows}x{columns}x{kind}>) -> tensor<{left}x{kind}> {{
  %z = "hlo.constant"() {{value = dense<{zero}> : tensor<{kind}>}} : () -> tensor<{kind}>
  %0 = "hlo.reduce"(%x, %z) {reducer(op, kind)} {{dimensions = array<i64: {dimension}>}}
    : (tensor<{rows}x{columns}x{kind}>, tensor<{kind}>) -> tensor<{left}x{kind}>
  return %0 : tensor<{left}x{kind}>
}}"""


@pytest.mark.parametrize("kind", ["f32", "f64", "i8", "i64", "bf16"])
@pytest.mark.parametrize(("rows", "columns"), [(3, 33), (2, 1500), (40, 128)])
@pytest.mark.parametrize("dimension", [0, 1])
def test_reductions(rows: int, columns: int, dimension: int, kind: str) -> None:
    text = reduction(rows, columns, dimension, "add", kind)
    check(text, sample((rows, columns), kind), ulps=0 if kind[0] == "i" else 4)


@pytest.mark.parametrize("op", ["maximum", "minimum", "multiply"])
def test_reducers(op: str) -> None:
    check(reduction(3, 700, 1, op, "f32"), sample((3, 700)), ulps=4)


@pytest.mark.parametrize("columns", [1024, 1000, 77, 20000])
def test_rows_are_overwritten_after_they_are_read(columns: int) -> None:
    # The sum is of all of a row, whose memory the result takes over.
    kind = f"tensor<3x{columns}xf32>"
    text = f"""
func.func @main(%x: {kind}) -> {kind} {{
  %z = "hlo.constant"() {{value = dense<0.0> : tensor<f32>}} : () -> tensor<f32>
  %y = "hlo.sine"(%x) : ({kind}) -> {kind}
  %w = "hlo.optimization_barrier"(%y) : ({kind}) -> {kind}
  %s = "hlo.reduce"(%w, %z) {reducer("add")} {{dimensions = array<i64: 1>}}
    : ({kind}, tensor<f32>) -> tensor<3xf32>
  %t = "hlo.broadcast_in_dim"(%s) {{broadcast_dimensions = array<i64: 0>}}
    : (tensor<3xf32>) -> {kind}
  %0 = "hlo.subtract"(%w, %t) : ({kind}, {kind}) -> {kind}
  return %0 : {kind}
}}"""
    check(text, sample((3, columns)), ulps=16)


def matrix_product(m: int, k: int, n: int, kind: str, left: int, right: int) -> str:
    a = f"tensor<{m}x{k}x{kind}>" if left else f"tensor<{k}x{m}x{kind}>"
    b = f"tensor<{n}x{k}x{kind}>" if right else f"tensor<{k}x{n}x{kind}>"
    result = f"tensor<{m}x{n}x{kind}>"
    return f"""
func.func @main(%a: {a}, %b: {b}, %c: {result}) -> {result} {{
  %0 = "hlo.dot_general"(%a, %b) {{dot_dimension_numbers = #hlo.dot<
    lhs_contracting_dimensions = [{left}], rhs_contracting_dimensions = [{right}]>}}
    : ({a}, {b}) -> {result}
  %1 = "hlo.add"(%0, %c) : ({result}, {result}) -> {result}
  return %1 : {result}
}}"""


@pytest.mark.parametrize("kind", ["f32", "f64", "i32", "f16", "bf16"])
@pytest.mark.parametrize(("left", "right"), [(1, 0), (0, 0), (1, 1)])
def test_matrix_products(kind: str, left: int, right: int) -> None:
    # Neither 70 nor 90 is a multiple of a tile's side, nor 41 of its depth.
    m, k, n = 70, 41, 90
    a = sample((m, k) if left else (k, m), kind)
    b = sample((n, k) if right else (k, n), kind, 1)
    text = matrix_product(m, k, n, kind, left, right)
    check(text, a, b, sample((m, n), kind, 2), ulps=0 if kind[0] == "i" else 8)


@pytest.mark.parametrize("kind", ["f32", "f16"])
@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions(kind: str, groups: int) -> None:
    # 9 + 2 padded - 3 is 8 steps of 1: 9 places; 16 features in, 24 out.
    source, taps = f"tensor<2x9x7x16x{kind}>", f"tensor<3x3x{16 // groups}x24x{kind}>"
    text = f"""
func.func @main(%x: {source}, %w: {taps}) -> tensor<2x9x7x24x{kind}> {{
  %0 = "hlo.convolution"(%x, %w) {{
    batch_group_count = 1 : i64, feature_group_count = {groups} : i64,
    dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>,
    padding = dense<1> : tensor<2x2xi64>, window_strides = array<i64: 1, 1>}}
    : ({source}, {taps}) -> tensor<2x9x7x24x{kind}>
  return %0 : tensor<2x9x7x24x{kind}>
}}"""
    w = sample((3, 3, 16 // groups, 24), kind, 1)
    check(text, sample((2, 9, 7, 16), kind), w, ulps=8)


@pytest.mark.parametrize("length", [1, 8, 30, 127, 360])
@pytest.mark.parametrize("kind", ["FFT", "IFFT"])
def test_fourier_transforms(length: int, kind: str) -> None:
    shape = f"tensor<3x{length}xcomplex<f32>>"
    text = f"""
func.func @main(%x: {shape}) -> {shape} {{
  %0 = "hlo.fft"(%x) {{fft_type = #hlo<fft_type {kind}>, fft_length = array<i64: {length}>}}
    : ({shape}) -> {shape}
  return %0 : {shape}
}}"""
    x = (sample((3, length)) + 1j * sample((3, length), seed=1)).astype(np.complex64)
    check(text, x, ulps=8)


@pytest.mark.parametrize("length", [1, 9, 12, 50])
def test_real_fourier_transforms(length: int) -> None:
    half = length // 2 + 1
    spectrum, signal = f"tensor<2x{half}xcomplex<f32>>", f"tensor<2x{length}xf32>"
    attribute = f"fft_length = array<i64: {length}>"
    text = f"""
func.func @main(%x: {signal}) -> ({spectrum}, {signal}) {{
  %0 = "hlo.fft"(%x) {{fft_type = #hlo<fft_type RFFT>, {attribute}}} : ({signal}) -> {spectrum}
  %1 = "hlo.fft"(%0) {{fft_type = #hlo<fft_type IRFFT>, {attribute}}} : ({spectrum}) -> {signal}
  return %0, %1 : {spectrum}, {signal}
}}"""
    check(text, sample((2, length)), ulps=16)


@pytest.mark.parametrize("kind", ["f32", "f16", "i8", "f64"])
@pytest.mark.parametrize(("shape", "order"), [
    ((64, 96), (1, 0)), ((70, 75), (1, 0)), ((3, 50, 40), (0, 2, 1)), ((50, 3, 40), (2, 1, 0)),
    ((10, 9, 8, 33), (3, 0, 2, 1)),
])  # fmt: skip
def test_transposes(shape: tuple[int, ...], order: tuple[int, ...], kind: str) -> None:
    # Beside what is read in its own order.
    turned = tuple(shape[d] for d in order)
    source, target = ("x".join(map(str, s)) + f"x{kind}" for s in (shape, turned))
    text = f"""
func.func @main(%x: tensor<{source}>, %y: tensor<{target}>) -> tensor<{target}> {{
  %0 = "hlo.transpose"(%x) {{permutation = array<i64: {", ".join(map(str, order))}>}}
    : (tensor<{source}>) -> tensor<{target}>
  %1 = "hlo.add"(%0, %y) : (tensor<{target}>, tensor<{target}>) -> tensor<{target}>
  return %1 : tensor<{target}>
}}"""
    check(text, sample(shape, kind), sample(turned, kind, 1))
    program = hlo.compile(text, target="nvptx:sm_80")
    assert ("bar.sync" in program.as_text("ptx")) == (order[-1] != len(order) - 1)


def test_independent_kernels_are_one_launch() -> None:
    # A row softmax's sum by warps, 5000 elements by blocks of 256, and 40 by a block of 64.
    text = f"""
func.func @main(%x: tensor<6x700xf32>, %y: tensor<5000xf32>, %w: tensor<40xf32>)
    -> (tensor<6xf32>, tensor<5000xf32>, tensor<40xf32>) {{
  %z = "hlo.constant"() {{value = dense<0.0> : tensor<f32>}} : () -> tensor<f32>
  %0 = "hlo.reduce"(%x, %z) {reducer("add")} {{dimensions = array<i64: 1>}}
    : (tensor<6x700xf32>, tensor<f32>) -> tensor<6xf32>
  %1 = "hlo.negate"(%y) : (tensor<5000xf32>) -> tensor<5000xf32>
  %2 = "hlo.abs"(%w) : (tensor<40xf32>) -> tensor<40xf32>
  return %0, %1, %2 : tensor<6xf32>, tensor<5000xf32>, tensor<40xf32>
}}"""
    arguments = [sample((6, 700)), sample((5000,)), sample((40,))]
    check(text, *arguments, ulps=4)
    program = hlo.compile(text, target="nvptx:sm_80")
    assert program.statistics.kernels == 1  # the 128 threads of a row wait for one another alone


STEPS = f"""
func.func @main(%x: tensor<3000xf32>, %w: tensor<5x300xf32>, %y: tensor<100xf32>)
    -> (tensor<3000xf32>, tensor<5x300xf32>, tensor<f32>, tensor<5xf32>, tensor<100xf32>) {{
  %z = "hlo.constant"() {{value = dense<0.0> : tensor<f32>}} : () -> tensor<f32>
  %0 = "hlo.negate"(%x) : (tensor<3000xf32>) -> tensor<3000xf32>
  %1 = "hlo.abs"(%w) : (tensor<5x300xf32>) -> tensor<5x300xf32>
  %2 = "hlo.sign"(%y) : (tensor<100xf32>) -> tensor<100xf32>
  %3 = "hlo.reduce"(%0, %z) {reducer("add")} {{dimensions = array<i64: 0>}}
    : (tensor<3000xf32>, tensor<f32>) -> tensor<f32>
  %4 = "hlo.reduce"(%1, %z) {reducer("add")} {{dimensions = array<i64: 1>}}
    : (tensor<5x300xf32>, tensor<f32>) -> tensor<5xf32>
  %5 = "hlo.broadcast_in_dim"(%3) {{broadcast_dimensions = array<i64>}}
    : (tensor<f32>) -> tensor<5xf32>
  %6 = "hlo.subtract"(%4, %5) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  %7 = "hlo.reduce"(%6, %z) {reducer("add")} {{dimensions = array<i64: 0>}}
    : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1, %7, %6, %2
    : tensor<3000xf32>, tensor<5x300xf32>, tensor<f32>, tensor<5xf32>, tensor<100xf32>
}}"""


def test_small_kernels_are_steps_of_the_last_block() -> None:
    """Blocks of several kernels, then sums of what they store, then a sum of those sums."""
    arguments = [sample((3000,)), sample((5, 300)), sample((100,))]
    check(STEPS, *arguments, ulps=4)
    program = hlo.compile(STEPS, target="nvptx:sm_80", emulator="fibers")
    assert isinstance(program, GpuCompiled)
    assert program.plan.launches == 1
    expected = evaluate(ir.parse_module(STEPS), [a.copy() for a in arguments])
    for schedule in (2, 3, 4):
        for device in (program.emulated(schedule), program.on_fibers(schedule)):
            for _ in range(2):  # the counter is zero again
                for want, got in zip(expected, device(*arguments), strict=True):
                    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("unique", ["false", "true"])
def test_scatters(unique: str) -> None:
    # Without unique indices rows meet: 5 updates of 3 rows; one index is outside.
    rows = [2, 0, 2, 9, 2] if unique == "false" else [2, 0, 1, 9, 3]
    text = f"""
func.func @main(%x: tensor<4x6xf32>, %i: tensor<5x1xi32>, %u: tensor<5x6xf32>) -> tensor<4x6xf32> {{
  %0 = "hlo.scatter"(%x, %i, %u) {reducer("add")} {{scatter_dimension_numbers = #hlo.scatter<
    update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
    index_vector_dim = 1>, unique_indices = {unique}}}
    : (tensor<4x6xf32>, tensor<5x1xi32>, tensor<5x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}}"""
    check(text, sample((4, 6)), np.array(rows, np.int32)[:, None], sample((5, 6), seed=1))


def test_select_and_scatter() -> None:
    text = f"""
func.func @main(%x: tensor<7x9xf32>, %t: tensor<3x4xf32>) -> tensor<7x9xf32> {{
  %z = "hlo.constant"() {{value = dense<0.0> : tensor<f32>}} : () -> tensor<f32>
  %0 = "hlo.select_and_scatter"(%x, %t, %z) ({{^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = "hlo.compare"(%a, %b) {{comparison_direction = #hlo<comparison_direction GE>}}
      : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "hlo.return"(%r) : (tensor<i1>) -> ()}}, {reducer("add")[1:-1]})
    {{window_dimensions = array<i64: 3, 3>, window_strides = array<i64: 2, 2>}}
    : (tensor<7x9xf32>, tensor<3x4xf32>, tensor<f32>) -> tensor<7x9xf32>
  return %0 : tensor<7x9xf32>
}}"""
    check(text, sample((7, 9)), sample((3, 4), seed=1))


@pytest.mark.parametrize("kind", ["i32", "f32", "f64", "bf16", "complex<f32>"])
@pytest.mark.parametrize("length", [40, 700])
@pytest.mark.parametrize("backwards", [False, True])
def test_running_totals(length: int, kind: str, backwards: bool) -> None:
    # Lines of 40 are a thread each, lines of 700 a block: 2 x 256 and a rest of 188.
    low, high = (0, length - 1) if backwards else (length - 1, 0)
    shape, zero = f"tensor<3x{length}x2x{kind}>", {"i": "0", "c": "(0.0, 0.0)"}.get(kind[0], "0.0")
    text = f"""
func.func @main(%x: {shape}) -> {shape} {{
  %z = "hlo.constant"() {{value = dense<{zero}> : tensor<{kind}>}} : () -> tensor<{kind}>
  %0 = "hlo.reduce_window"(%x, %z) {reducer("add", kind)} {{
    window_dimensions = array<i64: 1, {length}, 1>,
    padding = dense<[[0, 0], [{low}, {high}], [0, 0]]> : tensor<3x2xi64>}}
    : ({shape}, tensor<{kind}>) -> {shape}
  return %0 : {shape}
}}"""
    check(text, sample((3, length, 2), kind), ulps=0 if kind[0] == "i" else 4)


def concatenation(count: int) -> tuple[str, list[Array]]:
    """Of vectors of 1 to 4 elements."""
    parts = [sample((1 + i % 4,), seed=i) for i in range(count)]
    kinds = [f"tensor<{part.size}xf32>" for part in parts]
    names = [f"%x{i}" for i in range(count)]
    total = f"tensor<{sum(part.size for part in parts)}xf32>"
    text = f"""
func.func @main({", ".join(map("{}: {}".format, names, kinds))}) -> {total} {{
  %0 = "hlo.concatenate"({", ".join(names)}) {{dimension = 0 : i64}}
    : ({", ".join(kinds)}) -> {total}
  return %0 : {total}
}}
"""
    return text, parts


def test_a_concatenation_of_hundreds() -> None:
    text, parts = concatenation(300)
    check(text, *parts)


def test_more_parameters_than_a_launch_takes_are_refused() -> None:
    # 512 pointers of 8 bytes are 4 KiB: 511 inputs and a result.
    hlo.compile(concatenation(511)[0], target="nvptx:sm_80")
    with pytest.raises(CompileError, match="513 inputs and outputs, 4104 bytes of parameters"):
        hlo.compile(concatenation(512)[0], target="nvptx:sm_80")


def test_an_unknown_custom_call_is_refused_by_name() -> None:
    text = """
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0:2 = "hlo.custom_call"(%x) {call_target_name = "no_such_library_call", api_version = 4 : i32}
    : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>)
  return %0#0 : tensor<2x2xf32>
}"""
    with pytest.raises(UnsupportedError, match="no_such_library_call"):
        hlo.compile(text, target="nvptx:sm_80")
