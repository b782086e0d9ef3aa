"""Sorts in shared memory and by merges, on the emulated device, against the reference evaluator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from test_gpu_kernels import check, sample
from test_gpu_windows import launches


def sort_of(
    shape: Sequence[int], kinds: Sequence[str], *, dimension: int = 0, direction: str = "LT",
    head: str = "", operands: Sequence[str] = (), results: Sequence[int] = (), first: int = 0,
) -> str:  # fmt: skip
    """A module that sorts operands by the first of them.

    Args:
        head: ops ahead of the sort.
        operands: of the sort; the arguments if empty.
        results: which are returned; all if empty.
        first: how many elements along the dimension are; 0 for all.
    """
    size = "x".join(map(str, shape))
    types = [f"tensor<{size}x{kind}>" for kind in kinds]
    operands = operands or [f"%x{k}" for k in range(len(kinds))]
    results = results or range(len(kinds))
    arguments = [name for name in operands if name.startswith("%x")]
    declared = ", ".join(f"{a}: {types[operands.index(a)]}" for a in arguments)
    block = ", ".join(f"%a{k}: tensor<{n}>, %b{k}: tensor<{n}>" for k, n in enumerate(kinds))
    kept = [first if first and d == dimension else n for d, n in enumerate(shape)]
    limits = ", ".join(map(str, kept))
    made = [f"tensor<{'x'.join(map(str, kept))}x{kinds[k]}>" for k in results]
    starts, steps = (", ".join([word] * len(shape)) for word in "01")
    slices = "\n".join(
        f'  %r{k} = "hlo.slice"(%0#{k}) {{start_indices = array<i64: {starts}>, '
        f"limit_indices = array<i64: {limits}>, strides = array<i64: {steps}>}} : "
        f"({types[k]}) -> {kind}"
        for k, kind in zip(results, made, strict=True)
    )
    order = "TOTALORDER" if "f" in kinds[0] else "SIGNED"
    return f"""
func.func @main({declared}) -> ({", ".join(made)}) {{
{head}
  %0:{len(kinds)} = "hlo.sort"({", ".join(operands)}) ({{
  ^bb0({block}):
    %r = "hlo.compare"(%a0, %b0) {{comparison_direction = #hlo<comparison_direction {direction}>,
      compare_type = #hlo<comparison_type {order}>}}
      : (tensor<{kinds[0]}>, tensor<{kinds[0]}>) -> tensor<i1>
    "hlo.return"(%r) : (tensor<i1>) -> ()}}) {{dimension = {dimension} : i64, is_stable = true}}
    : ({", ".join(types)}) -> ({", ".join(types)})
{slices}
  return {", ".join(f"%r{k}" for k in results)} : {", ".join(made)}
}}"""


def positions(shape: Sequence[int], dimension: int, kind: str = "i32") -> str:
    made = f"tensor<{'x'.join(map(str, shape))}x{kind}>"
    return f'  %i = "hlo.iota"() {{iota_dimension = {dimension} : i64}} : () -> {made}'


@pytest.mark.parametrize("length", [1, 2, 7, 63, 65, 300, 1000, 2049])
def test_equal_keys_stay_in_order(length: int) -> None:
    places = np.tile(np.arange(length, dtype=np.int32), (2, 1))
    text = sort_of((2, length), ["i32", "i32"], dimension=1, direction="GT")
    check(text, sample((2, length), "i32"), places)


@pytest.mark.parametrize("length", [4097, 5000])
def test_long_lines_are_merged(length: int) -> None:
    # Tiles of 2048: three, of which the last has what is left.
    text = sort_of((length,), ["i32", "f32"])
    assert len(launches(text)) == 3
    check(text, sample((length,), "i32"), sample((length,), "f32", 1))


@pytest.mark.parametrize("dimension", [0, 1, 2])
@pytest.mark.parametrize("shape", [(5, 33, 7), (300, 3, 2), (1, 70, 130)])
def test_any_dimension(shape: tuple[int, ...], dimension: int) -> None:
    check(
        sort_of(shape, ["i32", "f32"], dimension=dimension),
        sample(shape, "i32"), sample(shape, "f32", 1),
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["f64", "bf16", "i8", "i64"])
@pytest.mark.parametrize("carried", ["complex<f32>", "i1", "f16"])
def test_types_of_keys_and_of_what_goes_along(kind: str, carried: str) -> None:
    shape = (3, 100)
    if carried == "i1":
        along = sample(shape, "i32", 1) > 0
    elif carried == "f16":
        along = sample(shape, "f16", 1)
    else:
        along = (sample(shape, "f32", 1) + 1j * sample(shape, "f32", 2)).astype(np.complex64)
    check(sort_of(shape, [kind, carried], dimension=1), sample(shape, kind), along)


def test_totally_ordered_floats() -> None:
    numbers = sample((130,))
    numbers[::7], numbers[3::11], numbers[5::13], numbers[6::17] = np.nan, -np.nan, -0.0, np.inf
    check(sort_of((130,), ["f32", "f32"]), numbers, np.arange(130, dtype=np.float32))


@pytest.mark.parametrize("length", [50, 4500])
def test_positions_are_not_stored_before_they_are_sorted(length: int) -> None:
    text = sort_of(
        (length,), ["f32", "i32"], head=positions((length,), 0), operands=["%x0", "%i"],
        results=[1],
    )  # fmt: skip
    assert all("iota" not in name for name in launches(text))
    check(text, sample((length,)))


@pytest.mark.parametrize(("length", "first"), [(50, 1), (300, 17), (4500, 100)])
def test_first_elements_of_lines(length: int, first: int) -> None:
    shape = (2, length, 3)
    text = sort_of(
        shape, ["f32", "i32"], dimension=1, direction="GT", head=positions(shape, 1),
        operands=["%x0", "%i"], first=first,
    )  # fmt: skip
    names = launches(text)
    assert all("slice" not in name and "iota" not in name for name in names)
    check(text, sample(shape))


def test_many_short_lines_share_blocks() -> None:
    # 256 lines of 5, of which a block has two: 256 // 128.
    check(sort_of((257, 5), ["i32", "i32"], dimension=1), sample((257, 5), "i32"),
          sample((257, 5), "i32", 1))  # fmt: skip


def test_a_key_is_sorted_where_it_lies() -> None:
    # The maximum is computed into memory that the sort's result then takes over.
    text = """
func.func @main(%x: tensor<600xf32>, %y: tensor<600xf32>) -> tensor<600xf32> {
  %m = "hlo.maximum"(%x, %y) : (tensor<600xf32>, tensor<600xf32>) -> tensor<600xf32>
  %0 = "hlo.sort"(%m) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = "hlo.compare"(%a, %b) {comparison_direction = #hlo<comparison_direction LT>}
      : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "hlo.return"(%r) : (tensor<i1>) -> ()}) {dimension = 0 : i64}
    : (tensor<600xf32>) -> tensor<600xf32>
  return %0 : tensor<600xf32>
}"""
    check(text, sample((600,)), sample((600,), "f32", 1))
