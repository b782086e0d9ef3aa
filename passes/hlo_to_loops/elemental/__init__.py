"""How to compute one element of each op that is not elementwise, a family a file."""

from hlo.passes.hlo_to_loops.elemental import contractions, indexing, reductions, reshaping

__all__ = ["contractions", "indexing", "reductions", "reshaping"]
