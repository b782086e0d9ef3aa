"""How each operation with regions is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hlo.reference import reduction, sorting
from hlo.reference.conversion import convert
from hlo.reference.element_types import DType
from hlo.reference.indexing import scatter
from hlo.reference.op_reader import OpReader
from hlo.reference.program import Block, Execute, Frame, RegionComputation

RegionBuilder = Callable[[OpReader, Sequence[Block]], Execute]


def _promoted(values: Sequence[Any], dtypes: Sequence[DType | None]) -> list[Any]:
    """Values as the types a computation takes, which may be wider than the operands'."""
    return [
        value if dtype is None else convert(value, dtype=dtype)
        for value, dtype in zip(values, dtypes, strict=True)
    ]


def _reduce(reader: OpReader, regions: Sequence[Block]) -> Execute:
    dimensions = reader.ints("dimensions") or ()

    def execute(frame: Frame, operands: Sequence[Any]) -> Sequence[Any]:
        half = len(operands) // 2
        dtypes = regions[0].output_dtypes
        return reduction.reduce(
            _promoted(operands[:half], dtypes),
            _promoted(operands[half:], dtypes),
            RegionComputation(regions[0], frame),
            dimensions=dimensions,
        )

    return execute


def _reduce_window(reader: OpReader, regions: Sequence[Block]) -> Execute:
    window_dimensions = reader.ints("window_dimensions") or ()
    window_strides = reader.ints("window_strides")
    base_dilations = reader.ints("base_dilations")
    window_dilations = reader.ints("window_dilations")
    padding = reader.matrix("padding")

    def execute(frame: Frame, operands: Sequence[Any]) -> Sequence[Any]:
        half = len(operands) // 2
        dtypes = regions[0].output_dtypes
        return reduction.reduce_window(
            _promoted(operands[:half], dtypes),
            _promoted(operands[half:], dtypes),
            RegionComputation(regions[0], frame),
            window_dimensions=window_dimensions,
            window_strides=window_strides,
            base_dilations=base_dilations,
            window_dilations=window_dilations,
            padding=padding,
        )

    return execute


def _select_and_scatter(reader: OpReader, regions: Sequence[Block]) -> Execute:
    window_dimensions = reader.ints("window_dimensions")
    window_strides = reader.ints("window_strides")
    padding = reader.matrix("padding")

    def execute(frame: Frame, operands: Sequence[Any]) -> Sequence[Any]:
        operand = operands[0]
        source, init_value = _promoted(operands[1:], regions[1].output_dtypes * 2)
        result = reduction.select_and_scatter(
            operand,
            source,
            init_value,
            RegionComputation(regions[0], frame),
            RegionComputation(regions[1], frame),
            window_dimensions=window_dimensions,
            window_strides=window_strides,
            padding=padding,
        )
        return (result,)

    return execute


def _scatter(reader: OpReader, regions: Sequence[Block]) -> Execute:
    numbers = reader.scatter_numbers("scatter_dimension_numbers")

    def execute(frame: Frame, operands: Sequence[Any]) -> Sequence[Any]:
        count = (len(operands) - 1) // 2
        dtypes = regions[0].output_dtypes
        return scatter(
            _promoted(operands[:count], dtypes),
            operands[count],
            _promoted(operands[count + 1 :], dtypes),
            RegionComputation(regions[0], frame),
            scatter_dimension_numbers=numbers,
        )

    return execute


def _sort(reader: OpReader, regions: Sequence[Block]) -> Execute:
    dimension = reader.integer_or("dimension", -1)

    def execute(frame: Frame, operands: Sequence[Any]) -> Sequence[Any]:
        return sorting.sort(operands, RegionComputation(regions[0], frame), dimension=dimension)

    return execute


def _map(reader: OpReader, regions: Sequence[Block]) -> Execute:
    del reader

    def execute(frame: Frame, operands: Sequence[Any]) -> Sequence[Any]:
        return reduction.map_(operands, RegionComputation(regions[0], frame))

    return execute


def _scan(reader: OpReader, regions: Sequence[Block]) -> Execute:
    dimension = reader.integer("dimension")
    is_reverse = reader.boolean("is_reverse")
    segments = reader.ints("operandSegmentSizes")
    if segments is None:
        raise reader.unsupported("expected operandSegmentSizes")
    count = segments[0]
    steps = reader.integer_or("scan_dim_size", -1)
    results = len(reader.op.results)

    def execute(frame: Frame, operands: Sequence[Any]) -> Sequence[Any]:
        extent = operands[0].shape[dimension] if count else steps
        inits = operands[count:]
        if extent == 0:
            empty = [
                np.zeros(reader.result_shape(index=index), reader.result_dtype(index=index))
                for index in range(results - len(inits))
            ]
            return (*empty, *inits)
        return reduction.scan(
            operands[:count],
            inits,
            lambda *values: regions[0].run(frame, values),
            dimension=dimension,
            steps=extent,
            is_reverse=is_reverse,
        )

    return execute


def _while(reader: OpReader, regions: Sequence[Block]) -> Execute:
    del reader
    condition, body = regions

    def execute(frame: Frame, operands: Sequence[Any]) -> Sequence[Any]:
        carries = operands
        while bool(condition.run(frame, carries)[0]):
            carries = body.run(frame, carries)
        return carries

    return execute


def _if(reader: OpReader, regions: Sequence[Block]) -> Execute:
    del reader

    def execute(frame: Frame, operands: Sequence[Any]) -> Sequence[Any]:
        return regions[0 if bool(operands[0]) else 1].run(frame, ())

    return execute


def _case(reader: OpReader, regions: Sequence[Block]) -> Execute:
    del reader

    def execute(frame: Frame, operands: Sequence[Any]) -> Sequence[Any]:
        index = int(operands[0])
        chosen = index if 0 <= index < len(regions) else len(regions) - 1
        return regions[chosen].run(frame, ())

    return execute


def _fusion(reader: OpReader, regions: Sequence[Block]) -> Execute:
    del reader
    return regions[0].run


def _async_start(reader: OpReader, regions: Sequence[Block]) -> Execute:
    """The future is the tuple of results: one process has nothing to wait for."""
    del reader
    return lambda frame, operands: (tuple(regions[0].run(frame, operands)),)


REGION_OPERATIONS: dict[str, RegionBuilder] = {
    "hlo.async_start": _async_start,
    "hlo.case": _case,
    "hlo.fusion": _fusion,
    "hlo.if": _if,
    "hlo.map": _map,
    "hlo.reduce": _reduce,
    "hlo.reduce_window": _reduce_window,
    "hlo.scan": _scan,
    "hlo.scatter": _scatter,
    "hlo.select_and_scatter": _select_and_scatter,
    "hlo.sort": _sort,
    "hlo.while": _while,
}
