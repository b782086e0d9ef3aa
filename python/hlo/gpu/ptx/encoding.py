"""What the interpreter takes: the numbers behind `runtime/emulator/machine.h`."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TypeAlias

LANES = 32
SHARED_BASE = 1024
SHARED_WINDOW = 1 << 60
LOCAL_WINDOW = 1 << 61
PARAMETER_WINDOW = 1 << 62


class Control(enum.IntEnum):
    NEXT = 0
    BRANCH = 1
    BRANCH_TABLE = 2
    CALL = 3
    RETURN = 4
    EXIT = 5
    COLLECTIVE = 6
    BARRIER = 7
    ARRIVE = 8
    TRAP = 9
    AWAIT = 10


class Flag(enum.IntFlag):
    FLUSH_SUBNORMALS = 1
    SATURATE = 2
    TRANSPOSED = 8
    COMBINE_AND = 16
    COMBINE_OR = 32
    COMBINE_XOR = 64
    COMBINE_NEGATED = 128
    SECOND_RESULT = 256
    RELU = 512
    FINITE_ONLY = 1024


class Space(enum.IntEnum):
    GENERIC = 0
    GLOBAL = 1
    SHARED = 2
    LOCAL = 3
    PARAMETER = 4


TYPES = (
    "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "f16", "bf16", "f32", "f64",
    "f16x2", "bf16x2", "b8", "b16", "b32", "b64",
)  # fmt: skip
ATOMICS = ("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec")
ROUNDINGS = ("rn", "rz", "rm", "rp", "rna")
SPECIALS = (
    "tid.x", "tid.y", "tid.z", "ntid.x", "ntid.y", "ntid.z", "ctaid.x", "ctaid.y", "ctaid.z",
    "nctaid.x", "nctaid.y", "nctaid.z", "laneid", "warpid", "nwarpid", "lanemask_eq",
    "lanemask_lt", "lanemask_le", "lanemask_gt", "lanemask_ge", "dynamic_smem_size",
    "total_smem_size", "clock",
)  # fmt: skip

Place: TypeAlias = tuple[int, int]
"""Offset into the registers, ~offset into the constants; and bytes a lane, 0 for a predicate."""

UNWANTED: Place = (0, -1)


@dataclass(frozen=True)
class Detail:
    """Fields of `Instruction::detail`."""

    bytes: int = 0
    is_signed: bool = False
    space: Space = Space.GENERIC
    type: str = "s8"
    source: str = "s8"
    rounding: str = "rn"
    integral: bool = False
    operation: str = "add"

    @property
    def packed(self) -> int:
        return (
            self.bytes
            | int(self.is_signed) << 6
            | int(self.space) << 7
            | TYPES.index(self.type) << 10
            | TYPES.index(self.source) << 15
            | ROUNDINGS.index(self.rounding) << 20
            | int(self.integral) << 23
            | ATOMICS.index(self.operation) << 24
        )


@dataclass(frozen=True)
class Encoded:
    """An instruction for the interpreter.

    Attributes:
        handler: its name in `hlo_native._emulator.handlers()`; empty for pure control flow.
        members: the operand that names the lanes of a collective, -1 for all of the warp.
        aligned: all lanes of the warp must be there.
        target: label, or name of a function.
        table: name of a branch table.
    """

    handler: str
    operands: tuple[Place, ...] = ()
    flags: int = 0
    detail: Detail | None = None
    immediate: int = 0
    control: Control = Control.NEXT
    members: int = -1
    aligned: bool = False
    target: str = ""
    table: str = ""
