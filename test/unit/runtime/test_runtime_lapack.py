"""LAPACK entries against jaxlib's own custom calls, which define their meaning."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import jax
import numpy as np
import pytest
from jaxlib.cpu import _lapack
from native_programs import call_library

_lapack.initialize()
LETTERS = {"s": "f4", "d": "f8", "c": "c8", "z": "c16"}
TOLERANCE = {"s": 2e-4, "d": 1e-11, "c": 2e-4, "z": 1e-11}
Array = np.ndarray
Spec = tuple[tuple[int, ...], str]


def ours(
    target: str,
    operands: Sequence[Array],
    results: Sequence[Spec],
    attributes: dict[str, int],
    *,
    column_major: bool = False,
    core: Sequence[int] = (),
    alias: dict[int, int] | None = None,
) -> list[Array]:
    def memory(array: Array, rank: int) -> Array:
        swap = column_major and rank == 2
        return np.array(array.swapaxes(-1, -2) if swap else array, order="C")

    inputs = [memory(a, c) for a, c in zip(operands, core, strict=False)]
    outputs = []
    for index, (shape, dtype) in enumerate(results):
        rank = core[len(operands) + index]
        blank = memory(np.full(shape, 77, dtype), rank)
        outputs.append(inputs[(alias or {})[index]] if index in (alias or {}) else blank)
    numbers = [int(column_major), len(operands), len(results)]
    for shape in [*(a.shape for a in operands), *(s for s, _ in results)]:
        numbers += [len(shape), *shape]
    numbers += [attributes[name] for name in sorted(attributes)]
    call_library(f"hlo_rt_{target}", [*inputs, *outputs], numbers)
    ranks = core[len(operands) :]
    swap = [column_major and rank == 2 for rank in ranks]
    return [o.swapaxes(-1, -2) if s else o for o, s in zip(outputs, swap, strict=True)]


def jaxlibs(
    target: str,
    operands: Sequence[Array],
    results: Sequence[Spec],
    attributes: dict[str, int],
    core: Sequence[int],
) -> list[Array]:
    def layout(rank: int, core_rank: int) -> tuple[int, ...]:
        order = list(range(rank))
        if core_rank == 2:
            order[-1], order[-2] = order[-2], order[-1]
        return tuple(order)

    kinds = {"low": np.int32, "high": np.int32, "left": bool, "transpose": bool}
    typed = {k: kinds.get(k, np.uint8)(v) for k, v in attributes.items()}
    with jax.enable_x64(True):
        call = jax.ffi.ffi_call(
            target,
            [jax.ShapeDtypeStruct(s, d) for s, d in results],
            input_layouts=[layout(a.ndim, c) for a, c in zip(operands, core, strict=False)],
            output_layouts=[
                layout(len(s), c) for (s, _), c in zip(results, core[len(operands) :], strict=True)
            ],
        )
        return [np.asarray(r) for r in jax.jit(lambda *xs: call(*xs, **typed))(*operands)]


def random(letter: str, *shape: int, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    dtype = LETTERS[letter]
    return (x + 1j * rng.normal(size=shape) if "c" in dtype else x).astype(dtype)


def real(letter: str) -> str:
    return {"s": "f4", "d": "f8", "c": "f4", "z": "f8"}[letter]


def compare(
    letter: str,
    name: str,
    operands: Sequence[Array],
    results: Sequence[Spec],
    core: Sequence[int],
    alias: dict[int, int] | None = None,
    ignore: Sequence[int] = (),
    up_to_phase: Sequence[int] = (),
    **attributes: int | str,
) -> None:
    numbers = {k: ord(v) if isinstance(v, str) else int(v) for k, v in attributes.items()}
    target = f"lapack_{letter}{name}_ffi"
    want = jaxlibs(target, operands, results, numbers, core)
    for column_major in (False, True):
        for aliases in (None, alias):
            got = ours(
                target, operands, results, numbers,
                column_major=column_major, core=core, alias=aliases,
            )  # fmt: skip
            for index, (x, y) in enumerate(zip(got, want, strict=True)):
                if index in ignore:
                    continue
                assert (x.shape, x.dtype) == (y.shape, y.dtype)
                tolerance = TOLERANCE[letter]
                phase = np.ones(1, x.dtype)
                if index in up_to_phase and x.size:
                    phase = np.exp(1j * np.angle((x.conj() * y).sum(-2, keepdims=True)))
                np.testing.assert_allclose(x * phase, y, tolerance, tolerance, err_msg=f"{index}")


BATCHES = [(), (3,), (0,)]
# Below and above what is done without the library.
ORDERS = [5, 20]


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("uplo", "LU")
@pytest.mark.parametrize("order", ORDERS)
def test_potrf(letter: str, batch: tuple[int, ...], uplo: str, order: int) -> None:
    x = random(letter, *batch, order, order)
    a = x @ x.swapaxes(-1, -2).conj() + order * np.eye(order, dtype=x.dtype)
    if batch == (3,):
        a[1, 2, 2] = -1  # not positive definite: info tells where
    outputs = [(a.shape, a.dtype.str), (batch, "i4")]
    compare(letter, "potrf", [a], outputs, [2, 2, 0], {0: 0}, uplo=uplo)


FLAGS = ["".join(flags) for flags in itertools.product("LR", "LU", "NTC", "NU")]


def compare_trsm(letter: str, flags: str, order: int, right_sides: int) -> None:
    side, uplo, trans, diag = flags
    batch = (3,)
    a = random(letter, *batch, order, order) / order + np.eye(order, dtype=LETTERS[letter])
    shape = (order, right_sides) if side == "L" else (right_sides, order)
    b = random(letter, *batch, *shape, seed=1)
    compare(
        letter, "trsm", [a, b], [(b.shape, b.dtype.str)], [2, 2, 2], {0: 1},
        side=side, uplo=uplo, trans_x=trans, diag=diag,
    )  # fmt: skip


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("order", ORDERS)
def test_trsm(letter: str, flags: str, order: int) -> None:
    compare_trsm(letter, flags, order, 6)


@pytest.mark.parametrize("letter", "sz")
@pytest.mark.parametrize("flags", FLAGS)
def test_trsm_of_right_sides_in_parts(letter: str, flags: str) -> None:
    """Of 203, three parts: 67, 68 and 68."""
    compare_trsm(letter, flags, 150, 203)


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("full_shape", [(3, 6, 4), (3, 6), (0, 4, 4), (33, 20)])
def test_getrf_geqrf_geqp3_and_reflectors(letter: str, full_shape: tuple[int, ...]) -> None:
    a = random(letter, *full_shape)
    *leading, m, n = full_shape
    batch = tuple(leading)
    k = min(m, n)
    matrix, vector = (a.shape, a.dtype.str), ((*batch, k), a.dtype.str)
    pivots = ((*batch, k), "i4")
    compare(letter, "getrf", [a], [matrix, pivots, (batch, "i4")], [2, 2, 1, 0], {0: 0})
    compare(letter, "geqrf", [a], [matrix, vector], [2, 2, 1], {0: 0})
    fixed = np.zeros((*batch, n), "i4")
    fixed[..., -1] = 1
    compare(
        letter, "geqp3", [a, fixed], [matrix, ((*batch, n), "i4"), vector],
        [2, 1, 2, 1, 1], {0: 0, 1: 1},
    )  # fmt: skip
    if m < n:
        return
    reflected, tau = jaxlibs(f"lapack_{letter}geqrf_ffi", [a], [matrix, vector], {}, [2, 2, 1])
    prefix = "un" if letter in "cz" else "or"
    compare(letter, f"{prefix}gqr", [reflected, tau], [matrix], [2, 1, 2], {0: 0})
    for left in (True, False):
        c = random(letter, *batch, *((m, 5) if left else (5, m)), seed=2)
        for transpose in (True, False):
            compare(
                letter, f"{prefix}mqr", [reflected, tau, c], [(c.shape, c.dtype.str)],
                [2, 1, 2, 2], {0: 2}, left=left, transpose=transpose,
            )  # fmt: skip


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("shape", [(4, 4), (6, 4), (3, 5), (20, 20)])
def test_getrf_of_singular_matrices(letter: str, shape: tuple[int, int]) -> None:
    """Pivots that are zero, tie, or are by their parts larger than by their moduli."""
    a = np.stack([random(letter, *shape, seed=seed) for seed in range(5)])
    a[0, :, 1] = 0
    a[1, 2] = 0
    a[2] = 0
    a[3, :, 0] = 1
    a[4, :2, 0] = (5, 4 + 3j) if letter in "cz" else (5, -5)
    pivots = ((5, min(shape)), "i4")
    compare(letter, "getrf", [a], [(a.shape, a.dtype.str), pivots, ((5,), "i4")], [2, 2, 1, 0])


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("batch", BATCHES)
def test_gtsv(letter: str, batch: tuple[int, ...]) -> None:
    dl, du = random(letter, *batch, 6), random(letter, *batch, 6, seed=1)
    d, b = random(letter, *batch, 6, seed=2) + 3, random(letter, *batch, 6, 2, seed=3)
    outputs = [(x.shape, x.dtype.str) for x in (dl, d, du, b)] + [(batch, "i4")]
    alias = {0: 0, 1: 1, 2: 2, 3: 3}
    compare(letter, "gtsv", [dl, d, du, b], outputs, [1, 1, 1, 2, 1, 1, 1, 2, 0], alias)


def tridiagonal(letter: str, kind: str, *batch: int) -> list[Array]:
    """Diagonals and right-hand sides of systems of 7 unknowns, singular ones among them."""
    dl, du = random(letter, *batch, 7), random(letter, *batch, 7, seed=1)
    d, b = random(letter, *batch, 7, seed=2), random(letter, *batch, 7, 3, seed=3)
    if kind == "zero row":
        dl[..., 3] = d[..., 3] = du[..., 3] = 0
    elif kind == "zeros":
        dl[...], d[...], du[...] = 0, 0, 0
    elif kind == "zero diagonal":
        d[...] = 0
    elif kind == "huge sides":
        dl[...], du[...] = 0, 0
        d[..., ::2] *= np.array(1e-30 if letter in "sc" else 1e-250, d.real.dtype)
        b *= np.array(1e10 if letter in "sc" else 1e100, b.real.dtype)
    return [dl, d, du, b]


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("kind", ["regular", "zero row", "zeros", "zero diagonal", "huge sides"])
def test_gtsv_perturbed(letter: str, batch: tuple[int, ...], kind: str) -> None:
    operands = tridiagonal(letter, kind, *batch)
    for n, k in ((7, 3), (2, 1), (1, 2), (0, 2), (3, 0)):
        part = [*(x[..., :n] for x in operands[:3]), operands[3][..., :n, :k]]
        shape, core = part[3].shape, [1, 1, 1, 2, 2]
        target, outputs = "tridiagonal_solve_perturbed_ffi", [(shape, part[3].dtype.str)]
        (want,) = (
            jaxlibs(target, part, outputs, {}, core) if 0 not in shape else [np.zeros_like(part[3])]
        )
        assert np.isfinite(want).all()
        for column_major, alias in itertools.product((False, True), (None, {0: 3})):
            (got,) = ours(
                f"lapack_{letter}gtsv_perturbed_ffi", part, outputs, {},
                column_major=column_major, core=core, alias=alias,
            )  # fmt: skip
            if kind == "zero row" and letter in "cz":
                # The step from a zero has the zero's sign, which differs with how numbers multiply.
                got = np.where(np.vdot(got, want).real < 0, -got, got)
            tolerance = TOLERANCE[letter]
            scale = tolerance * np.abs(want).max(initial=0)
            np.testing.assert_allclose(got, want, tolerance, scale)


@pytest.mark.parametrize("letter", LETTERS)
def test_gtsv_perturbed_keeps_subnormal_pivots(letter: str) -> None:
    b = random(letter, 7, 3)
    tiny = np.finfo(b.dtype).tiny
    pivots = np.full(7, tiny * np.array(0.25), b.dtype)
    want = b * np.array(tiny / b.real.dtype.type(8))
    zeros = np.zeros_like(pivots)
    target = f"lapack_{letter}gtsv_perturbed_ffi"
    outputs, core = [(b.shape, b.dtype.str)], [1, 1, 1, 2, 2]
    (got,) = ours(target, [zeros, pivots, zeros, want], outputs, {}, core=core)
    np.testing.assert_allclose(got, b / 2, 1e-5, 1e-5)


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("shape", [(4, 4), (2, 5, 3), (2, 3, 5), (0, 2, 3)])
@pytest.mark.parametrize("mode", "ASN")
@pytest.mark.parametrize("name", ["gesdd", "gesvd"])
def test_svd(letter: str, shape: tuple[int, ...], mode: str, name: str) -> None:
    a = random(letter, *shape)
    *batch, m, n = shape
    k = min(m, n)
    u, vt = ((m, m), (n, n)) if mode != "S" else ((m, k), (k, n))
    outputs = [(a.shape, a.dtype.str), ((*batch, k), real(letter)), ((*batch, *u), a.dtype.str)]
    outputs += [((*batch, *vt), a.dtype.str), (tuple(batch), "i4")]
    # The operand's place holds leftovers; without vectors theirs do too.
    ignore = [0, 2, 3] if mode == "N" else [0]
    compare(letter, name, [a], outputs, [2, 2, 1, 2, 2, 0], {0: 0}, ignore, mode=mode)


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("uplo", "LU")
def test_symmetric_matrices(letter: str, batch: tuple[int, ...], uplo: str) -> None:
    x = random(letter, *batch, 7, 7)
    a = x + x.swapaxes(-1, -2).conj()
    matrix, n = (a.shape, a.dtype.str), 7
    name = "he" if letter in "cz" else "sy"
    values = ((*batch, n), real(letter))
    outputs = [matrix, values, (batch, "i4")]
    compare(letter, f"{name}evd", [a], outputs, [2, 2, 1, 0], {0: 0}, mode="V", uplo=uplo)
    compare(letter, f"{name}evd", [a], outputs, [2, 2, 1, 0], {0: 0}, [0], mode="N", uplo=uplo)
    outputs = [matrix, values, ((*batch, n - 1), real(letter)), ((*batch, n - 1), a.dtype.str)]
    outputs += [(batch, "i4")]
    compare(letter, f"{name}trd", [a], outputs, [2, 2, 1, 1, 1, 0], {0: 0}, uplo=uplo)


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("batch", BATCHES)
def test_general_matrices(letter: str, batch: tuple[int, ...]) -> None:
    a = random(letter, *batch, 6, 6)
    matrix, n = (a.shape, a.dtype.str), 6
    vectors = (a.shape, np.result_type(a.dtype, np.complex64).str)
    values = [((*batch, n), a.dtype.str)] * (1 if letter in "cz" else 2)
    ones = [1] * len(values)
    for left, right in ("VV", "NV", "VN", "NN"):
        ignore = [len(values)] * (left == "N") + [len(values) + 1] * (right == "N")
        compare(
            letter, "geev", [a], [*values, vectors, vectors, (batch, "i4")], [2, *ones, 2, 2, 0],
            None, ignore, [len(values), len(values) + 1], compute_left=left, compute_right=right,
        )  # fmt: skip
    outputs = [matrix, ((*batch, n - 1), a.dtype.str), (batch, "i4")]
    compare(letter, "gehrd", [a], outputs, [2, 2, 1, 0], {0: 0}, low=1, high=n)


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("mode", "VN")
def test_gees(letter: str, mode: str) -> None:
    # The form is unique up to the vectors' phases only: check what defines it.
    a = random(letter, 3, 6, 6)
    count = 1 if letter in "cz" else 2
    outputs = [(a.shape, a.dtype.str)] * 2 + [((3, 6), a.dtype.str)] * count + [((3,), "i4")] * 2
    core = [2, 2, 2, *[1] * count, 0, 0]
    for column_major in (False, True):
        numbers = {"mode": ord(mode), "sort": ord("N")}
        form, vectors, *values, selected, info = ours(
            f"lapack_{letter}gees_ffi", [a], outputs, numbers, core=core, column_major=column_major
        )
        assert not selected.any()
        assert not info.any()
        tolerance = TOLERANCE[letter]
        w = values[0] if count == 1 else values[0] + 1j * values[1]
        for got, want in zip(w, np.linalg.eigvals(a.astype("c16")), strict=True):
            distance = np.abs(got[:, None] - want[None, :])  # each has its own nearest one
            assert distance.min(1).max() < 10 * tolerance
            assert sorted(distance.argmin(1)) == list(range(6))
        assert not np.tril(form, -1 if count == 1 else -2).any()
        if mode == "N":
            assert not vectors.any()
            continue
        adjoint = vectors.swapaxes(-1, -2).conj()
        identity = np.broadcast_to(np.eye(6), a.shape)
        np.testing.assert_allclose(vectors @ adjoint, identity, atol=tolerance)
        np.testing.assert_allclose(vectors @ form @ adjoint, a, tolerance, tolerance)


@pytest.mark.parametrize("letter", LETTERS)
def test_matrices_that_are_not_finite_are_reported(letter: str) -> None:
    a = random(letter, 2, 4, 4)
    a[1, 0, 0] = np.nan
    count = 1 if letter in "cz" else 2
    values = [((2, 4), a.dtype.str)] * count
    vectors = (a.shape, np.result_type(a.dtype, np.complex64).str)
    results = ours(
        f"lapack_{letter}geev_ffi", [a], [*values, vectors, vectors, ((2,), "i4")],
        {"compute_left": 86, "compute_right": 86}, core=[2, *[1] * count, 2, 2, 0],
    )  # fmt: skip
    assert results[-1].tolist() == [0, -4]


def test_unfit_calls_are_errors() -> None:
    a = random("s", 3, 4)
    with pytest.raises(RuntimeError, match="number or rank"):
        ours("lapack_sgeqrf_ffi", [a], [(a.shape, "f4")], {}, core=[2, 2])
    with pytest.raises(RuntimeError, match="rows >= columns"):
        ours("lapack_sorgqr_ffi", [a, np.zeros(3, "f4")], [(a.shape, "f4")], {}, core=[2, 1, 2])
