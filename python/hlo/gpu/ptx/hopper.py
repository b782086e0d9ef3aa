"""What sm_90 and sm_90a add to PTX: barriers in memory, bulk copies of tiles, warpgroup products.

The handlers are in runtime/emulator: `phases.cpp`, `warpgroup_products.cpp`.
"""

from __future__ import annotations

import re

from hlo.gpu.ptx.encoding import Control, Encoded, Place
from hlo.gpu.ptx.places import Places, unknown
from hlo.gpu.ptx.syntax import Address, Instruction, Integer, Vector

FACTORS = ("f16", "bf16", "tf32", "s8", "u8", "e4m3", "e5m2")
_SHAPE = re.compile(r"m64n(\d+)k(\d+)")
HELD_WORDS = 4  # of a left operand in registers, a thread's
_BYTES = {"f16": 2, "bf16": 2, "tf32": 4}


def packed_multiply(
    columns: int, total: str, left: str, right: str, turned: tuple[bool, bool], held: bool
) -> int:
    """An instruction as `unpackWarpgroupMultiply` of runtime/emulator/warpgroup.h reads it.

    Args:
        total: f32 or s32.
        left, right: of `FACTORS`.
        turned: whether lines of an operand's tile are along its side.
        held: whether the left operand is in registers.
    """
    return (
        columns
        | FACTORS.index(left) << 9
        | FACTORS.index(right) << 13
        | int(total == "s32") << 17
        | int(turned[0]) << 18
        | int(turned[1]) << 19
        | int(held) << 20
    )


def multiply_of(words: tuple[str, ...], tail: tuple[int, ...], *, held: bool = False) -> int | None:
    """A `wgmma.mma_async` by its words and the numbers after its predicate; None if not known.

    Args:
        held: whether the left operand is in registers: only the right one can be turned then.
    """
    shape = _SHAPE.fullmatch(words[4]) if len(words) == 8 else None
    if shape is None:
        return None
    total, left, right = words[5:]
    if left not in FACTORS or right not in FACTORS:
        return None
    columns, depth = map(int, shape.groups())
    integral = left in ("s8", "u8")
    width = _BYTES.get(left, 1)
    known = depth * width == 32 and width == _BYTES.get(right, 1) and 8 <= columns <= 256
    if not known or columns % 8 or total != ("s32" if integral else "f32"):
        return None
    scales = () if integral else tail[:2]
    turns = tail[2:] if width == 2 else ()
    if len(turns) != (0 if width != 2 else 1 if held else 2):
        return None
    if any(scale != 1 for scale in scales) or len(tail) != len(scales) + len(turns):
        return None
    turned = (bool(turns[0]) and not held, bool(turns[-1])) if turns else (False, False)
    return packed_multiply(columns, total, left, right, turned, held)


def warpgroup(instruction: Instruction, places: Places) -> Encoded:
    """`wgmma`."""
    words = instruction.opcode
    if words[1] in ("fence", "commit_group", "wait_group"):
        groups = instruction.operands[0] if instruction.operands else Integer(0)
        if not isinstance(groups, Integer):
            raise unknown(instruction)
        return Encoded(
            f"wgmma.{words[1]}", immediate=groups.value, control=Control.COLLECTIVE, aligned=True
        )
    sums, left, right, adds, *rest = instruction.operands
    numbers = tuple(n.value for n in rest if isinstance(n, Integer))
    held = isinstance(left, Vector)
    packed = multiply_of(words, numbers, held=held)
    if packed is None or len(numbers) != len(rest) or not isinstance(sums, Vector):
        raise unknown(instruction)
    if len(sums.elements) != (packed & 0x1FF) // 2:
        raise unknown(instruction)
    if held and len(left.elements) != HELD_WORDS:
        raise unknown(instruction)
    factors = [places.value(one, 4) for one in left.elements] if held else [places.value(left, 8)]
    return Encoded(
        "wgmma",
        (
            *map(places.result, sums.elements),
            *factors,
            places.value(right, 8),
            places.value(adds, 0),
        ),
        immediate=packed,
        control=Control.COLLECTIVE,
    )


def memory_barrier(instruction: Instruction, places: Places) -> Encoded:
    """`mbarrier`, of the own block's shared memory, counting arrivals and bytes."""
    words = instruction.opcode
    if "shared::cluster" in words or words[-1] != "b64":
        raise unknown(instruction)
    if words[1] == "init":
        base, offset = places.address(instruction.operands[0])
        count = places.value(instruction.operands[1], 4)
        return Encoded("mbarrier.init", (base, count), immediate=offset)
    if words[1] == "arrive" and "noComplete" not in words:
        state, where, *more = instruction.operands
        if getattr(state, "text", "") != "_" or (more and "expect_tx" not in words):
            raise unknown(instruction)
        base, offset = places.address(where)
        values = (places.value(one, 4) for one in more)
        return Encoded("mbarrier.arrive", (base, *values), immediate=offset)
    if words[1] == "try_wait" and "parity" in words:
        done, where, parity, *_ = instruction.operands
        base, offset = places.address(where)
        return Encoded(
            "mbarrier.wait", (places.result(done), base, places.value(parity, 4)),
            immediate=offset, control=Control.AWAIT,
        )  # fmt: skip
    raise unknown(instruction)


def bulk_copy(instruction: Instruction, places: Places) -> Encoded:
    """`cp.async.bulk.tensor` from global to shared memory, by tiles."""
    words = instruction.opcode
    kinds = {"global", "tile", "mbarrier::complete_tx::bytes"}
    spaces = {"shared::cluster", "shared::cta"}
    if words[3] != "tensor" or not kinds <= {*words, "tile"} or words[5] not in spaces:
        raise unknown(instruction)
    if set(words[5:]) - kinds - spaces or len(instruction.operands) != 3:
        raise unknown(instruction)
    target, source, barrier = instruction.operands
    if not isinstance(source, Address) or source.offset or not source.coordinates:
        raise unknown(instruction)
    to, to_offset = places.address(target)
    counted, counted_offset = places.address(barrier)
    coordinates: list[Place] = [places.value(one, 4) for one in source.coordinates]
    return Encoded(
        "cp.async.bulk.tensor", (to, places.address(source)[0], counted, *coordinates),
        immediate=counted_offset << 32 | to_offset & 0xFFFFFFFF,
    )  # fmt: skip


_OTHER_BLOCKS = ("gpu", "sys", "gl")  # scopes of fences that order blocks; `membar` has the last


def fence(instruction: Instruction, places: Places) -> Encoded:
    """Fences to what is asynchronous, or to other blocks; the interpreter keeps other orders."""
    del places
    words = instruction.opcode
    if words[1] == "mbarrier_init" or words[1:3] == ("proxy", "async"):
        return Encoded("fence.proxy")
    return Encoded("fence" if words[-1] in _OTHER_BLOCKS else "nop")
