"""The native runtime, typed: machine code from the llvm dialect, and programs to call with arrays.

The contract of generated code with the runtime is ``runtime/kernel_abi.h``. All functions here may
be called from any thread.
"""

from __future__ import annotations

import importlib.util
import operator
from collections.abc import Callable, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hlo.diagnostics import ArgumentError, CompileError, ExecutionError
from hlo.exit_gate import GATE
from hlo_native import _runtime

Executable = _runtime.Executable
Library = _runtime.Library
CallState = _runtime.CallState

KERNEL_STACK_BYTES = _runtime.KERNEL_STACK_BYTES
"""What a kernel may keep on the stack of each thread."""

ABI_VERSION = _runtime.ABI_VERSION
ENTRY_POINT = "hlo_main"
RANDOM_STATE = "hlo.random_state"  # the custom call that gives `next_random_state`
RANDOM_STATE_FUNCTION = "hlo_rt_random_state"
NATIVE_FILE = str(_runtime.__file__)

FAST_PASSES = (
    "function(early-cse,loop-simplify,lcssa,loop-mssa(loop-rotate,licm),"
    "separate-const-offset-from-gep,early-cse,simplifycfg)"
)
"""LLVM passes for kernels whose MLIR is optimised already: O3's speed in a tenth of its time.

Where a constant is added to a pointer, not to its index, instruction selection takes less time: a
packed product's kernel is compiled in three quarters of it.
"""

INLINING_PASSES = (
    "always-inline,function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
    "loop-simplify,lcssa,loop-mssa(loop-rotate,licm),loop(indvars,loop-deletion,loop-unroll-full),"
    "sroa,early-cse<memssa>,gvn,dse,instcombine<no-verify-fixpoint>,simplifycfg,"
    "loop-unroll<O2>,instcombine<no-verify-fixpoint>,simplifycfg)"
)
"""LLVM passes for loops that hold the kernels they call: O2's speed in a sixth of its time."""

_runtime.set_error_types(ArgumentError, ExecutionError)


def _find_blas() -> str:
    """Path of the OpenBLAS library of the `scipy-openblas32` package, or an empty string."""
    spec = importlib.util.find_spec("scipy_openblas32")
    if spec is None or spec.origin is None:
        return ""
    libraries = sorted((Path(spec.origin).parent / "lib").glob("libscipy_openblas*.so*"))
    return str(libraries[0]) if libraries else ""


BLAS_PATH = _find_blas()
"""Of the BLAS library that matrix products may call; an empty string without one."""

_runtime.set_blas_path(BLAS_PATH)

blas_available = _runtime.blas_available
blas_error = _runtime.blas_error
register_llvm_translation = _runtime.register_llvm_translation
hardware_threads = _runtime.hardware_threads
host_cpu = _runtime.host_cpu
host_features = _runtime.host_features
host_triple = _runtime.host_triple
call_signature = _runtime.call_signature
library_scratch_bytes = _runtime.library_scratch_bytes
memory_statistics = _runtime.memory_statistics
next_random_state = _runtime.next_random_state
set_cache_limit = _runtime.set_cache_limit
symbols = _runtime.symbols
trim_cache = _runtime.trim_cache


def seed_rng(seed: int) -> None:
    """Starts anew what `hlo.rng` draws from, for all programs of this process.

    After the same seed the same calls give the same numbers. Without one the process begins with
    a seed that is always the same.

    Args:
        seed: an integer of [0, 2**64).

    Raises:
        ArgumentError: it is none.
    """
    if not 0 <= operator.index(seed) < 1 << 64:
        raise ArgumentError(f"seed_rng: expected a seed of at least 0, below 2**64, found {seed}")
    _runtime.seed_random_state(operator.index(seed))


Value = TypeVar("Value")


def on_large_stack(function: Callable[[], Value]) -> Value:
    """The value of `function()`, called on another thread if this one's stack is too small for a
    compiler, in the same context. The process does not end meanwhile.
    """
    with GATE.entered():
        context = copy_context()
        return _runtime.call_on_large_stack(lambda: context.run(function))


@dataclass(frozen=True)
class CodegenOptions:
    """How to make machine code.

    Attributes:
        passes: LLVM passes, in the syntax of ``opt -passes=``; an empty string runs none.
        level: effort of instruction selection and scheduling, 0 to 3.
        cpu, features, triple: the machine; ``host`` is this one.
        verify: check the module before and after translation.
    """

    passes: str = FAST_PASSES
    level: int = 2
    cpu: str = "host"
    features: str = "host"
    triple: str = "host"
    verify: bool = True


@dataclass(frozen=True)
class Argument:
    """What a program takes at one position; a donated argument's memory may become a result."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    donated: bool = False


@dataclass(frozen=True)
class Result:
    """What a program gives at one position.

    ``donated_argument`` is the index of the donated argument, of the same size in bytes, whose
    memory the result takes over: generated code then gets the same address for both.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    donated_argument: int | None = None


@dataclass(frozen=True)
class Signature:
    """A program's arguments and results."""

    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]


def compile_to_object(module: object, options: CodegenOptions | None = None) -> bytes:
    """Object file of an ``mlir.ir.Module`` of the llvm dialect.

    Modules of distinct contexts may be compiled at the same time on several threads. Their context
    must have been given to `register_llvm_translation`.

    Raises:
        CompileError: LLVM cannot translate or compile the module.
    """
    o = options or CodegenOptions()
    try:
        return _runtime.compile_to_object(
            module, o.passes, o.level, o.cpu, o.features, o.triple, o.verify
        )
    except _runtime.JitError as error:
        raise CompileError(str(error)) from None


def compile_to_assembly(module: object, options: CodegenOptions | None = None) -> str:
    """Assembly text of an ``mlir.ir.Module`` of the llvm dialect; see `compile_to_object`."""
    o = options or CodegenOptions()
    try:
        return _runtime.compile_to_assembly(
            module, o.passes, o.level, o.cpu, o.features, o.triple, o.verify
        )
    except _runtime.JitError as error:
        raise CompileError(str(error)) from None


def compile_to_llvm_ir(module: object, options: CodegenOptions | None = None) -> str:
    """LLVM IR text, after the passes, of an ``mlir.ir.Module``; see `compile_to_object`."""
    o = options or CodegenOptions()
    try:
        return _runtime.compile_to_llvm_ir(
            module, o.passes, o.level, o.cpu, o.features, o.triple, o.verify
        )
    except _runtime.JitError as error:
        raise CompileError(str(error)) from None


def llvm_text(bitcode: bytes) -> str:
    """LLVM bitcode as text, with the data layout of this machine.

    Raises:
        CompileError: it is no bitcode.
    """
    try:
        return _runtime.compile_llvm(bitcode, as_text=True).decode()
    except _runtime.JitError as error:
        raise CompileError(str(error)) from None


def compile_llvm_text(text: str, passes: str = "") -> bytes:
    """Object file of LLVM IR for this machine; `passes` as in `CodegenOptions`.

    Raises:
        CompileError: LLVM cannot read or compile the text.
    """
    try:
        return _runtime.compile_llvm(text.encode(), passes)
    except _runtime.JitError as error:
        raise CompileError(str(error)) from None


def compile_text(text: str, pipeline: str, options: CodegenOptions) -> bytes:
    """Object file for this machine of a module of upstream dialects, given as text.

    Args:
        pipeline: MLIR passes that leave the llvm dialect.
        options: of which `passes` and `level` count.

    Raises:
        CompileError: the text is malformed, or cannot be lowered or compiled.
    """
    try:
        return _runtime.compile_text_to_object(text, pipeline, options.passes, options.level)
    except _runtime.JitError as error:
        raise CompileError(str(error)) from None


class CodegenQueue:
    """Makes object files of modules given as text, on threads beside the one that gives them."""

    def __init__(self) -> None:
        self._queue = _runtime.CodegenQueue(hardware_threads() - 1)

    def add(self, text: str, pipeline: str, options: CodegenOptions) -> None:
        """Takes a module, as `compile_text` does, and returns at once."""
        self._queue.add(text, pipeline, options.passes, options.level)

    def finish(self) -> list[bytes]:
        """Object files of all modules, in order; this thread works on them too.

        Raises:
            CompileError: the first error that a module met.
        """
        try:
            return self._queue.finish()
        except _runtime.JitError as error:
            raise CompileError(str(error)) from None


def load(
    objects: Sequence[bytes],
    signature: Signature,
    *,
    entry: str = ENTRY_POINT,
    arena_bytes: int = 0,
    constants: Sequence[object] = (),
    threads: int = 0,
    release_gil: bool = True,
    name: str = "program",
    flush_subnormals: bool = False,
) -> Executable:
    """Links object files into this process and makes them callable.

    Args:
        objects: object files; together they define everything the entry needs but the runtime.
        signature: arguments and results of the entry.
        entry: symbol of type ``HloMainFn``.
        arena_bytes: size of the memory for temporaries a call gets, 64-byte aligned.
        constants: arrays that the program reads through its frame, kept alive and not copied.
        threads: most threads a call uses; 0 for all processors of this process.
        release_gil: let other Python threads run during a call; costs 50 ns or so.
        name: for messages.
        flush_subnormals: take subnormal operands and results for zero.

    Raises:
        CompileError: a symbol is missing, or an object file is damaged.
    """
    try:
        library = Library(objects)
        address = library.lookup(entry)
    except _runtime.JitError as error:
        raise CompileError(f"cannot load '{name}': {error}") from None
    return Executable(
        library,
        address,
        [(a.name, a.dtype, a.shape, a.donated) for a in signature.arguments],
        [
            (r.dtype, r.shape, -1 if r.donated_argument is None else r.donated_argument)
            for r in signature.results
        ],
        arena_bytes=arena_bytes,
        constants=constants,
        threads=threads,
        release_gil=release_gil,
        name=name,
        flush_subnormals=flush_subnormals,
    )
