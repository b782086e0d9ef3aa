"""What stays in which cache: the sizes that kernels and decisions about them count on."""

from __future__ import annotations

import math

from hlo.executable import runtime
from hlo.passes.cost.machine import HOST, L1, L2, L3
from hlo.passes.hlo_to_loops.graph import Node

# What stays in the first-level cache from one pass over it to the next, beside other things.
NEAR_BYTES = HOST.levels[L1].capacity // 2
# What stays in a core's own cache from one pass over it to the next.
CORE_BYTES = HOST.levels[L2].capacity
# What is found in the cache that cores share by whoever reads it next: others use it too.
SHARED_BYTES = HOST.levels[L3].capacity // 2
# Lines a multiple of this apart share a set of the first-level cache.
ALIASING_BYTES = 4 << 10
# Beyond this what is folded down columns comes from memory: long runs of each row are taken.
FAR_BYTES = 8 << 20
NEAR_COLUMNS, FAR_COLUMNS = 512, 8 << 10  # bytes of a row that are folded together


# Processors whose cores have a larger cache of their own, by LLVM's names, and its size.
_LARGE_CORES = ("sapphirerapids", "emeraldrapids", "graniterapids")
_LARGE_CORE_BYTES = 2 << 20


def own_cache_bytes() -> int:
    """What stays in the own cache of a core of this machine from one call to the next: more than
    `CORE_BYTES` where it has more.
    """
    return _LARGE_CORE_BYTES if runtime.host_cpu().startswith(_LARGE_CORES) else CORE_BYTES


def runs_stay_in_cache(fold: Node) -> bool:
    """Whether what a `reduce` reads for one run of its loops is still cached when it is done.

    Elements that lie side by side are folded row by row; where the minor dimension is kept, a few
    columns are folded down all rows at a time.
    """
    operand, folded = fold.operands[0], fold.attributes["dimensions"]
    count = math.prod(operand.shape[d] for d in folded)
    minor = max((d for d in folded if operand.shape[d] != 1), default=-1)
    element = operand.type.memory_bytes
    run = math.prod(operand.shape[minor + 1 :]) * element
    if run > element:
        run = min(run, NEAR_COLUMNS if operand.size * element < FAR_BYTES else FAR_COLUMNS)
    return count * run <= CORE_BYTES // 2
