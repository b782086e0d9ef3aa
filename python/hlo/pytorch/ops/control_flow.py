"""Branches and loops. Their graphs come as functions of tensors that return tuples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hlo import lax
from hlo.diagnostics import UnsupportedError
from hlo.frontend.tracer import Tracer
from hlo.pytorch.ops.registry import higher_order

Function = Callable[..., tuple[Any, ...]]


@higher_order("cond")
def cond(
    pred: Any, true_graph: Function, false_graph: Function, operands: Sequence[Any] = ()
) -> tuple[Any, ...]:
    """`torch.cond`: one of two graphs."""
    if not isinstance(pred, Tracer):
        return (true_graph if pred else false_graph)(*operands)
    return lax.cond(lax.reshape(pred, ()), true_graph, false_graph, *operands)


@higher_order("while_loop")
def while_loop(
    condition: Function, body: Function, carried: Sequence[Any], additional: Sequence[Any] = ()
) -> tuple[Any, ...]:
    """`torch.while_loop`: a graph again and again, while another gives true."""

    def goes_on(values: tuple[Any, ...]) -> Any:
        (verdict,) = condition(*values, *additional)
        return lax.reshape(verdict, ())

    def step(values: tuple[Any, ...]) -> tuple[Any, ...]:
        return body(*values, *additional)

    return lax.while_loop(goes_on, step, tuple(carried))


@higher_order("scan")
def scan(
    combine: Function, init: Sequence[Any], xs: Sequence[Any], additional: Sequence[Any] = ()
) -> tuple[Any, ...]:
    """`scan`: a graph for each slice of the leading dimension, and what it carries."""
    count = len(init)

    def step(carry: tuple[Any, ...], slices: tuple[Any, ...]) -> tuple[Any, Any]:
        found = combine(*carry, *slices, *additional)
        return tuple(found[:count]), tuple(found[count:])

    carry, stacked = lax.scan(step, tuple(init), tuple(xs))
    return (*carry, *stacked)


@higher_order("wrap_with_set_grad_enabled")
def wrap_with_set_grad_enabled(enabled: bool, graph: Function, *operands: Any) -> tuple[Any, ...]:
    """A region without gradients, which means nothing where none are recorded."""
    return graph(*operands)


@higher_order("with_effects")
def with_effects(token: Any, operator: str, *operands: Any) -> tuple[Any, ...]:
    """An operator that only checks its operands, in order with others: factorizations that do not
    exist give NaN, not an error.
    """
    if operator != "aten._linalg_check_errors.default":
        raise UnsupportedError("the operator does something besides its results", op=operator)
    return (token,)
