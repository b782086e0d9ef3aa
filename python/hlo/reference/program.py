"""Blocks of a module prepared for evaluation: attributes read once, values numbered, lifetimes
known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hlo.reference.computation import elementwise
from hlo.reference.element_types import Array, DType

# Values of one call of a function, by number: arrays, tuples of them, and () for tokens.
Frame = list[Any]
Execute = Callable[[Frame, Sequence[Any]], Sequence[Any]]


@dataclass(frozen=True)
class Step:
    """One operation: reads operands from the frame, writes results to it, forgets what nobody reads
    again.
    """

    execute: Execute
    operands: tuple[int, ...]
    results: tuple[int, ...]
    dead: tuple[int, ...] = ()


@dataclass(frozen=True)
class Block:
    """A straight line of steps.

    `operation` names the one operation a block consists of, if it is that of its first two
    arguments in order. `scalar` says that every value is a rank-0 tensor and every operation
    elementwise.
    """

    arguments: tuple[int, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    output_dtypes: tuple[DType | None, ...]
    operation: str | None
    scalar: bool

    def run(self, frame: Frame, arguments: Sequence[Any]) -> list[Any]:
        """Values of the terminator's operands for these block arguments."""
        for slot, value in zip(self.arguments, arguments, strict=True):
            frame[slot] = value
        for step in self.steps:
            results = step.execute(frame, [frame[slot] for slot in step.operands])
            for slot, value in zip(step.results, results, strict=True):
                frame[slot] = value
            for slot in step.dead:
                frame[slot] = None
        return [frame[slot] for slot in self.outputs]


class RegionComputation:
    """A region of a running function as a computation: elementwise on whole arrays where the block
    allows.
    """

    def __init__(self, block: Block, frame: Frame) -> None:
        self._block = block
        self._frame = frame
        self._by_position = elementwise(self._run, block.output_dtypes)

    @property
    def operation(self) -> str | None:
        """Name of the one operation the region applies to its two arguments, if so."""
        return self._block.operation

    def _run(self, *arguments: Array) -> Sequence[Array]:
        return self._block.run(self._frame, arguments)

    def __call__(self, *arguments: Array) -> Sequence[Array]:
        if not self._block.scalar:
            return self._by_position(*arguments)
        shape = np.broadcast_shapes(*(np.shape(x) for x in arguments))
        return [np.broadcast_to(x, shape) for x in self._run(*arguments)]


@dataclass(frozen=True)
class Function:
    """A function of a module: its body, the size of its frame, and its argument and result
    types.
    """

    name: str
    body: Block
    frame_size: int
    argument_types: tuple[Any, ...]

    def __call__(self, arguments: Sequence[Any]) -> list[Any]:
        return self.body.run([None] * self.frame_size, arguments)
