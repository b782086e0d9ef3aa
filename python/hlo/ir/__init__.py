"""MLIR as the rest of the package sees it: the only package that imports ``mlir``.

Re-exports ``mlir.ir`` and ``mlir.passmanager``, registers the `hlo` dialect, and reports what MLIR
finds wrong as `hlo.diagnostics` errors with the place in the source.

`make_context` gives a context in which `hlo` and every upstream dialect can be used. Attributes of
the dialect come out of operations as instances of the classes of `hlo.ir.attributes`.
"""

from __future__ import annotations

from mlir._mlir_libs import _mlir
from mlir.ir import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary]
from mlir.ir import MLIRError as MLIRError  # pyright: ignore[reportAttributeAccessIssue]
from mlir.passmanager import PassManager as PassManager

from hlo.ir import attributes as attributes
from hlo.ir import constants as constants
from hlo.ir import types as types
from hlo.ir.chlo import CHLO_OPS as CHLO_OPS
from hlo.ir.context import make_context as make_context
from hlo.ir.context import make_gpu_context as make_gpu_context
from hlo.ir.context import make_lowering_context as make_lowering_context
from hlo.ir.context import shared_context as shared_context
from hlo.ir.parsing import parse_module as parse_module
from hlo.ir.parsing import verify as verify
from hlo.ir.traversal import GraphReader as GraphReader
from hlo.ir.traversal import dead_operations as dead_operations
from hlo.ir.traversal import has_effects as has_effects
from hlo.ir.traversal import is_used as is_used
from hlo.ir.traversal import operations_in as operations_in
from hlo.ir.traversal import operations_named as operations_named
from hlo.ir.traversal import operations_of as operations_of
from hlo.ir.traversal import producer_of as producer_of
from hlo.ir.traversal import users_of as users_of

_mlir.globals.append_dialect_search_prefix("hlo.ir.dialect_modules")
