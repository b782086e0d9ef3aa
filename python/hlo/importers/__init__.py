"""Programs from elsewhere: StableHLO in every form, and functions traced by JAX."""

from __future__ import annotations

from hlo.importers.program import load_program
from hlo.importers.stablehlo import export_stablehlo, from_jax, import_stablehlo

__all__ = ["export_stablehlo", "from_jax", "import_stablehlo", "load_program"]
