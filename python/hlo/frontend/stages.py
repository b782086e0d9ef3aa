"""A function on its way to native code: `Lowered` (traced) and `Compiled` (ready to run)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo import ir
from hlo.diagnostics import ArgumentError
from hlo.frontend.dtypes import dtype_name, iinfo
from hlo.frontend.errors import DtypeError
from hlo.frontend.fast_calls import FastCalls, Run, arranged
from hlo.frontend.lowering import Signature, aval_of
from hlo.frontend.pytree import (
    TreeDef,
    builder_of,
    from_plain,
    leaf_paths,
    plain,
    tree_flatten,
)
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.torch_tensors import are_of_torch, as_tensors, is_tensor

if TYPE_CHECKING:
    from hlo.driver.cost_report import CostAnalysis
    from hlo.driver.explain import FusionReport
    from hlo.driver.memory_report import MemoryAnalysis


@dataclass(frozen=True)
class Lowered:
    """A traced function: a module of the dialect.

    Attributes:
        module: the module; its public function is ``main``.
        signature: shapes and dtypes of the flat arguments and results.
        in_tree: structure of (positional arguments, keyword arguments) without static ones.
        donated: positions of the flat arguments whose memory results may take over.
    """

    module: ir.Module
    signature: Signature
    in_tree: TreeDef
    donated: tuple[int, ...] = ()

    def as_text(self, stage: str = "hlo", *, debug_info: bool = False) -> str:
        """The program as text.

        Args:
            stage: ``hlo`` (as traced), ``stablehlo``, or a phase of the compiler's pipeline
                (`hlo.driver.phases.Phase`).
            debug_info: whether to print source locations.
        """
        if stage == "stablehlo":
            from hlo.importers.stablehlo import export_stablehlo

            return export_stablehlo(self.module)
        if stage != "hlo":
            return self.compile().as_text(stage)
        return str(self.module.operation.get_asm(enable_debug_info=debug_info))

    @property
    def in_avals(self) -> tuple[ShapeDtype, ...]:
        """Shape and dtype of each array among the arguments."""
        return self.signature.in_avals

    @property
    def out_info(self) -> Any:
        """The results' pytree with a `ShapeDtype` in place of each array."""
        return self.signature.out_tree.unflatten(self.signature.out_avals)

    def __reduce__(self) -> tuple[Callable[..., Lowered], tuple[Any, ...]]:
        from hlo.driver.program_text import bytecode_of

        module = bytecode_of(self.module)
        return _lowered, (module, self.signature, self.in_tree, self.donated)

    def compile(self, target: str = "cpu", **options: Any) -> Compiled:
        """Compiles to native code.

        Args:
            target: ``cpu``.
            **options: as for `hlo.compile`.
        """
        from hlo.driver.compile import compile as compile_program

        if self.donated:
            options = {"donate": self.donated, **options}
        executable = compile_program(self.module, target=target, **options)
        return Compiled(executable, self.signature, self.in_tree)


_NUMBERS = (bool, int, float, complex)


def _lowered(module: bytes, *rest: Any) -> Lowered:
    from hlo.importers.program import load_program

    return Lowered(load_program(module), *rest)


@dataclass(frozen=True)
class Compiled:
    """A compiled function: called with the arguments it was lowered for, without static ones.

    Attributes:
        executable: the flat program (`hlo.driver.compile.Compiled`): arrays in, a tuple out.
        signature: shapes and dtypes of the flat arguments and results.
        in_tree: structure of (positional arguments, keyword arguments).
    """

    executable: Any
    signature: Signature
    in_tree: TreeDef

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program.

        Raises:
            ArgumentError: if the arguments' structure, shapes or dtypes are not those it was
                compiled for.
        """
        if (found := self._fast.find(args, kwargs)) is not None:
            run, leaves = found
            return run(leaves)
        return self._check_and_run(args, kwargs)

    def _check_and_run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        leaves, in_tree = tree_flatten((args, kwargs))
        if in_tree != self.in_tree:
            raise ArgumentError(f"expected arguments of structure {self.in_tree}, found {in_tree}")
        expected = self.signature.in_avals
        for i, (leaf, aval) in enumerate(zip(leaves, expected, strict=True)):
            if getattr(leaf, "shape", None) == aval.shape and leaf.dtype == aval.dtype:
                continue
            path = argument_labels(in_tree)[i]
            found = aval_of(leaf, path)
            if found != aval:
                raise ArgumentError(f"expected {aval} for argument {path}, found {found}")
        self._fast.remember(args, kwargs, leaves, self.fast_run)
        return self.run(leaves)

    def run(self, leaves: Sequence[Any]) -> Any:
        """Runs the program on flat arguments that are known to fit.

        Returns:
            NumPy arrays in the function's structure; tensors of PyTorch's if all arguments are
            such, or numbers.
        """
        arrays = [
            leaf if isinstance(leaf, np.ndarray) or is_tensor(leaf) else _as_array(leaf, aval.dtype)
            for leaf, aval in zip(leaves, self.signature.in_avals, strict=True)
        ]
        results = self.executable(*arrays)
        return self.unflatten(as_tensors(results) if are_of_torch(leaves) else results)

    @cached_property
    def _fast(self) -> FastCalls:
        return FastCalls()

    def fast_run(self, order: Sequence[int], leaves: Sequence[Any]) -> Run:
        """What runs the program on leaves of the same types as some, in another order.

        Args:
            order: where each flat argument is among them.
            leaves: those of a call.
        """
        executable, unflatten = self.executable, self.unflatten
        if any(type(leaf) in _NUMBERS for leaf in leaves):
            return arranged(order, self.run)
        if are_of_torch(leaves):
            return arranged(order, lambda flat: unflatten(as_tensors(executable(*flat))))
        return arranged(order, lambda flat: unflatten(executable(*flat)))

    @cached_property
    def unflatten(self) -> Callable[[tuple[Any, ...]], Any]:
        """From the flat results to the function's own structure."""
        tree = self.signature.out_tree
        if tree.node_type is None:
            return itemgetter(0)
        if tree.node_type is tuple and all(child.node_type is None for child in tree.children):
            return lambda results: results
        return builder_of(tree)

    def as_text(self, stage: str = "fused") -> str:
        """The program as text after a phase of the pipeline (`hlo.driver.phases.Phase`)."""
        return self.executable.as_text(stage)

    def explain(self) -> FusionReport:
        """Each fusion decision with its reason, the kernels, and the bytes they move."""
        return self.executable.explain()

    def cost_analysis(self) -> CostAnalysis:
        """Flops and bytes of one run, and of each kernel."""
        return self.executable.cost_analysis()

    def memory_analysis(self) -> MemoryAnalysis:
        """Arguments, results and every intermediate: sizes, live ranges and offsets."""
        return self.executable.memory_analysis()

    def assert_donated(self) -> None:
        """Checks that results take over the memory of all donated arguments.

        Raises:
            DonationError: one is donated in vain; the message names it and says why.
        """
        self.executable.assert_donated()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the function to a file, for `hlo.load`.

        Arguments and results must be built of tuples, lists, dicts and None; a function of other
        containers can be pickled.

        Raises:
            TreeError: they are not.
            UnsupportedError: it calls Python functions, which this process alone has.
            OSError: the file cannot be written.
        """
        from hlo.driver.saved_program import write

        structures = {"in_tree": plain(self.in_tree), "out_tree": plain(self.signature.out_tree)}
        write(self.executable, Path(path), {**structures, "name": self.signature.name})

    def __reduce__(self) -> tuple[type[Compiled], tuple[Any, ...]]:
        return Compiled, (self.executable, self.signature, self.in_tree)


def load(path: str | os.PathLike[str], *, recompile: bool = False) -> Any:
    """The program or function that `save` wrote, ready to run.

    Args:
        path: a file. It holds machine code, which runs as it is: load files of people you trust.
        recompile: compile it here if its code was made for another processor or another version of
            the runtime. Without, that is an error.

    Returns:
        A `Compiled` as `save` was called on: of `hlo.jit(f).lower(...).compile()`, or of
        `hlo.compile`.

    Raises:
        ParseError: the file holds no saved program, or is damaged.
        CompileError: its code does not run here; the message says why.
        OSError: the file cannot be read.
    """
    from hlo.driver.saved_program import read

    program, extra = read(Path(path), recompile=recompile)
    if "in_tree" not in extra:
        return program
    stored = program.stored.signature
    in_avals = tuple(ShapeDtype(a.shape, a.dtype) for a in stored.arguments)
    out_avals = tuple(ShapeDtype(r.shape, r.dtype) for r in stored.results)
    signature = Signature(extra["name"], in_avals, out_avals, from_plain(extra["out_tree"]))
    return Compiled(program, signature, from_plain(extra["in_tree"]))


def _as_array(leaf: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    try:
        return np.asarray(leaf, dtype)
    except OverflowError:
        info = iinfo(dtype)
        raise DtypeError(
            f"the argument {leaf} is out of the range of {dtype_name(dtype)}, {info.min} to "
            f"{info.max}; give it a wider type, such as numpy.int64"
        ) from None


def argument_labels(in_tree: TreeDef, names: Sequence[str] = ()) -> list[str]:
    """How the caller would name each leaf of (positional, keyword) arguments: ``params['w']``.

    Args:
        in_tree: structure of the arguments.
        names: the positional parameters' names, as far as known.
    """
    positional, keywords = in_tree.children
    labels: list[str] = []
    for i, child in enumerate(positional.children):
        labels += leaf_paths(child, names[i] if i < len(names) else f"args[{i}]")
    for name, child in zip(keywords.data, keywords.children, strict=True):
        labels += leaf_paths(child, name)
    return labels
