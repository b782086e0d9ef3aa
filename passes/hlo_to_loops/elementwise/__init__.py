"""Elementwise ops as straight-line `arith` and `math` text at any vector width
(docs/architecture.md).
"""

from __future__ import annotations

from hlo.passes.hlo_to_loops.elementwise.basic_ops import BASIC_EMITTERS
from hlo.passes.hlo_to_loops.elementwise.comparison import compare, select
from hlo.passes.hlo_to_loops.elementwise.convert import convert
from hlo.passes.hlo_to_loops.elementwise.storage import constant, pack, unpack
from hlo.passes.hlo_to_loops.elementwise.table import Emitter
from hlo.passes.hlo_to_loops.elementwise.transcendental_ops import TRANSCENDENTAL_EMITTERS

EMITTERS: dict[str, Emitter] = {**BASIC_EMITTERS, **TRANSCENDENTAL_EMITTERS}

__all__ = ["EMITTERS", "Emitter", "compare", "constant", "convert", "pack", "select", "unpack"]
