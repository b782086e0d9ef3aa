"""Warp collectives, atomics and tensor-core instructions against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from ptx_texts import Array, kernel, run

LANE = np.arange(32)


def per_lane(body: str, *inputs: Array, result: Any = np.uint32) -> Array:
    """Runs a body that leaves %r20; %r10, %r11, ... are the lane's elements of 32-bit inputs."""
    loads = "\n".join(
        f"  mul.wide.u32 %rd50, %r0, 4;\n  add.s64 %rd51, %rd{i}, %rd50;\n"
        f"  ld.global.b32 %r{10 + i}, [%rd51];"
        for i in range(len(inputs))
    )
    end = f"  mul.wide.u32 %rd52, %r0, 4;\n  add.s64 %rd53, %rd{len(inputs)}, %rd52;\n"
    text = kernel(f"{loads}\n{body}\n{end}  st.global.b32 [%rd53], %r20;", len(inputs) + 1)
    return run(text, list(inputs), [np.zeros(32, result)])[0]


X = np.random.default_rng(0).integers(0, 2**32, 32, np.uint32)


@pytest.mark.parametrize(
    ("instruction", "source"),
    [
        ("shfl.sync.bfly.b32 %r20, %r10, 5, 31, -1;", LANE ^ 5),
        ("shfl.sync.down.b32 %r20, %r10, 3, 31, -1;", np.where(LANE + 3 < 32, LANE + 3, LANE)),
        ("shfl.sync.up.b32 %r20, %r10, 3, 0, -1;", np.where(LANE >= 3, LANE - 3, LANE)),
        ("shfl.sync.idx.b32 %r20, %r10, 7, 31, -1;", np.full(32, 7)),
        # Segments of 8 lanes: clamp 31, segment mask 0b11000.
        ("shfl.sync.idx.b32 %r20, %r10, 3, 0x1f + 0x1800;", LANE // 8 * 8 + 3),
        ("shfl.sync.down.b32 %r20, %r10, 3, 0x181f, -1;",
         np.where(LANE % 8 + 3 < 8, LANE + 3, LANE)),
    ],
)  # fmt: skip
def test_shuffles(instruction: str, source: Array) -> None:
    instruction = instruction.replace("0x1f + 0x1800;", "0x181f, -1;")
    np.testing.assert_array_equal(per_lane("  " + instruction, X), X[source])


def test_the_predicate_of_a_shuffle_says_whether_the_lane_was_in_range() -> None:
    found = per_lane(
        "  shfl.sync.down.b32 %r21|%p1, %r10, 4, 31, -1;\n  selp.b32 %r20, 1, 0, %p1;", X
    )
    np.testing.assert_array_equal(found, LANE < 28)


def test_votes_and_matches() -> None:
    odd = "  and.b32 %r11, %r10, 1;\n  setp.ne.b32 %p1, %r11, 0;\n"
    ballot = int(sum(1 << i for i in range(32) if X[i] & 1))
    assert set(per_lane(odd + "  vote.sync.ballot.b32 %r20, %p1, -1;", X)) == {ballot}
    any_odd = odd + "  vote.sync.any.pred %p2, %p1, -1;\n  selp.b32 %r20, 1, 0, %p2;"
    assert set(per_lane(any_odd, X)) == {1}
    assert set(per_lane(any_odd.replace("any", "all"), X)) == {0}
    small = (X % 3).astype(np.uint32)
    found = per_lane("  match.any.sync.b32 %r20, %r10, -1;", small)
    np.testing.assert_array_equal(
        found, [sum(1 << i for i in range(32) if small[i] == v) for v in small]
    )
    np.testing.assert_array_equal(per_lane("  activemask.b32 %r20;", X), np.full(32, 2**32 - 1))


@pytest.mark.parametrize(
    ("op", "f"), [("add.u32", np.sum), ("min.u32", np.min), ("max.s32", None), ("xor.b32", None)]
)
def test_reductions_over_the_warp(op: str, f: Callable[[Array], Any] | None) -> None:
    found = set(per_lane(f"  redux.sync.{op} %r20, %r10, -1;", X))
    if f is None:
        expected = {"max.s32": X.view(np.int32).max().view(np.uint32),
                    "xor.b32": np.bitwise_xor.reduce(X)}[op]  # fmt: skip
    else:
        expected = np.uint32(int(f(X.astype(np.uint64))) & 0xFFFFFFFF)
    assert found == {expected}


ATOMICS: list[tuple[str, Any, Callable[[Array], Any]]] = [
    ("add.u32", np.uint32, lambda x: np.uint32(int(x.astype(np.uint64).sum()) & 0xFFFFFFFF)),
    ("min.s32", np.int32, lambda x: min(0, x.min())),
    ("max.u32", np.uint32, lambda x: x.max()),
    ("or.b32", np.uint32, np.bitwise_or.reduce),
    ("add.f32", np.float32, lambda x: x.astype(np.float32)),
]


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize(("op", "dtype", "f"), ATOMICS)
def test_atomic_updates(space: str, op: str, dtype: Any, f: Callable[[Array], Any]) -> None:
    x = np.arange(1, 33).astype(np.float32) if dtype is np.float32 else X.view(dtype)
    expected = x.sum() if dtype is np.float32 else f(x)
    load = (
        "  mul.wide.u32 %rd10, %r0, 4;\n  add.s64 %rd11, %rd0, %rd10;\n"
        "  ld.global.b32 %r10, [%rd11];\n"
    )
    if space == "global":
        body = load + f"  atom.global.{op} %r11, [%rd1], %r10;"
    else:
        body = load + (
            "  .shared .align 4 .b8 word[4];\n  setp.ne.b32 %p1, %r1, 0;\n"
            f"  @!%p1 st.shared.b32 [word], 0;\n  bar.sync 0;\n  red.shared.{op} [word], %r10;\n"
            "  bar.sync 0;\n  ld.shared.b32 %r12, [word];\n  @!%p1 st.global.b32 [%rd1], %r12;"
        )
    (found,) = run(kernel(body, 2), [x], [np.zeros(1, dtype)])
    assert found[0] == expected


def test_compare_and_swap_sums_doubles() -> None:
    body = """
$AGAIN:
  ld.volatile.global.b64 %rd10, [%rd0];
  mov.b64 %rd13, 0d3FF0000000000000;
  add.rn.f64 %rd11, %rd10, %rd13;
  atom.global.cas.b64 %rd12, [%rd0], %rd10, %rd11;
  setp.ne.b64 %p1, %rd12, %rd10;
  @%p1 bra $AGAIN;"""
    (found,) = run(kernel(body, 1), [], [np.zeros(1, np.float64)], block=(8, 1, 1),
                   device=_without_races())  # fmt: skip
    assert found[0] == 8


def _without_races() -> Any:
    from hlo.gpu.emulated_device import EmulatedDevice

    return EmulatedDevice(races=False)


def fragments(matrix: Array, rows: bool) -> list[Array]:
    """Registers of A (rows) or, transposed, of B: for each, 32 lanes of packed neighbours along K.

    Source: PTX ISA, "Matrix Fragments for mma.m16n8k16" and its like.
    """
    size = matrix.dtype.itemsize
    parts = 4 // size
    made: list[Array] = []
    for group in range(matrix.shape[1] // (4 * parts)):
        for half in range(2 if rows else 1):
            lanes: list[Array] = []
            for lane in range(32):
                k = group * 4 * parts + lane % 4 * parts
                lanes.append(matrix[lane // 4 + 8 * half, k : k + parts])
            made.append(np.stack(lanes).view(np.uint32)[:, 0])
    return made


MMA: list[tuple[str, int, Any, Any]] = [
    ("m16n8k16.row.col.f32.f16.f16.f32", 16, np.float16, np.float32),
    ("m16n8k8.row.col.f32.f16.f16.f32", 8, np.float16, np.float32),
    ("m16n8k16.row.col.f32.bf16.bf16.f32", 16, ml_dtypes.bfloat16, np.float32),
    ("m16n8k8.row.col.f32.tf32.tf32.f32", 8, np.float32, np.float32),
    ("m16n8k32.row.col.s32.s8.s8.s32", 32, np.int8, np.int32),
    ("m16n8k32.row.col.f32.e4m3.e4m3.f32", 32, ml_dtypes.float8_e4m3fn, np.float32),
]


@pytest.mark.parametrize(("shape", "k", "dtype", "sums"), MMA)
def test_tensor_core_products(shape: str, k: int, dtype: Any, sums: Any) -> None:
    rng = np.random.default_rng(k)
    # Small integers: exact in every type, and in every order of summation.
    a, b = (rng.integers(-4, 5, (n, k)).astype(dtype) for n in (16, 8))
    c = rng.integers(-9, 9, (16, 8)).astype(sums)
    ra, rb = fragments(a, rows=True), fragments(b, rows=False)
    rc = [c[LANE // 4 + 8 * (r // 2), LANE % 4 * 2 + r % 2].view(np.uint32) for r in range(4)]
    inputs = np.stack([*ra, *rb, *rc])
    names = [f"%r{20 + i}" for i in range(len(inputs))]
    loads = "\n".join(f"  ld.global.b32 {n}, [%rd11+{128 * i}];" for i, n in enumerate(names))
    stores = "\n".join(f"  st.global.b32 [%rd12+{128 * i}], %r{60 + i};" for i in range(4))
    na, nb = len(ra), len(rb)
    groups = ["%r60, %r61, %r62, %r63", ", ".join(names[:na]), ", ".join(names[na : na + nb]),
              ", ".join(names[na + nb :])]  # fmt: skip
    operands = ", ".join("{" + g + "}" for g in groups)
    body = (
        "  mul.wide.u32 %rd10, %r1, 4;\n  add.s64 %rd11, %rd0, %rd10;\n"
        "  add.s64 %rd12, %rd1, %rd10;\n"
        f"{loads}\n  mma.sync.aligned.{shape} {operands};\n{stores}"
    )
    (found,) = run(kernel(body, 2), [inputs], [np.zeros((4, 32), np.uint32)])
    product = np.zeros((16, 8), sums)
    for r in range(4):
        product[LANE // 4 + 8 * (r // 2), LANE % 4 * 2 + r % 2] = found[r].view(sums)
    np.testing.assert_array_equal(product, a.astype(sums) @ b.astype(sums).T + c)


@pytest.mark.parametrize("transposed", [False, True])
def test_matrices_are_loaded_from_shared_memory(transposed: bool) -> None:
    matrices = np.arange(4 * 64, dtype=np.uint16).reshape(4, 8, 8)
    trans = ".trans" if transposed else ""
    body = f"""
  .shared .align 16 .b8 tile[512];
  mul.wide.u32 %rd10, %r1, 16;
  add.s64 %rd11, %rd0, %rd10;
  ld.global.v4.b32 {{%r10, %r11, %r12, %r13}}, [%rd11];
  mov.b64 %rd12, tile;
  add.s64 %rd13, %rd12, %rd10;
  st.shared.v4.b32 [%rd13], {{%r10, %r11, %r12, %r13}};
  bar.sync 0;
  ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{%r20, %r21, %r22, %r23}}, [%rd13];
  add.s64 %rd14, %rd1, %rd10;
  st.global.v4.b32 [%rd14], {{%r20, %r21, %r22, %r23}};"""
    (found,) = run(kernel(body, 2), [matrices], [np.zeros((32, 4, 2), np.uint16)])
    wanted = matrices.transpose(0, 2, 1) if transposed else matrices
    # Lane l has elements 2 (l % 4) and the next of row l / 4, of each matrix.
    np.testing.assert_array_equal(found.transpose(1, 0, 2).reshape(4, 8, 8), wanted)
