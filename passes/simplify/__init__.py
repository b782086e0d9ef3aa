"""Simplifies programs of core ops without changing what they compute."""

from __future__ import annotations

from hlo.passes.base import Pass

PIPELINE: tuple[Pass, ...] = ()
"""The passes of simplification, in order."""
