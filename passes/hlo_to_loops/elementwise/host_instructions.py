"""Vector instructions of the host that no op of MLIR stands for.

Each function gives None where the host has no such instruction or the values are not vectors of
its registers' widths: the caller then computes the same by other ops.
"""

from __future__ import annotations

from functools import cache

from hlo.executable import runtime
from hlo.passes.hlo_to_loops.elementwise.numeric import Real

_REGISTER_BITS = (128, 256, 512)


@cache
def host_features() -> frozenset[str]:
    """What LLVM's names for the host's features say it has."""
    features = runtime.host_features().split(",")
    return frozenset(name[1:] for name in features if name.startswith("+"))


def _has_avx512(x: Real) -> bool:
    bits = x.b.lanes * x.width
    return bits in _REGISTER_BITS and {"avx512f", "avx512vl"} <= host_features()


def scale_by(x: Real, exponent: Real) -> Real | None:
    """x * 2**floor(exponent), rounded once: infinite, zero and subnormal as it comes (vscalef)."""
    if not _has_avx512(x):
        return None
    b, bits = x.b, x.b.lanes * x.width
    vector, mask_bits = b.type_of(x.scalar), max(x.b.lanes, 8)
    letter = "d" if x.is_double else "s"
    with b.width(0):
        everywhere = b.constant(-1, f"i{mask_bits}")
        operands, types = [x.name, exponent.name, x.name, everywhere], [vector] * 3
        types.append(f"i{mask_bits}")
        if bits == 512:
            operands.append(b.constant(4, "i32"))  # rounds as the environment says
            types.append("i32")
    text = (
        f'llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.p{letter}.{bits}"'
        f"({', '.join(operands)}) : ({', '.join(types)}) -> {vector}"
    )
    return x.of(b.op(text))
