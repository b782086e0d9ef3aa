"""How each operation without regions is evaluated: its function, and how its attributes are
read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hlo.reference import (
    arithmetic,
    bitwise,
    collectives,
    comparison,
    contraction,
    conversion,
    convolution,
    data_movement,
    indexing,
    linear_algebra,
    normalization,
    quantization,
    random,
    sorting,
    special_functions,
    spectral,
    transcendental,
)
from hlo.reference.element_types import Array
from hlo.reference.op_reader import OpReader, quantization_of

Values = Sequence[Any]
Evaluator = Callable[..., Values]
Builder = Callable[[OpReader], Evaluator]
Read = Callable[[OpReader, str], Any]

# Operations that act on each element by itself, and so also on whole arrays of elements at once.
ELEMENTWISE: dict[str, Callable[..., Array]] = {
    "hlo._asin_acos_kernel": transcendental.asin_acos_kernel,
    "hlo.abs": arithmetic.abs_,
    "hlo.acos": transcendental.acos,
    "hlo.acosh": transcendental.acosh,
    "hlo.add": arithmetic.add,
    "hlo.and": bitwise.and_,
    "hlo.asin": transcendental.asin,
    "hlo.asinh": transcendental.asinh,
    "hlo.atan": transcendental.atan,
    "hlo.atan2": transcendental.atan2,
    "hlo.atanh": transcendental.atanh,
    "hlo.bessel_i1e": special_functions.bessel_i1e,
    "hlo.cbrt": transcendental.cbrt,
    "hlo.ceil": arithmetic.ceil,
    "hlo.clamp": arithmetic.clamp,
    "hlo.complex": conversion.complex_,
    "hlo.conj": conversion.conj,
    "hlo.cosh": transcendental.cosh,
    "hlo.cosine": transcendental.cosine,
    "hlo.count_leading_zeros": bitwise.count_leading_zeros,
    "hlo.digamma": special_functions.digamma,
    "hlo.divide": arithmetic.divide,
    "hlo.erf": special_functions.erf,
    "hlo.erf_inv": special_functions.erf_inv,
    "hlo.erfc": special_functions.erfc,
    "hlo.exponential": transcendental.exponential,
    "hlo.exponential_minus_one": transcendental.exponential_minus_one,
    "hlo.floor": arithmetic.floor,
    "hlo.imag": conversion.imag,
    "hlo.is_finite": comparison.is_finite,
    "hlo.is_inf": special_functions.is_inf,
    "hlo.is_neg_inf": special_functions.is_neg_inf,
    "hlo.is_pos_inf": special_functions.is_pos_inf,
    "hlo.lgamma": special_functions.lgamma,
    "hlo.log": transcendental.log,
    "hlo.log_plus_one": transcendental.log_plus_one,
    "hlo.logistic": transcendental.logistic,
    "hlo.maximum": arithmetic.maximum,
    "hlo.minimum": arithmetic.minimum,
    "hlo.mulhi": arithmetic.mulhi,
    "hlo.multiply": arithmetic.multiply,
    "hlo.negate": arithmetic.negate,
    "hlo.next_after": special_functions.next_after,
    "hlo.not": bitwise.not_,
    "hlo.or": bitwise.or_,
    "hlo.polygamma": special_functions.polygamma,
    "hlo.popcnt": bitwise.popcnt,
    "hlo.power": arithmetic.power,
    "hlo.real": conversion.real,
    "hlo.remainder": arithmetic.remainder,
    "hlo.round_nearest_afz": arithmetic.round_nearest_afz,
    "hlo.round_nearest_even": arithmetic.round_nearest_even,
    "hlo.rsqrt": transcendental.rsqrt,
    "hlo.select": comparison.select,
    "hlo.shift_left": bitwise.shift_left,
    "hlo.shift_right_arithmetic": bitwise.shift_right_arithmetic,
    "hlo.shift_right_logical": bitwise.shift_right_logical,
    "hlo.sign": arithmetic.sign,
    "hlo.sine": transcendental.sine,
    "hlo.sinh": transcendental.sinh,
    "hlo.sqrt": transcendental.sqrt,
    "hlo.square": transcendental.square,
    "hlo.subtract": arithmetic.subtract,
    "hlo.tan": transcendental.tan,
    "hlo.tanh": transcendental.tanh,
    "hlo.xor": bitwise.xor,
    "hlo.zeta": special_functions.zeta,
}
# Elementwise as well, with attributes or a result type to read.
ELEMENTWISE_WITH_ATTRIBUTES = frozenset(
    {"hlo.compare", "hlo.convert", "hlo.reduce_precision", "hlo.constant"}
)


def _as_values(result: Any) -> Values:
    return result if isinstance(result, tuple) else (result,)


def call(function: Callable[..., Any], **attributes: Read) -> Builder:
    """Evaluates by `function` of the operands, with keyword arguments read from the operation
    once.
    """

    def build(reader: OpReader) -> Evaluator:
        keywords = {name: read(reader, name) for name, read in attributes.items()}
        if not keywords:
            return lambda *operands: _as_values(function(*operands))
        return lambda *operands: _as_values(function(*operands, **keywords))

    return build


def _constant(reader: OpReader) -> Evaluator:
    value = reader.constant("value")
    return lambda: (value,)


def _identity(reader: OpReader) -> Evaluator:
    del reader
    return lambda *operands: operands


def _tuple(reader: OpReader) -> Evaluator:
    del reader
    return lambda *operands: (operands,)


def _get_tuple_element(reader: OpReader) -> Evaluator:
    index = reader.integer("index")
    return lambda operand: (operand[index],)


def _token(reader: OpReader) -> Evaluator:
    del reader
    return lambda *operands: ((),)


def _uniform_quantize(reader: OpReader) -> Evaluator:
    target = quantization_of(reader.op.results[0].type)
    source = quantization_of(reader.op.operands[0].type)
    if target is None:
        raise reader.unsupported("expected a quantized result type")

    def evaluate(operand: Array) -> Values:
        if source is not None:
            operand = quantization.uniform_dequantize(operand, quantization=source)
        return (quantization.uniform_quantize(operand, quantization=target),)

    return evaluate


def _uniform_dequantize(reader: OpReader) -> Evaluator:
    source = quantization_of(reader.op.operands[0].type)
    if source is None:
        raise reader.unsupported("expected a quantized operand type")
    return lambda operand: (quantization.uniform_dequantize(operand, quantization=source),)


def _require_alone(reader: OpReader) -> None:
    groups = reader.matrix("replica_groups") if reader.has("replica_groups") else None
    if groups is not None and not collectives.is_alone(groups):
        raise reader.unsupported(
            "the reference evaluator runs one process, and a replica group names others"
        )


def _alone(reader: OpReader) -> Evaluator:
    _require_alone(reader)
    return lambda *operands: operands


def _collective_broadcast(reader: OpReader) -> Evaluator:
    _require_alone(reader)
    groups = reader.matrix("replica_groups") or []
    return lambda operand: (collectives.collective_broadcast(operand, replica_groups=groups),)


ints, integer, enum, boolean = OpReader.ints, OpReader.integer, OpReader.enum, OpReader.boolean
dtype, shape = OpReader.result_dtype, OpReader.result_shape
_convolution_attributes: dict[str, Read] = {
    "dimension_numbers": OpReader.conv_numbers,
    "window_strides": ints,
    "lhs_dilation": ints,
    "rhs_dilation": ints,
    "window_reversal": ints,
    "feature_group_count": integer,
    "batch_group_count": integer,
    "dtype": dtype,
}


def _rng_bit_generator(reader: OpReader) -> Evaluator:
    return call(
        lambda state: random.rng_bit_generator(
            state,
            rng_algorithm=reader.enum("rng_algorithm"),
            shape=reader.result_shape(index=1),
            dtype=reader.result_dtype(index=1),
        )
    )(reader)


def _rng(reader: OpReader) -> Evaluator:
    distribution = reader.enum("rng_distribution")
    return lambda a, b, size: (random.rng(a, b, shape=size, rng_distribution=distribution),)


def _top_k(reader: OpReader) -> Evaluator:
    return call(sorting.top_k, k=integer, index_dtype=lambda r, _: r.result_dtype(index=1))(reader)


OPERATIONS: dict[str, Builder] = {
    **{name: call(function) for name, function in ELEMENTWISE.items()},
    "hlo.after_all": _token,
    "hlo.all_gather": _alone,
    "hlo.all_reduce": _alone,
    "hlo.all_to_all": _alone,
    "hlo.async_done": call(tuple),
    "hlo.batch_norm_grad": call(
        normalization.batch_norm_grad, epsilon=OpReader.number, feature_index=integer
    ),
    "hlo.batch_norm_inference": call(
        normalization.batch_norm_inference, epsilon=OpReader.number, feature_index=integer
    ),
    "hlo.batch_norm_training": call(
        normalization.batch_norm_training, epsilon=OpReader.number, feature_index=integer
    ),
    "hlo.bitcast_convert": call(conversion.bitcast_convert, dtype=OpReader.result_storage_dtype),
    "hlo.broadcast": call(data_movement.broadcast, broadcast_sizes=ints),
    "hlo.broadcast_in_dim": call(
        data_movement.broadcast_in_dim, shape=shape, broadcast_dimensions=ints
    ),
    "hlo.cholesky": call(linear_algebra.cholesky, lower=boolean),
    "hlo.collective_broadcast": _collective_broadcast,
    "hlo.collective_reduce": _alone,
    "hlo.collective_permute": call(
        collectives.collective_permute, source_target_pairs=OpReader.matrix
    ),
    "hlo.compare": call(
        comparison.compare, comparison_direction=enum, compare_type=OpReader.optional_enum
    ),
    "hlo.concatenate": call(data_movement.concatenate, dimension=integer),
    "hlo.constant": _constant,
    "hlo.convert": call(conversion.convert, dtype=dtype),
    "hlo.convolution": call(
        convolution.convolution, padding=OpReader.matrix, **_convolution_attributes
    ),
    "hlo.copy": _identity,
    "hlo.create_token": _token,
    "hlo.cross-replica-sum": _alone,
    "hlo.dot": call(contraction.dot, dtype=dtype),
    "hlo.dot_general": call(
        contraction.dot_general, dot_dimension_numbers=OpReader.dot_numbers, dtype=dtype
    ),
    "hlo.dynamic_broadcast_in_dim": call(
        data_movement.dynamic_broadcast_in_dim, broadcast_dimensions=ints
    ),
    "hlo.dynamic_conv": call(convolution.dynamic_conv, **_convolution_attributes),
    "hlo.dynamic_gather": call(indexing.dynamic_gather, dimension_numbers=OpReader.gather_numbers),
    "hlo.dynamic_iota": call(data_movement.dynamic_iota, dtype=dtype, iota_dimension=integer),
    "hlo.dynamic_pad": call(data_movement.dynamic_pad),
    "hlo.dynamic_reshape": call(data_movement.dynamic_reshape),
    "hlo.dynamic_slice": call(data_movement.dynamic_slice, slice_sizes=ints),
    "hlo.dynamic_update_slice": call(data_movement.dynamic_update_slice),
    "hlo.einsum": call(contraction.einsum, einsum_config=OpReader.string, dtype=dtype),
    "hlo.fft": call(spectral.fft, fft_type=enum, fft_length=ints),
    "hlo.gather": call(
        indexing.gather, dimension_numbers=OpReader.gather_numbers, slice_sizes=ints
    ),
    "hlo.get_dimension_size": call(data_movement.get_dimension_size, dimension=integer),
    "hlo.get_tuple_element": _get_tuple_element,
    "hlo.iota": call(data_movement.iota, shape=shape, dtype=dtype, iota_dimension=integer),
    "hlo.optimization_barrier": _identity,
    "hlo.pad": call(
        data_movement.pad, edge_padding_low=ints, edge_padding_high=ints, interior_padding=ints
    ),
    "hlo.partition_id": call(collectives.partition_id),
    "hlo.ragged_dot": call(
        contraction.ragged_dot,
        ragged_dot_dimension_numbers=OpReader.ragged_dot_numbers,
        dtype=dtype,
    ),
    "hlo.real_dynamic_slice": call(data_movement.real_dynamic_slice),
    "hlo.reduce_precision": call(
        conversion.reduce_precision, exponent_bits=integer, mantissa_bits=integer
    ),
    "hlo.reduce_scatter": _alone,
    "hlo.replica_id": call(collectives.replica_id),
    "hlo.reshape": call(data_movement.reshape, shape=shape),
    "hlo.reverse": call(data_movement.reverse, dimensions=ints),
    "hlo.rng": _rng,
    "hlo.rng_bit_generator": _rng_bit_generator,
    "hlo.set_dimension_size": call(data_movement.set_dimension_size, dimension=integer),
    "hlo.slice": call(data_movement.slice_, start_indices=ints, limit_indices=ints, strides=ints),
    "hlo.top_k": _top_k,
    "hlo.torch_index_select": call(indexing.torch_index_select, dim=integer, batch_dims=integer),
    "hlo.transpose": call(data_movement.transpose, permutation=ints),
    "hlo.triangular_solve": call(
        linear_algebra.triangular_solve,
        left_side=boolean,
        lower=boolean,
        unit_diagonal=boolean,
        transpose_a=enum,
    ),
    "hlo.tuple": _tuple,
    "hlo.unary_einsum": call(contraction.einsum, einsum_config=OpReader.string, dtype=dtype),
    "hlo.uniform_dequantize": _uniform_dequantize,
    "hlo.uniform_quantize": _uniform_quantize,
}
