"""Collective operations as one process sees them that is the only one: replica 0 of partition 0.

A group of one reduces, gathers and exchanges nothing. Groups that name other processes cannot be
evaluated here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hlo.reference.element_types import Array


def replica_id() -> Array:
    """0."""
    return np.asarray(0, np.uint32)


def partition_id() -> Array:
    """0."""
    return np.asarray(0, np.uint32)


def is_alone(replica_groups: Sequence[Sequence[int]]) -> bool:
    """Whether no group holds process 0 together with another (-1 pads short groups)."""
    for group in replica_groups:
        members = {member for member in group if member >= 0}
        if 0 in members and len(members) > 1:
            return False
    return True


def collective_permute(operand: Array, *, source_target_pairs: Sequence[Sequence[int]]) -> Array:
    """The operand if process 0 sends to itself, else zeros: nobody sends to it."""
    sends = any(tuple(pair) == (0, 0) for pair in source_target_pairs)
    return operand if sends else np.zeros(operand.shape, operand.dtype)


def collective_broadcast(operand: Array, *, replica_groups: Sequence[Sequence[int]]) -> Array:
    """The operand if process 0 is in a group, else zeros."""
    member = any(0 in group for group in replica_groups)
    return operand if member else np.zeros(operand.shape, operand.dtype)
