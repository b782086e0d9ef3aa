"""The Fourier transform against numpy.fft in double precision."""

from __future__ import annotations

import numpy as np
import pytest
from native_programs import call_library

FFT, IFFT, RFFT, IRFFT = range(4)
TOLERANCE = {4: 1e-6, 8: 1e-14}


def fft(
    kind: int, x: np.ndarray, lengths: tuple[int, ...], size: int, in_place: bool = False
) -> np.ndarray:
    """Runs one transform in the precision of `size` bytes over the last dimensions."""
    real, pair = np.dtype(f"f{size}"), np.dtype(f"c{2 * size}")
    batch = x.shape[: x.ndim - len(lengths)]
    bins = (*batch, *lengths[:-1], lengths[-1] // 2 + 1)
    shape = bins if kind == RFFT else (*batch, *lengths)
    source = np.ascontiguousarray(x, real if kind == RFFT else pair)
    assert source.shape == (bins if kind == IRFFT else (*batch, *lengths))
    result = source.copy() if in_place else np.empty(shape, real if kind == IRFFT else pair)
    inputs = result if in_place else source
    numbers = [kind, size, int(np.prod(batch)), len(lengths), *lengths]
    call_library("hlo_rt_fft", [inputs, result], numbers)
    return result


def expected(kind: int, x: np.ndarray, lengths: tuple[int, ...]) -> np.ndarray:
    axes = tuple(range(-len(lengths), 0))
    wide = x.astype(np.complex128 if kind != RFFT else np.float64)
    if kind == FFT:
        return np.fft.fftn(wide, axes=axes)
    if kind == IFFT:
        return np.fft.ifftn(wide, axes=axes)
    if kind == RFFT:
        return np.fft.rfftn(wide, axes=axes)
    return np.fft.irfftn(wide, lengths, axes=axes)


def sample(kind: int, batch: tuple[int, ...], lengths: tuple[int, ...], size: int) -> np.ndarray:
    rng = np.random.default_rng(hash((kind, batch, lengths)) % 1000)
    shape = (*batch, *lengths)
    if kind == IRFFT:
        shape = (*batch, *lengths[:-1], lengths[-1] // 2 + 1)
    x = rng.normal(size=shape).astype(f"f{size}")
    return x if kind == RFFT else x + (1j * rng.normal(size=shape)).astype(f"c{2 * size}")


def check(kind: int, batch: tuple[int, ...], lengths: tuple[int, ...], size: int) -> None:
    x = sample(kind, batch, lengths, size)
    got, want = fft(kind, x, lengths, size), expected(kind, x, lengths)
    assert got.shape == want.shape
    error = np.abs(got - want).max(initial=0) / max(np.sqrt(np.mean(np.abs(want) ** 2)), 1e-30)
    assert error < 5 * TOLERANCE[size], error
    total = np.linalg.norm(got - want) / max(np.linalg.norm(want), 1e-30)
    assert total < TOLERANCE[size], total


LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 18, 21, 27, 30, 31, 37, 49, 60]
LENGTHS += [64, 97, 100, 101, 121, 125, 128, 169, 210, 243, 256, 343, 360, 509, 510, 512, 1000]
LENGTHS += [1009, 1024, 2018, 2048, 4096, 4620, 5040, 8191, 10_007, 16_384, 65_536, 100_000]
LENGTHS += [19, 23, 32, 113, 127, 131, 289, 323, 1088, 1143, 2176, 9409, 32_768]


@pytest.mark.parametrize("size", [4, 8])
@pytest.mark.parametrize("kind", [FFT, IFFT, RFFT, IRFFT])
@pytest.mark.parametrize("n", LENGTHS)
def test_one_line(kind: int, size: int, n: int) -> None:
    check(kind, (), (n,), size)


@pytest.mark.parametrize("size", [4, 8])
@pytest.mark.parametrize("kind", [FFT, IFFT, RFFT, IRFFT])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 12, 17, 30, 34, 35, 49, 128, 137, 210, 1088, 2048])
@pytest.mark.parametrize("batch", [(3,), (8,), (9,), (2, 21)])
def test_many_lines(kind: int, size: int, n: int, batch: tuple[int, ...]) -> None:
    check(kind, batch, (n,), size)


@pytest.mark.parametrize("size", [4, 8])
@pytest.mark.parametrize("kind", [FFT, IFFT, RFFT, IRFFT])
@pytest.mark.parametrize(
    "lengths",
    [(4, 6), (5, 1), (1, 8), (17, 16), (3, 4, 5), (32, 7, 23), (40, 64), (34, 37), (3, 51, 33)],
)
@pytest.mark.parametrize("batch", [(), (3,)])
def test_several_dimensions(
    kind: int, size: int, lengths: tuple[int, ...], batch: tuple[int, ...]
) -> None:
    check(kind, batch, lengths, size)


@pytest.mark.parametrize("lengths", [(12,), (5, 12), (3, 17, 4)])
def test_complex_transforms_in_place(lengths: tuple[int, ...]) -> None:
    x = sample(FFT, (20,), lengths, 4)
    for kind in (FFT, IFFT):
        np.testing.assert_array_equal(
            fft(kind, x, lengths, 4, in_place=True), fft(kind, x, lengths, 4)
        )


@pytest.mark.parametrize("n", [8, 9])
def test_imaginary_parts_that_no_real_line_has_are_ignored(n: int) -> None:
    x = sample(IRFFT, (), (n,), 8)
    y = x.copy()
    y[0] += 5j
    if n % 2 == 0:
        y[-1] -= 7j
    np.testing.assert_array_equal(fft(IRFFT, x, (n,), 8), fft(IRFFT, y, (n,), 8))


def test_nan_stays_in_its_line() -> None:
    x = sample(FFT, (20,), (16,), 4)
    x[7, 3] = np.nan
    got = fft(FFT, x, (16,), 4)
    assert np.isnan(got[7]).all()
    assert not np.isnan(np.delete(got, 7, 0)).any()


def test_empty_batches() -> None:
    assert fft(FFT, np.zeros((0, 8), np.complex64), (8,), 4).shape == (0, 8)


@pytest.mark.parametrize("lengths", [(), (0,), (2, 2, 2, 2)])
def test_bad_parameters(lengths: tuple[int, ...]) -> None:
    numbers = [FFT, 4, 1, len(lengths), *lengths]
    with pytest.raises(RuntimeError, match="fft"):
        call_library("hlo_rt_fft", [None, None], numbers)
