"""Constants of every element type survive the way through MLIR and back, bit for bit."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from hlo import ir
from hlo.ir import constants, types

NARROW_BITS = {"i1": 1, "i2": 2, "ui2": 2, "i4": 4, "ui4": 4, "f4E2M1FN": 4}
NARROW_BITS |= {"f6E2M3FN": 6, "f6E3M2FN": 6}
SIGNED_NARROW = ("i2", "i4")
NAMES = [
    "i1 i2 i4 i8 i16 i32 i64 ui2 ui4 ui8 ui16 ui32 ui64",
    "f4E2M1FN f6E2M3FN f6E3M2FN f8E3M4 f8E4M3 f8E4M3FN f8E4M3FNUZ f8E4M3B11FNUZ f8E5M2 f8E5M2FNUZ",
    "f8E8M0FNU f16 bf16 f32 f64 complex<f32> complex<f64>",
]
ELEMENTS = " ".join(NAMES).split()


@pytest.fixture(scope="module")
def context() -> ir.Context:
    return ir.make_context()


def random_bits(name: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Elements of random bit patterns, NaN payloads included."""
    dtype = types.to_dtype(name)
    bits = NARROW_BITS.get(name, 8)
    raw = np.random.default_rng(7).integers(0, 1 << bits, (*shape, dtype.itemsize), np.uint8)
    if name in SIGNED_NARROW:
        raw = ((raw << (8 - bits)).view(np.int8) >> (8 - bits)).view(np.uint8)
    return raw.view(dtype).reshape(shape)


@pytest.mark.parametrize("name", ELEMENTS)
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 5), (0, 3)])
def test_bits_survive(context: ir.Context, name: str, shape: tuple[int, ...]) -> None:
    array = random_bits(name, shape)
    attribute = constants.from_numpy(array, types.element_type(array.dtype, context))
    assert str(ir.ShapedType(attribute.type).element_type) == name
    back = constants.to_numpy(attribute)
    assert (back.dtype, back.shape) == (array.dtype, shape)
    assert back.tobytes() == array.tobytes()


@pytest.mark.parametrize("name", ELEMENTS)
def test_bits_survive_text(context: ir.Context, name: str) -> None:
    array = random_bits(name, (17,))
    attribute = constants.from_numpy(array, types.element_type(array.dtype, context))
    reread = ir.Attribute.parse(str(attribute), context)
    assert constants.to_numpy(reread).tobytes() == array.tobytes()


@pytest.mark.parametrize("name", ELEMENTS)
def test_one_repeated_element_is_a_splat(context: ir.Context, name: str) -> None:
    dtype = types.to_dtype(name)
    for array in (np.ones((4, 4), dtype), np.broadcast_to(np.ones((), dtype), (1000, 1000, 1000))):
        attribute = constants.from_numpy(array, types.element_type(dtype, context))
        assert attribute.is_splat
        back = constants.to_numpy(attribute)
        assert back.shape == array.shape
        assert back.base is not None
        assert back[(0,) * back.ndim] == dtype.type(1)


def test_elements_that_differ_only_in_sign_are_no_splat(context: ir.Context) -> None:
    array = np.array([0.0, -0.0], np.float32)
    attribute = constants.from_numpy(array, types.element_type(np.float32, context))
    assert constants.to_numpy(attribute).tobytes() == array.tobytes()


def test_any_layout_is_read_in_row_major_order(context: ir.Context) -> None:
    array = np.arange(24, dtype=np.int32).reshape(4, 6)[::2, ::-3].T
    attribute = constants.from_numpy(array, types.element_type(np.int32, context))
    assert constants.to_numpy(attribute).tolist() == array.tolist()


def test_resources_and_packed_booleans(context: ir.Context) -> None:
    module = ir.parse_module(
        """
        func.func @f() {
          %0 = hlo.constant dense_resource<whole> : tensor<2xf32>
          %1 = hlo.constant dense_resource<missing> : tensor<2xf32>
          %2 = hlo.constant dense<[true, false, true]> : tensor<3xi1>
          return
        }
        {-# dialect_resources: { builtin: { whole: "0x040000000000803F00000040" } } #-}
        """,
        context,
    )
    whole, missing, packed = list(module.body.operations[0].regions[0].blocks[0].operations)[:3]
    assert constants.to_numpy(whole.attributes["value"]).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="'missing' holds no data"):
        constants.to_numpy(missing.attributes["value"])
    assert constants.to_numpy(packed.attributes["value"]).tolist() == [True, False, True]


def test_index_needs_its_type_named(context: ir.Context) -> None:
    index = ir.Type.parse("index", context)
    attribute = constants.from_numpy(np.array([1, -1]), index)
    assert str(attribute) == "dense<[1, -1]> : tensor<2xindex>"
    assert constants.to_numpy(attribute).tolist() == [1, -1]


def test_mismatches_are_told(context: ir.Context) -> None:
    with pytest.raises(TypeError, match="f32 are held by dtype float32, found float64"):
        constants.from_numpy(np.zeros(2), types.element_type(np.float32, context))
    with pytest.raises(TypeError, match="no element type stands for dtype <U1"):
        types.type_name(np.dtype("U1"))
    with pytest.raises(TypeError, match="no NumPy dtype stands for elements of type f128"):
        types.to_dtype("f128")
    with pytest.raises(TypeError, match="expected a constant's elements"):
        constants.to_numpy(ir.StringAttr.get("text", context))


def test_quantized_elements_are_what_they_store() -> None:
    assert types.to_dtype("!quant.uniform<i8:f32, 0.5>") == np.int8
    assert types.to_dtype("!quant.uniform<u8<0:200>:f32, 0.5>") == np.uint8
    assert types.to_dtype("!quant.uniform<i4:f32:0, {1.0}>") == ml_dtypes.int4
