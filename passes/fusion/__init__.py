"""Fusion: which ops become one kernel, and why."""
