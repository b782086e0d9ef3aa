"""Asks for the rows of queries, keys and values that an attention reads next.

Rows of a head that are parts of longer rows are a few lines each, on pages of their own: the
processor fetches none of them before they are asked for, and packing them waits for memory. While
the products of one block of rows are computed, each register tile asks for a few lines of the next
block's queries and, block by block, for all of the next head's keys and values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.attention_emission import AttentionEmission, at
from hlo.passes.hlo_to_loops.attention_parts import Operand
from hlo.passes.hlo_to_loops.emitter import LINE_BYTES

MOST_ROWS = 4  # of an operand, that a tile asks for


@dataclass(frozen=True)
class Rows:
    """Rows of an operand, contiguous in memory, to be asked for during one block of rows.

    Attributes:
        name: the variable of the operand that counts rows; `column` the one along them.
        width: elements of a row.
        first: the first row, of `count`; `extent`: how many the operand has.
        where: the operand's other variables.
    """

    operand: Operand
    name: str
    column: str
    width: int
    first: Affine
    count: int
    extent: int
    where: Mapping[str, Affine]


def is_fetched(rows: Rows) -> bool:
    """Whether rows are contiguous, so that a few lines are all of one."""
    return rows.operand.offset.coefficient(rows.column) == 1


def fetch_rows(emission: AttentionEmission, rows: Rows, tile: Affine, tiles: int) -> None:
    """A tile's part of what is asked for.

    Args:
        tile: its number.
        tiles: how many there are in a block of rows, on average.
    """
    em, b = emission.em, emission.b
    share = min(-(-rows.count // tiles), MOST_ROWS)
    buffer = emission.inputs[rows.operand.tensor]
    with b.when(b.op(f"arith.cmpi ult, {em.index(tile * share)}, {b.index(rows.count)} : index")):
        for i in range(share):
            row = em.index(rows.first + tile * share + i)
            row = b.op(f"arith.minui {row}, {b.index(rows.extent - 1)} : index")
            place = {**rows.where, rows.name: em.name_index(row, rows.extent)}
            for column in range(0, rows.width, LINE_BYTES // buffer.type.memory_bytes):
                offset = at(rows.operand.offset, {**place, rows.column: Affine((), column)})
                b.effect(
                    f"memref.prefetch {buffer.name}[{em.index(offset)}], read, locality<2>, data : "
                    f"{buffer.memref}"
                )
