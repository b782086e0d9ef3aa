"""Constants of booleans come in and go out, whichever form a version of MLIR gives them."""

from __future__ import annotations

import re
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlo
from hlo.importers import boolean_blobs, export_stablehlo, import_stablehlo

SHAPES = [(201,), (7, 64, 64), (7, 31), (129, 1), (16, 16)]


def masks(shape: tuple[int, ...]) -> list[np.ndarray]:
    random = np.random.default_rng(0).random(shape) < 0.5
    last = np.zeros(shape, bool)
    last.flat[-1] = True
    return [random, last, ~last, np.zeros(shape, bool), np.ones(shape, bool)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_masks_that_jax_functions_close_over(shape: tuple[int, ...]) -> None:
    for mask in masks(shape):
        module = hlo.from_jax(lambda x, mask=mask: jnp.where(mask, x, -x), np.float32(1.0))
        (result,) = hlo.compile(module)(np.float32(1.0))
        assert np.array_equal(result, np.where(mask, np.float32(1), np.float32(-1)))


@pytest.mark.parametrize("form", ["pretty", "generic", "bytecode", "portable-artifact"])
def test_masks_survive_the_way_out_and_in(form: str) -> None:
    for mask in masks((7, 31)):
        module = hlo.from_jax(lambda mask=mask: jnp.asarray(mask))
        again = import_stablehlo(export_stablehlo(module, form=form))  # pyright: ignore
        assert np.array_equal(hlo.compile(again)()[0], mask)


@pytest.mark.parametrize("rewrite", [boolean_blobs.pack, boolean_blobs.unpack])
def test_text_of_either_form_is_read_by_both_parsers(rewrite: Callable[[str], str]) -> None:
    mask = masks((7, 31))[0]
    lowered = jax.jit(lambda: jnp.asarray(mask)).lower()
    operation = lowered.compiler_ir(dialect="stablehlo").operation  # pyright: ignore
    for generic in (False, True):
        text = rewrite(operation.get_asm(print_generic_op_form=generic))
        assert np.array_equal(hlo.compile(text)()[0], mask)


@pytest.mark.parametrize("elements", [2, 8, 9, 101, 1000])
def test_packing_is_undone_by_unpacking(elements: int) -> None:
    mask = np.random.default_rng(elements).random(elements) < 0.5
    blob = mask.tobytes().hex().upper()
    text = f'x = dense<"0x{blob}"> : tensor<{elements}xi1>, y = dense<"0xAB"> : tensor<3xi1>'
    packed = boolean_blobs.pack(text)
    assert boolean_blobs.unpack(packed) == text or elements <= 8
    assert boolean_blobs.pack(packed) == packed
    found = re.search(r'"0x([0-9A-F]*)"', packed)
    assert found is not None
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(found.group(1)), np.uint8), bitorder="little")
    assert np.array_equal(bits[:elements].astype(bool), mask)


@pytest.mark.parametrize(
    "constant",
    [
        'dense<"0x00FF"> : tensor<201xi1>',
        'dense<"0xZZ"> : tensor<7x31xi1>',
        "dense<true> : tensor<201xi1>",
        'dense<"0x0102"> : tensor<1xi16>',
        '"> : tensor<8xi1>',
    ],
)
def test_other_constants_are_left_to_the_parser(constant: str) -> None:
    assert boolean_blobs.pack(constant) == constant
    assert boolean_blobs.unpack(constant) == constant


def test_an_argument_that_the_function_ignores_stays_an_argument() -> None:
    module = hlo.from_jax(lambda x, y, z: z - x, *np.arange(3, dtype=np.float32))
    assert hlo.compile(module)(*np.float32([1, 2, 5]))[0] == 4
