"""How to compute one element of each op that is not elementwise, a family a file."""

from hlo.passes.hlo_to_loops.elemental import (
    contractions,
    indexing,
    interior_padding,
    reductions,
    reshaping,
)

__all__ = ["contractions", "indexing", "interior_padding", "reductions", "reshaping"]
