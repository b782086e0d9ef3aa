"""What an attention kernel computes, read out of its ops: two dots around a softmax of rows.

Everything is described in the space of the logits, the tensor whose maximum is taken over its last
dimension: `rows` (its other dimensions) and the keys. Where an element of each operand and of the
result lies is an affine expression of those indices, so the order of dimensions, the transposes and
the reshapes in between cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position, suffix_products
from hlo.passes.hlo_to_loops.causal import hides_later_keys
from hlo.passes.hlo_to_loops.graph import Node, Tensor, monoid_of, splat_of, users

KEY, DEPTH, WIDTH = "k", "d", "w"
FOLDING = frozenset({"dot_general", "reduce"})
FLOATS = frozenset({"f16", "bf16", "f32", "f64"})


class NotAttentionError(Exception):
    """Ops are not an attention that the kernel can compute; the message says why."""


def row_name(dimension: int) -> str:
    """The variable that walks a row dimension of the logits."""
    return f"r{dimension}"


@dataclass(frozen=True)
class Operand:
    """An operand in memory, and the row-major offset of an element, in elements."""

    tensor: Tensor
    offset: Affine


@dataclass(frozen=True)
class Contraction:
    """A dot of scores or the like: the other operand, where results are, what it sums over.

    Attributes:
        summed: the variables of the dimensions that it sums over and that are not of one element.
        extent: that of the other operand's free dimension.
    """

    other: Operand
    result_at: Affine
    summed: frozenset[str]
    extent: int


@dataclass(frozen=True)
class CausalMask:
    """logits = select(condition, x, fill), the condition false where key > row + `ahead`.

    Attributes:
        row: the dimension of the logits that is compared with the keys.
        ahead: how many keys past its own position a row sees.
        fill: the logit of a hidden key.
    """

    row: int
    ahead: int
    fill: float


@dataclass(frozen=True)
class AttentionParts:
    """The tensors of an attention.

    Attributes:
        rows: extents of the row dimensions of the logits.
        keys, depth, width: extents of the keys, of what a score sums, and of a row of the result.
        query, key, value: operands; offsets in rows and DEPTH, rows, KEY and DEPTH, rows, KEY and
            WIDTH.
        scores: query times key, as the first dot gives them.
        logits: what the maximum is taken of: the scores scaled, masked and so on.
        peak: their maximum along a row.
        weights: what is summed, but for a conversion: the exponentials; `weights_at` is their
            offset, in rows and KEY.
        total: their sum along a row; `total_at` is its offset, in rows.
        quotient: weights / total where that is one op, and total is a sum of exponentials of
            logits less their maximum: then 1 / total neither overflows nor loses precision.
        probabilities: the operand of the second dot.
        probabilities_at: their offset, in rows and KEY.
        product: the second dot's result.
        result: the kernel's result.
        result_at: its offset, in rows and WIDTH.
        causal: the causal mask, where skipping hidden keys changes nothing.
    """

    rows: tuple[int, ...]
    keys: int
    depth: int
    width: int
    query: Operand
    key: Operand
    value: Operand
    scores: Tensor
    logits: Tensor
    peak: Node
    weights: Tensor
    weights_at: Affine
    total: Node
    total_at: Affine
    quotient: Tensor | None
    probabilities: Tensor
    probabilities_at: Affine
    product: Tensor
    result: Tensor
    result_at: Affine
    causal: CausalMask | None

    @property
    def block(self) -> int:
        """The longest row dimension along which keys and values stay the same, of several the
        innermost; -1 if none.
        """
        longest, found = 1, -1
        for d in reversed(range(len(self.rows))):
            name = row_name(d)
            shared = not (self.key.offset.coefficient(name) or self.value.offset.coefficient(name))
            if shared and self.rows[d] > longest:
                longest, found = self.rows[d], d
        return found


def attention_parts(nodes: Sequence[Node], result: Tensor) -> AttentionParts:
    """The parts of the attention that `nodes`, in program order, compute.

    Raises:
        NotAttentionError: if they are something else.
    """
    return Reading(nodes, result).parts()


class Reading:
    """Reads the parts out of ops; what it knows of them on the way."""

    def __init__(self, nodes: Sequence[Node], result: Tensor) -> None:
        self.nodes, self.result = list(nodes), result
        self.held = set(nodes)
        self.extents: dict[str, int] = {}
        # Row-major offsets, in rows and KEY, of the tensors that hold an element for each score.
        self.at: dict[Tensor, Affine] = {}

    def parts(self) -> AttentionParts:
        first, second = self._two("dot_general")
        maximum, total = self._two("reduce")
        require(monoid_of(maximum.regions[0]) == "maximum", "its first reduction is no maximum")
        require(monoid_of(total.regions[0]) == "add", "its second reduction is no sum")
        self.check_folds((maximum, total))
        scores, logits, weights = first.results[0], maximum.operands[0], total.operands[0]
        rows, keys = logits.shape[:-1], logits.shape[-1]
        require(logits.size > 0 and scores.size == logits.size, "it is empty or changes size")
        self.start(logits)
        depends = self.depends_on(scores)
        self._place(scores, logits, depends)
        side = [i for i, o in enumerate(second.operands) if o in depends]
        require(len(side) == 1, "its second dot does not read probabilities once")
        probabilities = second.operands[side[0]]
        weights = self.unconverted(weights, {maximum.results[0], total.results[0]}, probabilities)
        for name, tensor in (("sum", weights), ("dot", probabilities)):
            require(tensor in self.at, f"its {name} reads something else than a score's element")
        weights_dims = self.dims(self.at[weights], weights.shape)
        require(
            weights_dims is not None and weights_dims[-1] == _variable(KEY, keys),
            "its sum is not over the keys",
        )
        assert weights_dims is not None
        self._check_stages(scores, logits, maximum, weights, total, probabilities)
        query, key, depth = self.first_dot(first)
        value, product_at, width = self._second_dot(second, side[0])
        query, key, value = (self.in_memory(o) for o in (query, key, value))
        operands = (query, key, value)
        for operand in operands:
            require(operand.tensor.type.name in FLOATS, "an operand is not a float")
            require(operand.tensor.producer not in self.held, "an operand is made by the kernel")
        double = [t.type.name == "f64" for t in (scores, *self.at, *(o.tensor for o in operands))]
        require(all(double) or not any(double), "it changes between f64 and narrower floats")
        quotient = _quotient_of(self.nodes, logits, maximum, weights, total)
        return AttentionParts(
            rows, keys, depth, width, query, key, value, scores, logits, maximum, weights,
            self.at[weights], total,
            Position.of_dims(weights_dims[:-1]).linear(total.results[0].shape), quotient,
            probabilities, self.at[probabilities], second.results[0], self.result,
            self._through_to_result(second.results[0], product_at),
            self._causal(logits, quotient, probabilities),
        )  # fmt: skip

    def check_folds(self, folds: Sequence[Node]) -> None:
        """Reductions are of one operand, over its last dimension, from a constant."""
        for fold in folds:
            operand = fold.operands[0]
            require(len(fold.operands) == 2, "it reduces several operands")
            require(
                tuple(fold.attributes["dimensions"]) == (operand.rank - 1,),
                "it does not reduce the last dimension",
            )
            require(_is_constant(fold.operands[1]), "a reduction's initial value is no constant")

    def start(self, logits: Tensor) -> None:
        """Takes the dimensions of the logits for the variables of all positions."""
        rows = {row_name(d): size for d, size in enumerate(logits.shape[:-1])}
        self.extents = rows | {KEY: logits.shape[-1]}

    def _two(self, name: str) -> tuple[Node, Node]:
        found = [n for n in self.nodes if n.name == name]
        require(len(found) == 2, f"it holds {len(found)} ops {name}, not 2")
        return found[0], found[1]

    def depends_on(self, scores: Tensor) -> set[Tensor]:
        """The scores and everything made from them."""
        found = {scores}
        for node in self.nodes:
            if any(o in found for o in node.operands):
                found.update(node.results)
        return found

    def unconverted(self, summed: Tensor, folds: set[Tensor], probabilities: Tensor) -> Tensor:
        """The weights as the probabilities are made of them: ahead of a conversion for the sum."""
        tensor = summed
        while not self.made_of(probabilities, {tensor, *folds}):
            node = tensor.producer
            if node is None or node.name != "convert" or node not in self.held:
                return summed
            tensor = node.operands[0]
        return tensor

    # -- positions ---------------------------------------------------------------------------------
    def _place(self, scores: Tensor, logits: Tensor, depends: set[Tensor]) -> None:
        """Offsets of all that has an element for each score: from the logits back, and on."""
        dims = [Affine.variable(row_name(d)) for d in range(logits.rank - 1)]
        variables = [v if self.extents[n] > 1 else ZERO for v, n in zip(
            [*dims, Affine.variable(KEY)], self.extents, strict=True)]  # fmt: skip
        self.at[logits] = Position.of_dims(variables).linear(logits.shape)
        for node in reversed(self.nodes):
            result = node.results[0]
            if result in self.at and result is not scores and node.name not in FOLDING:
                for operand in node.operands:
                    if operand in depends and operand.size == scores.size:
                        self._note(operand, self.back(node, self.at[result]))
        require(scores in self.at, "its maximum is not taken of the scores")
        for node in self.nodes:
            result = node.results[0]
            if result.size != scores.size or result is scores or node.name in FOLDING:
                continue
            for operand in node.operands:
                if operand in self.at:
                    self._note(result, self._on(node, self.at[operand]))

    def place_all(self, scores: Tensor, logits: Tensor) -> None:
        """Offsets of tensors besides that take part element by element, such as gradients."""
        self._place(scores, logits, self.depends_on(scores))
        for node in reversed(self.nodes):
            result = node.results[0]
            if result not in self.at or result is scores or node.name in FOLDING:
                continue
            for operand in node.operands:
                if operand.size == scores.size and operand.producer in self.held:
                    offset = self.back(node, self.at[result])
                    if offset is not None:
                        self._note(operand, offset)
        self._place(scores, logits, self.depends_on(scores))

    def _note(self, tensor: Tensor, offset: Affine | None) -> None:
        require(offset is not None, "its indices are not affine")
        assert offset is not None
        known = self.at.setdefault(tensor, offset)
        require(known == offset, "a score is read at two places")

    def dims(self, offset: Affine, shape: Sequence[int]) -> tuple[Affine, ...] | None:
        """The index in each dimension of an offset; None where one is not affine."""
        dims: list[Affine] = []
        for stride in suffix_products(shape):
            split = offset.divmod(stride, self.extents)
            if split is None:
                return None
            dims.append(split[0])
            offset = split[1]
        return tuple(dims)

    def back(self, node: Node, offset: Affine) -> Affine | None:
        """The operand's offset for one of the result."""
        if node.name != "transpose":
            return offset if node.name not in ("broadcast_in_dim", "reduce") else None
        result, operand = node.results[0], node.operands[0]
        if (dims := self.dims(offset, result.shape)) is None:
            return None
        source = [ZERO] * operand.rank
        for d, p in enumerate(node.attributes["permutation"]):
            source[p] = dims[d]
        return Position.of_dims(source).linear(operand.shape)

    def _on(self, node: Node, offset: Affine) -> Affine | None:
        """The result's offset for one of the operand."""
        if node.name != "transpose":
            return offset if node.name not in ("broadcast_in_dim", "reduce") else None
        operand = node.operands[0]
        if (dims := self.dims(offset, operand.shape)) is None:
            return None
        moved = [dims[p] for p in node.attributes["permutation"]]
        return Position.of_dims(moved).linear(node.results[0].shape)

    def _through_to_result(self, product: Tensor, offset: Affine) -> Affine:
        """The kernel's result is the product moved, or element by element the same."""
        at = self.moved_on(product, offset)
        require(self.result in at, "its result is not made of the second dot's")
        return at[self.result]

    def moved_on(self, product: Tensor, offset: Affine) -> dict[Tensor, Affine]:
        """The offsets of an element of a product in all that is made of it, in program order."""
        at = {product: offset}
        for node in self.nodes:
            for operand in node.operands:
                if operand in at and node.results[0].size == product.size:
                    moved = self._on(node, at[operand])
                    require(moved is not None, "its result's indices are not affine")
                    assert moved is not None
                    at[node.results[0]] = moved
        return at

    # -- dots --------------------------------------------------------------------------------------
    def first_dot(self, dot: Node, name: str = DEPTH) -> tuple[Operand, Operand, int]:
        """(query, key, depth); `name` is the variable of what is summed."""
        scores = dot.results[0]
        dims = self.dims(self.at[scores], scores.shape)
        require(dims is not None, "its scores' indices are not affine")
        assert dims is not None
        sides = _sides(dot, dims)
        depth = dot.operands[0].shape[_only(sides[0].summed)]
        self.extents[name] = depth
        offsets = [self._operand(side, {_only(side.summed): _variable(name, depth)}, dims)
                   for side in sides]  # fmt: skip
        walks = [o.offset.coefficient(KEY) != 0 for o in offsets]
        if scores.size == self.extents[KEY] == 1 or not any(walks):
            walks = [False, True]
        require(walks[0] != walks[1], "both operands of its first dot walk the keys")
        key, query = (offsets[0], offsets[1]) if walks[0] else (offsets[1], offsets[0])
        return query, key, depth

    def _second_dot(self, dot: Node, side: int) -> tuple[Operand, Affine, int]:
        """(value, offset of the result, width)."""
        contraction = self.contraction(dot, side, WIDTH)
        keys = frozenset({KEY} if self.extents[KEY] > 1 else ())
        require(contraction.summed == keys, "its second dot does not sum over the keys")
        return contraction.other, contraction.result_at, contraction.extent

    def contraction(self, dot: Node, side: int, name: str) -> Contraction:
        """A dot of a tensor with an element for each score, operand `side`, and one in memory."""
        weights = dot.operands[side]
        dims = self.dims(self.at[weights], weights.shape)
        require(dims is not None, "its probabilities' indices are not affine")
        assert dims is not None
        numbers = dot.attributes["dot_dimension_numbers"]
        names = ("lhs", "rhs") if side == 0 else ("rhs", "lhs")
        ours, theirs = (_dims_of(numbers, name) for name in names)
        summed = [dims[d].variables for d in ours[1] if weights.shape[d] != 1]
        value = dot.operands[1 - side]
        free = [d for d in range(value.rank) if d not in theirs[0] and d not in theirs[1]]
        wide = [d for d in free if value.shape[d] != 1]
        require(len(wide) <= 1, "its values have several free dimensions")
        extent = value.shape[wide[0]] if wide else 1
        self.extents[name] = extent
        at = [ZERO] * value.rank
        for p, q in zip(ours[0], theirs[0], strict=True):
            at[q] = dims[p]
        for p, q in zip(ours[1], theirs[1], strict=True):
            at[q] = dims[p]
        for d in wide:
            at[d] = _variable(name, extent)
        rest = [d for d in range(weights.rank) if d not in ours[0] and d not in ours[1]]
        ours_free, theirs_free = [dims[d] for d in rest], [at[d] for d in free]
        first, last = (ours_free, theirs_free) if side == 0 else (theirs_free, ours_free)
        place = [*(dims[p] for p in ours[0]), *first, *last]
        product = dot.results[0]
        return Contraction(
            Operand(value, Position.of_dims(at).linear(value.shape)),
            Position.of_dims(place).linear(product.shape),
            frozenset[str]().union(*summed),
            extent,
        )

    def in_memory(self, operand: Operand) -> Operand:
        """The operand as part of the tensor that it is a slice or reshape of in the kernel."""
        tensor, offset = operand.tensor, operand.offset
        while (node := tensor.producer) is not None and node in self.held:
            if node.name == "slice":
                dims = self.dims(offset, tensor.shape)
                require(dims is not None, "an operand's indices are not affine")
                starts, strides = node.attributes["start_indices"], node.attributes["strides"]
                moved = [d * n + a for d, a, n in zip(dims or (), starts, strides, strict=True)]
                offset = Position.of_dims(moved).linear(node.operands[0].shape)
            elif node.name != "reshape":
                break
            tensor = node.operands[0]
        return Operand(tensor, offset)

    @staticmethod
    def _operand(side: _Side, summed: Mapping[int, Affine], dims: Sequence[Affine]) -> Operand:
        at = [ZERO] * side.tensor.rank
        for d, k in side.result_dims.items():
            at[d] = dims[k]
        for d, index in summed.items():
            at[d] = index
        return Operand(side.tensor, Position.of_dims(at).linear(side.tensor.shape))

    # -- stages ------------------------------------------------------------------------------------
    def _check_stages(
        self, scores: Tensor, logits: Tensor, maximum: Node, weights: Tensor, total: Node,
        probabilities: Tensor,
    ) -> None:  # fmt: skip
        """Each stage is made of what the one before keeps: logits, then weights in their place."""
        peak, sums = maximum.results[0], total.results[0]
        require(self.made_of(logits, {scores}), "its logits need more than the scores")
        require(self.made_of(weights, {logits, peak}), "its weights need more than the logits")
        require(
            self.made_of(probabilities, {weights, peak, sums}),
            "its probabilities need more than the weights",
        )
        product = [n.results[0] for n in self.nodes if n.name == "dot_general"][1]
        require(
            self.made_of(self.result, {product, sums}), "its result needs more than the product"
        )
        inner = {t for t in self.depends_on(scores) if t in self.at}
        readers = users(self.nodes)
        for tensor in inner:
            require(tensor is not self.result, "its scores are a result")
            require(bool(readers.get(tensor)), "a score is read outside")

    def made_of(self, tensor: Tensor, known: set[Tensor]) -> bool:
        """Whether a tensor needs no result of a dot or reduction but `known`."""
        pending, seen = [tensor], set[Tensor]()
        while pending:
            current = pending.pop()
            if current in known or current in seen:
                continue
            seen.add(current)
            node = current.producer
            if node is None or node not in self.held:
                continue
            if node.name in FOLDING:
                return False
            pending.extend(node.operands)
        return True

    def _causal(
        self, logits: Tensor, quotient: Tensor | None, probabilities: Tensor
    ) -> CausalMask | None:
        """A mask of iotas right behind the scores, whose hidden keys end as probabilities of 0."""
        if quotient is None or not _keeps_zero(probabilities, quotient):
            return None
        tensor = logits
        while tensor.producer is not None and tensor.producer.name == "reshape":
            tensor = tensor.producer.operands[0]
        node = tensor.producer
        if node is None or node.name != "select" or tensor not in self.at:
            return None
        condition, _, other = node.operands
        fill = other.producer
        if fill is None or fill.name != "constant" or splat_of(fill) is None:
            return None
        dims = self.dims(self.at[tensor], tensor.shape)
        if dims is None or condition.shape != tensor.shape:
            return None
        for d, size in enumerate(logits.shape[:-1]):
            row = Affine.variable(row_name(d))
            if size > 1 and row in dims and Affine.variable(KEY) in dims:
                row_dim, key_dim = dims.index(row), dims.index(Affine.variable(KEY))
                ahead = hides_later_keys(condition, row_dim, key_dim)
                if ahead is not None:
                    return CausalMask(d, ahead, float(splat_of(fill) or 0.0))
        return None


@dataclass(frozen=True)
class _Side:
    """One operand of a dot: which dimension of the result each of its dimensions is."""

    tensor: Tensor
    result_dims: dict[int, int]
    summed: tuple[int, ...]


def _sides(dot: Node, dims: Sequence[Affine]) -> tuple[_Side, _Side]:
    numbers = dot.attributes["dot_dimension_numbers"]
    sides: list[_Side] = []
    at = 0
    for tensor, name in zip(dot.operands, ("lhs", "rhs"), strict=True):
        batch, summed = _dims_of(numbers, name)
        at = at or len(batch)
        found = {d: k for k, d in enumerate(batch)}
        for d in range(tensor.rank):
            if d not in batch and d not in summed:
                found[d] = at
                at += 1
        sides.append(_Side(tensor, found, summed))
    assert at == len(dims) or not dims
    return sides[0], sides[1]


def _dims_of(numbers: Mapping[str, tuple[int, ...]], side: str) -> tuple[tuple[int, ...], ...]:
    return (
        tuple(numbers.get(f"{side}_batching_dimensions", ())),
        tuple(numbers.get(f"{side}_contracting_dimensions", ())),
    )


def _only(dims: Sequence[int]) -> int:
    require(len(dims) == 1, "a dot sums over several dimensions or none")
    return dims[0]


def _variable(name: str, extent: int) -> Affine:
    return Affine.variable(name) if extent > 1 else ZERO


def require(holds: bool, reason: str) -> None:
    if not holds:
        raise NotAttentionError(reason)


def _is_constant(tensor: Tensor) -> bool:
    node = tensor.producer
    return node is not None and node.name == "constant" and splat_of(node) is not None


def spread_from(tensor: Tensor) -> Tensor:
    """What a tensor is a broadcast or reshape of."""
    while tensor.producer is not None and tensor.producer.name in ("broadcast_in_dim", "reshape"):
        tensor = tensor.producer.operands[0]
    return tensor


def moved_from(tensor: Tensor) -> Tensor:
    while tensor.producer is not None and tensor.producer.name == "reshape":
        tensor = tensor.producer.operands[0]
    return tensor


def _quotient_of(
    nodes: Sequence[Node], logits: Tensor, maximum: Node, weights: Tensor, total: Node
) -> Tensor | None:
    """weights / total, where weights = exponential(logits - maximum)."""
    exponential = moved_from(weights).producer
    if exponential is None or exponential.name != "exponential":
        return None
    difference = moved_from(exponential.operands[0]).producer
    if difference is None or difference.name != "subtract":
        return None
    left, right = difference.operands
    if moved_from(left) is not moved_from(logits):
        return None
    if spread_from(right) is not maximum.results[0]:
        return None
    for node in nodes:
        if (
            node.name == "divide"
            and moved_from(node.operands[0]) is moved_from(weights)
            and unconverted_spread(node.operands[1]) is total.results[0]
        ):
            return node.results[0]
    return None


def unconverted_spread(tensor: Tensor) -> Tensor:
    tensor = spread_from(tensor)
    while tensor.producer is not None and tensor.producer.name == "convert":
        tensor = spread_from(tensor.producer.operands[0])
    return tensor


def _keeps_zero(tensor: Tensor, source: Tensor) -> bool:
    """Whether a tensor is 0 wherever `source` is, and depends on it element by element."""
    while tensor is not source:
        node = tensor.producer
        if node is None:
            return False
        if node.name in ("reshape", "convert", "transpose"):
            tensor = node.operands[0]
        elif node.name == "select" and _is_zero(node.operands[2]):
            tensor = node.operands[1]
        else:
            return False
    return True


def _is_zero(tensor: Tensor) -> bool:
    return _is_constant(tensor) and tensor.producer is not None and not splat_of(tensor.producer)
