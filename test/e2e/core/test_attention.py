"""Attention as one kernel: sizes, dimension orders, masks, element types and special values."""

from __future__ import annotations

from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np
import pytest
from core_programs import Array, Program, Value, assert_matches, reducer
from test_contractions import dot
from test_data_movement import ints

import hlo

MASKED = "-1.0e9"
INFINITIES = {"f16": "0xFC00", "bf16": "0xFF80", "f32": "0xFF800000", "f64": "0xFFF0000000000000"}
DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}


@dataclass(frozen=True)
class Case:
    """An attention.

    Attributes:
        batch, heads, queries, keys, depth, width: sizes.
        groups: queries of so many heads share a head of keys and values.
        query, key, value: orders of the operands' dimensions.
        mask: `none`, `causal`, `additive`, `boolean` or `keys` (a boolean for each key).
        value_first: whether the values are the left operand of the second dot.
        divide_last: whether the sums divide the result instead of the weights.
        transposed: whether the result is brought into the order batch, query, head, width.
        kind: element type.
    """

    batch: int = 1
    heads: int = 2
    queries: int = 40
    keys: int = 40
    depth: int = 16
    width: int = 16
    groups: int = 1
    query: str = "bqhgd"
    key: str = "bkhd"
    value: str = "bkhw"
    mask: str = "none"
    value_first: bool = False
    divide_last: bool = False
    transposed: bool = False
    kind: str = "f32"

    @property
    def sizes(self) -> dict[str, int]:
        return {"b": self.batch, "h": self.heads, "g": self.groups, "q": self.queries,
                "k": self.keys, "d": self.depth, "w": self.width}  # fmt: skip

    def shape(self, labels: str) -> tuple[int, ...]:
        return tuple(self.sizes[c] for c in labels)


def labelled_dot(
    p: Program, a: Value, a_labels: str, b: Value, b_labels: str, summed: str
) -> tuple[Value, str]:
    """A dot over `summed`, batched over the other labels that both have; its labels."""
    batch = [c for c in a_labels if c in b_labels and c != summed]
    contract = ([a_labels.index(summed)], [b_labels.index(summed)])
    batching = ([a_labels.index(c) for c in batch], [b_labels.index(c) for c in batch])
    rest = [c for c in a_labels + b_labels if c not in batch and c != summed]
    return dot(p, a, b, contract, batching), "".join(batch + rest)


def reordered(p: Program, x: Value, labels: str, wanted: str) -> Value:
    if labels == wanted:
        return x
    order = [labels.index(c) for c in wanted]
    shape = tuple(x.shape[d] for d in order)
    return p.op("transpose", [x], shape, attributes=f"permutation = {ints(order)}")


def spread(p: Program, x: Value, dims: list[int], shape: tuple[int, ...]) -> Value:
    return p.op("broadcast_in_dim", [x], shape, attributes=f"broadcast_dimensions = {ints(dims)}")


def folded(p: Program, x: Value, op: str, initial: str) -> Value:
    start = p.constant(initial, (), x.kind)
    last = len(x.shape) - 1
    return p.op("reduce", [x, start], x.shape[:-1], attributes=f"dimensions = {ints([last])}",
                regions=reducer(op, x.kind))  # fmt: skip


def compared(p: Program, a: Value, b: Value) -> Value:
    attribute = "comparison_direction = #hlo<comparison_direction GE>"
    return p.op("compare", [a, b], a.shape, "i1", attribute)


def masked(p: Program, case: Case, scores: Value) -> Value:
    shape, kind = scores.shape, scores.kind
    last = len(shape) - 1
    if case.mask == "causal":
        rows = p.op("iota", [], shape[-2:], "i32", "iota_dimension = 0 : i64")
        keys = p.op("iota", [], shape[-2:], "i32", "iota_dimension = 1 : i64")
        condition = spread(p, compared(p, rows, keys), [last - 1, last], shape)
    elif case.mask == "boolean":
        condition = spread(p, p.sample(shape[-2:], "i1"), [last - 1, last], shape)
    elif case.mask == "keys":
        condition = spread(p, p.sample(shape[-1:], "i1"), [last], shape)
    elif case.mask == "additive":
        bias = p.sample((shape[0], *shape[-2:]), kind)
        return p.op("add", [scores, spread(p, bias, [0, last - 1, last], shape)], shape)
    else:
        return scores
    fill = p.constant("-6.0e4" if kind == "f16" else MASKED, shape, kind)
    return p.op("select", [condition, scores, fill], shape, kind)


def attention(p: Program, case: Case, q: Value, k: Value, v: Value) -> Value:
    scores, labels = labelled_dot(p, q, case.query, k, case.key, "d")
    scores, labels = reordered(p, scores, labels, "bhgqk"), "bhgqk"
    shape = scores.shape
    scale = p.constant("1.250000e-01", shape, case.kind)
    logits = masked(p, case, p.op("multiply", [scores, scale], shape))
    peak = folded(p, logits, "maximum", INFINITIES[case.kind])
    rows = list(range(len(shape) - 1))
    gap = p.op("subtract", [logits, spread(p, peak, rows, shape)], shape)
    weights = p.op("exponential", [gap], shape)
    total = folded(p, weights, "add", "0.0")
    if not case.divide_last:
        weights = p.op("divide", [weights, spread(p, total, rows, shape)], shape)
    if case.value_first:
        out, labels = labelled_dot(p, v, case.value, weights, "bhgqk", "k")
    else:
        out, labels = labelled_dot(p, weights, "bhgqk", v, case.value, "k")
    if case.divide_last:
        at = [labels.index(c) for c in "bhgq"]
        if at != sorted(at):
            out, labels, at = reordered(p, out, labels, "bhgqw"), "bhgqw", [0, 1, 2, 3]
        out = p.op("divide", [out, spread(p, total, at, out.shape)], out.shape)
    return reordered(p, out, labels, "bqhgw") if case.transposed else out


def program(case: Case, arguments: list[Array] | None = None) -> Program:
    p = Program()
    orders = (case.query, case.key, case.value)
    if arguments is None:
        rng = np.random.default_rng(7)
        arguments = [
            rng.standard_normal(case.shape(labels)).astype(DTYPES[case.kind]) for labels in orders
        ]
    q, k, v = (p.argument(a) for a in arguments)
    p.result(attention(p, case, q, k, v))
    return p


def check(case: Case, arguments: list[Array] | None = None, ulps: float | None = None) -> None:
    p = program(case, arguments)
    assert "[attention]" in str(hlo.compile(p.text).explain()), p.text
    narrow = case.kind in ("f16", "bf16")
    assert_matches(p.text, p.arguments, ulps or (8 if narrow else 256))


@pytest.mark.parametrize("mask", ["none", "causal", "additive", "boolean", "keys"])
@pytest.mark.parametrize("queries", [1, 5, 16, 40, 65])
def test_masks_and_rows(mask: str, queries: int) -> None:
    keys = queries if mask == "causal" and queries > 1 else 70
    check(Case(queries=queries, keys=keys, mask=mask))


@pytest.mark.parametrize("value_first", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("divide_last", [False, True])
@pytest.mark.parametrize("queries", [3, 33])
def test_orders_of_results(
    value_first: bool, transposed: bool, divide_last: bool, queries: int
) -> None:
    case = Case(queries=queries, keys=29, depth=24, width=20, value_first=value_first)
    check(replace(case, transposed=transposed, divide_last=divide_last))


@pytest.mark.parametrize(
    ("query", "key", "value"),
    [("bhgqd", "bhkd", "bhkw"), ("bqhgd", "bhdk", "bhkw"), ("bhgdq", "bkhd", "bhwk"),
     ("dbqhg", "kbhd", "kwbh")],
)  # fmt: skip
@pytest.mark.parametrize("queries", [2, 37, 100])
def test_orders_of_operands(query: str, key: str, value: str, queries: int) -> None:
    heads = 8 if queries > 64 else 2  # enough for work units of several blocks: operands are packed
    case = Case(heads=heads, queries=queries, keys=35, depth=18, query=query, key=key, value=value)
    check(case)


@pytest.mark.parametrize("queries", [1, 21])
@pytest.mark.parametrize("mask", ["none", "causal"])
def test_grouped_queries(queries: int, mask: str) -> None:
    keys = queries if mask == "causal" and queries > 1 else 50
    check(Case(batch=2, heads=2, groups=3, queries=queries, keys=keys, mask=mask, transposed=True))


@pytest.mark.parametrize("kind", ["f16", "bf16", "f64"])
@pytest.mark.parametrize("queries", [2, 34, 70])
def test_element_types(kind: str, queries: int) -> None:
    case = Case(heads=8 if queries > 64 else 2, queries=queries, keys=max(queries, 34), kind=kind)
    check(replace(case, mask="causal" if queries > 2 else "none"))


@pytest.mark.parametrize(("depth", "width"), [(5, 7), (64, 64), (33, 130), (16, 4)])
@pytest.mark.parametrize("queries", [1, 48, 80])
def test_depths_and_widths(depth: int, width: int, queries: int) -> None:
    heads = 8 if queries > 64 else 2
    case = Case(heads=heads, queries=queries, keys=31, depth=depth, width=width)
    check(case)
    check(replace(case, transposed=True))


@pytest.mark.parametrize("keys", [200, 203])
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_hidden_keys_are_skipped_only_where_that_changes_nothing(keys: int, kind: str) -> None:
    """Skipping must not lose what 0 times NaN and infinity give, nor rows below the mask's fill."""
    case = Case(heads=3, queries=keys, keys=keys, mask="causal", kind=kind)
    rng = np.random.default_rng(3)
    q, k, v = (rng.standard_normal(case.shape(s)) for s in (case.query, case.key, case.value))
    v[0, keys - 1, 0, 3], v[0, keys - 40, 1, 5] = np.nan, np.inf
    # Row 10 has scores below -1e9: the hidden keys have the largest. No other row sees those
    # numbers, beside which what is left of a score is up to the order of summation.
    q[0, :, 1], k[0, :, 1] = 0.0, 1e9
    q[0, 10, 1] = -1e9
    k[0, 50, 2, 0], k[0, 60, 2, 1] = np.nan, np.inf
    check(case, [x.astype(DTYPES[kind]) for x in (q, k, v)])


def test_rows_with_infinities() -> None:
    """A row whose keys are all hidden by -inf is NaN, as if nothing were fused."""
    for queries in (2, 40):
        p = Program()
        case = Case(queries=queries, keys=48, mask="additive")
        q, k, v = (p.sample(case.shape(s), "f32") for s in (case.query, case.key, case.value))
        p.result(attention(p, case, q, k, v))
        p.arguments[3][0, 1, :] = -np.inf
        p.arguments[3][0, 0, 7:9] = -np.inf
        assert_matches(p.text, p.arguments, 256)


@pytest.mark.slow
@pytest.mark.parametrize("size", [128, 512, 2048])
@pytest.mark.parametrize("mask", ["none", "causal"])
def test_sizes_of_models(size: int, mask: str) -> None:
    check(Case(heads=2, queries=size, keys=size, depth=64, width=64, mask=mask), ulps=1024)
