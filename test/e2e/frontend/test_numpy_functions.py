"""Every function of `hlo.numpy` against the function of that name in `jax.numpy`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlo
import hlo.numpy as hnp
from hlo.numpy import products

RNG = np.random.default_rng(0)


def floats(*shape: int, low: float = -3.0, high: float = 3.0) -> np.ndarray[Any, Any]:
    return RNG.uniform(low, high, shape).astype(np.float32)


def integers(*shape: int, low: int = -9, high: int = 9, dtype: Any = np.int32) -> Any:
    return RNG.integers(low, high, shape).astype(dtype)


def check(function: Callable[..., Any], *arguments: Any, rtol: float = 2e-6) -> None:
    """Compares `function(module, *arguments)` of hlo and jax: structure, dtypes, shapes, values."""
    found = hlo.jit(lambda *args: function(hnp, *args))(*arguments)
    expected = jax.jit(lambda *args: function(jnp, *args))(*arguments)
    found_leaves, expected_leaves = hlo.tree.leaves(found), jax.tree.leaves(expected)
    assert len(found_leaves) == len(expected_leaves)
    for ours, theirs in zip(found_leaves, map(np.asarray, expected_leaves), strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        kind = np.asarray(ours).dtype.kind
        if kind in "biu":
            np.testing.assert_array_equal(ours, theirs)
        else:
            wide = np.complex128 if kind == "c" else np.float64
            tolerance = rtol if ours.dtype.itemsize >= 4 else 2e-2
            np.testing.assert_allclose(
                ours.astype(wide), theirs.astype(wide), rtol=tolerance, atol=tolerance
            )


SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.25, -0.25, 0.5, 2.5, -2.5, 1e-30, 1e30, np.inf, -np.inf, np.nan],
    np.float32,
)
UNIT = np.linspace(-0.95, 0.95, 21, dtype=np.float32)
POSITIVE = np.geomspace(1e-3, 1e3, 21, dtype=np.float32)

UNARY = {
    "everywhere": (
        SPECIAL,
        "abs absolute positive negative sign square floor ceil trunc rint round fabs isnan isinf "
        "isfinite isposinf isneginf signbit real imag conj conjugate reciprocal sqrt exp expm1 "
        "exp2 logical_not tanh arctan arcsinh deg2rad rad2deg nan_to_num degrees radians",
    ),
    "unit interval": (
        UNIT,
        "arcsin arccos arctanh asin acos atanh atan asinh sin cos tan sinh cosh sinc log1p angle",
    ),
    "positive": (POSITIVE, "log log2 log10 cbrt sqrt log1p acosh arccosh exp2"),
}


@pytest.mark.parametrize(
    ("name", "operand"),
    [(name, x) for x, names in UNARY.values() for name in names.split()],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_unary(name: str, operand: np.ndarray[Any, Any]) -> None:
    # jax raises acosh's operand by less than one ULP near 1, where its slope is infinite.
    if "cosh" in name and name != "cosh":
        operand = operand + 1
    check(lambda np_, x: getattr(np_, name)(x), operand, rtol=2e-5 if name == "sinc" else 4e-6)


@pytest.mark.parametrize("name", ["sqrt", "exp", "sin", "log1p", "tanh", "cbrt", "floor", "sign"])
@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.bool_, np.float16, jnp.bfloat16])
def test_unary_of_other_types(name: str, dtype: Any) -> None:
    if (name, np.dtype(dtype)) == ("sign", np.dtype(bool)):
        return  # numpy and jax have no sign of bool
    check(lambda np_, x: getattr(np_, name)(x), np.array([0, 1, 1, 0, 1]).astype(dtype))


FLOAT_BINARY = (
    "add subtract multiply divide true_divide floor_divide remainder mod fmod power maximum "
    "minimum fmax fmin arctan2 hypot logaddexp logaddexp2 copysign nextafter heaviside equal "
    "not_equal less less_equal greater greater_equal logical_and logical_or logical_xor "
    "float_power isclose"
)
INTEGER_BINARY = (
    "add subtract multiply divide floor_divide remainder fmod maximum minimum bitwise_and "
    "bitwise_or bitwise_xor left_shift right_shift equal less greater_equal logical_and"
)


@pytest.mark.parametrize("name", FLOAT_BINARY.split())
def test_binary_of_floats(name: str) -> None:
    x, y = np.meshgrid(SPECIAL[:11], SPECIAL[:11])
    if name in ("power", "float_power"):
        x = np.abs(x)
    check(lambda np_, a, b: getattr(np_, name)(a, b), x, y, rtol=1e-5)


@pytest.mark.parametrize("name", INTEGER_BINARY.split())
@pytest.mark.parametrize("dtype", [np.int32, np.int8, np.uint8, np.uint32])
def test_binary_of_integers(name: str, dtype: Any) -> None:
    signed = np.dtype(dtype).kind == "i"
    x = integers(6, 1, low=-9 if signed else 0, dtype=dtype)
    y = integers(5, low=1, dtype=dtype)
    check(lambda np_, a, b: getattr(np_, name)(a, b), x, y)


def test_division_of_negative_integers_rounds_down() -> None:
    x, y = np.array([7, -7, 7, -7, 0], np.int32), np.array([3, 3, -3, -3, -3], np.int32)
    check(lambda np_, a, b: (np_.floor_divide(a, b), np_.remainder(a, b), np_.divmod(a, b)), x, y)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, -1, -2])
def test_power_of_a_python_integer(exponent: int) -> None:
    check(lambda np_, x: x**exponent, floats(7))


def test_integer_power_wraps() -> None:
    found = hlo.jit(lambda x, y: x**y)(np.array([0, 2, 3, -1], np.int32), np.array([64, 33, 2, 3]))
    np.testing.assert_array_equal(found, [0, 2**33, 9, -1])


CASES: dict[str, tuple[Callable[..., Any], ...]] = {
    "clip": (lambda n, x: (n.clip(x, -1, 1), n.clip(x, None, 0.5)), floats(9)),
    "where": (lambda n, c, x: n.where(c, x, 0), integers(5, low=0, high=2) > 0, floats(3, 5)),
    "select": (lambda n, x: n.select([x < -1, x > 1], [x, x * 2], 7), floats(9)),
    "round_decimals": (lambda n, x: (n.round(x, 2), n.round(x, -1)), floats(9, low=-50, high=50)),
    "complex": (lambda n, x: (n.abs(x), x.real, n.imag(x), n.conj(x), n.angle(x)), floats(4) + 1j),
    "aliases": (
        lambda n, x, i: (
            n.amin(x),
            n.around(x),
            n.atan2(x, x),
            n.bitwise_count(i),
            n.invert(i),
            n.bitwise_invert(i),
            n.bitwise_left_shift(i, 2),
            n.bitwise_right_shift(i, 1),
            n.concat([x, x]),
            n.empty_like(x),
            n.ones_like(i),
            n.matrix_transpose(x[None]),
            n.permute_dims(x[None], (1, 0)),
            n.pow(x, 2),
            x * n.pi + n.e - n.euler_gamma,
            n.ndim(x),
            n.size(x),
            n.shape(x)[0],
        ),
        floats(5),
        integers(5),
    ),
    "ldexp": (
        lambda n, x, i: n.ldexp(x, i),
        floats(7),
        np.array([0, 3, -5, 130, -130, 127, -126], np.int32),
    ),
    "modf": (lambda n, x: n.modf(x), SPECIAL[:11]),
    "closeness": (
        lambda n, x: (
            n.allclose(x, x),
            n.allclose(x, x + 1),
            n.array_equal(x, x),
            n.array_equal(x, x[1:]),
        ),
        floats(5),
    ),
    "isin": (
        lambda n, i: (n.isin(i, n.array([1, 2, 5])), n.isin(i, i[:2], invert=True)),
        integers(3, 5),
    ),
    "digitize": (
        lambda n, x: (
            n.digitize(x, n.array([-1.0, 0, 1])),
            n.digitize(x, n.array([-1.0, 0, 1]), right=True),
        ),
        floats(9),
    ),
    "nan_spread": (
        lambda n, x: (n.nanvar(x[:8]), n.nanstd(x[:8], ddof=1)),
        np.append(floats(6), [np.nan, 1]).astype(np.float32),
    ),
    # Calculus.
    "polyval": (
        lambda n, p, x: (n.polyval(p, x), n.polyval(p, 2.0), n.vander(p, 3)),
        floats(4),
        floats(2, 3),
    ),
    "interp": (
        lambda n, x, p, f: n.interp(x, n.sort(p), f),
        np.linspace(-4, 4, 23, dtype=np.float32),
        floats(6),
        floats(6),
    ),
    "trapezoid": (
        lambda n, y, x: (n.trapezoid(y), n.trapezoid(y, dx=0.5, axis=0), n.trapezoid(y, x)),
        floats(3, 5),
        floats(5),
    ),
    "gradient": (lambda n, y: n.gradient(y, axis=1), floats(3, 5)),
    "convolve": (
        lambda n, a, v: [
            f(a, v, m) for f in (n.convolve, n.correlate) for m in ("full", "same", "valid")
        ],
        floats(7),
        floats(3),
    ),
    "convolve_shorter_first": (
        lambda n, a, v: [
            f(a, v, m) for f in (n.convolve, n.correlate) for m in ("full", "same", "valid")
        ],
        floats(3),
        floats(6),
    ),
    "cov": (
        lambda n, x: (n.cov(x), n.cov(x, rowvar=False), n.corrcoef(x), n.cov(x[0])),
        floats(3, 9),
    ),
    # Creation.
    "geomspace": (
        lambda n: (n.geomspace(1.0, 1000.0, 4), n.geomspace(2.0, 32.0, 4, endpoint=False)),
    ),
    "triangle_indices": (
        lambda n, x: (x[n.tril_indices(3)], x[n.triu_indices(3, 1)], x[n.diag_indices(3)]),
        floats(3, 3),
    ),
    "zeros": (lambda n: (n.zeros((2, 3)), n.zeros(4, n.int8), n.ones((2,), bool), n.empty(0)),),
    "full": (lambda n, x: (n.full((2, 3), 7), n.full((2, 2), x), n.full_like(x, 2.5)), floats(2)),
    "arange": (lambda n: (n.arange(5), n.arange(1, 9, 3), n.arange(5.0), n.arange(0, 1, 0.25)),),
    "arange_negative": (lambda n: n.arange(9, 0, -2),),
    "linspace": (
        lambda n: (n.linspace(0, 1, 11), n.linspace(1, 5, 4, endpoint=False), n.linspace(0, 1, 1)),
    ),
    "logspace": (lambda n: n.logspace(0, 2, 5),),
    "eye": (lambda n: (n.eye(3), n.eye(2, 4, 1), n.identity(3, n.int32), n.tri(3, 4, -1)),),
    "meshgrid": (
        lambda n, x, y: n.meshgrid(x, y) + n.meshgrid(x, y, indexing="ij"),
        floats(3),
        floats(2),
    ),
    "indices": (lambda n: n.indices((2, 3)),),
    "array": (
        lambda n, x: (n.array([x[0], 1.0, 2]), n.array([[1, 2], [3, 4]]), n.array([])),
        floats(2),
    ),
    "stack_of_rows": (lambda n, x: n.array([x, x * 2, [1, 2]]), floats(2)),
    # Rearranging.
    "reshape": (lambda n, x: (x.reshape(3, -1), n.reshape(x, (2, 6)), n.ravel(x)), floats(3, 4)),
    "transpose": (
        lambda n, x: (x.T, n.transpose(x, (1, 2, 0)), n.swapaxes(x, 0, -1)),
        floats(2, 3, 4),
    ),
    "moveaxis": (
        lambda n, x: (n.moveaxis(x, 0, -1), n.moveaxis(x, (0, 1), (2, 0))),
        floats(2, 3, 4),
    ),
    "expand_dims": (lambda n, x: (n.expand_dims(x, 1), n.expand_dims(x, (0, -1))), floats(3)),
    "squeeze": (lambda n, x: (n.squeeze(x), n.squeeze(x, 0)), floats(1, 3, 1)),
    "broadcast": (
        lambda n, x: (n.broadcast_to(x, (2, 3, 4)), n.broadcast_arrays(x, x[:, :1])),
        floats(3, 4),
    ),
    "concatenate": (
        lambda n, x, y: (
            n.concatenate([x, y]),
            n.concatenate([x, y], 1),
            n.concatenate([x, y], None),
        ),
        floats(2, 3),
        integers(2, 3),
    ),
    "stack": (
        lambda n, x: (n.stack([x, x], 1), n.vstack([x, x]), n.hstack([x, x]), n.dstack([x, x])),
        floats(3),
    ),
    "column_stack": (lambda n, x: n.column_stack([x, x]), floats(3)),
    "split": (lambda n, x: (n.split(x, 3), n.split(x, [1, 4]), n.array_split(x, 4)), floats(6, 2)),
    "tile": (lambda n, x: (n.tile(x, 2), n.tile(x, (2, 1, 3))), floats(2, 3)),
    "repeat": (
        lambda n, x: (n.repeat(x, 2), n.repeat(x, 3, 1), n.repeat(x, np.array([1, 2]), 0)),
        floats(2, 3),
    ),
    "flip": (lambda n, x: (n.flip(x), n.flip(x, 1), n.fliplr(x), n.flipud(x)), floats(2, 3)),
    "rot90": (lambda n, x: [n.rot90(x, k) for k in range(-1, 4)], floats(2, 3)),
    "roll": (
        lambda n, x: (n.roll(x, 2), n.roll(x, -1, 0), n.roll(x, (1, 2), (0, 1))),
        floats(3, 4),
    ),
    "pad": (
        lambda n, x: (
            [n.pad(x, 1)]
            + [n.pad(x, ((1, 2), (0, 2)), m) for m in ("edge", "reflect", "wrap", "symmetric")]
        ),
        floats(3, 4),
    ),
    "tril": (lambda n, x: (n.tril(x), n.triu(x, 1), n.tril(x, -1)), floats(2, 3, 4)),
    "diag": (
        lambda n, x, y: (n.diag(x), n.diag(x, -1), n.diag(y, 1), n.diagonal(y)),
        floats(3),
        floats(3, 4),
    ),
    "take": (
        lambda n, x: (n.take(x, np.array([[0, 2], [1, 1]]), 1), n.take(x, np.array([5]))),
        floats(2, 3),
    ),
    "take_along_axis": (
        lambda n, x, i: n.take_along_axis(x, i, 1),
        floats(3, 4),
        integers(3, 2, low=0, high=4),
    ),
    "atleast": (lambda n, x: (n.atleast_1d(x), n.atleast_2d(x), n.atleast_3d(x)), floats(3)),
    "append": (lambda n, x: n.append(x, x), floats(3)),
    "splits": (lambda n, x: (n.hsplit(x, 2), n.vsplit(x, 2), n.dsplit(x[None], 2)), floats(2, 4)),
    "delete": (
        lambda n, x: (n.delete(x, 1, 0), n.delete(x, np.array([0, 3]), 1), n.delete(x, 2)),
        floats(3, 4),
    ),
    "unravel_index": (lambda n, i: n.unravel_index(i, (3, 4)), integers(5, low=0, high=12)),
    "unstack": (lambda n, x: n.unstack(x), floats(3, 2)),
    "astype": (
        lambda n, x: (
            x.astype(n.int32),
            x.astype(bool),
            x.astype(n.float16),
            x.astype(n.complex64),
        ),
        floats(5),
    ),
    "view": (lambda n, x: (x.view(n.int32), x.view(n.uint8)), floats(5)),
    # Reductions.
    "sum": (
        lambda n, x: (n.sum(x), x.sum(0), x.sum((0, 2), keepdims=True), n.sum(x, -1)),
        floats(2, 3, 4),
    ),
    "sum_integers": (
        lambda n, x: (n.sum(x), n.sum(x, dtype=n.float32), n.prod(x)),
        integers(7, dtype=np.int8),
    ),
    "sum_where": (lambda n, x: (n.sum(x, 1, where=x > 0), n.sum(x, initial=2.0)), floats(3, 4)),
    "prod": (lambda n, x: (n.prod(x), n.prod(x, 1)), floats(3, 4)),
    "extrema": (
        lambda n, x: (n.max(x), n.min(x, 0), n.amax(x, 1, keepdims=True), n.ptp(x)),
        floats(3, 4),
    ),
    "extrema_nan": (lambda n, x: (n.max(x), n.min(x), n.argmax(x), n.argmin(x)), SPECIAL),
    "all_any": (lambda n, x: (n.all(x > 0), n.any(x > 0, 1), n.count_nonzero(x > 0)), floats(3, 4)),
    "mean": (lambda n, x: (n.mean(x), n.mean(x, 0), n.mean(x, where=x > 0)), floats(3, 4)),
    "mean_integers": (lambda n, x: n.mean(x, 1), integers(3, 4)),
    "mean_half": (lambda n, x: (n.mean(x), n.sum(x), n.var(x)), floats(300).astype(np.float16)),
    "average": (lambda n, x: (n.average(x), n.average(x, 1, weights=n.arange(4.0))), floats(3, 4)),
    "var": (lambda n, x: (n.var(x), n.std(x, 0), n.var(x, 1, ddof=1, keepdims=True)), floats(3, 4)),
    "argmax": (
        lambda n, x: (n.argmax(x), n.argmin(x, 1), n.argmax(x, 0, keepdims=True)),
        integers(3, 4),
    ),
    "cumsum": (lambda n, x: (n.cumsum(x), n.cumsum(x, 1), n.cumprod(x, 0)), floats(3, 5)),
    "diff": (lambda n, x: (n.diff(x), n.diff(x, 2, 0)), floats(3, 4)),
    "nan_reductions": (
        lambda n, x: (n.nansum(x), n.nanmean(x[:8]), n.nanmax(x), n.nanmin(x, 0), n.nanprod(x[:8])),
        SPECIAL,
    ),
    # Products.
    "matmul": (
        lambda n, a, b, v: (a @ b, n.matmul(v, b), n.matmul(a, v), v @ v),
        floats(4, 4),
        floats(4, 4),
        floats(4),
    ),
    "matmul_batched": (
        lambda n, a, b: (n.matmul(a, b), n.matmul(a[0], b), n.matmul(a, b[0]), n.matmul(a[:1], b)),
        floats(3, 2, 4),
        floats(3, 4, 5),
    ),
    "matmul_vector_batch": (
        lambda n, v, b: (n.matmul(v, b), n.matmul(b, v[:5])),
        floats(4),
        floats(3, 4, 4),
    ),
    "dot": (
        lambda n, a, b: (n.dot(a, b), n.dot(a, 2.0), n.inner(a, a), n.vdot(a, a)),
        floats(2, 3),
        floats(4, 3, 5),
    ),
    "outer": (lambda n, a, b: (n.outer(a, b), n.kron(a, b)), floats(2, 3), floats(3, 2)),
    "cross": (lambda n, a, b: n.cross(a, b), floats(4, 3), floats(4, 3)),
    "vecdot": (lambda n, a, b: n.vecdot(a, b), floats(4, 3), floats(4, 3)),
    "tensordot": (
        lambda n, a, b: (n.tensordot(a, b, 1), n.tensordot(a, b, ([0, 1], [2, 1]))),
        floats(2, 3, 4),
        floats(4, 3, 2),
    ),
    "trace": (lambda n, a: (n.trace(a), n.trace(a, 1)), floats(3, 4)),
    # Sorting.
    "sort": (
        lambda n, x: (n.sort(x), n.sort(x, None), n.sort(x, 0, descending=True)),
        floats(3, 4),
    ),
    "argsort": (
        lambda n, x: (n.argsort(x), n.argsort(x, 0), n.argsort(x, descending=True)),
        integers(3, 9, high=0),
    ),
    "lexsort": (lambda n, a, b: n.lexsort((a, b)), integers(9, high=0), integers(9, low=0, high=3)),
    "searchsorted": (
        lambda n, a, v: (n.searchsorted(n.sort(a), v), n.searchsorted(n.sort(a), v, side="right")),
        integers(9),
        integers(4, 5),
    ),
    "quantile": (
        lambda n, x: (n.median(x), n.quantile(x, 0.3, 1), n.percentile(x, n.array([20.0, 70]), 0)),
        floats(5, 6),
    ),
    "median_axes": (
        lambda n, x: (
            n.median(x, (1, -3)),
            n.quantile(x, n.array([0.3, 0.8]), (2, 0), keepdims=True),
            n.percentile(x, 20.0, ()),
        ),
        floats(3, 4, 5),
    ),
    "median_nan": (lambda n, x: n.median(x), SPECIAL),
    "bincount": (lambda n, x: n.bincount(x, length=6), integers(20, low=0, high=7)),
    "nonzero": (lambda n, x: n.nonzero(x, size=9, fill_value=-1), integers(3, 5, low=0, high=2)),
}


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    function, *arguments = CASES[name]
    check(function, *arguments, rtol=2e-5)


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("bij,bjk->bik", [(5, 2, 3), (5, 3, 4)]),
        ("bqhd,bkhd->bhqk", [(2, 3, 4, 5), (2, 6, 4, 5)]),
        ("ij->ji", [(2, 3)]),
        ("ij->", [(2, 3)]),
        ("ii->i", [(3, 3)]),
        ("ii", [(3, 3)]),
        ("iij,j->i", [(3, 3, 2), (2,)]),
        ("i,j->ij", [(3,), (4,)]),
        ("ij,ij->", [(3, 4), (3, 4)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
        ("a,ab,b->", [(3,), (3, 4), (4,)]),
        ("...ij,...jk->...ik", [(5, 2, 3), (3, 4)]),
        ("...i->...", [(2, 3, 4)]),
        ("ijk,k->ij", [(2, 3, 4), (4,)]),
        ("ab,ab->ab", [(1, 3), (2, 3)]),
        (",ij->ij", [(), (2, 3)]),
        ("ai,oij,aj->ao", [(6, 4), (3, 4, 2), (6, 2)]),
        ("...i,oij,...j->...o", [(2, 3, 4), (3, 4, 2), (2, 3, 2)]),
    ],
)
def test_einsum(subscripts: str, shapes: list[tuple[int, ...]]) -> None:
    arrays = [floats(*shape) for shape in shapes]
    found = hlo.jit(lambda *xs: hnp.einsum(subscripts, *xs))(*arrays)
    np.testing.assert_allclose(found, np.einsum(subscripts, *arrays), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_einsum_of_any_letters(seed: int, at_once: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """One to five operands, in pairs and in one step, as NumPy plans it where pairs are large."""
    if at_once:
        monkeypatch.setattr(products, "_path", lambda terms, *_: [tuple(range(len(terms)))])
    rng = np.random.default_rng(seed)
    extents = dict(zip("abcde", rng.integers(1, 4, 5), strict=True))
    terms = ["".join(rng.choice(list("abcde"), rng.integers(0, 4))) for _ in range(1 + seed % 5)]
    letters = sorted(set("".join(terms)))
    result = "".join(rng.permutation(letters)[: rng.integers(0, len(letters) + 1)])
    arrays = [rng.integers(-3, 4, [extents[c] for c in term]).astype(np.int32) for term in terms]
    subscripts = f"{','.join(terms)}->{result}"
    found: Any = hlo.jit(lambda *xs: hnp.einsum(subscripts, *xs))(*arrays)
    np.testing.assert_array_equal(found, np.einsum(subscripts, *arrays), err_msg=subscripts)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("count", [None, 5, 12])
def test_fft_of_vectors(norm: str | None, count: int | None) -> None:
    x = (floats(3, 8) + 1j * floats(3, 8)).astype(np.complex64)
    check(
        lambda n, x: (n.fft.fft(x, count, norm=norm), n.fft.ifft(x, count, 0, norm)), x, rtol=1e-5
    )
    check(lambda n, x: n.fft.rfft(x, count, norm=norm), x.real.copy(), rtol=1e-5)
    check(lambda n, x: n.fft.irfft(x, count, norm=norm), x, rtol=1e-5)


def test_fft_of_several_axes() -> None:
    x = floats(2, 3, 4, 6)
    check(
        lambda n, x: (n.fft.fft2(x), n.fft.rfftn(x, axes=(1, 3)), n.fft.fftshift(x)), x, rtol=1e-4
    )
    check(lambda n, x: n.fft.irfft2(n.fft.rfft2(x)), x, rtol=1e-4)
    found = hlo.jit(lambda x: (hnp.fft.fftn(x), hnp.fft.irfftn(hnp.fft.rfftn(x))))(x)
    np.testing.assert_allclose(found[0], np.fft.fftn(x), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found[1], x, rtol=1e-4, atol=1e-4)


def test_linear_algebra() -> None:
    a = floats(4, 4)
    spd = (a @ a.T + 4 * np.eye(4)).astype(np.float32)
    b = floats(4, 2)
    check(lambda n, a: n.linalg.cholesky(a), spd, rtol=1e-5)
    orders = (None, "fro", 1, -1, np.inf, -np.inf)
    check(lambda n, a: [n.linalg.norm(a, o) for o in orders], a, rtol=1e-5)
    check(lambda n, a: [n.linalg.norm(a[0], o) for o in (None, 0, 1, 2, 3, np.inf)], a, rtol=1e-5)
    check(lambda n, a: n.linalg.matrix_power(a, 5), a / 3, rtol=1e-4)
    solve = hlo.jit(lambda a, b: hnp.linalg.cho_solve(hnp.linalg.cholesky(a), b))
    np.testing.assert_allclose(solve(spd, b), np.linalg.solve(spd, b), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 3, 3), (1, 1), (0, 3, 3)])
def test_solving(shape: tuple[int, ...]) -> None:
    a = floats(*shape) + 3 * np.eye(shape[-1], dtype=np.float32)
    b = floats(*shape[:-1], 2)
    check(lambda n, a, b: n.linalg.solve(a, b), a, b, rtol=1e-4)
    check(lambda n, a: (n.linalg.inv(a), n.linalg.det(a), n.linalg.slogdet(a)), a, rtol=1e-4)


def test_determinant_of_singular_matrices() -> None:
    check(lambda n, a: (n.linalg.det(a), n.linalg.slogdet(a)), np.ones((3, 3), np.float32))


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 4, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_decompositions(shape: tuple[int, ...], dtype: Any) -> None:
    a = floats(*shape).astype(dtype)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * floats(*shape).astype(dtype)
    linalg = hnp.linalg
    for full in (False, True):
        u, s, vh = hlo.jit(lambda a, full=full: linalg.svd(a, full))(a)
        count = s.shape[-1]
        np.testing.assert_allclose(
            (u[..., :count] * s[..., None, :]) @ vh[..., :count, :], a, rtol=1e-4, atol=1e-4
        )
        q, r = hlo.jit(lambda a, full=full: linalg.qr(a, "complete" if full else "reduced"))(a)
        assert q.shape[-1] == (shape[-2] if full else count)
        np.testing.assert_allclose(q @ r, a, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(r, np.triu(r))
    np.testing.assert_allclose(s, np.linalg.svd(a, compute_uv=False), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(linalg.pinv(a), np.linalg.pinv(a), rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(linalg.matrix_rank(a), np.linalg.matrix_rank(a))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_eigenvalues(dtype: Any) -> None:
    a = floats(2, 4, 4).astype(dtype)
    a = a + np.conj(np.swapaxes(a, -1, -2))
    values, vectors = hlo.jit(hnp.linalg.eigh)(a)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(a @ vectors, vectors * values[:, None], rtol=1e-3, atol=1e-4)
