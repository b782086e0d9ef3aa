"""Which kernels a convolution of cuDNN could stand for, and what it is called.

A convolution of StableHLO is one of three of the library's: forward, the gradient of its input
(which turns the window around, and spreads the input where the forward one has strides), or that
of its window (which is as large as the places of the result, and the other way around). Operands
must be inputs of the kernel: what is computed on the way to them, the library does not compute.
What follows is its own if it has the like, else a kernel behind the call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from hlo.gpu.convolution import Convolution, Direction, Layout, layouts_of, strides_of
from hlo.passes.hlo_to_gpu.gpu_kernel import LibraryCall, Stage, stage
from hlo.passes.hlo_to_gpu.rows import block_for, guarded_threads
from hlo.passes.hlo_to_gpu.thread_builder import ThreadBuilder
from hlo.passes.hlo_to_gpu.thread_emitter import ThreadEmitter
from hlo.passes.hlo_to_gpu.vendor_epilogue import Epilogue
from hlo.passes.hlo_to_gpu.vendor_products import SMALLEST_FLOPS
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position, suffix_products
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Builder, Value
from hlo.passes.hlo_to_loops.elemental.reductions import padding_pairs
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor
from hlo.passes.hlo_to_loops.kernel_function import argument_buffers
from hlo.passes.hlo_to_loops.loop_kernel import FOLDS

MOST_SPATIAL = 3
_TYPES = {  # of the factors, of the result
    ("f32", "f32"), ("f64", "f64"), ("f16", "f16"), ("f16", "f32"), ("bf16", "bf16"),
    ("bf16", "f32"), ("i8", "i32"),
}  # fmt: skip
_MOVES = {"reverse", "transpose", "reshape"}  # on the way from an input to an operand
_ACTIVATIONS = ("", "relu")
_STRAIGHT, _TURNED = frozenset({False}), frozenset({True})


# From an index in each dimension of a tensor of the library to one in each of a node's operand.
_At = Callable[[Emitter, Sequence[Affine]], list[Affine]]


@dataclass(frozen=True)
class _Windows:
    """The attributes of a convolution; labels by side, all else by spatial dimension."""

    input: Mapping[str, int]
    kernel: Mapping[str, int]
    output: Mapping[str, int]
    spatial: tuple[str, ...]
    strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    spread_input: tuple[int, ...]
    spread_window: tuple[int, ...]
    reversal: tuple[bool, ...]
    groups: int
    batch_groups: int

    @staticmethod
    def of(node: Node) -> _Windows:
        attributes = node.attributes
        labels, rank = attributes["dimension_numbers"], node.operands[0].rank - 2
        ones = (1,) * rank

        def at(side: str) -> dict[str, int]:
            return {label: d for d, label in enumerate(labels[side])}

        return _Windows(
            at("input"), at("kernel"), at("output"), tuple(str(k) for k in range(rank)),
            tuple(attributes.get("window_strides") or ones),
            tuple((low, high) for low, high in padding_pairs(attributes.get("padding"), rank)),
            tuple(attributes.get("lhs_dilation") or ones),
            tuple(attributes.get("rhs_dilation") or ones),
            tuple(attributes.get("window_reversal") or (False,) * rank),
            attributes["feature_group_count"], attributes["batch_group_count"],
        )  # fmt: skip


@dataclass(frozen=True)
class _Placed:
    """A tensor of the library, and where its elements are.

    Attributes:
        dims: n or k, c, and the spatial extents.
        strides: elements between neighbours in memory, negative where it is turned around; None
            where no strides say where its elements are.
        turns: whether spatial dimensions of more than one element are turned around.
        tensor, at: the operand that it is, for one that is read.
        order: for the result, which of its dimensions these are.
    """

    dims: tuple[int, ...]
    strides: tuple[int, ...] | None
    turns: frozenset[bool] = _STRAIGHT
    tensor: Tensor | None = None
    at: _At | None = None
    order: tuple[int, ...] | None = None

    def layouts(self) -> frozenset[Layout]:
        """Those that it has, turned around or not."""
        if self.strides is None or min(self.strides[:2]) < 0:
            return frozenset()
        return layouts_of(self.dims, tuple(map(abs, self.strides)))


@dataclass(frozen=True)
class _Found:
    """A convolution and its tensors; `copied` if the window must be copied to its layout."""

    convolution: Convolution
    x: _Placed
    w: _Placed
    y: _Placed
    copied: bool


def vendor_convolution(region: Region, *, tf32: bool, deterministic: bool) -> LibraryCall | None:
    """The call that a kernel could be; None if the library has none like it, or it is small.

    Args:
        tf32: whether its f32 factors may be rounded to tf32.
        deterministic: as of `Convolution`.
    """
    (node,) = (node for node in region.nodes if node.name == "convolution")
    result = node.results[0]
    factors = {operand.type.name for operand in node.operands}
    if len(factors) > 1 or not 1 <= result.rank - 2 <= MOST_SPATIAL or result.size == 0:
        return None
    found = _Reader(region, node).found()
    if found is None or found.convolution.flops < SMALLEST_FLOPS:
        return None
    plain = replace(
        found.convolution, factor=min(factors), result=result.type.name, tf32=tf32,
        deterministic=deterministic,
    )  # fmt: skip
    known = replace(found, convolution=plain)
    return _fused(region, node, known) or _followed(region, node, known)


class _Reader:
    """Reads a convolution as one of the library's."""

    def __init__(self, region: Region, node: Node) -> None:
        self.region, self.node = region, node
        self.windows = _Windows.of(node)
        self.inputs, _ = argument_buffers(region)

    def found(self) -> _Found | None:
        """As the gradient of an input if the window is turned around, else by its size."""
        w = self.windows
        spread = set(w.spread_input) != {1}
        if w.batch_groups == 1 and set(w.strides) == {1}:
            gradient = self._input_gradient()
            if spread or (gradient is not None and gradient.w.turns == _STRAIGHT):
                return gradient
        if spread:
            return None
        window = math.prod(self.node.operands[1].shape[w.kernel[s]] for s in w.spatial)
        places = math.prod(self.node.results[0].shape[w.output[s]] for s in w.spatial)
        if w.groups == 1 and (w.batch_groups > 1 or window > places):
            return self._weight_gradient()
        return self._forward() if w.batch_groups == 1 else None

    def _forward(self) -> _Found | None:
        w = self.windows
        before, after = zip(*w.padding, strict=True)
        return self._assembled(
            "forward", self._left("b", "f"), self._window(turned=False), self._result("b", "f"),
            w.strides, w.spread_window, before, after,
        )  # fmt: skip

    def _input_gradient(self) -> _Found | None:
        """The left operand is y, the result x; the window is turned around, and y spread."""
        w, window = self.windows, self._window(turned=True)
        reach = [(n - 1) * d for n, d in zip(window.dims[2:], w.spread_window, strict=True)]
        before = [r - low for r, (low, _) in zip(reach, w.padding, strict=True)]
        after = [r - high for r, (_, high) in zip(reach, w.padding, strict=True)]
        return self._assembled(
            "input", self._result("b", "f"), window, self._left("b", "f"), w.spread_input,
            w.spread_window, before, after,
        )  # fmt: skip

    def _weight_gradient(self) -> _Found | None:
        """The left operand is x, by whose batch is summed; the right one is y, the result w."""
        w = self.windows
        before, after = zip(*w.padding, strict=True)
        order = (w.kernel["i"], w.kernel["o"], *(w.kernel[s] for s in w.spatial))
        y = self._read(self.node.operands[1], order)
        return self._assembled(
            "weights", self._left("f", "b"), self._result("f", "b"), y, w.spread_window, w.strides,
            before, after,
        )  # fmt: skip

    def _assembled(
        self, direction: Direction, x: _Placed, w: _Placed, y: _Placed, strides: Sequence[int],
        dilation: Sequence[int], before: Sequence[int], after: Sequence[int],
    ) -> _Found | None:  # fmt: skip
        layouts = x.layouts() & y.layouts()
        if not layouts or (x.turns | y.turns) - _STRAIGHT or min((*before, 0)) < 0:
            return None
        kept = layouts & w.layouts() if len(w.turns) < 2 else frozenset[Layout]()
        layout: Layout = "last" if "last" in (kept or layouts) else "first"
        if direction == "weights" and True in w.turns:
            return None
        convolution = Convolution(
            direction, x.dims, w.dims, y.dims, layout, tuple(strides), tuple(dilation),
            tuple(before), tuple(before), bool(kept) and w.turns == _TURNED, "", "",
        )  # fmt: skip
        ends = [before, after, _least_after(convolution)]
        fitting = [replace(convolution, after=tuple(end)) for end in ends if min((*end, 0)) >= 0]
        chosen = next((one for one in fitting if one.windows_fit()), None)
        return None if chosen is None else _Found(chosen, x, w, y, not kept)

    def _left(self, first: str, second: str) -> _Placed:
        """The left operand, its dimensions of such labels the first two."""
        w = self.windows
        order = (w.input[first], w.input[second], *(w.input[s] for s in w.spatial))
        return self._read(self.node.operands[0], order)

    def _result(self, first: str, second: str) -> _Placed:
        """The result, as `_left`."""
        w, shape = self.windows, self.node.results[0].shape
        order = (w.output[first], w.output[second], *(w.output[s] for s in w.spatial))
        steps = suffix_products(shape)
        dims, strides = (tuple(values[d] for d in order) for values in (shape, steps))
        return _Placed(dims, strides, order=order)

    def _read(self, tensor: Tensor, order: Sequence[int]) -> _Placed:
        dims = tuple(tensor.shape[d] for d in order)

        def at(_: Emitter, indices: Sequence[Affine]) -> list[Affine]:
            found = [ZERO] * len(order)
            for d, index in zip(order, indices, strict=True):
                found[d] = index
            return found

        strides = self._strides(tensor, dims, at, lambda indices: indices)
        return _Placed(dims, strides, _turns(dims, strides), tensor, at)

    def _window(self, *, turned: bool) -> _Placed:
        """The right operand as [k, c, taps]; if `turned`, of a gradient, in groups of k."""
        w, tensor = self.windows, self.node.operands[1]
        taps = [tensor.shape[w.kernel[s]] for s in w.spatial]
        inner, outer = tensor.shape[w.kernel["i"]], tensor.shape[w.kernel["o"]]
        dims = (inner * w.groups, outer // w.groups, *taps) if turned else (outer, inner, *taps)

        def at(em: Emitter, indices: Sequence[Affine]) -> list[Affine]:
            k, c, *places = indices
            if turned and w.groups > 1:
                group, k = em.divmod(k, inner)
                c = c + group * dims[1]
            found = [ZERO] * tensor.rank
            found[w.kernel["o"]], found[w.kernel["i"]] = (c, k) if turned else (k, c)
            for s, tap, n, back in zip(w.spatial, places, taps, w.reversal, strict=True):
                found[w.kernel[s]] = tap * -1 + (n - 1) if turned != back else tap
            return found

        groups = w.groups if turned else 1
        split = (groups, dims[0] // groups, *dims[1:])
        found = self._strides(
            tensor, split, at, lambda indices: [indices[0] * split[1] + indices[1], *indices[2:]]
        )
        strides = None
        if found is not None:
            apart = groups > 1 and split[1] > 1 and found[0] != split[1] * found[1]
            step = found[0] if split[1] == 1 and groups > 1 else found[1]
            strides = None if apart else (step, *found[2:])
        return _Placed(dims, strides, _turns(split[1:], found and found[1:]), tensor, at)

    def _strides(
        self, tensor: Tensor, dims: Sequence[int], at: _At,
        whole: Callable[[Sequence[Affine]], Sequence[Affine]],
    ) -> tuple[int, ...] | None:  # fmt: skip
        """Of an operand that is an input of the kernel, moved at the most.

        Args:
            dims: of the tensor, or with some of them split.
            at: where the operand's elements are.
            whole: from an index in each of `dims` to one that `at` takes.
        """
        if _source(tensor, self.region) is None:
            return None
        em = Emitter(Builder(), self.inputs)
        names = [f"%d{k}" for k in range(len(dims))]
        pairs = zip(names, dims, strict=True)
        indices = whole([em.variable(name, n) if n > 1 else ZERO for name, n in pairs])
        em.element(tensor, Position.of_dims(at(em, indices)))
        offsets = [offset for found in em.loaded.values() for offset in found]
        if len(offsets) != 1 or not offsets[0].variables <= set(names):
            return None
        strides = tuple(offsets[0].coefficient(name) for name in names)
        least = sum(min((n - 1) * step, 0) for n, step in zip(dims, strides, strict=True))
        return strides if offsets[0].constant == -least else None


def _turns(dims: Sequence[int], strides: Sequence[int] | None) -> frozenset[bool]:
    """As of `_Placed`; unknown strides are taken for those of a tensor that is not."""
    if strides is None:
        return _STRAIGHT
    pairs = zip(dims[2:], strides[2:], strict=True)
    return frozenset(stride < 0 for extent, stride in pairs if extent > 1)


def _least_after(convolution: Convolution) -> list[int]:
    """The fewest zeros behind x with which y has its size."""
    found = zip(
        convolution.y[2:], convolution.strides, convolution.w[2:], convolution.dilation,
        convolution.x[2:], convolution.before, strict=True,
    )  # fmt: skip
    return [max((y - 1) * s + (w - 1) * d + 1 - x - b, 0) for y, s, w, d, x, b in found]


def _source(tensor: Tensor, region: Region) -> Tensor | None:
    """The input of the kernel that a tensor is, turned, transposed or reshaped at the most."""
    while tensor not in region.arguments:
        if tensor.producer is None or tensor.producer.name not in _MOVES:
            return None
        (tensor,) = tensor.producer.operands
    return tensor


def _fused(region: Region, node: Node, found: _Found) -> LibraryCall | None:
    """The call that does what follows the convolution too; None if it has nothing like it."""
    convolution, result = found.convolution, region.results[0]
    feature = node.attributes["dimension_numbers"]["output"].index("f")
    forward = convolution.direction == "forward"
    if len(region.results) > 1 or result.shape != node.results[0].shape:
        return None
    epilogue = Epilogue(region, node, (feature,), residual=forward)
    activation = epilogue.activation(_ACTIVATIONS if forward else ("",))
    if activation is None or (not forward and epilogue.bias is not None):
        return None
    whole = replace(
        convolution, result=result.type.name, bias=epilogue.bias is not None,
        residual=epilogue.residual is not None, activation=activation,
    )  # fmt: skip
    extra = [tensor for tensor in (epilogue.bias, epilogue.residual) if tensor is not None]
    call = _Call(region, node, replace(found, convolution=whole))
    return call.made(extra, call.outputs[0], follows=False)


def _followed(region: Region, node: Node, found: _Found) -> LibraryCall | None:
    """The call of the convolution alone, with a stage behind it that does the rest.

    That passes the result through memory once more, which the convolution may make up for.
    """
    result = node.results[0]
    if any(tensor.size != result.size for tensor in region.results) or len(_folds(region)) > 1:
        return None
    call = _Call(region, node, found)
    # The library's result lies where a result of the kernel will.
    pairs = zip(region.results, call.outputs, strict=True)
    target = next((buffer for tensor, buffer in pairs if tensor.type == result.type), None)
    return call.made((), target, follows=True)


def _folds(region: Region) -> list[Node]:
    return [node for node in region.nodes if node.name in FOLDS]


class _Call:
    """A call as it is put together."""

    def __init__(self, region: Region, node: Node, found: _Found) -> None:
        self.region, self.node, self.found = region, node, found
        self.inputs, self.outputs = argument_buffers(region)

    def made(
        self, extra: Sequence[Tensor], target: Buffer | None, *, follows: bool
    ) -> LibraryCall | None:
        """The call.

        Args:
            extra: inputs of the kernel that it reads besides the factors.
            target: where the library's result is, unless it is a window that is copied.
            follows: whether more is computed of its result.
        """
        convolution, found = self.found.convolution, self.found
        gradient = convolution.direction == "weights"
        if (convolution.factor, convolution.result) not in _TYPES:
            return None
        placed = {"x": found.x, "w": found.w, "y": found.y}
        operands = [placed[name].tensor for name in convolution.operands]
        sources = [None if t is None else _source(t, self.region) for t in operands]
        if None in sources:
            return None
        reads = [self.inputs[t] for t in (*sources, *extra) if t is not None]
        scratch = [self._window()] if found.copied else []
        everything = [*self.inputs.values(), *self.outputs, *scratch]
        before: tuple[Stage, ...] = ()
        after: tuple[Stage, ...] = ()
        if found.copied and gradient:
            target, follows = scratch[0], True
        elif found.copied:
            before = (self._copied_window(scratch[0], everything),)
            reads[convolution.operands.index("w")] = scratch[0]
        if target is None:
            return None
        if follows:
            after = (self._rest(target, everything),)
        return LibraryCall(
            "cudnn", "convolution", tuple(everything.index(buffer) for buffer in reads),
            (everything.index(target),), convolution.parameters(), before, after,
            tuple((buffer.elements, buffer.type) for buffer in scratch),
        )  # fmt: skip

    def _window(self) -> Buffer:
        """Where the window is in the library's layout."""
        convolution = self.found.convolution
        gradient = convolution.direction == "weights"
        kind = self.node.results[0].type if gradient else self.node.operands[1].type
        return Buffer("%scratch0", math.prod(convolution.w), kind)

    def _copied_window(self, window: Buffer, buffers: Sequence[Buffer]) -> Stage:
        """Ahead of the call: the window to the library's layout."""
        convolution, w = self.found.convolution, self.found.w
        assert w.tensor is not None and w.at is not None
        tensor, where = w.tensor, w.at
        spatial = range(2, len(w.dims))
        order = (0, 1, *spatial) if convolution.layout == "first" else (0, *spatial, 1)

        def body(em: ThreadEmitter, unit: Affine) -> None:
            places = em.dims(Position.of_offset(unit), [w.dims[d] for d in order])
            at = dict(zip(order, places, strict=True))
            indices = [at[d] for d in range(len(w.dims))]
            em.store(em.element(tensor, Position.of_dims(where(em, indices))), window, unit)

        return self._stage(body, window.elements, buffers, [window])

    def _rest(self, target: Buffer, buffers: Sequence[Buffer]) -> Stage:
        """Behind the call: the kernel's results, of those of the library in `target`.

        Each element is read at the offset that is then written, so that results may share memory
        with the same inputs as those of the kernel's own stages, and with `target`.
        """
        result, results = self.node.results[0], self.region.results
        copied = self.found.copied and self.found.convolution.direction == "weights"
        steps = self._steps() if copied else suffix_products(result.shape)

        def body(em: ThreadEmitter, unit: Affine) -> None:
            def element(position: Position) -> Value:
                offset = ZERO
                for place, step in zip(em.dims(position, result.shape), steps, strict=True):
                    offset = offset + place * step
                return em.load(target, offset)

            em.provide(result, element)
            values = [em.element(tensor, Position.of_offset(unit)) for tensor in results]
            for value, buffer in zip(values, self.outputs, strict=True):
                em.store(value, buffer, unit)

        return self._stage(body, result.size, buffers, self.outputs)

    def _steps(self) -> list[int]:
        """Elements of the library's window between neighbours in each dimension of the result."""
        convolution, w = self.found.convolution, self.found.w
        assert w.order is not None
        steps = strides_of(convolution.w, convolution.layout)
        return [steps[w.order.index(d)] for d in range(len(w.dims))]

    def _stage(
        self, body: Callable[[ThreadEmitter, Affine], None], elements: int,
        buffers: Sequence[Buffer], written: Sequence[Buffer],
    ) -> Stage:  # fmt: skip
        """A thread an element."""
        block = block_for(elements)
        em = ThreadEmitter(ThreadBuilder(block), self.inputs)
        guarded_threads(em, elements, lambda unit: body(em, unit))
        return stage(em.b, buffers, written, elements, block)
