"""Attributes of operations as plain values, and back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hlo import ir
from hlo.ir import attributes

TEXT = """
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x2x6xf32>, %c: tensor<4x9xf32>) {
  %0 = hlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {pad = [[1, 1], [0, -1]], reverse = [false, true]}
    {batch_group_count = 1 : i64, feature_group_count = 2 : i64,
     precision_config = [#hlo<precision HIGH>, #hlo<precision DEFAULT>]}
    : (tensor<1x8x8x4xf32>, tensor<3x3x2x6xf32>) -> tensor<1x8x5x6xf32>
  %1 = hlo.compare LT, %c, %c, TOTALORDER : (tensor<4x9xf32>, tensor<4x9xf32>) -> tensor<4x9xi1>
  %2 = hlo.transpose %c, dims = [1, 0] : (tensor<4x9xf32>) -> tensor<9x4xf32, #hlo.layout<[0, 1]>>
  %3 = hlo.custom_call @target(%c) {has_side_effect = true} : (tensor<4x9xf32>) -> tensor<4x9xf32>
  %4 = hlo.dot_general %c, %c, batching_dims = [1] x [1], contracting_dims = [0] x [0]
    : (tensor<4x9xf32>, tensor<4x9xf32>) -> tensor<9xf32>
  return
}
"""


@pytest.fixture(scope="module")
def operations() -> Iterator[list[ir.OpView]]:
    module = ir.parse_module(TEXT)  # operations do not keep their module alive
    yield list(module.body.operations[0].regions[0].blocks[0].operations)
    del module


def test_values(operations: list[ir.OpView]) -> None:
    convolution, compare, transpose, call, _, _ = operations
    assert attributes.ints(convolution, "padding") == (1, 1, 0, -1)
    assert attributes.pairs(convolution, "padding") == ((1, 1), (0, -1))
    assert attributes.ints(convolution, "window_reversal") == (0, 1)
    assert attributes.integer(convolution, "feature_group_count") == 2
    assert attributes.enums(convolution, "precision_config") == ("HIGH", "DEFAULT")
    assert attributes.enum(compare, "comparison_direction") == "LT"
    assert attributes.enum(compare, "compare_type") == "TOTALORDER"
    assert attributes.ints(transpose, "permutation") == (1, 0)
    assert attributes.boolean(call, "has_side_effect")
    assert attributes.string(call, "call_target_name") == "target"
    assert attributes.layout_of(transpose.results[0].type) == (0, 1)
    assert attributes.layout_of(transpose.operands[0].type) == (1, 0)


def test_absent_attributes(operations: list[ir.OpView]) -> None:
    convolution = operations[0]
    assert attributes.ints(convolution, "window_strides", (1, 1)) == (1, 1)
    assert attributes.enums(operations[4], "precision_config") == ()
    assert not attributes.boolean(convolution, "has_side_effect")
    for read in (attributes.ints, attributes.pairs, attributes.integer, attributes.string):
        with pytest.raises(KeyError, match="nothing"):
            read(convolution, "nothing")
    with pytest.raises(TypeError, match="expected an enumeration"):
        attributes.enum(operations[3], "call_target_name")


def test_dimension_numbers(operations: list[ir.OpView]) -> None:
    numbers = operations[0].attributes["dimension_numbers"]
    assert isinstance(numbers, attributes.ConvDimensionNumbers)
    assert numbers.kernel_spatial_dimensions == (0, 1)
    assert numbers.output_feature_dimension == 3
    dot = operations[4].attributes["dot_dimension_numbers"]
    assert isinstance(dot, attributes.DotDimensionNumbers)
    assert (dot.lhs_batching_dimensions, dot.rhs_contracting_dimensions) == ((1,), (0,))


def test_building() -> None:
    with ir.make_context():
        assert str(attributes.DotDimensionNumbers.get([0], [1])) == (
            "#hlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1]>"
        )
        assert str(attributes.GatherDimensionNumbers.get(offset_dims=[1], index_vector_dim=1)) == (
            "#hlo.gather<offset_dims = [1], index_vector_dim = 1>"
        )
        assert str(attributes.ConvDimensionNumbers.get(0, 1, [2], 1, 0, [2], 0, 1, [2])) == (
            "#hlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>"
        )
        assert str(attributes.Bounds.get([None, 4])) == "#hlo.bounds<?, 4>"
        with pytest.raises(ValueError, match="permutation of dimensions, found"):
            attributes.Layout.get([0, 0])
        with pytest.raises(ValueError, match="as many spatial dimensions"):
            attributes.ConvDimensionNumbers.get(0, 1, [2], 1, 0, [], 0, 1, [2])


def test_types_are_inferred() -> None:
    with ir.make_context(), ir.Location.unknown():
        module = ir.Module.create()
        tensor = ir.RankedTensorType.get((2, 3), ir.F32Type.get())
        with ir.InsertionPoint(module.body):
            value = ir.Operation.create(
                "hlo.constant",
                attributes={
                    "value": ir.DenseElementsAttr.get_splat(tensor, ir.FloatAttr.get_f32(1.0))
                },
                infer_type=True,
            ).result
            permutation = {"permutation": ir.DenseI64ArrayAttr.get([1, 0])}
            transposed = ir.Operation.create(
                "hlo.transpose", operands=[value], attributes=permutation, infer_type=True
            )
            assert str(transposed.result.type) == "tensor<3x2xf32>"
            with pytest.raises(ir.MLIRError):
                ir.Operation.create("hlo.transpose", operands=[value], infer_type=True)
            with pytest.raises(ir.MLIRError):
                ir.Operation.create("hlo.add", operands=[value], infer_type=True)
