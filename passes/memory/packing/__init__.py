"""Packing: live ranges and sizes in, offsets in one arena out. No IR.

>>> from hlo.passes.memory.packing import Buffer, pack
>>> pack([Buffer("a", 0, 2, 64), Buffer("b", 1, 3, 64), Buffer("c", 2, 4, 64)]).height
128
"""

from __future__ import annotations

from hlo.passes.memory.packing.borrow import Lender, Loan, borrow
from hlo.passes.memory.packing.bound import lower_bound
from hlo.passes.memory.packing.model import (
    Buffer,
    BufferId,
    InvalidBufferError,
    InvalidPlacementError,
    Placement,
)
from hlo.passes.memory.packing.pack import Strategy, pack
from hlo.passes.memory.packing.validator import check_placement

__all__ = [
    "Buffer",
    "BufferId",
    "InvalidBufferError",
    "InvalidPlacementError",
    "Lender",
    "Loan",
    "Placement",
    "Strategy",
    "borrow",
    "check_placement",
    "lower_bound",
    "pack",
]
