"""Tensors of other libraries are read where they are, and given back."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from dlpack_producers import (
    CUDA,
    READ_ONLY,
    GradientLender,
    Lender,
    NewerLender,
    QuickLender,
)
from native_programs import add_one_body, entry_module

from hlo.diagnostics import ArgumentError
from hlo.executable import runtime
from hlo.executable.runtime import Argument, Result, Signature

F32 = np.dtype(np.float32)
LENDERS = (Lender, QuickLender, NewerLender)


def add_one(count: int = 6, *, donated: bool = False, shape: Any = None) -> runtime.Executable:
    """A program of one argument that adds one."""
    code = runtime.compile_to_object(entry_module(add_one_body(count)))
    shape = (count,) if shape is None else shape
    signature = Signature(
        (Argument("x", F32, shape, donated),), (Result(F32, shape, 0 if donated else None),)
    )
    return runtime.load([code], signature)


X = np.arange(6, dtype=np.float32)


@pytest.mark.parametrize("kind", LENDERS)
@pytest.mark.parametrize("flags", [0, READ_ONLY])
def test_a_tensor_is_read_and_given_back(kind: type[Lender], flags: int) -> None:
    program, lender = add_one(), kind(X, flags=flags)
    for calls in (1, 2):
        assert np.array_equal(program(lender)[0], X + 1)
        assert (lender.lent, lender.returned) == (calls, calls)


def test_libraries_before_dlpack_1_are_asked_without_a_version() -> None:
    lender = Lender(X, versioned=False)
    assert np.array_equal(add_one()(lender)[0], X + 1)
    assert (lender.lent, lender.returned) == (1, 1)


@pytest.mark.parametrize("kind", LENDERS)
def test_strides_and_byte_offsets(kind: type[Lender]) -> None:
    program = add_one(shape=(2, 3))
    turned = np.arange(6, dtype=np.float32).reshape(3, 2).T
    reverse = X[::-1].reshape(2, 3)
    shifted = np.arange(8, dtype=np.float32)[2:].reshape(2, 3)
    for array, offset in ((turned, 0), (reverse, 0), (shifted, 8)):
        lender = kind(array, byte_offset=offset)
        assert np.array_equal(program(lender)[0], array + 1)
        assert (lender.lent, lender.returned) == (lender.lent, lender.lent)


@pytest.mark.parametrize("kind", LENDERS)
def test_what_does_not_fit_is_an_error_and_is_given_back(kind: type[Lender]) -> None:
    program = add_one()
    for lender, message in (
        (kind(X[:5]), r"expected float32\[6\], found float32\[5\]"),
        (kind(X.astype("f8")), r"expected float32\[6\], found float64\[6\]"),
        (kind(X.view("i4")), r"expected float32\[6\], found int32\[6\]"),
        (kind(X, device=CUDA), "expected memory of the host"),
        (kind(X, major=7), "exported by DLPack 7, expected 1"),
    ):
        with pytest.raises(ArgumentError, match=message):
            program(lender)
        assert lender.returned == lender.lent >= 1


def test_elements_that_only_ml_dtypes_has() -> None:
    bf16 = np.dtype(ml_dtypes.bfloat16)
    code = runtime.compile_to_object(entry_module(add_one_body(3)))
    program = runtime.load([code], Signature((Argument("x", bf16, (6,)),), (Result(F32, (3,)),)))
    bits = X[:3].view(np.uint16)  # as six elements of bf16
    for kind in LENDERS:
        lender = kind(bits, code=4)
        assert np.array_equal(program(lender)[0], X[:3] + 1)
        with pytest.raises(ArgumentError, match=r"expected bfloat16\[6\], found uint16\[6\]"):
            program(kind(bits))
        strided = kind(np.repeat(bits, 2)[::2], code=4)
        assert np.array_equal(program(strided)[0], X[:3] + 1)


def test_scalars_and_empty_tensors() -> None:
    assert add_one(1, shape=())(QuickLender(np.float32([4]).reshape(())))[0] == 5
    assert add_one(0, shape=(3, 0))(QuickLender(np.zeros((3, 0), F32)))[0].shape == (3, 0)


def test_gradients_are_refused_and_lazy_values_are_asked_for() -> None:
    program, lender = add_one(), GradientLender(X)
    assert np.array_equal(program(lender)[0], X + 1)
    lender.negative = True
    assert np.array_equal(program(lender)[0], 1 - X)
    lender.negative, lender.requires_grad = False, True
    with pytest.raises(ArgumentError, match=r"requires a gradient.*detach"):
        program(lender)


@pytest.mark.parametrize("kind", LENDERS)
def test_a_donated_tensor_is_copied_and_stays_as_it_was(kind: type[Lender]) -> None:
    program, lender = add_one(donated=True), kind(X.copy())
    with pytest.warns(UserWarning, match="donated argument 0"):
        result = program(lender)[0]
    assert np.array_equal(result, X + 1)
    assert np.array_equal(lender.array, X)
    assert (lender.lent, lender.returned) == (1, 1)


def test_results_are_lent_without_a_copy() -> None:
    result = add_one()(X)[0]
    lent = np.from_dlpack(result)
    assert lent.ctypes.data == result.ctypes.data
    del result
    assert np.array_equal(lent, X + 1)
