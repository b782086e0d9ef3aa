"""What MLIR's `gpu` dialect stores of compiled code."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import gpu

from hlo.diagnostics import CompileError


def code_of(module: ir.Module) -> bytes:
    """The bytes of the first object of the first `gpu.binary` of a module.

    Raises:
        CompileError: the module has none.
    """
    for op in module.body.operations:
        if op.operation.name == "gpu.binary":
            first = ir.ArrayAttr(op.attributes["objects"])[0]
            code: str | bytes = gpu.ObjectAttr(first).object  # pyright: ignore[reportAttributeAccessIssue]
            return code.encode() if isinstance(code, str) else bytes(code)
    raise CompileError("the module holds no compiled GPU code")
