"""Custom calls that do nothing are dropped; those that nothing can run are errors."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hlo import ir
from hlo.executable import callbacks
from hlo.passes.base import Pass
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.elementwise import CHLO_FUNCTIONS
from hlo.passes.rewrite.tensor_types import element_of
from hlo.passes.rewrite.walk import expand, unsupported

IDENTITIES = frozenset(
    {
        "LayoutConstraint",
        "MoveToDevice",
        "MoveToHost",
        "PinToDevice",
        "SPMDFullToShardShape",
        "SPMDShardToFullShape",
        "Sharding",
        "annotate_device_placement",
        "stablehlo.shape_refinement_operand_wrapper",
        "xla.sdy.FuncResultSharding",
        "xla.sdy.GlobalToLocalShape",
        "xla.sdy.LocalToGlobalShape",
    }
)
# Routines of the runtime, by the names that jaxlib gives LAPACK's.
RUNTIME_TARGET = re.compile(
    r"^lapack_([sd](orgqr|ormqr|syevd|sytrd)|[cz](ungqr|unmqr|heevd|hetrd)"
    r"|[sdcz](gees|geev|gehrd|geqp3|geqrf|gesdd|gesvd|getrf|gtsv|gtsv_perturbed|potrf|trsm))_ffi$"
)
_LETTERS = {"f32": "s", "f64": "d", "complex<f32>": "c", "complex<f64>": "z"}


@dataclass(frozen=True)
class DropNoOpCustomCalls(Pass):
    """Replaces custom calls that only annotate (sharding, placement, layout) by their operands, and
    those that stand for an op of the dialect (`mhlo.erf`) by the op.

    Afterwards every custom call is ApproxTopK, which a later pass expands, or a routine of the
    runtime: LAPACK by jaxlib's names, and `hlo.*`. Any other target is an error. jaxlib's
    `tridiagonal_solve_perturbed_ffi` gets a name with its element type, as LAPACK's have.

        %1 = hlo.custom_call @Sharding(%0) : (tensor<8xf32>) -> tensor<8xf32>
        %2 = hlo.exponential %1 : tensor<8xf32>
      ==>
        %2 = hlo.exponential %0 : tensor<8xf32>
    """

    def run(self, module: ir.Module) -> bool:
        """Decides by the call's target."""
        return expand(module, {"hlo.custom_call": _replacement})


def is_runtime_target(target: str) -> bool:
    """Whether the runtime has the routine of that name."""
    return target.startswith("hlo.") or RUNTIME_TARGET.match(target) is not None


def _replacement(call: ir.Operation, builder: Builder) -> list[ir.Value] | None:
    target = ir.attributes.string(call, "call_target_name")
    if target == callbacks.TARGET:
        _check_callback(call)
    if is_runtime_target(target) or target == "ApproxTopK":
        return None
    if target in IDENTITIES:
        return _identity(call, target)
    if target == "tridiagonal_solve_perturbed_ffi":
        return _perturbed_solve(call, builder)
    namespace, _, name = target.partition(".")
    if namespace in ("mhlo", "chlo") and name in CHLO_FUNCTIONS and len(call.results) == 1:
        operands = list(call.operands)
        return [builder.one(name, operands, call.results[0].type)]
    if "python" in target and target.endswith("_callback"):
        raise unsupported(
            call,
            f"the Python function that @{target} calls exists in the process that traced the "
            "program alone; compile what hlo.from_jax gives there",
        )
    raise unsupported(
        call,
        f"the custom call @{target} is not known; only LAPACK routines (lapack_*_ffi), "
        "tridiagonal_solve_perturbed_ffi, ApproxTopK and annotations such as Sharding are. "
        "Express it with ops of the dialect",
    )


def _perturbed_solve(call: ir.Operation, builder: Builder) -> list[ir.Value]:
    kinds = [v.type for v in (*call.operands, *call.results)]
    elements = {str(element_of(v)) for v in (*call.operands, *call.results)}
    letter = _LETTERS.get(elements.pop()) if len(elements) == 1 else None
    shapes = [tuple(ir.RankedTensorType(kind).shape) for kind in kinds]
    diagonal = shapes[-1][:-1]
    if letter is None or len(shapes[-1]) < 2 or shapes != [diagonal] * 3 + [shapes[-1]] * 2:
        raise unsupported(
            call,
            "expected three diagonals [..., n], right-hand sides [..., n, k] and their solution, "
            f"all of f32, f64 or complex numbers of these, found {', '.join(map(str, kinds))}",
        )
    attributes = {name: call.attributes[name] for name in call.attributes}
    attributes["call_target_name"] = builder.string(f"lapack_{letter}gtsv_perturbed_ffi")
    operands, results = list(call.operands), [r.type for r in call.results]
    return list(builder.create("hlo.custom_call", operands, results, attributes).results)


def _check_callback(call: ir.Operation) -> None:
    number = callbacks.number_of(call)
    if number is None:
        raise unsupported(
            call, "the backend configuration names no Python callback: expected `callback`, an i64"
        )
    if callbacks.find(number) is None:
        raise unsupported(
            call,
            f"the Python callback {number} is not of this process, or went with the module that "
            "was traced; trace the program here, with hlo.from_jax, and keep it",
        )


def _identity(call: ir.Operation, target: str) -> list[ir.Value]:
    values = list(call.operands)[: len(call.results)]
    given, asked = [v.type for v in values], [r.type for r in call.results]
    if given != asked:
        raise unsupported(
            call,
            f"expected @{target} to keep the type {given}, found {asked}: programs partitioned "
            "over several devices cannot be compiled; lower the program for one device",
        )
    return values
