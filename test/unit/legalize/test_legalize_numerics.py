# ruff: noqa: E501 (ops are easier to read on one line)
"""Derived ops compute after legalization what they mean before it."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from legalize_cases import assert_same, legalize, normal, op_names, run_both

from hlo import ir
from hlo.diagnostics import UnsupportedError
from hlo.passes.legalize import ragged_loops

SPECIAL = np.asarray([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40], np.float32)


@pytest.mark.parametrize("element", ["f32", "bf16", "f64"])
def test_batch_norm(element: str) -> None:
    dtype = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f64": np.float64}[element]
    x, feature = f"tensor<2x3x4x{element}>", f"tensor<3x{element}>"
    text = f"""
    func.func @main(%x: {x}, %s: {feature}, %o: {feature}, %m: {feature}, %v: {feature}, %g: {x})
        -> ({x}, {x}, {feature}, {feature}, {x}, {feature}, {feature}) {{
      %0 = "hlo.batch_norm_inference"(%x, %s, %o, %m, %v) {{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}}
        : ({x}, {feature}, {feature}, {feature}, {feature}) -> {x}
      %1:3 = "hlo.batch_norm_training"(%x, %s, %o) {{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}}
        : ({x}, {feature}, {feature}) -> ({x}, {feature}, {feature})
      %2:3 = "hlo.batch_norm_grad"(%x, %s, %m, %v, %g) {{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}}
        : ({x}, {feature}, {feature}, {feature}, {x}) -> ({x}, {feature}, {feature})
      return %0, %1#0, %1#1, %1#2, %2#0, %2#1, %2#2
        : {x}, {x}, {feature}, {feature}, {x}, {feature}, {feature}
    }}"""
    vectors = [normal(seed, (3,), dtype) for seed in range(3)]
    variance = np.abs(normal(7, (3,))).astype(dtype)
    arguments = (normal(4, (2, 3, 4), dtype), *vectors, variance, normal(5, (2, 3, 4), dtype))
    assert_same(text, *arguments, ulps=8)


@pytest.mark.parametrize("algorithm", ["DEFAULT", "THREE_FRY", "PHILOX"])
@pytest.mark.parametrize("element", ["ui32", "ui64", "ui8", "i16", "f32", "f64"])
@pytest.mark.parametrize("shape", [(), (1,), (5,), (3, 4), (5, 7, 3), (2, 0, 3)])
def test_random_bits_are_the_same_bits(
    algorithm: str, element: str, shape: tuple[int, ...]
) -> None:
    dims = "".join(f"{size}x" for size in shape)
    words = 3 if algorithm == "PHILOX" else 2
    text = f"""
    func.func @main(%s: tensor<{words}xui64>) -> (tensor<{words}xui64>, tensor<{dims}{element}>) {{
      %0:2 = "hlo.rng_bit_generator"(%s) {{rng_algorithm = #hlo<rng_algorithm {algorithm}>}}
        : (tensor<{words}xui64>) -> (tensor<{words}xui64>, tensor<{dims}{element}>)
      return %0#0, %0#1 : tensor<{words}xui64>, tensor<{dims}{element}>
    }}"""
    state = np.asarray([0x123456789ABCDEF, 2**64 - 2, 7][:words], np.uint64)
    assert_same(text, state)


@pytest.mark.parametrize("element", ["f32", "f64", "bf16", "i32", "ui8"])
def test_rng_uniform_stays_in_its_interval_and_is_spread(element: str) -> None:
    text = f"""
    func.func @main(%a: tensor<{element}>, %b: tensor<{element}>)
        -> (tensor<4096x{element}>, tensor<4096x{element}>) {{
      %n = hlo.constant dense<4096> : tensor<1xi64>
      %0 = "hlo.rng"(%a, %b, %n) {{rng_distribution = #hlo<rng_distribution UNIFORM>}}
        : (tensor<{element}>, tensor<{element}>, tensor<1xi64>) -> tensor<4096x{element}>
      %1 = "hlo.rng"(%a, %b, %n) {{rng_distribution = #hlo<rng_distribution UNIFORM>}}
        : (tensor<{element}>, tensor<{element}>, tensor<1xi64>) -> tensor<4096x{element}>
      return %0, %1 : tensor<4096x{element}>, tensor<4096x{element}>
    }}"""
    dtypes = {
        "f32": np.float32,
        "f64": np.float64,
        "bf16": ml_dtypes.bfloat16,
        "i32": np.int32,
        "ui8": np.uint8,
    }
    low, high = (np.asarray(x, dtypes[element]) for x in (3, 9))
    _, (first, second) = run_both(text, low, high)
    for values in (first, second):
        wide = values.astype(np.float64)
        assert wide.min() >= 3 and wide.max() < 9
        assert abs(wide.mean() - (5.5 if element in ("i32", "ui8") else 6.0)) < 0.1
    assert not np.array_equal(first, second)


def test_rng_normal_has_its_moments() -> None:
    text = """
    func.func @main(%a: tensor<f32>, %b: tensor<f32>) -> tensor<20000xf32> {
      %n = hlo.constant dense<20000> : tensor<1xi64>
      %0 = "hlo.rng"(%a, %b, %n) {rng_distribution = #hlo<rng_distribution NORMAL>}
        : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<20000xf32>
      return %0 : tensor<20000xf32>
    }"""
    _, (values,) = run_both(text, np.float32(2), np.float32(3))
    assert np.isfinite(values).all()
    assert abs(values.mean() - 2) < 0.1 and abs(values.std() - 3) < 0.1


@pytest.mark.parametrize("element", ["f32", "f64", "complex<f32>", "f16"])
@pytest.mark.parametrize("lower", ["true", "false"])
def test_cholesky(element: str, lower: str) -> None:
    dtype = {"f32": np.float32, "f64": np.float64, "complex<f32>": np.complex64, "f16": np.float16}[
        element
    ]
    kind = f"tensor<2x3x3x{element}>"
    text = f"""
    func.func @main(%a: {kind}) -> {kind} {{
      %0 = "hlo.cholesky"(%a) {{lower = {lower}}} : ({kind}) -> {kind}
      return %0 : {kind}
    }}"""
    root = normal(0, (2, 3, 3), np.complex128 if np.dtype(dtype).kind == "c" else np.float64)
    matrix = root @ np.conj(np.swapaxes(root, 1, 2)) + np.eye(3)
    assert_same(text, matrix.astype(dtype), ulps=8)


def test_cholesky_of_indefinite_matrix_is_nan_in_its_triangle() -> None:
    text = """
    func.func @main(%a: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %0 = hlo.cholesky %a, lower = true : tensor<2x2xf32>
      return %0 : tensor<2x2xf32>
    }"""
    _, (factor,) = run_both(text, np.asarray([[1, 2], [2, 1]], np.float32))
    assert np.isnan(factor[[0, 1, 1], [0, 0, 1]]).all()
    assert factor[0, 1] == 0


@pytest.mark.parametrize("left", ["true", "false"])
@pytest.mark.parametrize("transpose", ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
@pytest.mark.parametrize("element", ["f32", "complex<f64>", "bf16"])
def test_triangular_solve(left: str, transpose: str, element: str) -> None:
    dtype = {"f32": np.float32, "complex<f64>": np.complex128, "bf16": ml_dtypes.bfloat16}[element]
    kind = f"tensor<3x3x{element}>"
    text = f"""
    func.func @main(%a: {kind}, %b: {kind}) -> {kind} {{
      %0 = "hlo.triangular_solve"(%a, %b) {{left_side = {left}, lower = true, unit_diagonal = false,
        transpose_a = #hlo<transpose {transpose}>}} : ({kind}, {kind}) -> {kind}
      return %0 : {kind}
    }}"""
    wide = np.complex128 if np.dtype(dtype).kind == "c" else np.float64
    matrix = (normal(0, (3, 3), wide) + 4 * np.eye(3)).astype(dtype)
    assert_same(text, matrix, normal(1, (3, 3), wide).astype(dtype), ulps=16)


@pytest.mark.parametrize("element", ["f32", "i32", "ui8", "f16"])
def test_top_k(element: str) -> None:
    text = f"""
    func.func @main(%x: tensor<2x8x{element}>) -> (tensor<2x3x{element}>, tensor<2x3xi32>) {{
      %0:2 = hlo.top_k(%x, k = 3) : tensor<2x8x{element}> -> (tensor<2x3x{element}>, tensor<2x3xi32>)
      return %0#0, %0#1 : tensor<2x3x{element}>, tensor<2x3xi32>
    }}"""
    if element in ("f32", "f16"):
        values = np.stack([SPECIAL, SPECIAL[::-1]]).astype(
            {"f32": np.float32, "f16": np.float16}[element]
        )
    else:
        values = np.asarray([[3, 1, 3, 2, 250, 0, 3, 9]] * 2).astype(
            {"i32": np.int32, "ui8": np.uint8}[element]
        )
    assert_same(text, values)


def test_approximate_top_k_is_exact_and_its_comparator_goes() -> None:
    text = """
    func.func @greater(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>) -> tensor<i1> {
      %0 = hlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      hlo.return %0 : tensor<i1>
    }
    func.func @main(%x: tensor<2x9xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>) {
      %0 = hlo.iota dim = 1 : tensor<2x9xi32>
      %1 = hlo.constant dense<0xFF800000> : tensor<f32>
      %2 = hlo.constant dense<-1> : tensor<i32>
      %3:2 = "hlo.custom_call"(%x, %0, %1, %2) {call_target_name = "ApproxTopK", called_computations = [@greater],
        mhlo.backend_config = {reduction_dim = 1 : i64, top_k = 3 : i64}}
        : (tensor<2x9xf32>, tensor<2x9xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
      return %3#0, %3#1 : tensor<2x3xf32>, tensor<2x3xi32>
    }"""
    assert_same(text, normal(0, (2, 9)))
    assert len(legalize(text).body.operations) == 1


@pytest.mark.parametrize(
    ("config", "left", "right", "result"),
    [
        ("ab,bc->ac", (2, 3), (3, 4), (2, 4)),
        ("ab,cb->ca", (2, 3), (4, 3), (4, 2)),
        ("bij,bjk->bki", (2, 3, 4), (2, 4, 5), (2, 5, 3)),
        ("ab,cd->ac", (2, 3), (4, 5), (2, 4)),
        ("aab,bc->ac", (3, 3, 2), (2, 4), (3, 4)),
        ("...ij,...jk->...ik", (2, 3, 4), (2, 4, 5), (2, 3, 5)),
        ("ij,ij->", (2, 3), (2, 3), ()),
    ],
)
def test_einsum(
    config: str, left: tuple[int, ...], right: tuple[int, ...], result: tuple[int, ...]
) -> None:
    kinds = [
        "tensor<" + "".join(f"{s}x" for s in shape) + "f32>" for shape in (left, right, result)
    ]
    text = f"""
    func.func @main(%a: {kinds[0]}, %b: {kinds[1]}) -> {kinds[2]} {{
      %0 = "hlo.einsum"(%a, %b) {{einsum_config = "{config}"}} : ({kinds[0]}, {kinds[1]}) -> {kinds[2]}
      return %0 : {kinds[2]}
    }}"""
    assert_same(text, normal(0, left), normal(1, right), ulps=4)


@pytest.mark.parametrize(
    ("config", "shape", "result"),
    [("ab->ba", (2, 3), (3, 2)), ("aab->b", (3, 3, 2), (2,)), ("ab->a", (2, 3), (2,))],
)
def test_unary_einsum(config: str, shape: tuple[int, ...], result: tuple[int, ...]) -> None:
    kinds = ["tensor<" + "".join(f"{s}x" for s in x) + "f32>" for x in (shape, result)]
    text = f"""
    func.func @main(%a: {kinds[0]}) -> {kinds[1]} {{
      %0 = "hlo.unary_einsum"(%a) {{einsum_config = "{config}"}} : ({kinds[0]}) -> {kinds[1]}
      return %0 : {kinds[1]}
    }}"""
    assert_same(text, normal(0, shape), ulps=4)


def test_dot_broadcast_and_map() -> None:
    assert_same(
        """
    func.func @main(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<f32>) -> (tensor<2xf32>, tensor<4x3xf32>, tensor<3xf32>) {
      %0 = "hlo.dot"(%a, %b) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
      %1 = "hlo.broadcast"(%b) {broadcast_sizes = array<i64: 4>} : (tensor<3xf32>) -> tensor<4x3xf32>
      %2 = "hlo.map"(%b, %b) ({
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %3 = hlo.constant dense<2.0> : tensor<f32>
        %4 = hlo.multiply %x, %3 : tensor<f32>
        %5 = hlo.compare LT, %4, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %6 = hlo.select %5, %y, %4 : tensor<i1>, tensor<f32>
        hlo.return %6 : tensor<f32>
      }) {dimensions = array<i64: 0>} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      return %0, %1, %2 : tensor<2xf32>, tensor<4x3xf32>, tensor<3xf32>
    }""",
        normal(0, (2, 3)),
        normal(1, (3,)),
        np.float32(0.5),
    )


@pytest.mark.parametrize(
    ("dim", "batch", "shape"), [(0, 0, (2, 2, 4)), (1, 0, (3, 2, 2)), (1, 1, (3, 2))]
)
def test_torch_index_select_clamps(dim: int, batch: int, shape: tuple[int, ...]) -> None:
    index_shape = (3, 2) if batch else (2, 2)
    rows = {0: (5, 4), 1: (3, 4)}[dim]
    result = "tensor<" + "".join(f"{s}x" for s in shape) + "f32>"
    operand, index = (f"tensor<{a}x{b}x{e}>" for (a, b), e in ((rows, "f32"), (index_shape, "i32")))
    text = f"""
    func.func @main(%x: {operand}, %i: {index}) -> {result} {{
      %0 = "hlo.torch_index_select"(%x, %i) {{dim = {dim} : i64, batch_dims = {batch} : i64}}
        : ({operand}, {index}) -> {result}
      return %0 : {result}
    }}"""
    index_values = np.asarray([[0, 99], [-5, 1], [2, 3]], np.int32)[: index_shape[0]]
    assert_same(text, normal(0, rows), index_values)


RAGGED = [
    # lhs, rhs, sizes, result, numbers
    (
        (6, 4), (2, 4, 3), (2,), (6, 3),
        "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]",
    ),
    (
        (4, 6), (6, 3), (2,), (2, 4, 3),
        "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [1]",
    ),
    (
        (6, 4, 2), (6, 2, 3), (2,), (6, 4, 3),
        "lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], "
        "rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0]",
    ),
    (
        (3, 6, 4), (2, 3, 4, 5), (3, 2), (3, 6, 5),
        "lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], "
        "rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("lhs", "rhs", "sizes", "result", "numbers"), RAGGED)
def test_ragged_dot(
    lhs: tuple[int, ...],
    rhs: tuple[int, ...],
    sizes: tuple[int, ...],
    result: tuple[int, ...],
    numbers: str,
) -> None:
    a, b, r = ("tensor<" + "".join(f"{s}x" for s in shape) + "f32>" for shape in (lhs, rhs, result))
    n = "tensor<" + "".join(f"{s}x" for s in sizes) + "i32>"
    text = f"""
    func.func @main(%a: {a}, %b: {b}, %n: {n}) -> {r} {{
      %0 = "hlo.ragged_dot"(%a, %b, %n) {{ragged_dot_dimension_numbers = #hlo.ragged_dot<{numbers}>}}
        : ({a}, {b}, {n}) -> {r}
      return %0 : {r}
    }}"""
    counts = np.resize(np.asarray([2, 3, 0, 4, 1, 1], np.int32), sizes)
    left, right = normal(0, lhs), normal(1, rhs)
    if result == (6, 3):
        right[0, 0, 0] = np.inf  # stays in its group
    assert_same(text, left, right, counts, ulps=8)


LOOPS = [
    # lhs, rhs, result, numbers: blocks of 32 rows
    (
        (70, 4), (3, 4, 5), (70, 5),
        "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]",
    ),
    (
        (4, 70), (5, 3, 4), (70, 5),
        "lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [1]",
    ),
    (
        (4, 70), (70, 5), (3, 4, 5),
        "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [1]",
    ),
    (
        (70, 4), (5, 70), (3, 4, 5),
        "lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0]",
    ),
]  # fmt: skip


@pytest.mark.parametrize("element", ["f32", "i32", "bf16"])
@pytest.mark.parametrize(
    "counts", [(33, 0, 37), (1, 68, 1), (0, 5, 31), (40, 40, 40), (0, 0, 0), (70, 0, 0)]
)
@pytest.mark.parametrize(("lhs", "rhs", "result", "numbers"), LOOPS)
def test_ragged_dot_as_a_loop(
    lhs: tuple[int, ...],
    rhs: tuple[int, ...],
    result: tuple[int, ...],
    numbers: str,
    counts: tuple[int, ...],
    element: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ragged_loops, "_WORTH_A_TURN", -(2**40))
    a, b, r = (f"tensor<{'x'.join(map(str, s))}x{element}>" for s in (lhs, rhs, result))
    text = f"""
    func.func @main(%a: {a}, %b: {b}, %n: tensor<3xi64>) -> {r} {{
      %0 = "hlo.ragged_dot"(%a, %b, %n) {{ragged_dot_dimension_numbers = #hlo.ragged_dot<{numbers}>}}
        : ({a}, {b}, tensor<3xi64>) -> {r}
      return %0 : {r}
    }}"""
    dtype = ir.types.to_dtype(element)
    rng = np.random.default_rng(0)
    left, right = (rng.integers(-4, 5, shape).astype(dtype) for shape in (lhs, rhs))
    if element == "f32":
        left[2, 2] = np.inf  # stays in its group
    assert_same(text, left, right, np.asarray(counts, np.int64))


@pytest.mark.parametrize("backward", ["true", "false"])
def test_scan(backward: str) -> None:
    text = f"""
    func.func @main(%x: tensor<2x5xf32>, %c: tensor<2xf32>) -> (tensor<2x5xf32>, tensor<2xf32>) {{
      %0:2 = "hlo.scan"(%x, %c) <{{dimension = 1 : i64, is_reverse = {backward},
          operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}}> ({{
      ^bb0(%a: tensor<2xf32>, %s: tensor<2xf32>):
        %1 = hlo.add %a, %s : tensor<2xf32>
        %2 = hlo.multiply %1, %a : tensor<2xf32>
        hlo.return %2, %1 : tensor<2xf32>, tensor<2xf32>
      }}) : (tensor<2x5xf32>, tensor<2xf32>) -> (tensor<2x5xf32>, tensor<2xf32>)
      return %0#0, %0#1 : tensor<2x5xf32>, tensor<2xf32>
    }}"""
    assert_same(text, normal(0, (2, 5)), normal(1, (2,)))


def test_dynamic_shapes_of_constants_become_static() -> None:
    text = """
    func.func @main(%x: tensor<6xf32>) -> tensor<?x?xf32> {
      %n = "hlo.get_dimension_size"(%x) {dimension = 0 : i64} : (tensor<6xf32>) -> tensor<i32>
      %two = hlo.constant dense<2> : tensor<i32>
      %h = hlo.divide %n, %two : tensor<i32>
      %0 = hlo.reshape %h : (tensor<i32>) -> tensor<1xi32>
      %1 = hlo.reshape %two : (tensor<i32>) -> tensor<1xi32>
      %2 = hlo.concatenate %0, %1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
      %3 = "hlo.dynamic_reshape"(%x, %2) : (tensor<6xf32>, tensor<2xi32>) -> tensor<?x?xf32>
      %4 = hlo.negate %3 : tensor<?x?xf32>
      %5 = "hlo.transpose"(%4) {permutation = array<i64: 1, 0>} : (tensor<?x?xf32>) -> tensor<?x?xf32>
      return %5 : tensor<?x?xf32>
    }"""
    assert_same(text, normal(0, (6,)))
    assert "tensor<2x3xf32>" in str(legalize(text))


def test_slice_at_a_computed_place() -> None:
    assert_same(
        """
    func.func @main(%x: tensor<6xf32>, %i: tensor<1xi32>) -> tensor<2xf32> {
      %two = hlo.constant dense<2> : tensor<1xi32>
      %end = hlo.add %i, %two : tensor<1xi32>
      %one = hlo.constant dense<1> : tensor<1xi32>
      %0 = "hlo.real_dynamic_slice"(%x, %i, %end, %one)
        : (tensor<6xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }""",
        normal(0, (6,)),
        np.asarray([3], np.int32),
    )


def test_shape_known_only_at_run_time_is_an_error() -> None:
    with pytest.raises(UnsupportedError, match=r"hlo\.dynamic_reshape.*they are computed"):
        legalize("""
    func.func @main(%x: tensor<6xf32>, %s: tensor<2xi32>) -> tensor<?x?xf32> {
      %0 = "hlo.dynamic_reshape"(%x, %s) : (tensor<6xf32>, tensor<2xi32>) -> tensor<?x?xf32>
      return %0 : tensor<?x?xf32>
    }""")


Q = "!quant.uniform<i8:f32, 0.5:3>"
PER_AXIS = "!quant.uniform<i8:f32:1, {0.5:1, 0.25:-2, 2.0}>"


@pytest.mark.parametrize(
    "kind", [Q, PER_AXIS, "!quant.uniform<u8:f32, 0.1:128>", "!quant.uniform<i8<-4:5>:f32, 0.3>"]
)
def test_quantize_and_back(kind: str) -> None:
    text = f"""
    func.func @main(%x: tensor<4x3xf32>) -> (tensor<4x3x{kind}>, tensor<4x3xf32>) {{
      %0 = "hlo.uniform_quantize"(%x) : (tensor<4x3xf32>) -> tensor<4x3x{kind}>
      %1 = "hlo.uniform_dequantize"(%0) : (tensor<4x3x{kind}>) -> tensor<4x3xf32>
      return %0, %1 : tensor<4x3x{kind}>, tensor<4x3xf32>
    }}"""
    values = np.asarray(
        [[np.nan, np.inf, -np.inf], [0.25, 0.75, -0.25], [1e9, -3.3, 0.05], [0, -0.0, 1]]
    )
    assert_same(text, values.astype(np.float32))


def test_ops_on_quantized_values() -> None:
    weight = "!quant.uniform<i8:f32, 0.25>"
    text = f"""
    func.func @main(%x: tensor<2x3x{Q}>, %w: tensor<3x2x{weight}>) -> (tensor<2x2x{Q}>, tensor<3x2x{Q}>) {{
      %0 = "hlo.dot_general"(%x, %w) {{dot_dimension_numbers = #hlo.dot<lhs_contracting_dimensions = [1],
        rhs_contracting_dimensions = [0]>}} : (tensor<2x3x{Q}>, tensor<3x2x{weight}>) -> tensor<2x2x{Q}>
      %1 = "hlo.transpose"(%x) {{permutation = array<i64: 1, 0>}} : (tensor<2x3x{Q}>) -> tensor<3x2x{Q}>
      %2 = hlo.multiply %1, %1 : tensor<3x2x{Q}>
      return %0, %2 : tensor<2x2x{Q}>, tensor<3x2x{Q}>
    }}"""
    generator = np.random.default_rng(0)
    x, w = (generator.integers(-10, 10, shape).astype(np.int8) for shape in ((2, 3), (3, 2)))
    assert_same(text, x, w)
    assert "quant" not in str(legalize(text))


def test_only_core_ops_are_left() -> None:
    names = op_names(
        legalize("""
    func.func @main(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
      %0 = "hlo.unary_einsum"(%a) {einsum_config = "ab->ab"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
      return %0 : tensor<2x3xf32>
    }""")
    )
    assert names == {"builtin.module", "func.func", "func.return"}
