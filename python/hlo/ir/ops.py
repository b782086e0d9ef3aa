"""One class an operation, generated from the dialect's definition: ``AddOp``, ``DotGeneralOp``, and
functions ``add``, ``dot_general`` that build one and give its results.
"""

from __future__ import annotations

from hlo_native._hlo_ops_gen import *  # noqa: F403  # pyright: ignore[reportMissingImports] (made by the build)
