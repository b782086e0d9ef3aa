"""Turns every op of the dialect into the core ops that kernels are made of."""

from __future__ import annotations

from hlo.passes.base import Pass
from hlo.passes.legalize.inline_calls import InlineCalls

PIPELINE: tuple[Pass, ...] = (InlineCalls(),)
