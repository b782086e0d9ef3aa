"""hlo: a tensor compiler that people can read and change in Python, on MLIR.

    import hlo
    import hlo.numpy as hnp

    @hlo.jit
    def f(x):
        return hnp.sum(hnp.sin(x * 2.0) + 1.0)

`jit` compiles Python functions of arrays, `compile` compiles programs in `hlo` or StableHLO.
Names are loaded when first used, so importing this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hlo.diagnostics import (
    ArgumentError,
    CompileError,
    MissingExtraError,
    ParseError,
    UnsupportedError,
    VerificationError,
)
from hlo.interrupts import deferred_interrupts

if TYPE_CHECKING:
    from hlo import lax, nn, numpy, random, tree
    from hlo.driver.compile import compile
    from hlo.executable.runtime import seed_rng
    from hlo.frontend.callbacks import debug_print, io_callback, pure_callback
    from hlo.frontend.errors import (
        ConcretizationError,
        DtypeError,
        LeakedTracerError,
        ShapeError,
        TracerError,
        TreeError,
    )
    from hlo.frontend.jit import eval_shape, jit
    from hlo.frontend.shape_dtype import ShapeDtype
    from hlo.frontend.source_location import named_scope
    from hlo.frontend.stages import Compiled, Lowered, load
    from hlo.frontend.tracer import Tracer
    from hlo.importers.stablehlo import from_jax
    from hlo.onnx.program import from_onnx
    from hlo.passes.base import Pass
    from hlo.passes.registry import load_passes
    from hlo.pytorch.program import from_torch

__version__ = "0.1.0"

_HOMES = {
    "Compiled": "hlo.frontend.stages",
    "ConcretizationError": "hlo.frontend.errors",
    "DtypeError": "hlo.frontend.errors",
    "LeakedTracerError": "hlo.frontend.errors",
    "Lowered": "hlo.frontend.stages",
    "Pass": "hlo.passes.base",
    "ShapeDtype": "hlo.frontend.shape_dtype",
    "ShapeError": "hlo.frontend.errors",
    "Tracer": "hlo.frontend.tracer",
    "TracerError": "hlo.frontend.errors",
    "TreeError": "hlo.frontend.errors",
    "compile": "hlo.driver.compile",
    "debug_print": "hlo.frontend.callbacks",
    "eval_shape": "hlo.frontend.jit",
    "from_jax": "hlo.importers.stablehlo",
    "from_onnx": "hlo.onnx.program",
    "from_torch": "hlo.pytorch.program",
    "io_callback": "hlo.frontend.callbacks",
    "jit": "hlo.frontend.jit",
    "load": "hlo.frontend.stages",
    "load_passes": "hlo.passes.registry",
    "named_scope": "hlo.frontend.source_location",
    "pure_callback": "hlo.frontend.callbacks",
    "seed_rng": "hlo.executable.runtime",
}
_MODULES = frozenset({"lax", "nn", "numpy", "random", "tree"})

__all__ = [
    "ArgumentError",
    "CompileError",
    "Compiled",
    "ConcretizationError",
    "DtypeError",
    "LeakedTracerError",
    "Lowered",
    "MissingExtraError",
    "ParseError",
    "Pass",
    "ShapeDtype",
    "ShapeError",
    "Tracer",
    "TracerError",
    "TreeError",
    "UnsupportedError",
    "VerificationError",
    "compile",
    "debug_print",
    "eval_shape",
    "from_jax",
    "from_onnx",
    "from_torch",
    "io_callback",
    "jit",
    "lax",
    "load",
    "load_passes",
    "named_scope",
    "nn",
    "numpy",
    "pure_callback",
    "random",
    "seed_rng",
    "tree",
]


def __getattr__(name: str) -> Any:
    home = f"hlo.{name}" if name in _MODULES else _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'hlo' has no attribute {name!r}")
    with deferred_interrupts():
        module = import_module(home)
    if name in _MODULES:
        return module
    found = getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
