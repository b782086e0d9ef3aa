"""Fourier transforms as passes of a self-sorting (Stockham) transform of mixed radices.

A pass of radix r turns `current`-point transforms, `step` of them side by side, into r times as
many of current / r points: element q + step * (r * p + k) of its result is the sum over j of
element q + step * (p + m * j) times w_r^(j k), times w_current^(p k), with m = current / r. All
powers are read from one table of the length's roots of unity, made in double precision. (Van Loan,
"Computational Frameworks for the Fast Fourier Transform", section 1.7.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel, Stage, gpu_kernel, stage
from hlo.passes.hlo_to_gpu.rows import block_for, guarded_threads
from hlo.passes.hlo_to_gpu.thread_builder import ThreadBuilder
from hlo.passes.hlo_to_gpu.thread_emitter import ThreadEmitter
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.conditions import rebuild, register_types
from hlo.passes.hlo_to_loops.element_types import ElementType, element_type
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.index_values import index_value
from hlo.passes.hlo_to_loops.kernel_function import argument_buffers

LARGEST_RADIX = 8  # that factors are joined to; larger primes are radices of their own

# (emitter, offset) -> the complex element there
Source = Callable[[ThreadEmitter, Affine], Value]


def emit_fft(region: Region, node: Node) -> GpuKernel:
    """A kernel of one stage a pass and dimension, after one for each table of roots."""
    inputs, outputs = argument_buffers(region)
    operand, result = node.operands[0], node.results[0]
    if result.size == 0 or operand.size == 0:
        return gpu_kernel([], list(inputs.values()), outputs)
    plan = _Transform(region, node, inputs[operand], outputs[0])
    plan.build()
    return gpu_kernel(plan.stages(), list(inputs.values()), outputs, scratch=plan.scratch)


def radices(length: int) -> list[int]:
    """Factors whose product is `length`, small primes joined."""
    factors: list[int] = []
    rest, prime = length, 2
    while prime * prime <= rest:
        while rest % prime == 0:
            factors.append(prime)
            rest //= prime
        prime += 1
    if rest > 1:
        factors.append(rest)
    joined: list[int] = []
    for factor in factors:
        if joined and joined[-1] * factor <= LARGEST_RADIX:
            joined[-1] *= factor
        else:
            joined.append(factor)
    return joined or [1]


@dataclass
class _Transform:
    """The passes of one fft op, as bodies over elements of their targets."""

    region: Region
    node: Node
    source: Buffer
    target: Buffer
    scratch: list[Buffer] = field(default_factory=list[Buffer])
    _steps: list[tuple[Buffer, Callable[[ThreadEmitter, Affine], Value]]] = field(
        default_factory=list[tuple[Buffer, Callable[[ThreadEmitter, Affine], Value]]]
    )
    _tables: dict[int, Buffer] = field(default_factory=dict[int, Buffer])

    @property
    def type(self) -> ElementType:
        """The complex type that is computed in."""
        kinds = (self.node.operands[0].type, self.node.results[0].type)
        return next(t for t in kinds if t.is_complex)

    def build(self) -> None:
        kind = self.node.attributes["fft_type"]
        lengths = tuple(self.node.attributes["fft_length"])
        operand, result = self.node.operands[0], self.node.results[0]
        rank = operand.rank
        dims = list(range(rank - len(lengths), rank))
        shape = list(operand.shape)
        inverse = kind in ("IFFT", "IRFFT")
        at: Source = self._reader(self.source)
        scale = 1 / math.prod(lengths) if inverse else 1.0
        order = dims[::-1] if kind != "IRFFT" else dims
        for d in order:
            length = lengths[d - dims[0]]
            if kind == "IRFFT" and d == rank - 1:
                at, shape = self._mirrored(at, shape, length), [*shape[:-1], length]
            buffer = self._transform(at, shape, d, inverse)
            at = self._reader(buffer)
            if kind == "RFFT" and d == rank - 1:
                at = self._front(at, shape, result.shape[-1])
                shape = [*shape[:-1], result.shape[-1]]
        self._finish(at, scale)

    def stages(self) -> list[Stage]:
        """The passes in order, each on a thread an element of its target."""
        inputs, outputs = argument_buffers(self.region)
        buffers = [*inputs.values(), *outputs, *self.scratch]
        made: list[Stage] = []
        for target, compute in self._steps:
            em = ThreadEmitter(ThreadBuilder(block_for(target.elements)), inputs)

            def body(
                unit: Affine, em: ThreadEmitter = em, target: Buffer = target,
                compute: Callable[[ThreadEmitter, Affine], Value] = compute,
            ) -> None:  # fmt: skip
                em.store(compute(em, unit), target, unit)

            guarded_threads(em, target.elements, body)
            made.append(stage(em.b, buffers, [target], target.elements, em.b.block))
        return made

    # -- pieces ------------------------------------------------------------------------------------
    def _buffer(self, elements: int) -> Buffer:
        self.scratch.append(Buffer(f"%scratch{len(self.scratch)}", elements, self.type))
        return self.scratch[-1]

    def _reader(self, buffer: Buffer) -> Source:
        def read(em: ThreadEmitter, offset: Affine) -> Value:
            return elementwise.convert(em.b, em.load(buffer, offset), self.type)

        return read

    def _finish(self, at: Source, scale: float) -> None:
        result = self.node.results[0].type

        def compute(em: ThreadEmitter, unit: Affine) -> Value:
            value = at(em, unit)
            factor = em.b.constant(scale, self.type.register)
            parts = [
                em.b.op(f"arith.mulf {p}, {factor} : {self.type.register}") if scale != 1 else p
                for p in value.parts
            ]
            return Value(result, tuple(parts[: result.parts]))

        self._steps.append((self.target, compute))

    def _front(self, at: Source, shape: Sequence[int], kept: int) -> Source:
        """The first `kept` elements of the last dimension."""
        length = shape[-1]

        def read(em: ThreadEmitter, offset: Affine) -> Value:
            row, place = em.divmod(offset, kept)
            return at(em, row * length + place)

        return read

    def _mirrored(self, at: Source, shape: Sequence[int], length: int) -> Source:
        """The whole of a spectrum of which the last dimension holds the first half."""
        half = shape[-1]

        def read(em: ThreadEmitter, offset: Affine) -> Value:
            b = em.b
            row, place = em.divmod(offset, length)
            name = em.index(place)
            first = b.op(f"arith.cmpi ult, {name}, {b.index(length // 2 + 1)} : index")
            other = b.op(f"arith.subi {b.index(length)}, {name} : index")
            chosen = em.name_index(b.op(f"arith.select {first}, {name}, {other} : index"), half)
            real, imaginary = at(em, row * half + chosen).parts
            kind = self.type.register
            negated = b.op(f"arith.negf {imaginary} : {kind}")
            # The first element and the middle one are their own mirror images: real.
            alone = b.op(f"arith.cmpi eq, {name}, {b.index(0)} : index")
            if length % 2 == 0:
                middle = b.op(f"arith.cmpi eq, {name}, {b.index(length // 2)} : index")
                alone = b.op(f"arith.ori {alone}, {middle} : i1")
            turned = b.op(f"arith.select {first}, {imaginary}, {negated} : {kind}")
            zero = b.constant(0.0, kind)
            return Value(
                self.type, (real, b.op(f"arith.select {alone}, {zero}, {turned} : {kind}"))
            )

        return read

    def _transform(self, at: Source, shape: Sequence[int], dim: int, inverse: bool) -> Buffer:
        """Adds the passes along a dimension; gives the buffer with the result."""
        length, inner = shape[dim], math.prod(shape[dim + 1 :])
        total = math.prod(shape)
        table = self._table(length)
        pair = [self._buffer(total), self._buffer(total)]
        current, step = length, 1
        chosen = radices(length)
        target = pair[0]
        for number, radix in enumerate(chosen):
            target = pair[number % 2]
            work = _Pass(length, inner, current, step, radix, inverse, self.type)
            self._steps.append((target, work.computing(at, table)))
            at = self._reader(target)
            current, step = current // radix, step * radix
        return target

    def _table(self, length: int) -> Buffer:
        """exp(-2 pi i t / length) for t < length."""
        known = self._tables.get(length)
        if known is not None:
            return known
        table = self._tables[length] = self._buffer(length)
        double = element_type("f64")

        def compute(em: ThreadEmitter, unit: Affine) -> Value:
            b = em.b
            place = index_value(em, unit, double).name
            turn = b.constant(-2 * math.pi / length, "f64")
            angle = Value(double, (b.op(f"arith.mulf {place}, {turn} : f64"),))
            parts = [
                elementwise.convert(
                    b, elementwise.EMITTERS[name](b, [angle], double, {}), self.type.part_type
                ).name
                for name in ("cosine", "sine")
            ]
            return Value(self.type, tuple(parts))

        self._steps.append((table, compute))
        return table


@dataclass(frozen=True)
class _Pass:
    """One pass along lines of `length` elements, `inner` apart."""

    length: int
    inner: int
    current: int
    step: int
    radix: int
    inverse: bool
    type: ElementType

    def computing(self, at: Source, table: Buffer) -> Callable[[ThreadEmitter, Affine], Value]:
        """The function that gives an element of the pass's result."""

        def compute(em: ThreadEmitter, unit: Affine) -> Value:
            row, rest = em.divmod(unit, self.length * self.inner)
            place, line = em.divmod(rest, self.inner)
            base = row * (self.length * self.inner) + line
            high, q = em.divmod(place, self.step)
            p, k = em.divmod(high, self.radix)
            b, points = em.b, self.current // self.radix
            types = [self.type]
            zero = elementwise.constant(b, self.type, 0)
            carried = list(zip(zero.parts, register_types(em, types), strict=True))
            with b.loop(b.index(0), b.index(self.radix), b.index(1), carried) as loop:
                j = em.variable(loop.iv, self.radix)
                element = at(em, base + (q + (p + j * points) * self.step) * self.inner)
                (total,) = rebuild(types, loop.carried, 0)
                root = self._root(em, table, loop.iv, em.index(k), self.radix)
                loop.yielded = list(self._add(em, total, self._times(em, element, root)).parts)
            (total,) = rebuild(types, loop.results, 0)
            if points == 1:
                return total
            return self._times(
                em, total, self._root(em, table, em.index(p), em.index(k), self.current)
            )

        return compute

    def _root(self, em: ThreadEmitter, table: Buffer, a: str, c: str, order: int) -> Value:
        """w_order^(a c), from the table of roots of the whole length."""
        b = em.b
        power = b.op(f"arith.muli {a}, {c} : index")
        power = b.op(f"arith.remui {power}, {b.index(order)} : index")
        power = b.op(f"arith.muli {power}, {b.index(self.length // order)} : index")
        root = em.load(table, em.name_index(power, self.length))
        if not self.inverse:
            return root
        real, imaginary = root.parts
        return Value(root.type, (real, b.op(f"arith.negf {imaginary} : {self.type.register}")))

    def _times(self, em: ThreadEmitter, x: Value, y: Value) -> Value:
        b, kind = em.b, self.type.register
        (a, c), (d, e) = x.parts, y.parts
        real = b.op(f"arith.mulf {c}, {e} : {kind}")
        real = b.op(f"math.fma {a}, {d}, {b.op(f'arith.negf {real} : {kind}')} : {kind}")
        imaginary = b.op(f"arith.mulf {c}, {d} : {kind}")
        imaginary = b.op(f"math.fma {a}, {e}, {imaginary} : {kind}")
        return Value(self.type, (real, imaginary))

    def _add(self, em: ThreadEmitter, x: Value, y: Value) -> Value:
        b, kind = em.b, self.type.register
        return Value(
            self.type,
            tuple(
                b.op(f"arith.addf {p}, {q} : {kind}") for p, q in zip(x.parts, y.parts, strict=True)
            ),
        )
