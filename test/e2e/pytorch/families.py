"""What the archives in `data/` hold: one function of tensors for each family of operators.

`make_archives.py` exports them with PyTorch; the tests read what it wrote, without PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from control import control_flow, in_place, scans
from grouped import grouped_products
from layers import attention, convolutions, normalization, pooling, resampling
from scattered import grid_gradients, scattered_gradients

aten = torch.ops.aten
Tensors = tuple[torch.Tensor, ...]


def special() -> torch.Tensor:
    """Numbers at which functions are worth asking."""
    return torch.tensor([-inf, -2.5, -1.0, -0.5, -0.0, 0.0, 1e-40, 0.5, 1.0, 1.5, 3.0, inf, nan])


def unary(x: torch.Tensor, unit: torch.Tensor, whole: torch.Tensor) -> list[torch.Tensor]:
    """Elementary functions of all numbers, of those in (0, 1) and of integers."""
    everywhere = (
        "abs asinh atan ceil cos erf erfc exp exp2 expm1 floor frac isfinite isinf isnan isneginf "
        "isposinf logical_not neg positive reciprocal round sgn sigmoid sign signbit sin sinh sqrt "
        "square tan tanh trunc rsqrt cosh deg2rad rad2deg nan_to_num fix"
    )
    inside = (
        "acos asin atanh log log10 log1p log2 logit lgamma digamma erfinv special_erfcx sinc "
        "special_expit special_gammaln special_erf special_erfc special_expm1 special_log1p "
        "special_exp2 special_digamma special_erfinv special_sinc special_logit special_i1e"
    )
    found = [getattr(aten, name)(x) for name in everywhere.split()]
    found += [getattr(aten, name)(unit) for name in inside.split()]
    found += [aten.acosh(unit + 1), aten.round(unit * 1000, decimals=-1), unit.round(decimals=2)]
    found += [aten.polygamma(1, unit + 0.5), aten.special_zeta(unit + 2, unit + 1)]
    integers = "abs bitwise_not ceil exp floor logical_not neg sign sqrt square sigmoid"
    found += [getattr(aten, name)(whole) for name in integers.split()]
    return found


def activations(x: torch.Tensor, weight: torch.Tensor) -> list[torch.Tensor]:
    """Activation functions."""
    return [
        F.relu(x),
        F.relu6(x),
        aten.relu6(x),
        F.gelu(x),
        F.gelu(x, approximate="tanh"),
        F.silu(x),
        F.mish(x),
        F.elu(x, 0.7),
        F.selu(x),
        F.celu(x, 1.3),
        F.softplus(x, 2, 5),
        F.hardtanh(x, -0.5, 0.7),
        F.hardswish(x),
        F.hardsigmoid(x),
        F.leaky_relu(x, 0.2),
        F.prelu(x, weight),
        F.logsigmoid(x),
        F.softsign(x),
        F.tanhshrink(x),
        F.hardshrink(x),
        F.softshrink(x),
        F.threshold(x, 0.1, 20.0),
        F.glu(x, 1),
        F.softmax(x, 1),
        F.log_softmax(x, -1),
        aten._softmax(x, 0, False),
        aten._log_softmax(x, 0, False),
        aten._safe_softmax(torch.where(x > 5, x, -inf), 1),
        F.gelu(x.bfloat16()),
        F.silu(x.half()),
    ]


def binary(
    x: torch.Tensor, y: torch.Tensor, i: torch.Tensor, j: torch.Tensor
) -> list[torch.Tensor]:
    """Arithmetic, comparisons and bits, with promotion."""
    found = [x + y, x - y, x * y, x / y, x // y, x % y, x**y, x**2, x**3, x**0.5, 2**y]
    found += [torch.add(x, y, alpha=2), torch.sub(x, y, alpha=3), torch.rsub(x, y, alpha=2)]
    found += [
        torch.rsub(x, 1.5),
        x + 1,
        1 - x,
        x * True,
        x / 3,
        i + 1.5,
        i * x,
        i / j,
        i // j,
        i % j,
    ]
    found += [torch.div(x, y, rounding_mode="trunc"), torch.div(x, y, rounding_mode="floor")]
    found += [torch.div(i, j, rounding_mode="trunc"), torch.div(i, 3, rounding_mode="floor")]
    found += [torch.fmod(x, y), torch.fmod(i, j), torch.fmod(x, 1.5), torch.remainder(x, -1.5)]
    found += [torch.remainder(7, i), aten.true_divide(i, j), torch.float_power(x.abs(), y)]
    for name in ("maximum", "minimum", "fmax", "fmin", "atan2", "hypot", "copysign", "nextafter"):
        found.append(getattr(torch, name)(x, y))
    found += [torch.max(x, y), torch.min(x, y), torch.copysign(x, -1.0), torch.logaddexp(x, y)]
    found += [torch.logaddexp2(x, y), torch.xlogy(x, y.abs()), torch.xlogy(x, 2.0)]
    found += [torch.special.xlog1py(x, y.abs()), torch.heaviside(x, y), torch.ldexp(x, j)]
    found += [torch.special.xlogy(x, y.abs()), torch.isclose(x, x + 1e-9)]
    for op in (torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge):
        found += [op(x, y), op(i, 2), op(i, x)]
    found += [i & j, i | j, i ^ j, i << j, i >> j, i & 3, i | 4, i ^ 5, i << 2, i >> 1]
    found += [
        aten.bitwise_and(i, j),
        aten.bitwise_or(i, j),
        aten.bitwise_xor(i, j),
        aten.bitwise_and(i, 3),
        aten.bitwise_or(i, 3),
        aten.bitwise_xor(i, 3),
    ]
    found += [aten.bitwise_left_shift(i, j), aten.bitwise_right_shift(i, j)]
    found += [aten.bitwise_left_shift(i, 2), aten.bitwise_right_shift(i, 2)]
    found += [torch.logical_and(x, i), torch.logical_or(x, i), torch.logical_xor(x, i)]
    found += [
        x.half() + y,
        x.half() * 3,
        x.bfloat16() + y.half(),
        i.to(torch.int8) + j.to(torch.uint8),
    ]
    found += [torch.where(x > y, x, y), torch.where(x > 0, 1.0, y), torch.where(x > 0, x, 2)]
    found += [torch.where(x > 0, 1, 2), x.clamp(-0.5, 0.5), x.clamp(min=y), i.clamp(1, 2.5)]
    found += [x.clamp_min(0.1), x.clamp_max(0.1), torch.clamp_min(x, y), torch.clamp_max(x, y)]
    found += [torch.clip(x, -1, 1), torch.clip(x, y, y + 1), x.masked_fill(x > y, 7.0)]
    found += [x.masked_fill(x > y, torch.tensor(3.0)), torch.addcmul(x, y, y, value=0.5)]
    found += [torch.addcdiv(x, y, y + 3, value=2), torch.lerp(x, y, 0.3), torch.lerp(x, y, y)]
    found += [x.to(torch.float64), x.to(torch.int32), x.type_as(i), x.to(i), x.view(torch.int32)]
    z = torch.complex(x, y)
    found += [torch.view_as_real(z * z), z.abs(), z.angle(), z.real, z.imag, torch.conj(z).imag]
    found += [
        aten.conj_physical(z).imag,
        aten._conj_physical(z).imag,
        aten.resolve_conj(z).imag,
        aten.resolve_neg(x),
    ]
    found += [torch.view_as_real(torch.polar(x.abs(), y)), torch.view_as_complex(z_pair(x, y)).real]
    return found


def z_pair(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """(real, imaginary) as a last dimension."""
    return torch.stack([x, y], -1)


def reductions(x: torch.Tensor, i: torch.Tensor, half: torch.Tensor) -> list[torch.Tensor]:
    """Sums, extrema, moments, norms and running totals."""
    found = [x.sum(), x.sum(1), x.sum((0, 2), keepdim=True), i.sum(), i.sum(0), half.sum(-1)]
    found += [x.mean(), x.mean((1, 2)), half.mean(0), x.prod(), x.prod(1), i.prod(2)]
    found += [x.amax(1), x.amin((0, 1)), x.max(), x.min(), *x.max(1), *x.min(2, keepdim=True)]
    found += [*torch.aminmax(x, dim=1), x.argmax(), x.argmax(1), x.argmin(0, keepdim=True)]
    found += [x.argmin(), (x > 1).any(), (x > 1).any(1), (x > -1).all(), (x > -1).all(2)]
    found += [aten.any(x > 1, [0, 1]), aten.all(x > -3, [0, 1]), torch.count_nonzero(i)]
    found += [torch.count_nonzero(i, 1), x.var(), x.var(1), x.var((0, 1), correction=0), x.std()]
    found += [x.std(2, unbiased=False), x.std(0, correction=2), *torch.var_mean(x, 1)]
    found += [*torch.var_mean(x, (0, 2), correction=0), *torch.var_mean(x), x.norm(), x.norm(1, 0)]
    found += [aten.linalg_vector_norm(x, 3, [1]), aten.linalg_vector_norm(x, inf, [2], True)]
    found += [aten.linalg_vector_norm(x, -inf), aten.linalg_vector_norm(x, 0), x.norm(2, (0, 1))]
    found += [torch.logsumexp(x, 1), torch.logsumexp(x, (0, 2), keepdim=True), torch.dist(x, x + 1)]
    found += [x.cumsum(1), i.cumsum(0), half.cumsum(0), x.cumprod(2), torch.logcumsumexp(x, 1)]
    found += [*torch.cummax(x, 1), *torch.cummin(x, 2), x.sum(1, dtype=torch.float64)]
    found += [torch.softmax(half, 0), torch.softmax(i.float(), 1, dtype=torch.float64)]
    return found


def views(x: torch.Tensor, y: torch.Tensor, v: torch.Tensor) -> list[torch.Tensor]:
    """Shapes, slices, joins and pads; x is (2, 3, 4), y is (2, 3, 4), v is (6,)."""
    found = [
        x.reshape(6, 4),
        x.view(-1),
        x.flatten(1),
        x.view_as(y),
        x.reshape_as(y),
        x.permute(2, 0, 1),
    ]
    found += [
        x.transpose(0, 2),
        x.mT,
        v.t(),
        v.view(2, 3).t(),
        x.movedim(0, 2),
        x.movedim((0, 1), (1, 2)),
    ]
    found += [
        x.unsqueeze(1),
        x.unsqueeze(-1).squeeze(-1),
        x[None].squeeze(),
        x[:, None].squeeze((1,)),
    ]
    found += [v.expand(3, 6), v.view(1, 6).expand(2, -1), v.expand_as(torch.ones(2, 6))]
    found += [
        x[1],
        x[:, 1:],
        x[..., ::2],
        x[:, -1],
        x.narrow(2, 1, 2),
        aten.narrow_copy(x, 1, 0, 2),
    ]
    found += [
        *x.split(2, 1),
        *x.split([1, 3], 2),
        *x.chunk(3, -1),
        *x.unbind(1),
        *torch.tensor_split(v, 4),
    ]
    found += [
        *aten.split_with_sizes(x, [1, 2], 1),
        torch.cat([x, y], 1),
        torch.cat([v, v.double()]),
    ]
    found += [torch.stack([x, y], 1), torch.hstack([x, y]), torch.vstack([v, v]), x.flip(0, 2)]
    found += [x.roll(1, 2), x.roll((1, -1), (0, 1)), x.roll(5), v.repeat(2, 3), v.tile(2)]
    found += [
        v.repeat_interleave(3),
        x.repeat_interleave(2, 1),
        x.diagonal(0, 1, 2),
        torch.diag_embed(v, 1),
    ]
    found += [
        torch.diag_embed(x, 0, 0, 1),
        x.tril(),
        x.triu(1),
        v.unfold(0, 3, 2),
        x.unfold(2, 2, 1),
    ]
    found += [torch.as_strided(v, (2, 2), (3, 1)), torch.as_strided(v, (3, 2), (1, 2), 1)]
    found += [
        aten.as_strided_scatter(v, x[0, :2, :2], (2, 2), (3, 1), 0),
        aten.as_strided_scatter(v, v[:4], (4,), (1,)),
        aten.as_strided_scatter(y, x, x.shape, x.stride(), 0),
    ]
    found += [
        aten.constant_pad_nd(x, [1, 2, 0, 1], 5.0),
        F.pad(x, (1, -1)),
        F.pad(x, (1, 2), "reflect"),
    ]
    found += [
        F.pad(x, (1, 2), "replicate"),
        F.pad(x, (2, 1), "circular"),
        aten.reflection_pad1d(x, [2, 1]),
    ]
    found += [
        aten.replication_pad1d(x, [1, 3]),
        F.pixel_shuffle(torch.cat([x, x, x, x])[None, :, 0:2, 0:2], 2),
    ]
    found += [F.pixel_unshuffle(x[None, :, 0:2], 2), F.channel_shuffle(torch.cat([x, y])[None], 2)]
    found += [
        *torch.meshgrid(v[:2], v[3:], indexing="xy"),
        *torch.meshgrid(v[:2], v[3:], indexing="ij"),
    ]
    found += [aten.slice_scatter(x, y[:, :2], 1, 1, 3), aten.select_scatter(x, y[:, 0], 1, 2)]
    found += [
        aten.diagonal_scatter(x[0], v[:3]),
        x.clone(),
        x.contiguous(),
        x.detach(),
        aten.alias(x),
    ]
    found += [*torch.broadcast_tensors(v, v.view(6, 1)), v.broadcast_to(2, 6), x.swapaxes(0, 1)]
    found += [x.unflatten(2, (2, 2)), aten.copy(x, v[:4]), aten.lift_fresh_copy(v), x.adjoint()]
    return found


def indexing(
    x: torch.Tensor, i: torch.Tensor, g: torch.Tensor, table: torch.Tensor
) -> list[torch.Tensor]:
    """Look-ups and updates; x is (4, 5), i is a vector of rows, g is (4, 3) of columns."""
    found = [
        x[i],
        x[:, i],
        x[i, i],
        x[i - 2],
        x[None, :, i],
        x.index_select(1, i),
        torch.take(x, g),
    ]
    found += [F.embedding(g, table), x.gather(1, g), torch.take_along_dim(x, g, 1), F.one_hot(g, 6)]
    found += [x.scatter(1, g, x), x.scatter(1, g, 2.5), x.scatter_add(1, g, x)]
    found += [x.scatter_reduce(1, g, x, "amax"), x.scatter_reduce(1, g, x, "sum")]
    found += [
        torch.scatter(x, 1, g, x, reduce="multiply"),
        x.index_add(0, i, x[: i.shape[0]], alpha=2),
    ]
    found += [
        x.index_copy(0, i[:2], x[:2] * 2),
        x.index_fill(1, i, 3.0),
        x.index_put((i,), x[i] * 2),
    ]
    found += [aten.index_put(x, [i], x[i], True), aten.index_put(x, [None, i], x[:, i] * 3)]
    found += [
        aten.index_put(x, [x > 0], torch.tensor(9.0)),
        aten.scatter(x, 1, g, 2.0, reduce="add"),
    ]
    return found


def updates(
    x: torch.Tensor, i: torch.Tensor, g: torch.Tensor, whole: torch.Tensor
) -> list[torch.Tensor]:
    """Elements combined and chosen; as `indexing`, and whole is (4, 5) of integers."""
    found: list[torch.Tensor] = []
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for include in (True, False):
            found += [
                table.scatter_reduce(1, g % 3, table, reduce, include_self=include)
                for table in (x, whole)
            ]
            if reduce != "sum":
                found.append(x.index_reduce(0, i, x[:3] * 2, reduce, include_self=include))
    found += [x.put(g, x[:, :3] * 2), x.put(i, x[0, :3], accumulate=True)]
    found += [x.masked_scatter(x > 0, x * 3), x[0].masked_scatter(x > 0, whole.float())]
    found += [torch.nonzero_static(whole > 0, size=9), torch.nonzero_static(x, size=30)]
    found.append(torch.nonzero_static(x[0, 0], size=2))
    ends = torch.tensor([0, 2, 2, 6])
    bags = whole.abs().flatten()[:10] % 4
    for mode in ("sum", "mean", "max"):
        found.append(F.embedding_bag(bags, x, ends, mode=mode))
        found.append(F.embedding_bag(bags, x, ends, mode=mode, padding_idx=1))
    found.append(F.embedding_bag(bags, x, ends, mode="sum", per_sample_weights=x.flatten()[:10]))
    return [*found, F.embedding_bag(bags, x, ends, mode="sum", include_last_offset=True)]


def sorting(x: torch.Tensor, i: torch.Tensor, edges: torch.Tensor) -> list[torch.Tensor]:
    """Sorts, selections and searches."""
    found = [
        *torch.sort(x, dim=1, stable=True),
        *torch.sort(x, dim=0, descending=True, stable=True),
        torch.argsort(i, dim=1, stable=True),
    ]
    found += [
        *aten.sort(x, 1, True),
        aten.argsort(x, 1),
        *x.topk(2, 1),
        *x.topk(3, 0, largest=False),
    ]
    found += [*x.kthvalue(2, 1), *x.median(1), x.median(), torch.searchsorted(edges, x)]
    found += [torch.searchsorted(edges, x, right=True), torch.bucketize(x, edges, out_int32=True)]
    found += [torch.searchsorted(x.sort(1)[0], x), torch.histc(x, 5, -2, 2), torch.histc(x, 4)]
    gaps = torch.where(x > 0.3, torch.nan, x)
    found += [gaps.nanmedian(), *gaps.nanmedian(1), *i.nanmedian(0), *i.mode(1)]
    return [*found, *x[0, 0].median(0), i.mode(0, keepdim=True)[0]]


def creation(x: torch.Tensor) -> list[torch.Tensor]:
    """Tensors from numbers."""
    found = [
        torch.full((2, 3), 1.5),
        torch.full((2,), 3),
        torch.zeros(2),
        torch.ones(2, dtype=torch.int8),
    ]
    found += [
        torch.zeros_like(x),
        torch.ones_like(x),
        torch.full_like(x, 2),
        x.new_zeros(2),
        x.new_ones(3),
    ]
    found += [x.new_full((2,), 4), torch.arange(5), torch.arange(1, 6, 2), torch.arange(0, 1, 0.25)]
    found += [torch.arange(7, 0, -3), torch.linspace(0, 1, 7), torch.eye(3), torch.eye(2, 4)]
    found += [torch.tril_indices(3, 4), torch.triu_indices(3, 4, 1), aten.scalar_tensor(2.5)]
    found += [aten.fill(x, 3.0), aten.arange.default(4, dtype=torch.float64), x.new_full((1,), inf)]
    return found


def products(
    a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, v: torch.Tensor
) -> list[torch.Tensor]:
    """Matrix products; a is (2, 3, 4), b is (2, 4, 5), c is (3, 5), v is (4,)."""
    found = [a @ b, torch.bmm(a, b), a[0].mm(b[0]), a[0].mv(v), v.dot(v), a @ v, torch.outer(v, v)]
    found += [
        torch.addmm(c, a[0], b[0], beta=0.5, alpha=2),
        torch.baddbmm(c, a, b),
        torch.vdot(v, v),
    ]
    found += [
        torch.addbmm(c, a, b),
        torch.addmv(a[0, :, 0], a[0], v),
        F.linear(a, a[0]),
        F.linear(a, a[0], c[:, 0]),
    ]
    found += [
        torch.einsum("bij,bjk->bik", a, b),
        torch.einsum("bij,j->b", a, v),
        torch.kron(a[0], c),
    ]
    found += [torch.linalg.cross(a[..., :3], a[..., 1:]), a.bfloat16() @ b.bfloat16()]
    found += [
        torch.cdist(a, a + 1),
        torch.cdist(a, a * 2, p=1),
        aten._cdist_forward(a, a + 1, 3.0, None),
        torch.pdist(a[0]),
        torch.pdist(c, p=1),
    ]
    weight = b[0].reshape(5, 4, 1) * torch.ones(2)
    found.append(aten._trilinear(a[0], weight, c[:, :2], [1, 3], [0], [1, 2], [2, 3]))
    return [*found, F.bilinear(a, a[..., :2], weight, c[0]), F.bilinear(a, a[..., :2], weight)]


def linalg(a: torch.Tensor, b: torch.Tensor) -> list[torch.Tensor]:
    """Factorisations and solutions; a is (2, 4, 4), b is (2, 4, 3)."""
    spd = a @ a.mT + 4 * torch.eye(4)
    factor = aten.linalg_cholesky_ex(spd)[0]
    found = [
        factor,
        aten.cholesky(spd, True),
        aten.cholesky_solve(b, factor),
        aten.cholesky_inverse(factor),
    ]
    found += [
        aten.linalg_solve_triangular(factor, b, upper=False),
        aten.triangular_solve(b, factor, False)[0],
    ]
    packed, pivots, _ = aten.linalg_lu_factor_ex(a)
    found += [packed, pivots, *aten.linalg_lu(a), *aten.lu_unpack(packed, pivots)]
    found += [
        aten.linalg_lu_solve(packed, pivots, b),
        aten.linalg_lu_solve(packed, pivots, b, adjoint=True),
    ]
    found += [aten.linalg_lu_solve(packed, pivots, b.mT, left=False), aten.linalg_inv_ex(a)[0]]
    found += [aten._linalg_solve_ex(a, b)[0], aten._linalg_det(a)[0], *aten._linalg_slogdet(a)[:2]]
    q, r = aten.linalg_qr(b)
    u, s, v = aten._linalg_svd(b)
    values, vectors = aten._linalg_eigh(spd)
    flat = torch.cat([b, b[..., :1]], dim=-1)  # of rank 3
    found += [torch.linalg.pinv(b), torch.linalg.pinv(flat), torch.linalg.pinv(b, atol=0.5)]
    found.append(torch.linalg.pinv(a + 2 * torch.eye(4), hermitian=True))  # reads one triangle
    reflectors, scales = torch.geqrf(b)
    found += [reflectors, scales, torch.linalg.householder_product(reflectors, scales)]
    found += [torch.ormqr(reflectors, scales, a), torch.ormqr(reflectors, scales, a, False, True)]
    return [*found, q @ r, r.abs(), (u * s[..., None, :]) @ v, s, values, vectors.abs()]


def spectral(x: torch.Tensor) -> list[torch.Tensor]:
    """Fourier transforms of (3, 8)."""
    half, full = torch.fft.rfft(x), torch.fft.fft(x)
    found = [half, full, torch.fft.ifft(full), torch.fft.fft2(x), torch.fft.rfft2(x, norm="ortho")]
    found += [torch.fft.fftn(x), torch.fft.rfftn(x), torch.fft.ifft2(full), torch.fft.ifftn(full)]
    found += [aten._fft_r2c(x, [0, 1], 0, True), aten._fft_r2c(x, [1], 2, False)]
    found += [aten._fft_c2c(full, [0, 1], 1, False), aten._fft_c2c(full, [0], 0, True)]
    real = [torch.view_as_real(z) for z in found]
    real += [torch.fft.irfft(half), torch.fft.irfft(half, n=7), torch.fft.irfftn(half)]
    return [*real, torch.fft.irfft2(half), aten._fft_c2r(half, [0, 1], 2, 8)]


def _draw(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


FAMILIES: dict[str, tuple[Callable[..., list[torch.Tensor]], Callable[[], Tensors]]] = {
    "unary": (unary, lambda: (special(), torch.rand(7), torch.tensor([-3, 0, 2, 5]))),
    "activations": (activations, lambda: (_draw(3, 4) * 3, torch.tensor([0.1, 0.2, 0.3, 0.4]))),
    "binary": (
        binary,
        lambda: (
            _draw(2, 3),
            _draw(2, 3),
            torch.tensor([[5, -7, 9], [1, 2, 3]]),
            torch.tensor([2, 3, 1]),
        ),
    ),
    "reductions": (
        reductions,
        lambda: (_draw(3, 4, 5), torch.randint(-3, 4, (2, 3, 4)), _draw(8, 9).bfloat16()),
    ),
    "views": (views, lambda: (_draw(2, 3, 4), _draw(2, 3, 4), _draw(6))),
    "indexing": (
        indexing,
        lambda: (_draw(4, 5), torch.tensor([2, 0, 3]), torch.tensor([[0, 1, 4]] * 4), _draw(6, 3)),
    ),
    "updates": (
        updates,
        lambda: (
            _draw(4, 5),
            torch.tensor([2, 0, 2]),
            torch.tensor([[0, 1, 4]] * 4),
            torch.randint(-3, 4, (4, 5)),
        ),
    ),
    "control_flow": (control_flow, lambda: (torch.rand(3, 4), torch.tensor(3))),
    "scattered_gradients": (
        scattered_gradients,
        lambda: (_draw(2, 3, 6, 4), _draw(2, 3, 8), _draw(1, 2, 4, 2, 6), _draw(5, 4)),
    ),
    "grid_gradients": (
        grid_gradients,
        lambda: (
            _draw(2, 3, 5, 6),
            _draw(2, 4, 3, 2) * 1.5,
            _draw(1, 2, 3, 4, 5),
            _draw(1, 2, 3, 2, 3) * 1.5,
        ),
    ),
    "scans": (scans, lambda: (_draw(3, 4),)),
    "in_place": (in_place, lambda: (_draw(3, 4),)),
    "sorting": (
        sorting,
        lambda: (_draw(4, 5), torch.randint(0, 3, (3, 6)), torch.tensor([-1.0, 0.0, 0.5])),
    ),
    "creation": (creation, lambda: (_draw(2, 2),)),
    "products": (products, lambda: (_draw(2, 3, 4), _draw(2, 4, 5), _draw(3, 5), _draw(4))),
    "grouped_products": (
        grouped_products,
        lambda: (
            _draw(8, 16),
            _draw(4, 16, 8),
            torch.tensor([2, 2, 6, 7], dtype=torch.int32),
        ),
    ),
    "attention": (
        attention,
        lambda: (
            _draw(2, 4, 5, 8),
            _draw(2, 4, 5, 8),
            _draw(2, 4, 5, 8),
            torch.rand(2, 1, 5, 5) > torch.tensor([0.5, 0.5, 2.0, 0.5, 0.5])[:, None],
            _draw(5, 5),
        ),
    ),
    "convolutions": (
        convolutions,
        lambda: (
            _draw(2, 4, 8, 9),
            _draw(6, 4, 3, 3),
            _draw(6),
            _draw(2, 4, 10),
            _draw(4, 5, 3, 3),
        ),
    ),
    "normalization": (normalization, lambda: (_draw(3, 4, 5, 6), _draw(4), _draw(4), _draw(6))),
    "pooling": (pooling, lambda: (_draw(2, 3, 8, 9), _draw(2, 3, 10))),
    "resampling": (
        resampling,
        lambda: (_draw(2, 3, 5, 6), _draw(2, 3, 7), _draw(2, 4, 3, 2), _draw(1, 2, 3, 4, 3)),
    ),
    "linalg": (linalg, lambda: (_draw(2, 4, 4), _draw(2, 4, 3))),
    "spectral": (spectral, lambda: (_draw(3, 8),)),
}


class Counter(torch.nn.Module):
    """A model that changes its state."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.linear = torch.nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> Any:
        """Adds one to the buffer."""
        self.calls.add_(1)
        return self.linear(x) * self.calls, {"calls": self.calls.clone()}
