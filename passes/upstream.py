"""Passes of upstream MLIR by name.

Which operation a pass is anchored on is not recorded in the bindings, so each candidate nesting is
parsed in turn and the first that MLIR accepts is kept. A pipeline is thus never run with a pass on
the wrong anchor, which would end the process."""

from __future__ import annotations

import dataclasses
import functools

from hlo import ir
from hlo.diagnostics import CompileError

_NESTINGS = (
    "builtin.module({})",
    "builtin.module(func.func({}))",
    "builtin.module(llvm.func({}))",
    "builtin.module(gpu.module({}))",
    "builtin.module(gpu.module(gpu.func({})))",
    "builtin.module(gpu.module(func.func({})))",
)
_KNOWN = {"cse": _NESTINGS[0]}  # of the pipeline: trying takes 5 ms
_UNKNOWN = "does not refer to a registered pass"


@dataclasses.dataclass(frozen=True)
class UpstreamPass:
    """An upstream pass, such as `canonicalize`, or a nested pipeline such as
    `func.func(canonicalize,cse)`.
    """

    name: str
    options: str = ""

    def __str__(self) -> str:
        return f"{self.name}{{{self.options}}}" if self.options else self.name

    def run(self, module: ir.Module) -> bool:
        """Runs the pass with the nesting it needs. MLIR does not say whether anything changed:
        always True.

        Raises:
            CompileError: the pass failed; the message holds MLIR's diagnostics.
        """
        with module.context:
            manager = ir.PassManager.parse(nested_pipeline(self.name, self.options))
            manager.enable_verifier(False)
            try:
                manager.run(module.operation)
            except ir.MLIRError as error:
                raise CompileError(f"upstream pass {self.name!r} failed: {error}") from error
        return True


@functools.cache
def nested_pipeline(name: str, options: str = "") -> str:
    """The pipeline text, nested as the pass needs, that `PassManager.parse` accepts.

    Raises:
        CompileError: no such pass, a bad option, or a pass that fits no known nesting.
    """
    element = f"{name}{{{options}}}" if options else name
    if not options and name in _KNOWN:
        return _KNOWN[name].format(element)
    refusals: list[str] = []
    with ir.make_context():
        for nesting in _NESTINGS:
            pipeline = nesting.format(element)
            try:
                ir.PassManager.parse(pipeline)
            except ValueError as error:
                refusals.append(str(error).strip())
            else:
                return pipeline
    first = refusals[0]
    if _UNKNOWN in first:
        raise CompileError(
            f"there is no pass {name!r}, in hlo or upstream; `hlo-opt --list-passes` lists those "
            f"of hlo"
        )
    raise CompileError(f"cannot use upstream pass {element!r}: {first}")
