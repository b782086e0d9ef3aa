"""StableHLO in and out.

Import takes every form of StableHLO: pretty or generic text, MLIR bytecode, portable artifacts.
    Text that is already
generic is read directly; every other form goes through jaxlib, which prints it in generic form with
its locations, and the dialect prefix is changed. Export is the way back, verified by jaxlib."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, overload

from hlo import ir
from hlo.diagnostics import CompileError, MissingExtraError, ParseError
from hlo.importers import boolean_blobs, dialect_prefix, jaxlib_bridge, python_callbacks, shardy
from hlo.importers.fusion_inlining import inline_fusions

# StableHLO programs may compute shapes with upstream dialects.
_EXPORTED_DIALECTS = frozenset({"hlo", "func", "builtin", "arith", "shape", "tensor"})

StableHloForm = Literal["pretty", "generic", "bytecode", "portable-artifact"]


def import_stablehlo(
    program: str | bytes | Any, *, context: ir.Context | None = None, source_name: str = "-"
) -> ir.Module:
    """Reads a StableHLO program into the `hlo` dialect.

    Args:
        program: text (pretty or generic), MLIR bytecode, a portable artifact, or a module of
            jaxlib's MLIR.
        context: the context of the module; a new one by default.
        source_name: the file name that locations and errors show for text without locations of its
            own.

    Raises:
        ParseError, VerificationError: the program is not well-formed.
        MissingExtraError: the form needs jaxlib, which is not installed.
    """
    given = (
        program
        if isinstance(program, str)
        and dialect_prefix.is_generic_stablehlo(program)
        and "sdy." not in program
        else None
    )
    text = _generic_text(program, source_name) if given is None else given
    text = boolean_blobs.pack(dialect_prefix.stablehlo_to_hlo(text))
    return ir.parse_module(text, context, source_name, printed=given is None)


def _generic_text(program: str | bytes | Any, source_name: str) -> str:
    mlir_ir = jaxlib_bridge.mlir_ir()
    if isinstance(program, str | bytes):
        operation = jaxlib_bridge.parse(program, source_name, jaxlib_bridge.context_for(program))
    else:
        operation = program.operation.clone()
    text = jaxlib_bridge.print_generic(operation)
    if "sdy" in text:
        with operation.context:
            shardy.remove_annotations(operation, mlir_ir)
        text = jaxlib_bridge.print_generic(operation)
    return jaxlib_bridge.with_source_name(text, source_name)


@overload
def export_stablehlo(
    module: ir.Module, *, form: Literal["pretty", "generic"] = ..., locations: bool = ...
) -> str: ...
@overload
def export_stablehlo(
    module: ir.Module,
    *,
    form: Literal["bytecode", "portable-artifact"],
    locations: bool = ...,
    version: str | None = ...,
) -> bytes: ...
def export_stablehlo(
    module: ir.Module,
    *,
    form: StableHloForm = "pretty",
    locations: bool = False,
    version: str | None = None,
) -> str | bytes:
    """Writes an `hlo` program as StableHLO (and CHLO), which jaxlib's verifier has accepted.

    Fusions are inlined and layouts dropped: StableHLO has neither. The module given is not changed.

    Args:
        module: a program of the `hlo` and `func` dialects.
        form: `pretty` or `generic` text, MLIR `bytecode`, or a `portable-artifact`.
        locations: whether text carries locations; bytecode and artifacts always do.
        version: the StableHLO version a portable artifact is for.

    Raises:
        CompileError: the program has operations that StableHLO lacks, such as those of later
            phases.
        MissingExtraError: jaxlib is not installed.
    """
    jaxlib_context = jaxlib_bridge.make_context()
    flat = module.operation.clone()
    inline_fusions(flat)
    _check_dialects(flat)
    own = str(flat.get_asm(print_generic_op_form=True, enable_debug_info=True))

    def is_stablehlo_operation(name: str) -> bool:
        return jaxlib_bridge.has_stablehlo_operation(name, jaxlib_context)

    text = dialect_prefix.hlo_to_stablehlo(own, is_stablehlo_operation)
    try:
        operation = jaxlib_bridge.parse(text, "-", jaxlib_context)
    except ParseError as error:
        raise CompileError(
            f"the program cannot be written as StableHLO: {error.message}; only programs of the "
            f"input, legalized, "
            "simplified and fused phases can"
        ) from error
    if form == "bytecode":
        return jaxlib_bridge.bytecode(operation)
    if form == "portable-artifact":
        return jaxlib_bridge.portable_artifact(operation, version)
    if form == "generic":
        return jaxlib_bridge.print_generic(operation, locations=locations)
    return jaxlib_bridge.print_pretty(operation, locations=locations)


def _check_dialects(operation: ir.Operation) -> None:
    for region in operation.regions:
        for block in region:
            for view in block:
                nested = view.operation
                dialect = nested.name.partition(".")[0]
                if dialect not in _EXPORTED_DIALECTS:
                    raise CompileError(
                        "the program cannot be written as StableHLO, which has no such operation; "
                        "only programs up to the fused phase can",
                        op=nested.name,
                        location=str(nested.location),
                    )
                _check_dialects(nested)


def from_jax(function: Callable[..., Any], *args: Any, **kwargs: Any) -> ir.Module:
    """The `hlo` module of a JAX function traced on example arguments.

    Functions that it calls back (`jax.pure_callback`, `io_callback`, `jax.debug.print`) are called
    by what the module is compiled to, in this process alone. What one raises, the call raises.

    Args:
        function: a function of JAX arrays, or one that `jax.jit` returned (which then decides
            whether arguments that it ignores are kept: `keep_unused`).
        args, kwargs: example arguments: arrays or `jax.ShapeDtypeStruct`s.

    Raises:
        MissingExtraError: jax is not installed.
    """
    try:
        import jax
    except ImportError as error:
        raise MissingExtraError(
            "hlo.from_jax lowers a function with jax, which is not installed: run `pip install "
            "'hlo[jax]'`"
        ) from error
    # An argument that the function ignores stays an argument of the program.
    jitted: Any = function if hasattr(function, "lower") else jax.jit(function, keep_unused=True)
    lowered = jitted.lower(*args, **kwargs)
    module = import_stablehlo(lowered.compiler_ir(dialect="stablehlo"))
    python_callbacks.adopt(module, python_callbacks.callbacks_of(lowered))
    return module
