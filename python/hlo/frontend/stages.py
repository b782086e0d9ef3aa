"""A function on its way to native code: `Lowered` (traced) and `Compiled` (ready to run)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo import ir
from hlo.diagnostics import ArgumentError
from hlo.frontend.lowering import Signature, aval_of
from hlo.frontend.pytree import TreeDef, builder_of, leaf_paths, tree_flatten
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
        return self.run(leaves)

    def run(self, leaves: Sequence[Any]) -> Any:
        """Runs the program on flat arguments that are known to fit.

        Returns:
            NumPy arrays in the function's structure; tensors of PyTorch's if all arguments are
            such, or numbers.
        """
        arrays = [
            leaf
            if isinstance(leaf, np.ndarray) or is_tensor(leaf)
            else np.asarray(leaf, aval.dtype)
            for leaf, aval in zip(leaves, self.signature.in_avals, strict=True)
        ]
        results = self.executable(*arrays)
        return self.unflatten(as_tensors(results) if are_of_torch(leaves) else results)

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
