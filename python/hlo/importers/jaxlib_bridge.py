"""The part of the importers that talks to jaxlib, an optional extra.

jaxlib carries StableHLO's own parser, printer, verifier and versioned serialisation. It is imported
on first use, without jax. Its MLIR and the one `hlo` is built on live side by side in a process;
only text and bytes pass between them."""

from __future__ import annotations

import functools
import io
import re
import threading
from typing import TYPE_CHECKING, Any

from hlo.diagnostics import MissingExtraError, ParseError, UnsupportedError, VerificationError
from hlo.importers import boolean_blobs
from hlo.interrupts import deferred_interrupts
from hlo.ir.literals import check_literals
from hlo.ir.nesting import check_nesting

if TYPE_CHECKING:
    from types import ModuleType

_ERROR_LINE = re.compile(
    r'error: (?P<location>"(?:[^"\\]|\\.)*":\d+:\d+|loc\(.*?\)|unknown)?:? ?(?P<text>.*)', re.S
)
_UNNAMED_PLACE = re.compile(r'"-":(?=\d+:\d+)')
_CURRENT_OPERATION = re.compile(r"\n note: [^\n]*see current operation:.*", re.S)
_CONSTRAINT = re.compile(r"^'(?P<op>[\w.]+)' op (?P<text>.*)", re.S)


def _dialects() -> tuple[ModuleType, ModuleType, ModuleType, ModuleType, ModuleType]:
    """jaxlib's `ir`, `passmanager`, and its stablehlo, chlo and sdy dialects."""
    with deferred_interrupts():
        return _loaded_dialects()


@functools.cache
def _loaded_dialects() -> tuple[ModuleType, ModuleType, ModuleType, ModuleType, ModuleType]:
    try:
        from jaxlib.mlir import ir, passmanager
        from jaxlib.mlir.dialects import chlo, sdy, stablehlo
    except ImportError as error:
        raise MissingExtraError(
            "StableHLO text in pretty form, StableHLO bytecode and portable artifacts are read "
            "and written through "
            "jaxlib, which is not installed: run `pip install 'hlo[jax]'`, or give the program as "
            "hlo text or as "
            "StableHLO text in generic form"
        ) from error
    stablehlo.register_stablehlo_passes()
    return ir, passmanager, stablehlo, chlo, sdy


def mlir_ir() -> Any:
    """The `ir` module of jaxlib's MLIR."""
    return _dialects()[0]


def is_jaxlib_module(value: object) -> bool:
    """Whether `value` is a module of jaxlib's MLIR, as `jax.jit(f).lower(...).compiler_ir()`
    gives.
    """
    cls = type(value)
    return cls.__module__.startswith("jaxlib.") and hasattr(value, "operation")


def make_context() -> Any:
    """A context of jaxlib's MLIR with every dialect that a JAX program may use."""
    ir, passmanager, stablehlo, chlo, sdy = _dialects()
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext

    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.enable_multithreading(False)
    context.load_all_available_dialects()
    for dialect in (stablehlo, chlo, sdy):
        dialect.register_dialect(context)
    with context, ir.Location.unknown():
        # The quant dialect has no registration function of its own: a pass that depends on it loads
        # it.
        empty = ir.Module.create()
        passmanager.PassManager.parse("builtin.module(vhlo-legalize-to-stablehlo)").run(
            empty.operation
        )
    return context


# A context keeps every type and attribute that its programs ever had: bounded by this many bytes.
_SHARED_BYTES = 4_000_000


class _Shared(threading.local):
    context: Any = None
    used = 0


_shared = _Shared()


def context_for(program: str | bytes) -> Any:
    """A context for one more program: one of this thread's, which other programs of text are in
    too, or, for bytecode and for text with blobs, which stay in a context by name, a new one.

    Making one takes as long as reading a small program.
    """
    if isinstance(program, bytes) or "{-#" in program:
        return make_context()
    if _shared.context is None or _shared.used > _SHARED_BYTES:
        _shared.context, _shared.used = make_context(), 0
    _shared.used += len(program)
    return _shared.context


@functools.cache
def _packs_booleans() -> bool:
    """Whether jaxlib's MLIR prints booleans as eight a byte."""
    ir = mlir_ir()
    elements = 256
    listed = ", ".join(["true"] + ["false"] * (elements - 1))
    with make_context():
        text = str(ir.Attribute.parse(f"dense<[{listed}]> : tensor<{elements}xi1>"))
    blob = re.search(r'"0x([0-9A-F]*)"', text)
    return blob is not None and boolean_blobs.is_packed(blob.group(1), elements)


def parse(program: str | bytes, source_name: str, context: Any) -> Any:
    """Parses and verifies StableHLO text, bytecode or a portable artifact; a module operation.

    Raises:
        ParseError: the program is malformed.
        VerificationError: it parses and breaks a constraint of StableHLO.
    """
    ir, _, stablehlo, _, _ = _dialects()
    if isinstance(program, bytes) and is_portable_artifact(program):
        return _deserialized(program, context, stablehlo, ir)
    if isinstance(program, str):
        check_nesting(program, source_name)
        check_literals(program.encode(), source_name)
        in_its_form = boolean_blobs.pack if _packs_booleans() else boolean_blobs.unpack
        program = in_its_form(program)
    try:
        return ir.Module.parse(program, context=context).operation
    except (ir.MLIRError, ValueError) as error:
        raise _program_error(with_source_name(str(error), source_name)) from error


def with_source_name(text: str, source_name: str) -> str:
    """`text` with the places that its parser calls `"-":line:column` in the file of that name.

    Quotes inside string attributes are escaped, so the pattern matches locations alone.
    """
    name = source_name.replace("\\", "\\5C").replace('"', "\\22")
    return text if name == "-" else _UNNAMED_PLACE.sub(lambda _: f'"{name}":', text)


def _deserialized(program: bytes, context: Any, stablehlo: ModuleType, ir: ModuleType) -> Any:
    """The module of a portable artifact. Its reader reports through diagnostics, not exceptions."""
    messages: list[str] = []

    def collect(diagnostic: Any) -> bool:
        messages.append(f"{diagnostic.location}: {diagnostic.message}")
        return True

    handler = context.attach_diagnostic_handler(collect)
    try:
        return stablehlo.deserialize_portable_artifact(context, program).operation
    except (ir.MLIRError, ValueError) as error:
        reasons = "; ".join(messages) or str(error)
        raise ParseError(f"cannot read the portable artifact: {reasons}") from error
    finally:
        handler.detach()


def is_portable_artifact(program: bytes) -> bool:
    """Whether bytecode says in its header that StableHLO's serialisation made it."""
    return program[:4] == b"ML\xefR" and b"StableHLO_v" in program[:64]


def print_generic(operation: Any, *, locations: bool = True) -> str:
    """Generic form. Large constants are printed as hexadecimal blobs."""
    return operation.get_asm(print_generic_op_form=True, enable_debug_info=locations)


def print_pretty(operation: Any, *, locations: bool) -> str:
    """StableHLO's own assembly form."""
    return operation.get_asm(enable_debug_info=locations)


def bytecode(operation: Any) -> bytes:
    """MLIR bytecode of the current version of StableHLO."""
    stream = io.BytesIO()
    operation.write_bytecode(stream)
    return stream.getvalue()


def portable_artifact(operation: Any, version: str | None) -> bytes:
    """A portable artifact for consumers of StableHLO `version` (default: the version jaxlib
    carries).
    """
    ir, passmanager, stablehlo, _, _ = _dialects()
    target = version or stablehlo.get_current_version()
    # The versioned form knows StableHLO alone: CHLO operations become StableHLO ones first.
    stable = operation.clone()
    with operation.context:
        passes = "builtin.module(func.func(chlo-legalize-to-stablehlo))"
        passmanager.PassManager.parse(passes).run(stable)
    try:
        return stablehlo.serialize_portable_artifact_str(bytecode(stable), target)
    except (ir.MLIRError, ValueError) as error:
        raise UnsupportedError(
            f"the program has no portable artifact of StableHLO {target} (versions "
            f"{stablehlo.get_minimum_version()} to {stablehlo.get_current_version()} are "
            f"offered): {error}"
        ) from error


def has_stablehlo_operation(name: str, context: Any) -> bool:
    """Whether `stablehlo.<name>` is an operation of jaxlib's StableHLO."""
    return context.is_registered_operation(f"stablehlo.{name}")


def _program_error(text: str) -> ParseError | VerificationError:
    match = _ERROR_LINE.search(_CURRENT_OPERATION.sub("", text))
    if match is None:
        return ParseError(f"StableHLO's parser rejects the program: {text.strip()}")
    location = match.group("location")
    message = match.group("text").strip()
    constraint = _CONSTRAINT.match(message)
    if constraint is None:
        return ParseError(message, location=location)
    return VerificationError(constraint.group("text"), op=constraint.group("op"), location=location)
