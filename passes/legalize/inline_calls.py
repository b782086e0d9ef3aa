"""Calls and composites become the bodies of their functions."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.rewrite.inlining import move_block_before, relocate
from hlo.passes.rewrite.walk import body_of, functions, malformed, operations_named, replace

_CALLEE = {"func.call": "callee", "call": "callee", "hlo.composite": "decomposition"}


@dataclass(frozen=True)
class InlineCalls(Pass):
    """Replaces every `func.call` and `hlo.composite` by the body of the function it names.

    Requires functions of one block. Afterwards only public functions are left (`main`), and none
    calls another. Locations become call sites: the op in the callee, called at the call. A cycle of
    calls is an error.

        %1 = func.call @square(%0) : (tensor<f32>) -> tensor<f32>
        func.func private @square(%a: tensor<f32>) -> tensor<f32> {
          %m = hlo.multiply %a, %a : tensor<f32>
          return %m : tensor<f32>
        }
      ==>
        %1 = hlo.multiply %0, %0 : tensor<f32>
    """

    def run(self, module: ir.Module) -> bool:
        """Inlines callees first, so that each body is copied complete."""
        inliner = _Inliner(module)
        kept = [name for name in inliner.functions if inliner.stays(name)]
        changed = [inliner.complete(name) for name in kept]
        return inliner.erase_private() or any(changed)


def _is_public(name: str, function: ir.Operation) -> bool:
    visibility = ir.attributes.string(function, "sym_visibility", "public")
    return name == "main" or visibility != "private"


class _Inliner:
    def __init__(self, module: ir.Module) -> None:
        self.functions = functions(module)
        self._calls = {name: _calls_in(function) for name, function in self.functions.items()}
        self._uses: dict[str, int] = {}
        for calls in self._calls.values():
            for call in calls:
                callee = _callee(call)
                self._uses[callee] = self._uses.get(callee, 0) + 1
        self._kept = set(_computations_of_custom_calls(module))
        self._done: set[str] = set()

    def complete(self, name: str) -> bool:
        """Inlines all calls in a function, and first in those that it calls."""
        if name in self._done:
            return False
        path = {name: iter(self._calls[name])}  # from the outermost caller, with calls to look at
        while path:
            current = next(reversed(path))
            for call in path[current]:
                callee = _callee(call)
                self._check(call, callee, path)
                if callee not in self._done:
                    path[callee] = iter(self._calls[callee])
                    break
            else:
                for call in self._calls[current]:
                    self._inline(call, _callee(call))
                self._done.add(current)
                del path[current]
        return bool(self._calls[name])

    def _check(self, call: ir.Operation, callee: str, path: Collection[str]) -> None:
        if callee not in self.functions:
            known = ", ".join(f"@{name}" for name in self.functions)
            raise malformed(
                call, f"calls @{callee}, which the module does not define; it has {known}"
            )
        if callee in path:
            names = [*path, callee]
            cycle = " -> ".join(f"@{name}" for name in names[names.index(callee) :])
            raise malformed(
                call, f"recursive calls cannot be compiled: {cycle}; use hlo.while instead"
            )
        function = self.functions[callee]
        blocks = function.regions[0].blocks
        if len(blocks) != 1:
            raise malformed(call, f"expected one block in @{callee}, found {len(blocks)}")
        arguments = [argument.type for argument in blocks[0].arguments]
        operands = [operand.type for operand in call.operands]
        if arguments != operands:
            raise malformed(
                call, f"@{callee} takes {arguments}, found operands of types {operands}"
            )

    def _inline(self, call: ir.Operation, callee: str) -> None:
        function = self.functions[callee]
        last = self._uses[callee] == 1 and not self.stays(callee)
        self._uses[callee] -= 1
        # The last call takes the body itself: a chain of functions costs no copies.
        body = function if last else function.clone(ip=ir.InsertionPoint(function))
        site = call.location
        relocate(body, lambda location: ir.Location.callsite(location, [site], site.context))
        values = move_block_before(body_of(body), list(call.operands), call)
        replace(call, values)
        body.erase()
        if last:
            del self.functions[callee]

    def stays(self, name: str) -> bool:
        """Whether a function is needed though nothing calls it."""
        return name in self._kept or _is_public(name, self.functions[name])

    def erase_private(self) -> bool:
        """Erases the functions that nothing calls any more."""
        private = [f for name, f in self.functions.items() if not self.stays(name)]
        for function in private:
            function.erase()
        return bool(private)


def _callee(call: ir.Operation) -> str:
    return ir.attributes.string(call, _CALLEE[call.name])


def _computations_of_custom_calls(module: ir.Module) -> Iterator[str]:
    for call in operations_named(module, {"hlo.custom_call"}):
        if "called_computations" in call.attributes:
            for name in ir.ArrayAttr(call.attributes["called_computations"]):
                yield ir.FlatSymbolRefAttr(name).value


def _calls_in(function: ir.Operation) -> list[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in _CALLEE:
            found.append(op)
        return ir.WalkResult.ADVANCE

    function.walk(visit, ir.WalkOrder.POST_ORDER)
    return found
