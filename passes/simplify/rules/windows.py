"""Windows over padded tensors, and windows that hold everything."""

from __future__ import annotations

import numpy as np

from hlo import ir
from hlo.passes.rewrite.tensor_types import shape_of
from hlo.passes.simplify.simplifier import RuleTable, Simplifier

TABLE = RuleTable()


def _edges(op: ir.Operation, s: Simplifier) -> tuple[ir.Operation, list[tuple[int, int]]] | None:
    """(the pad that an op reads, what it adds to each dimension's edges), if it adds no more."""
    pad = s.producer(op.operands[0], "hlo.pad")
    if pad is None or any(ir.attributes.ints(pad, "interior_padding")):
        return None
    low = ir.attributes.ints(pad, "edge_padding_low")
    high = ir.attributes.ints(pad, "edge_padding_high")
    if min((*low, *high), default=0) < 0 or 0 in shape_of(pad.operands[0]):
        return None
    return pad, list(zip(low, high, strict=True))


def _padding(b: ir.Context, pairs: list[tuple[int, int]]) -> ir.Attribute:
    element = ir.IntegerType.get_signless(64, b)
    return ir.constants.from_numpy(np.asarray(pairs, np.int64).reshape(len(pairs), 2), element)


@TABLE.rule("convolution")
def convolution_of_pad(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Zeros that are put around a convolution's input become its padding.

    Needs a padding value of +0, spatial dimensions only, and no dilation of the input.
    """
    found = _edges(op, s)
    if found is None:
        return None
    pad, edges = found
    value = s.splat(pad.operands[1])
    if value is None or any(np.asarray(value).tobytes()):
        return None
    numbers = ir.attributes.ConvDimensionNumbers(op.attributes["dimension_numbers"])
    spatial = list(numbers.input_spatial_dimensions)
    if any(edges[d] != (0, 0) for d in range(len(edges)) if d not in spatial):
        return None
    if any(n != 1 for n in ir.attributes.ints(op, "lhs_dilation", (1,) * len(spatial))):
        return None
    own = ir.attributes.pairs(op, "padding", tuple((0, 0) for _ in spatial))
    sums = [(a + edges[d][0], b + edges[d][1]) for d, (a, b) in zip(spatial, own, strict=True)]
    if any(min(pair) < 0 for pair in own):
        return None
    kept = {name: op.attributes[name] for name in op.attributes}
    kept["padding"] = _padding(op.context, sums)
    operands = [pad.operands[0], op.operands[1]]
    return s.builder.one("convolution", operands, op.results[0].type, kept)


@TABLE.rule("reduce_window")
def window_of_pad(op: ir.Operation, s: Simplifier) -> ir.Value | None:
    """Initial values that are put around an operand become the windows' padding.

    Needs one operand, the same constant as padding and initial value, and no dilation of the
    operand.
    """
    found = _edges(op, s) if len(op.results) == 1 else None
    if found is None:
        return None
    pad, edges = found
    value, initial = s.splat(pad.operands[1]), s.splat(op.operands[1])
    if value is None or initial is None or value.tobytes() != initial.tobytes():
        return None
    rank = len(edges)
    if any(n != 1 for n in ir.attributes.ints(op, "base_dilations", (1,) * rank)):
        return None
    own = ir.attributes.pairs(op, "padding", tuple((0, 0) for _ in edges))
    if any(min(pair) < 0 for pair in own):
        return None
    sums = [(a + c, b + d) for (a, b), (c, d) in zip(own, edges, strict=True)]
    new = op.clone(ip=s.builder.point)
    new.operands[0] = pad.operands[0]
    new.attributes["padding"] = _padding(op.context, sums)
    s.builder.created.append(new)
    return new.results[0]


@TABLE.rule("reduce_window")
def window_of_everything(op: ir.Operation, s: Simplifier) -> ir.Value | list[ir.Value] | None:
    """A window that holds all of some dimensions, and one element of each other, is a reduction
    along those dimensions: global pooling.

    Needs windows without padding, dilation, and strides that would leave elements out.
    """
    operands = list(op.operands)
    shape = shape_of(operands[0])
    ones = (1,) * len(shape)
    window = ir.attributes.ints(op, "window_dimensions")
    strides = ir.attributes.ints(op, "window_strides", ones)
    dilations = (
        *ir.attributes.ints(op, "base_dilations", ones),
        *ir.attributes.ints(op, "window_dilations", ones),
    )
    padding = ir.attributes.pairs(op, "padding", tuple((0, 0) for _ in shape))
    if any(n != 1 for n in dilations) or any(n for pair in padding for n in pair) or 0 in shape:
        return None
    folded = [d for d, n in enumerate(window) if n != 1]
    if not folded or any(window[d] != shape[d] for d in folded):
        return None
    if any(strides[d] != 1 for d in range(len(shape)) if d not in folded):
        return None
    b = s.builder
    kept = [n for d, n in enumerate(shape) if d not in folded]
    kinds = [b.tensor(kept, ir.RankedTensorType(r.type).element_type) for r in op.results]
    new = b.create("hlo.reduce", operands, kinds, {"dimensions": b.integers(folded)}, regions=1)
    op.regions[0].blocks[0].append_to(new.regions[0])
    return [b.reshape(r, shape_of(o)) for r, o in zip(new.results, op.results, strict=True)]
