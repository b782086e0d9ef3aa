"""What is stored of a host program beside its code: its signature, counts and sizes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hlo import ir
from hlo.driver.made_program import MadeProgram
from hlo.driver.statistics import ProgramStatistics
from hlo.executable import runtime
from hlo.passes.hlo_to_host.program import HostProgram


def signature_of(host: HostProgram) -> runtime.Signature:
    """Arguments and results of a program."""
    donated = set(host.donated.values())
    return runtime.Signature(
        tuple(
            runtime.Argument(f"argument {i}", ir.types.to_dtype(name), shape, i in donated)
            for i, (shape, name) in enumerate(host.argument_types)
        ),
        tuple(
            runtime.Result(ir.types.to_dtype(name), shape, host.donated.get(i))
            for i, (shape, name) in enumerate(host.result_types)
        ),
    )


def statistics_of(made: MadeProgram, kernels: int, distinct_kernels: int) -> ProgramStatistics:
    """Counts and sizes, without times.

    Args:
        kernels, distinct_kernels: as `ProgramStatistics` has them.
    """
    host = made.host
    sizes = [_bytes(shape, name) for shape, name in host.result_types]
    return ProgramStatistics(
        kernels=kernels,
        distinct_kernels=distinct_kernels,
        arena_bytes=made.arena.bytes,
        argument_bytes=sum(_bytes(shape, name) for shape, name in host.argument_types),
        result_bytes=sum(sizes),
        alias_bytes=sum(sizes[i] for i in host.donated),
    )


def _bytes(shape: Sequence[int], name: str) -> int:
    return int(np.prod(shape, dtype=np.int64)) * ir.types.to_dtype(name).itemsize
