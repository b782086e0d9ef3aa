"""Branches, calls and functions, barriers, tuples, random bits."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from fuzzing.programs import FLOATS, INTEGERS, MOST_ELEMENTS, Grower, Step, Value, numbers, tensor


def case(g: Grower) -> None:
    """An index out of range takes the last branch."""
    x = g.pick(lambda v: v.exact and v.kind in (*INTEGERS, *FLOATS))
    if x is None:
        return
    index, t = g.like(Value("", (), "i32"), tame=True), x.type
    y = g.like(x)
    branches = [
        f'{{ %z = hlo.{op} {x.name}, {y.name} : {t} "hlo.return"(%z) : ({t}) -> () }}'
        for op in g.random.sample(["add", "subtract", "maximum", "multiply"], 3)
    ]
    g.emit("case", [index], (x.shape, x.kind), regions=", ".join(branches))


def nested_loop(g: Grower) -> None:
    """A loop in a loop, with a branch, that updates a row of its carry in every iteration."""
    x = g.pick(lambda v: v.exact and v.kind in INTEGERS and len(v.shape) == 2 and prod(v.shape) > 0)
    if x is None:
        return
    (_rows, columns), t, s = x.shape, x.type, "tensor<i32>"
    row = tensor((1, columns), x.kind)
    trips, zero = g.random.randint(1, 4), g.like(Value("", (), "i32"), tame=True)
    types = f"{s}, {t}"
    condition = (
        f"^bb0(%i: {s}, %p: {t}): %n = hlo.constant dense<{trips}> : {s} "
        f"%c = hlo.compare LT, %i, %n : ({s}, {s}) -> tensor<i1> "
        '"hlo.return"(%c) : (tensor<i1>) -> ()'
    )
    slices = f"{{slice_sizes = array<i64: 1, {columns}>}}"
    body = (
        f"^bb0(%i: {s}, %p: {t}): %one = hlo.constant dense<1> : {s} "
        f"%o = hlo.constant dense<0> : {s} %j = hlo.add %i, %one : {s} "
        f'%r = "hlo.dynamic_slice"(%p, %i, %o) {slices} : ({t}, {s}, {s}) -> {row} '
        f'%q = "hlo.dynamic_slice"(%p, %j, %o) {slices} : ({t}, {s}, {s}) -> {row} '
        f"%u = hlo.add %r, %q : {row} "
        f'%w = "hlo.dynamic_update_slice"(%p, %u, %j, %o) : ({t}, {row}, {s}, {s}) -> {t} '
        f'"hlo.return"(%j, %w) : ({types}) -> ()'
    )
    inner = f'%z:2 = "hlo.while"(%h, %m) ({{{condition}}}, {{{body}}}) : ({types}) -> ({types}) '
    outer = (
        f"{{^bb0(%k: {s}, %m: {t}): %d = hlo.constant dense<2> : {s} "
        f"%e = hlo.compare LT, %k, %d : ({s}, {s}) -> tensor<i1> "
        '"hlo.return"(%e) : (tensor<i1>) -> () }, '
        f"{{^bb0(%k: {s}, %m: {t}): %h = hlo.constant dense<0> : {s} "
        f"%f = hlo.constant dense<1> : {s} %l = hlo.add %k, %f : {s} {inner}"
        f'"hlo.return"(%l, %z#1) : ({types}) -> () }}'
    )
    g.emit("while", [zero, x], ((), "i32"), (x.shape, x.kind), regions=outer)


def _function(g: Grower, x: Value) -> tuple[str, str]:
    name, t = f"@f{g.count()}", x.type
    text = (
        f"func.func private {name}(%x: {t}, %y: {t}) -> {t} {{\n"
        f"  %0 = hlo.add %x, %y : {t}\n  %1 = hlo.maximum %0, %y : {t}\n  return %1 : {t}\n}}"
    )
    return name, text


def called(g: Grower) -> None:
    """A call of a function, or a composite of one."""
    x = g.pick(lambda v: v.exact and v.kind in (*INTEGERS, *FLOATS))
    if x is None:
        return
    y, result, t = g.like(x), g.value(x.shape, x.kind), x.type
    name, function = _function(g, x)
    types = f"({t}, {t}) -> {t}"
    text = f"{result.name} = func.call {name}({x.name}, {y.name}) : {types}"
    if g.random.random() < 0.5:
        attributes = f'{{name = "fuzz.op", decomposition = {name}, version = 1 : i32}}'
        text = f'{result.name} = "hlo.composite"({x.name}, {y.name}) {attributes} : {types}'
    g.append(Step(text, (result,), function))


def barrier(g: Grower) -> None:
    x = g.pick(lambda v: v.exact)
    y = g.pick(lambda v: v.exact)
    if x is not None and y is not None:
        g.emit("optimization_barrier", [x, y], (x.shape, x.kind), (y.shape, y.kind))


def through_tuple(g: Grower) -> None:
    x, y = g.pick(lambda v: v.exact), g.pick(lambda v: v.exact)
    if x is None or y is None:
        return
    result, name = g.value(y.shape, y.kind), f"%t{g.count()}"
    both = f"tuple<{x.type}, {y.type}>"
    text = (
        f'{name} = "hlo.tuple"({x.name}, {y.name}) : ({x.type}, {y.type}) -> {both} '
        f'{result.name} = "hlo.get_tuple_element"({name}) {{index = 1 : i32}} : '
        f"({both}) -> {y.type}"
    )
    g.append(Step(text, (result,)))


def copy(g: Grower) -> None:
    x = g.pick(lambda v: True)
    if x is not None:
        g.emit("copy", [x], (x.shape, x.kind), exact=x.exact, tame=x.tame, slack=x.slack)


def through_async(g: Grower) -> None:
    x = g.pick(lambda v: v.exact and bool(v.shape) and v.shape[0] > 0)
    if x is None:
        return
    limits = [g.random.randint(1, x.shape[0]), *x.shape[1:]]
    result, name = g.value(tuple(limits), x.kind), f"%t{g.count()}"
    ones, zeros = numbers([1] * len(limits)), numbers([0] * len(limits))
    text = (
        f'{name} = "hlo.async_start"({x.name}) ({{^bb0(%a: {x.type}): '
        f'%b = "hlo.slice"(%a) {{start_indices = {zeros}, limit_indices = {numbers(limits)}, '
        f"strides = {ones}}} : ({x.type}) -> {result.type} "
        f'"hlo.return"(%b) : ({result.type}) -> () }}) : ({x.type}) -> '
        f'!hlo.future<{result.type}> {result.name} = "hlo.async_done"({name}) : '
        f"(!hlo.future<{result.type}>) -> {result.type}"
    )
    g.append(Step(text, (result,)))


def through_token(g: Grower) -> None:
    """Tokens order nothing here, but have to be carried through."""
    x = g.pick(lambda v: v.exact)
    if x is None:
        return
    a, b, result = f"%t{g.count()}", f"%t{g.count()}", g.value(x.shape, x.kind)
    token = "!hlo.token"
    text = (
        f'{a} = "hlo.create_token"() : () -> {token} '
        f'{b} = "hlo.after_all"({a}, {a}) : ({token}, {token}) -> {token} '
        f'{b}x, {result.name} = "hlo.optimization_barrier"({b}, {x.name}) : '
        f"({token}, {x.type}) -> ({token}, {x.type})"
    )
    g.append(Step(text, (result,)))


def random_bits(g: Grower) -> None:
    """Bit for bit: the algorithms are specified."""
    name, words = g.random.choice([("THREE_FRY", 2), ("PHILOX", 2), ("PHILOX", 3), ("DEFAULT", 2)])
    state = g.like(Value("", (words,), "ui64"))
    kind = g.random.choice(["ui32", "ui64", "ui8", "ui16", "i32"])
    shape = g.shape()
    if prod(shape) <= MOST_ELEMENTS:
        attributes = f"rng_algorithm = #hlo<rng_algorithm {name}>"
        g.emit(
            "rng_bit_generator", [state], ((words,), "ui64"), (shape, kind), attributes=attributes
        )


MAKERS: tuple[Callable[[Grower], None], ...] = (
    case, nested_loop, called, barrier, through_tuple, copy, through_async, through_token,
    random_bits,
)  # fmt: skip
