"""Vector instructions of the host that no op of MLIR stands for.

Each function gives None where the host has no such instruction or the values are not vectors of
its registers' widths: the caller then computes the same by other ops. Vectors of several registers
take as many instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from hlo.executable import runtime
from hlo.passes.hlo_to_loops.builder import Builder
from hlo.passes.hlo_to_loops.elementwise.numeric import Bits, Mask, Real

_REGISTER_BITS = (128, 256, 512)
_WIDEST = _REGISTER_BITS[-1]


@cache
def host_features() -> frozenset[str]:
    """What LLVM's names for the host's features say it has."""
    features = runtime.host_features().split(",")
    return frozenset(name[1:] for name in features if name.startswith("+"))


def _has_avx512(x: Real) -> bool:
    bits = x.b.lanes * x.width
    if not x.b.is_for_host or (bits not in _REGISTER_BITS and (bits % _WIDEST or not bits)):
        return False
    return {"avx512f", "avx512vl"} <= host_features()


def scale_by(x: Real, exponent: Real) -> Real | None:
    """x * 2**floor(exponent), rounded once: infinite, zero and subnormal as it comes (vscalef)."""
    if not _has_avx512(x):
        return None
    return _masked("scalef", x, [(x.name, None), (exponent.name, None), (x.name, None)])


def can_scale_some(x: Real) -> bool:
    """Whether `scale_some` works at the width of `x`."""
    return _has_avx512(x) and min(x.b.lanes, _WIDEST // x.width) >= _FEWEST_BITS


def scale_some(x: Real, exponent: Real, mask: Mask) -> Real:
    """As scale_by where `mask` holds, 0 elsewhere.

    What elsewhere would be subnormal or round to 0 costs nothing: some processors take 200 cycles
    for such a result, whatever is done with it.
    """
    operands: list[Operand] = [(x.name, None), (exponent.name, None), (x.lift(0.0).name, None)]
    return _masked("scalef", x, operands, mask)


def split_exponent(x: Real) -> tuple[Real, Real] | None:
    """(m, e) with |x| = m * 2**e and m in [1, 2), for finite x other than 0; x may be subnormal
    (vgetmant, vgetexp).
    """
    if not _has_avx512(x):
        return None
    mantissa = _masked("getmant", x, [(x.name, None), (0, "i32"), (x.name, None)])
    return mantissa, _masked("getexp", x, [(x.name, None), (x.name, None)])


def extremum(x: Real, y: Real, *, largest: bool) -> Real | None:
    """The larger or smaller of two numbers, -0 below +0; the number where one is NaN (vrange)."""
    if not _has_avx512(x) or "avx512dq" not in host_features():
        return None
    choice = 0b0100 | largest  # the sign is the chosen operand's
    operands: list[Operand] = [(x.name, None), (y.name, None), (choice, "i32"), (x.name, None)]
    return _masked("range", x, operands)


def fix_up(result: Real, operand: Real, answers: Mapping[str, str]) -> Real | None:
    """`result`, or what `answers` says for the class of the operand (vfixupimm).

    Args:
        answers: from names of `_CLASSES` to names of `_ANSWERS`.
    """
    if not _has_avx512(result):
        return None
    b, kind = result.b, f"i{result.width}"
    table = sum(_ANSWERS[answer] << 4 * _CLASSES[name] for name, answer in answers.items())
    operands: list[Operand] = [(result.name, None), (operand.name, None)]
    operands += [(b.constant(table, kind), kind), (0, "i32")]
    return _masked("fixupimm", result, operands)


def can_look_up(x: Real) -> bool:
    """Whether look_up works at the width of `x`, a vector or a scalar."""
    b = x.b
    fits = b.is_for_host and not x.is_double
    fits = fits and (b.lanes <= _ENTRIES or b.lanes % _ENTRIES == 0)
    return fits and "avx512f" in host_features()


def look_up(places: Bits, table: Sequence[float]) -> Real:
    """table[place % size] for an `f32` table of 16 entries (vpermps), or 32 (vpermi2ps), and places
    in `i32`.
    """
    b, lanes = places.b, places.b.lanes
    if lanes > _ENTRIES:
        found = _each_register(
            b, _ENTRIES, "f32", [(places.name, "i32")],
            lambda names: look_up(places.of(names[0]), table).name,
        )  # fmt: skip
        return Real(b, found, "f32")
    with b.width(_ENTRIES):
        held = [b.table(table[i : i + _ENTRIES], "f32") for i in range(0, len(table), _ENTRIES)]
        kind, floats = b.type_of("i32"), b.type_of("f32")
    name = places.name
    if not lanes:
        name = b.op(f"vector.broadcast {name} : i32 to {kind}")
    elif lanes < _ENTRIES:
        order = ", ".join(str(i % lanes) for i in range(_ENTRIES))
        narrow = b.type_of("i32")
        name = b.op(f"vector.shuffle {name}, {name} [{order}] : {narrow}, {narrow}")
    instruction, operands = "permvar.sf", [(held[0], floats), (name, kind)]
    if len(held) > 1:
        instruction, operands = "vpermi2var.ps", [*operands, (held[1], floats)]
    names, types = (", ".join(part) for part in zip(*operands, strict=True))
    found = b.op(
        f'llvm.call_intrinsic "llvm.x86.avx512.{instruction}.512"({names}) : ({types}) -> {floats}'
    )
    if not lanes:
        found = b.op(f"vector.extract {found}[0] : f32 from {floats}")
    elif lanes < _ENTRIES:
        order = ", ".join(str(i) for i in range(lanes))
        found = b.op(f"vector.shuffle {found}, {found} [{order}] : {floats}, {floats}")
    return Real(b, found, "f32")


_FEWEST_BITS = 8  # of a mask
_ENTRIES = 16  # of a look-up: the lanes of a register
_CLASSES = {
    "quiet nan": 0,
    "signaling nan": 1,
    "zero": 2,
    "one": 3,
    "-inf": 4,
    "inf": 5,
    "negative": 6,
    "positive": 7,
}
_ANSWERS = {"result": 0, "operand": 1, "quieted operand": 2, "nan": 3, "-inf": 4, "inf": 5}

# A vector's SSA name or an immediate, and the element type if that is not the result's.
Operand = tuple[str | int, str | None]


def _masked(
    name: str, x: Real, operands: Sequence[Operand], mask: Mask | None = None
) -> Real:  # fmt: skip
    """An instruction of AVX-512; `x` is a value of the result's type.

    Args:
        mask: the lanes that it computes, of others it gives the last operand's; all if None.
    """
    b, scalar = x.b, x.scalar
    vectors = [(value, kind or scalar) for value, kind in operands if isinstance(value, str)]
    if mask is not None:
        vectors.append((mask.name, "i1"))

    def emit(names: Sequence[str]) -> str:
        bits, vector = b.lanes * x.width, b.type_of(scalar)
        given = iter(names)
        typed = [
            (next(given), b.type_of(kind or scalar)) if isinstance(value, str) else (value, kind)
            for value, kind in operands
        ]
        typed.append((-1, f"i{max(b.lanes, _FEWEST_BITS)}"))
        if mask is not None:
            kind = f"i{b.lanes}"
            chosen = b.op(f"llvm.bitcast {next(given)} : {b.type_of('i1')} to {kind}")
            typed[-1] = (chosen, kind)
        if bits == _WIDEST:
            typed.append((4, "i32"))  # rounds as the environment says
        with b.width(0):
            held = [v if isinstance(v, str) else b.constant(v, t or "i32") for v, t in typed]
        types = ", ".join(kind or vector for _, kind in typed)
        letter = "d" if x.is_double else "s"
        return b.op(
            f'llvm.call_intrinsic "llvm.x86.avx512.mask.{name}.p{letter}.{bits}"'
            f"({', '.join(held)}) : ({types}) -> {vector}"
        )

    return x.of(_each_register(b, min(b.lanes, _WIDEST // x.width), scalar, vectors, emit))


def _each_register(
    b: Builder, lanes: int, scalar: str, vectors: Sequence[tuple[str, str]],
    emit: Callable[[Sequence[str]], str],
) -> str:  # fmt: skip
    """Emits an instruction of `lanes` lanes for each part of vectors of so many or more.

    Args:
        scalar: element type of the results, which are joined.
        vectors: (SSA name, element type) of each operand.
    """
    total = b.lanes
    if total == lanes:
        return emit([name for name, _ in vectors])
    parts: list[str] = []
    for start in range(0, total, lanes):
        names = [b.part(name, kind, start, lanes) for name, kind in vectors]
        with b.width(lanes):
            parts.append(emit(names))
    return b.join(parts, scalar, lanes)
