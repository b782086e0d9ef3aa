"""Recurrent networks: RNN, GRU and LSTM, over scans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from hlo import lax, nn
from hlo import numpy as hnp
from hlo.frontend.tracer import Tracer
from hlo.onnx.ops.elementwise import number
from hlo.onnx.ops.registry import Call, op

Activation = Callable[[Tracer], Tracer]
Step = Callable[[tuple[Tracer, ...], Tracer], tuple[Tracer, ...]]

_DEFAULTS: Final[dict[str, tuple[float, float]]] = {
    "LeakyRelu": (0.01, 0.0),
    "ThresholdedRelu": (1.0, 0.0),
    "HardSigmoid": (0.2, 0.5),
    "Elu": (1.0, 0.0),
}
_ACTIVATIONS: Final[dict[str, Callable[[Tracer, float, float], Tracer]]] = {
    "Affine": lambda x, a, b: hnp.add(hnp.multiply(x, number(a, x)), number(b, x)),
    "Elu": lambda x, a, _: hnp.where(
        lax.gt(x, number(0, x)), x, hnp.multiply(lax.expm1(x), number(a, x))
    ),
    "HardSigmoid": lambda x, a, b: hnp.clip(
        hnp.add(hnp.multiply(x, number(a, x)), number(b, x)), number(0, x), number(1, x)
    ),
    "LeakyRelu": lambda x, a, _: hnp.where(
        lax.lt(x, number(0, x)), hnp.multiply(x, number(a, x)), x
    ),
    "Relu": lambda x, a, b: hnp.maximum(x, number(0, x)),
    "ScaledTanh": lambda x, a, b: hnp.multiply(
        lax.tanh(hnp.multiply(x, number(b, x))), number(a, x)
    ),
    "Sigmoid": lambda x, a, b: lax.logistic(x),
    "Softplus": lambda x, a, b: nn.softplus(x),
    "Softsign": lambda x, a, b: hnp.divide(x, hnp.add(hnp.abs(x), number(1, x))),
    "Tanh": lambda x, a, b: lax.tanh(x),
    "ThresholdedRelu": lambda x, a, _: hnp.where(lax.gt(x, number(a, x)), x, number(0, x)),
}


def _activations(call: Call, defaults: Sequence[str], directions: int) -> list[Activation]:
    """The functions of all directions, one direction after another."""
    names = call.get("activations") or [*defaults] * directions
    alphas = list(call.get("activation_alpha") or [])
    betas = list(call.get("activation_beta") or [])
    found: list[Activation] = []
    for name in names:
        known = {each.lower(): each for each in _ACTIVATIONS}.get(name.lower())
        if known is None:
            raise call.refuse(f"expected one of {', '.join(_ACTIVATIONS)}, found {name!r}")
        alpha, beta = _DEFAULTS.get(known, (1.0, 0.0))
        if known in ("Affine", "Elu", "HardSigmoid", "LeakyRelu", "ScaledTanh", "ThresholdedRelu"):
            alpha = alphas.pop(0) if alphas else alpha
        if known in ("Affine", "HardSigmoid", "ScaledTanh"):
            beta = betas.pop(0) if betas else beta
        function = _ACTIVATIONS[known]
        found.append(lambda x, f=function, a=alpha, b=beta: f(x, a, b))
    limit = call.get("clip")
    if limit is None:
        return found
    return [lambda x, f=f: f(hnp.clip(x, number(-limit, x), number(limit, x))) for f in found]


def _run(
    call: Call,
    x: Tracer,
    lengths: Tracer | None,
    states: Sequence[Tracer | None],
    hidden: int,
    steps: Sequence[Step],
) -> tuple[Tracer, ...]:
    """Scans each direction and puts the results together.

    Args:
        call: the node.
        x: (time, batch, features), or (batch, time, features) where `layout` is 1.
        lengths: (batch,); how many steps each of the batch has.
        states: (directions, batch, hidden) each, or None for zeros.
        hidden: features of the state.
        steps: of each direction.
    """
    batch_first = bool(call.get("layout", 0))
    if batch_first:
        x = hnp.swapaxes(x, 0, 1)
    batch = x.shape[1]
    outputs: list[Tracer] = []
    finals: list[tuple[Tracer, ...]] = []
    for i, step in enumerate(steps):
        backward = call.get("direction", "forward") == "reverse" or i == 1
        first = tuple(_state(s, i, (batch, hidden), x, batch_first=batch_first) for s in states)
        last, line = _scanned(step, first, x, lengths, reverse=backward)
        outputs.append(line)
        finals.append(last)
    stacked = hnp.stack(outputs, axis=1)  # (time, directions, batch, hidden)
    ends = [hnp.stack([each[k] for each in finals]) for k in range(len(states))]
    if batch_first:
        stacked = lax.transpose(stacked, (2, 0, 1, 3))
        ends = [hnp.swapaxes(each, 0, 1) for each in ends]
    return stacked, *ends


def _state(
    given: Tracer | None, direction: int, shape: tuple[int, int], x: Tracer, *, batch_first: bool
) -> Tracer:
    if given is None:
        return hnp.zeros(shape, x.dtype)
    return given[:, direction] if batch_first else given[direction]


def _scanned(
    step: Step, first: tuple[Tracer, ...], x: Tracer, lengths: Tracer | None, *, reverse: bool
) -> tuple[tuple[Tracer, ...], Tracer]:
    def body(carry: tuple[Tracer, ...], inputs: Any) -> tuple[tuple[Tracer, ...], Tracer]:
        found = step(carry, inputs[0])
        if lengths is None:
            return found, found[0]
        live = hnp.expand_dims(hnp.less(inputs[1], lengths), -1)
        kept = tuple(hnp.where(live, new, old) for new, old in zip(found, carry, strict=True))
        return kept, hnp.where(live, found[0], number(0, found[0]))

    xs: Any = (x,)
    if lengths is not None:
        xs = (x, hnp.arange(x.shape[0], dtype=lengths.dtype))
    return lax.scan(body, first, xs, reverse=reverse)


def _directions(call: Call) -> int:
    return 2 if call.get("direction", "forward") == "bidirectional" else 1


def _halves(bias: Tracer | None, i: int, width: int, x: Tracer) -> tuple[Tracer, Tracer]:
    """The biases of the input's and of the state's products."""
    if bias is None:
        return hnp.zeros((width,), x.dtype), hnp.zeros((width,), x.dtype)
    return bias[i, :width], bias[i, width:]


def _times(x: Tracer, w: Tracer) -> Tracer:
    """x w^T."""
    return lax.dot_general(x, w, (((x.ndim - 1,), (1,)), ((), ())))


@op("RNN")
def rnn(
    call: Call, x: Tracer, w: Tracer, r: Tracer, bias: Tracer | None = None,
    lengths: Tracer | None = None, initial: Tracer | None = None,
) -> tuple[Tracer, ...]:  # fmt: skip
    """H = f(x W^T + H R^T + biases)."""
    hidden = r.shape[-1]
    functions = _activations(call, ["Tanh"], _directions(call))

    def step_of(i: int) -> Step:
        ahead, behind = _halves(bias, i, hidden, x)
        both = hnp.add(ahead, behind)

        def step(state: tuple[Tracer, ...], now: Tracer) -> tuple[Tracer, ...]:
            total = hnp.add(hnp.add(_times(now, w[i]), _times(state[0], r[i])), both)
            return (functions[i](total),)

        return step

    return _run(call, x, lengths, [initial], hidden, [step_of(i) for i in range(w.shape[0])])


@op("GRU")
def gru(
    call: Call, x: Tracer, w: Tracer, r: Tracer, bias: Tracer | None = None,
    lengths: Tracer | None = None, initial: Tracer | None = None,
) -> tuple[Tracer, ...]:  # fmt: skip
    """Gates z, r, h, in this order in the weights."""
    n = r.shape[-1]
    functions = _activations(call, ["Sigmoid", "Tanh"], _directions(call))
    after = bool(call.get("linear_before_reset", 0))

    def step_of(i: int) -> Step:
        ahead, behind = _halves(bias, i, 3 * n, x)
        gate, update = functions[2 * i : 2 * i + 2]

        def step(state: tuple[Tracer, ...], now: Tracer) -> tuple[Tracer, ...]:
            (h,) = state
            by_input = hnp.add(_times(now, w[i]), ahead)
            gates = hnp.add(
                by_input[:, : 2 * n], hnp.add(_times(h, r[i, : 2 * n]), behind[: 2 * n])
            )
            z, reset = gate(gates[:, :n]), gate(gates[:, n:])
            weights, added = r[i, 2 * n :], behind[2 * n :]
            if after:
                by_state = hnp.multiply(reset, hnp.add(_times(h, weights), added))
            else:
                by_state = hnp.add(_times(hnp.multiply(reset, h), weights), added)
            new = update(hnp.add(by_input[:, 2 * n :], by_state))
            kept = hnp.multiply(hnp.subtract(number(1, z), z), new)
            return (hnp.add(kept, hnp.multiply(z, h)),)

        return step

    return _run(call, x, lengths, [initial], n, [step_of(i) for i in range(w.shape[0])])


@op("LSTM")
def lstm(
    call: Call, x: Tracer, w: Tracer, r: Tracer, bias: Tracer | None = None,
    lengths: Tracer | None = None, initial: Tracer | None = None,
    initial_cell: Tracer | None = None, peepholes: Tracer | None = None,
) -> tuple[Tracer, ...]:  # fmt: skip
    """Gates i, o, f, c, in this order in the weights; peepholes are those of i, o, f."""
    n = r.shape[-1]
    functions = _activations(call, ["Sigmoid", "Tanh", "Tanh"], _directions(call))
    coupled = bool(call.get("input_forget", 0))

    def step_of(d: int) -> Step:
        ahead, behind = _halves(bias, d, 4 * n, x)
        both = hnp.add(ahead, behind)
        gate, update, squash = functions[3 * d : 3 * d + 3]

        def peeped(total: Tracer, cell: Tracer, place: int) -> Tracer:
            if peepholes is None:
                return total
            return hnp.add(total, hnp.multiply(peepholes[d, place * n : (place + 1) * n], cell))

        def step(state: tuple[Tracer, ...], now: Tracer) -> tuple[Tracer, ...]:
            h, c = state
            total = hnp.add(hnp.add(_times(now, w[d]), _times(h, r[d])), both)
            parts = [total[:, k * n : (k + 1) * n] for k in range(4)]
            i = gate(peeped(parts[0], c, 0))
            f = hnp.subtract(number(1, i), i) if coupled else gate(peeped(parts[2], c, 2))
            cell = hnp.add(hnp.multiply(f, c), hnp.multiply(i, update(parts[3])))
            o = gate(peeped(parts[1], cell, 1))
            return hnp.multiply(o, squash(cell)), cell

        return step

    steps = [step_of(d) for d in range(w.shape[0])]
    return _run(call, x, lengths, [initial, initial_cell], n, steps)
