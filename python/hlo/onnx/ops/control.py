"""Operators with graphs: If, Loop and Scan."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from hlo import lax
from hlo import numpy as hnp
from hlo.frontend.operands import convert, to_tracer
from hlo.frontend.tracer import Tracer
from hlo.onnx.model import Graph
from hlo.onnx.ops.registry import Call, op

MOST_OPENED: Final = 4096
"""Iterations of a loop that is opened because its body gives rows of a result, or sequences."""


def _traced(call: Call, value: Any) -> Tracer:
    if isinstance(value, list) or value is None:
        raise call.refuse("sequences and optional values do not pass through loops and branches")
    return to_tracer(value)


@op("If", raw=True)
def branch(call: Call, condition: Any) -> tuple[Any, ...]:
    """One graph or the other; only that one, if the condition is known."""
    yes, no = call.get("then_branch"), call.get("else_branch")
    if not isinstance(condition, Tracer):
        return tuple(call.evaluate(yes if np.asarray(condition).item() else no, []))

    def arm(graph: Graph) -> tuple[Tracer, ...]:
        return tuple(_traced(call, value) for value in call.evaluate(graph, []))

    return lax.cond(lax.reshape(condition, ()), lambda: arm(yes), lambda: arm(no))


@op("Loop", raw=True)
def loop(call: Call, count: Any = None, condition: Any = None, *first: Any) -> tuple[Any, ...]:
    """A body that runs at most so often, while its condition holds; what it gives besides its
    carries is stacked, which needs a number of iterations that is known."""
    body: Graph = call.get("body")
    carries = len(first)
    stacked = len(body.outputs) - 1 - carries
    if stacked or any(isinstance(value, list) for value in first):
        return _opened(call, body, count, condition, list(first), stacked)

    most = np.int64(np.iinfo(np.int64).max) if count is None else count
    most = convert(lax.reshape(to_tracer(most), ()), np.dtype(np.int64))
    live = to_tracer(np.bool_(True)) if condition is None else lax.reshape(to_tracer(condition), ())

    def again(state: tuple[Tracer, ...]) -> Tracer:
        return lax.bitwise_and(lax.lt(state[0], most), state[1])

    def step(state: tuple[Tracer, ...]) -> tuple[Tracer, ...]:
        found = call.evaluate(body, list(state))
        after, *rest = (_traced(call, value) for value in found)
        return hnp.add(state[0], np.int64(1)), lax.reshape(after, ()), *rest

    start = (to_tracer(np.int64(0)), live, *(_traced(call, value) for value in first))
    return tuple(lax.while_loop(again, step, start)[2:])


def _opened(
    call: Call, body: Graph, count: Any, condition: Any, state: list[Any], stacked: int
) -> tuple[Any, ...]:
    """A loop whose trips are known, one after another."""
    trips = np.iinfo(np.int64).max if count is None else call.known(0, count).item()
    live: Any = np.asarray(True) if condition is None else call.known(1, condition)
    rows: list[list[Tracer]] = [[] for _ in range(stacked)]
    i = 0
    while i < trips:
        if isinstance(live, Tracer):
            raise call.refuse(
                "how often a loop runs whose body gives a row of a result each time must be known "
                "when it is compiled; its condition is computed when the program runs"
            )
        if not np.asarray(live).item():
            break
        live, *found = call.evaluate(body, [np.asarray(i, np.int64), np.asarray(True), *state])
        state = found[: len(state)]
        for row, value in zip(rows, found[len(state) :], strict=True):
            row.append(_traced(call, value))
        i += 1
        if i > MOST_OPENED:
            raise call.refuse(f"expected at most {MOST_OPENED} iterations of such a loop")
    if stacked and not i:
        raise call.refuse("a loop that never runs gives rows of an unknown shape")
    return *state, *(hnp.stack(row) for row in rows)


@op("Scan", raw=True)
def scan(call: Call, *values: Any) -> tuple[Any, ...]:
    """A body over slices of some operands, with carries; its other results are stacked."""
    body: Graph = call.get("body")
    if call.version < 9:
        return _batched_scan(call, body, list(values))
    return _scan(call, body, [to_tracer(value) for value in values])


def _batched_scan(call: Call, body: Graph, values: list[Any]) -> tuple[Any, ...]:
    """The form of version 8, which has a batch dimension first and the lengths as an operand."""
    if values[0] is not None:
        raise call.refuse("sequence lengths of a scan are not taken; use version 9 or newer")
    operands = [to_tracer(value) for value in values[1:]]
    rows = [_scan(call, body, [x[b] for x in operands]) for b in range(operands[0].shape[0])]
    return tuple(hnp.stack(parts) for parts in zip(*rows, strict=True))


def _scan(call: Call, body: Graph, values: list[Tracer]) -> tuple[Any, ...]:
    count = call.get("num_scan_inputs")
    carries = len(values) - count
    state, lines = values[:carries], values[carries:]
    results = len(body.outputs) - carries
    in_axes = call.get("scan_input_axes") or [0] * count
    out_axes = call.get("scan_output_axes") or [0] * results
    backward = call.get("scan_input_directions", call.get("directions")) or [0] * count
    out_backward = call.get("scan_output_directions") or [0] * results
    moved = [hnp.moveaxis(x, axis, 0) for x, axis in zip(lines, in_axes, strict=True)]
    moved = [hnp.flip(x, 0) if turn else x for x, turn in zip(moved, backward, strict=True)]

    def step(state: tuple[Tracer, ...], now: tuple[Tracer, ...]) -> Any:
        found = [_traced(call, value) for value in call.evaluate(body, [*state, *now])]
        return tuple(found[:carries]), tuple(found[carries:])

    last, rows = lax.scan(step, tuple(state), tuple(moved))
    rows = [hnp.flip(x, 0) if turn else x for x, turn in zip(rows, out_backward, strict=True)]
    return *last, *(hnp.moveaxis(x, 0, axis) for x, axis in zip(rows, out_axes, strict=True))
