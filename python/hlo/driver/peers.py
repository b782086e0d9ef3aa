"""Ways to run a program again and again: our executable, XLA:CPU through jax, and the reference
evaluator.

A program may donate arguments, which a run then consumes. Each runner feeds the result that aliases
a donated argument back as that argument, as a training loop does, so repeated runs measure what a
user's loop costs."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from hlo import ir
from hlo.diagnostics import CompileError, MissingExtraError
from hlo.importers import dialect_prefix, export_stablehlo, load_program
from hlo.importers.program import is_bytecode

_SPREAD_SAMPLES = 8
_MOVED_UNITS = 4


class Runner(Protocol):
    """A compiled program with arguments in place, ready to run again and again."""

    def prepare(self) -> None:
        """Puts arguments in place for the next run: those that the last run consumed."""
        ...

    def run(self) -> None:
        """Runs once and waits until every result is there."""
        ...


class Peer(Runner, Protocol):
    """A runner of somebody else's."""

    name: str
    compile_seconds: float

    def results(self) -> list[np.ndarray]:
        """The results of a run on the original arguments, as NumPy arrays."""
        ...

    def results_for(self, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The results of a run on other arguments of the same shapes and dtypes."""
        ...


def spreads(
    peer: Peer, arguments: Sequence[np.ndarray], expected: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """How far each element of a peer's results moves when its arguments change in the last bits.

    Args:
        arguments: the arguments that gave `expected`.

    Returns:
        For each result, the largest absolute difference over several runs, as float64.
    """
    widest = [np.zeros(result.shape) for result in expected]
    for sample in range(_SPREAD_SAMPLES):
        rng = np.random.default_rng(sample)
        moved = peer.results_for([_moved(argument, rng) for argument in arguments])
        for index, (result, other) in enumerate(zip(expected, moved, strict=True)):
            with np.errstate(all="ignore"):
                difference = np.abs(_as_wide(other) - _as_wide(result))
            widest[index] = np.maximum(
                widest[index], np.nan_to_num(difference, nan=0.0, posinf=0.0)
            )
    return widest


def _moved(argument: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each element a few units in the last place up or down: what a stable algorithm may do.

    The kinds for which that is no small change stay.
    """
    if argument.dtype.name not in ("float32", "float64"):
        return argument
    direction = np.where(rng.random(argument.shape) < 0.5, -np.inf, np.inf)
    step = _MOVED_UNITS * (np.nextafter(argument, direction.astype(argument.dtype)) - argument)
    return np.where(np.isfinite(step), argument + step, argument)


def _as_wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


class OwnRunner:
    """Our executable. The arrays given are never changed: donated ones are copied first.

    Args:
        compiled: takes NumPy arrays, returns a tuple of them.
        arguments: NumPy arrays.
        donations: donated argument to the result that reuses its memory, or to None.
    """

    def __init__(
        self,
        compiled: Callable[..., tuple[np.ndarray, ...]],
        arguments: Sequence[np.ndarray],
        donations: Mapping[int, int | None],
    ) -> None:
        self._compiled = compiled
        self._original = list(arguments)
        self._donations = donations
        self._arguments = [
            argument.copy() if index in donations else argument
            for index, argument in enumerate(arguments)
        ]
        self._results: tuple[np.ndarray, ...] | None = None

    def prepare(self) -> None:
        if self._results is None:
            return
        for argument, result in self._donations.items():
            self._arguments[argument] = (
                self._original[argument].copy() if result is None else self._results[result]
            )

    def run(self) -> None:
        self._results = self._compiled(*self._arguments)

    def results(self) -> list[np.ndarray]:
        """The results of a run on the original arguments."""
        copies = [
            argument.copy() if index in self._donations else argument
            for index, argument in enumerate(self._original)
        ]
        return [np.asarray(result) for result in self._compiled(*copies)]


@dataclass(frozen=True)
class XlaMemory:
    """What XLA plans for a program: bytes for intermediates, and of all that lives at the peak."""

    temporary_bytes: int
    peak_bytes: int


def memory_by_xla(program: str | bytes | ir.Module) -> XlaMemory:
    """Compiles a program with XLA and asks for its memory; raises as `XlaPeer`."""
    return _memory_of(_compiled_by_xla(program)[2])


def _memory_of(executable: Any) -> XlaMemory:
    stats = executable.get_compiled_memory_stats()
    temporary = int(stats.temp_size_in_bytes)
    outside = stats.argument_size_in_bytes + stats.output_size_in_bytes - stats.alias_size_in_bytes
    return XlaMemory(temporary, int(outside) + temporary)


def _compiled_by_xla(program: str | bytes | ir.Module) -> tuple[Any, Any, Any, float]:
    """jax, its CPU device, the program's executable, and the seconds that compiling it took."""
    try:
        import jax
        from jaxlib.cpu import _lapack

        client_library: Any = importlib.import_module("jaxlib._jax")
    except ImportError as error:
        raise MissingExtraError(
            "comparing with XLA needs jax, which is not installed: run `pip install 'hlo[jax]'`"
        ) from error
    # Registers the custom calls of linear algebra (cholesky, triangular solve, ...) with XLA.
    _lapack.initialize()
    device = jax.devices("cpu")[0]
    stablehlo = _stablehlo_of(program)
    start = time.perf_counter()
    try:
        executable = device.client.compile_and_load(
            stablehlo,
            client_library.DeviceList((device,)),
            client_library.CompileOptions(),
        )
    except (jax.errors.JaxRuntimeError, ValueError) as error:
        raise CompileError(f"XLA does not compile the program: {error}") from error
    return jax, device, executable, time.perf_counter() - start


class XlaPeer:
    """XLA:CPU through jax's own client. Arguments are copied to its device memory before any run.

    Args:
        program: a program as `load_program` takes it; StableHLO goes to XLA as it is, hlo is
            exported.
        arguments: NumPy arrays.
        donations: donated argument to the result that reuses its memory, or to None.

    Raises:
        MissingExtraError: jax is not installed.
        CompileError: XLA rejects the program.
    """

    name = "xla:cpu"

    def __init__(
        self,
        program: str | bytes | ir.Module,
        arguments: Sequence[np.ndarray],
        donations: Mapping[int, int | None],
    ) -> None:
        compiled = _compiled_by_xla(program)
        jax, self._device, self._executable, self.compile_seconds = compiled
        self._jax = jax
        self._original = list(arguments)
        self._donations = donations
        self._arguments = [self._put(argument) for argument in arguments]
        self._results: list[Any] | None = None

    def prepare(self) -> None:
        if self._results is None:
            return
        for argument, result in self._donations.items():
            self._arguments[argument] = (
                self._put(self._original[argument]) if result is None else self._results[result]
            )

    def run(self) -> None:
        self._results = self._execute(self._arguments)
        for result in self._results:
            result.block_until_ready()

    def results(self) -> list[np.ndarray]:
        return self.results_for(self._original)

    def results_for(self, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
        fresh = [
            self._put(argument)
            if index in self._donations or argument is not self._original[index]
            else self._arguments[index]
            for index, argument in enumerate(arguments)
        ]
        return [np.asarray(result) for result in self._execute(fresh)]

    def temporary_bytes(self) -> int:
        """Bytes of scratch memory XLA allocates for intermediates."""
        return _memory_of(self._executable).temporary_bytes

    def peak_bytes(self) -> int:
        """Arguments, results and scratch memory, what is shared counted once."""
        return _memory_of(self._executable).peak_bytes

    def instruction_count(self) -> int:
        """Instructions of the optimised entry computation that XLA dispatches: all but the free
        ones.
        """
        text = str(self._executable.get_hlo_text())
        entry = text[text.index("\nENTRY ") :]
        lines = [line for line in entry.splitlines()[2:] if " = " in line]
        free = (" parameter(", " constant(", " tuple(", " get-tuple-element(", " bitcast(")
        return sum(1 for line in lines if not any(word in line for word in free))

    def _put(self, argument: np.ndarray) -> Any:
        # Without a copy jax may borrow the array's memory, and a donating run would write into it.
        with self._jax.enable_x64(True):
            return self._jax.device_put(argument, self._device, may_alias=False)

    def _execute(self, arguments: Sequence[Any]) -> list[Any]:
        try:
            outcome = self._executable.execute_sharded(arguments)
        except self._jax.errors.JaxRuntimeError as error:
            raise CompileError(f"XLA compiles the program and fails to run it: {error}") from error
        return [shards[0] for shards in outcome.disassemble_into_single_device_arrays()]


class ReferencePeer:
    """The reference evaluator: NumPy, one function an operation, slow and right."""

    name = "reference"

    def __init__(self, program: str | bytes | ir.Module, arguments: Sequence[np.ndarray]) -> None:
        from hlo.reference.evaluate import evaluate

        start = time.perf_counter()
        self._module = load_program(program)
        self.compile_seconds = time.perf_counter() - start
        self._arguments = list(arguments)
        self._evaluate = evaluate

    def prepare(self) -> None:
        """Nothing: the evaluator consumes no arguments."""

    def run(self) -> None:
        self._evaluate(self._module, self._arguments)

    def results(self) -> list[np.ndarray]:
        return self.results_for(self._arguments)

    def results_for(self, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
        return [np.asarray(result) for result in self._evaluate(self._module, list(arguments))]


def make_peer(
    name: str,
    program: str | bytes | ir.Module,
    arguments: Sequence[np.ndarray],
    donations: Mapping[int, int | None],
) -> Peer:
    """The peer that `--check` names: `jax` or `reference`.

    Raises:
        CompileError: no such peer, or it does not take the program.
    """
    if name == "jax":
        return XlaPeer(program, arguments, donations)
    if name == "reference":
        return ReferencePeer(program, arguments)
    raise CompileError(f"expected a peer to check against, `jax` or `reference`, found {name!r}")


def _stablehlo_of(program: str | bytes | ir.Module) -> str | bytes:
    if isinstance(program, ir.Module):
        return export_stablehlo(program)
    if isinstance(program, bytes) and not is_bytecode(program):
        program = program.decode("utf-8")
    if isinstance(program, str):
        if dialect_prefix.mentions_stablehlo(program):
            return program
        return export_stablehlo(load_program(program))
    return export_stablehlo(load_program(program), form="bytecode")
