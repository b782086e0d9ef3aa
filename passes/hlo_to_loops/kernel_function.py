"""Kernels: the text of their functions, and what the host program must know of them."""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass

from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Builder
from hlo.passes.hlo_to_loops.element_types import ElementType
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.graph import Region, Tensor


@dataclass(frozen=True)
class Kernel:
    """The text of one kernel.

    Attributes:
        text: a `func.func` named `@NAME`: fill in the name. Arguments are the inputs' memrefs, then
            the outputs', then `%begin, %end : index`, the range of work units.
        units: how many work units there are.
        together: how many units a thread should do one after another, where there are many.
        head, tail: how many units one thread does, in order, before and after all others; they are
            the last ones, the tail's behind the head's.
        inputs: memref types of the inputs.
        outputs: memref types of the outputs.
        in_place: inputs that are read only at the element that is then written, so that an output
            of the same size may share their memory.
        replaces: (output, input) pairs: that output may be that input's memory, no other output.
        updates: for a kernel that changes part of some inputs: the input that each output starts
            as. Its outputs must hold those inputs' values when it starts.
        update_safe: whether such an output may be the input's own memory.
        scratch: (elements, element type) of buffers the kernel works in; arguments after the
            outputs.
        runtime: whether the last argument is the `HloRuntime` pointer.
        work: element operations of the whole kernel, roughly nanoseconds of scalar code.
        seconds: that one thread takes for what is divided over threads, by the cost model.
        declarations: functions of the runtime that the text calls.
    """

    text: str
    units: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    in_place: tuple[int, ...] = ()
    replaces: tuple[tuple[int, int], ...] = ()
    updates: tuple[int, ...] | None = None
    update_safe: bool = False
    scratch: tuple[tuple[int, ElementType], ...] = ()
    runtime: bool = False
    work: int = 0
    seconds: float = 0.0
    declarations: tuple[str, ...] = ()
    head: int = 0
    tail: int = 0
    together: int = 1

    def reusable(self, output: int) -> tuple[int, ...]:
        """Inputs whose memory one output may take over, if it has the same size."""
        return (*(i for o, i in self.replaces if o == output), *self.in_place)


def argument_buffers(region: Region) -> tuple[dict[Tensor, Buffer], list[Buffer]]:
    """Buffers of the region's inputs, and of its results (`%in0.. `, `%out0..`)."""
    inputs = {t: Buffer(f"%in{i}", t.size, t.type) for i, t in enumerate(region.arguments)}
    outputs = [Buffer(f"%out{i}", t.size, t.type) for i, t in enumerate(region.results)]
    return inputs, outputs


def read_where_written(
    em: Emitter, inputs: Collection[Buffer], written: Set[Affine]
) -> tuple[int, ...]:
    """The inputs, by position, of which only the elements at these offsets were loaded.

    Of an input that no load is known of, nothing is known.
    """
    loaded = [em.loaded.get(buffer) for buffer in inputs]
    return tuple(i for i, offsets in enumerate(loaded) if offsets and offsets <= written)


def kernel_of(
    builder: Builder, inputs: Collection[Buffer], outputs: Sequence[Buffer], units: int, *,
    in_place: Sequence[int] = (), replaces: Sequence[tuple[int, int]] = (),
    updates: Sequence[int] | None = None, update_safe: bool = False,
    scratch: Sequence[Buffer] = (), runtime: bool = False, declarations: Sequence[str] = (),
    tail: int = 0, together: int = 1,
) -> Kernel:  # fmt: skip
    """The kernel whose body a builder holds; what is not said here is as in `Kernel`.

    Args:
        scratch: buffers that the body works in.
    """
    parameters = [f"{buffer.name}: {buffer.memref}" for buffer in (*inputs, *outputs, *scratch)]
    if runtime:
        parameters.append("%runtime: !llvm.ptr")
    head = f"func.func @NAME({', '.join([*parameters, '%begin: index', '%end: index'])}) {{"
    return Kernel(
        f"{head}\n{builder.text()}\n  return\n}}\n{builder.functions_text()}",
        units,
        tuple(buffer.memref for buffer in inputs),
        tuple(buffer.memref for buffer in outputs),
        in_place=tuple(in_place),
        replaces=tuple(replaces),
        updates=None if updates is None else tuple(updates),
        update_safe=update_safe,
        scratch=tuple((buffer.elements, buffer.type) for buffer in scratch),
        runtime=runtime,
        declarations=tuple(declarations),
        tail=tail,
        together=together,
    )


@contextmanager
def the_only_unit(b: Builder) -> Generator[None]:
    """The work of a kernel of one unit, if that is in the range it is given."""
    with b.when(b.op("arith.cmpi slt, %begin, %end : index")):
        yield
