"""Random bits are XLA's, bit for bit; quantization; collectives of one process."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from jax import lax
from reference_oracles import xla

from hlo.reference import collectives, quantization, random
from hlo.reference.quantization import UniformQuantization

SHAPES = [(), (1,), (5,), (6,), (3, 5), (3, 4), (5, 7, 3), (2, 0, 3)]
ALGORITHMS = {
    "THREE_FRY": lax.RandomAlgorithm.RNG_THREE_FRY,
    "PHILOX": lax.RandomAlgorithm.RNG_PHILOX,
    "DEFAULT": lax.RandomAlgorithm.RNG_DEFAULT,
}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_bits_are_those_of_xla(algorithm: str, shape: tuple[int, ...], dtype: type) -> None:
    # The counter is about to carry from its low half.
    state = np.array([0x0123456789ABCDEF, 2**64 - 2], np.uint64)
    expected_state, expected = xla(
        lambda s: lax.rng_bit_generator(s, shape, dtype, ALGORITHMS[algorithm]), state
    )
    found_state, found = random.rng_bit_generator(
        state, rng_algorithm=algorithm, shape=shape, dtype=np.dtype(dtype)
    )
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found_state, expected_state)
    assert found.dtype == dtype


def test_philox_with_a_whole_counter() -> None:
    state = np.array([7, 2**64 - 1, 3], np.uint64)
    new_state, bits = random.rng_bit_generator(
        state, rng_algorithm="PHILOX", shape=(9,), dtype=np.dtype(np.uint32)
    )
    # Three blocks of four words: the counter's low word wraps to 2 and carries into the high one.
    np.testing.assert_array_equal(new_state, np.array([7, 2, 4], np.uint64))
    carried = np.array([7, 0, 4], np.uint64)
    _, after = random.rng_bit_generator(
        carried, rng_algorithm="PHILOX", shape=(5,), dtype=np.dtype(np.uint32)
    )
    np.testing.assert_array_equal(bits[4:], after)


def test_signed_and_float_types_take_the_bits() -> None:
    state = np.array([1, 2], np.uint64)

    def bits(dtype: object) -> np.ndarray:
        return random.rng_bit_generator(
            state, rng_algorithm="THREE_FRY", shape=(4,), dtype=np.dtype(dtype)
        )[1]

    np.testing.assert_array_equal(bits(np.int32).view(np.uint32), bits(np.uint32))
    np.testing.assert_array_equal(bits(np.float32).view(np.uint32), bits(np.uint32))
    assert set(bits(ml_dtypes.int4).astype(int).tolist()) <= set(range(-8, 8))


def test_rng_stays_in_its_interval() -> None:
    uniform = random.rng(np.float32(2), np.float32(3), shape=(1000,), rng_distribution="UNIFORM")
    assert ((uniform >= 2) & (uniform <= 3)).all()
    assert uniform.dtype == np.float32
    integers = random.rng(np.int8(-3), np.int8(4), shape=(1000,), rng_distribution="UNIFORM")
    assert set(integers.tolist()) == set(range(-3, 4))
    normal = random.rng(np.float64(5), np.float64(2), shape=(4000,), rng_distribution="NORMAL")
    assert abs(normal.mean() - 5) < 0.2
    assert abs(normal.std() - 2) < 0.2


BYTES = UniformQuantization(np.dtype(np.int8), np.dtype(np.float32), -128, 127, (0.5,), (3,))


def test_quantize_rounds_to_even_and_saturates() -> None:
    values = np.array([0.0, 0.25, 0.75, -0.25, 1e9, -1e9, np.nan], np.float32)
    stored = quantization.uniform_quantize(values, quantization=BYTES)
    # 0.25 / 0.5 is half a step: to even, 0; 0.75 / 0.5 is a step and a half: to even, 2.
    np.testing.assert_array_equal(stored, [3, 3, 5, 3, 127, -128, 3])
    back = quantization.uniform_dequantize(stored, quantization=BYTES)
    np.testing.assert_array_equal(back, [0, 0, 1, 0, 62, -65.5, 0])
    assert back.dtype == np.float32


def test_quantization_per_axis() -> None:
    per_axis = UniformQuantization(
        np.dtype(np.uint8), np.dtype(np.float32), 0, 255, (1.0, 2.0), (0, 10), axis=1
    )
    stored = quantization.uniform_quantize(
        np.array([[4, 4], [8, 8]], np.float32), quantization=per_axis
    )
    np.testing.assert_array_equal(stored, [[4, 12], [8, 14]])
    np.testing.assert_array_equal(
        quantization.uniform_dequantize(stored, quantization=per_axis), [[4, 4], [8, 8]]
    )


def test_collectives_of_one_process() -> None:
    assert collectives.replica_id() == 0
    assert collectives.partition_id() == 0
    assert collectives.is_alone([[0], [1]])
    assert collectives.is_alone([[0, -1]])
    assert not collectives.is_alone([[0, 1]])
    operand = np.arange(3)
    kept = collectives.collective_permute(operand, source_target_pairs=[[0, 0]])
    np.testing.assert_array_equal(kept, operand)
    lost = collectives.collective_permute(operand, source_target_pairs=[[0, 1], [1, 2]])
    assert not lost.any()
    np.testing.assert_array_equal(
        collectives.collective_broadcast(operand, replica_groups=[[0]]), operand
    )
    assert not collectives.collective_broadcast(operand, replica_groups=[[1]]).any()
