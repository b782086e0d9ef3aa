"""All operations that random programs are grown from."""

from __future__ import annotations

from collections.abc import Callable

from fuzzing import (
    contractions,
    control,
    elementwise,
    foldings,
    indexing,
    operations,
    whole_program,
)
from fuzzing.programs import Grower

MAKERS: list[Callable[[Grower], None]] = [
    *(operations.unary, operations.transcendental, operations.binary) * 4,
    *(operations.binary, operations.broadcast, operations.reduce) * 2,
    *operations.MAKERS,
    *elementwise.MAKERS,
    *contractions.MAKERS,
    *foldings.MAKERS,
    *indexing.MAKERS,
    *control.MAKERS,
    *whole_program.MAKERS,
]
"""Drawn from evenly: elementwise operations have many names, so they are here more than once."""
