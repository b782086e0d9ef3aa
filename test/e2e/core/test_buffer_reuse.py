"""Programs in which sharing a buffer too boldly would show: loops, branches, updates in place.

Each is run as compiled, and with buffers that are never shared (`reuse=False`).
"""

from __future__ import annotations

import numpy as np
import pytest
from core_programs import Array, assert_matches

V = "tensor<8xf32>"
S = "tensor<i32>"
X = np.arange(8, dtype=np.float32)
Y = np.arange(8, dtype=np.float32)[::-1].copy()
N = np.asarray(5, np.int32)

# Counts %i up to %n; the loop's other carries are in BODY.
COUNT = f"""
    %one = "hlo.constant"() {{value = dense<1> : {S}}} : () -> {S}
    %next = "hlo.add"(%i, %one) : ({S}, {S}) -> {S}"""


def while_of(carries: str, body: str, results: str, captured: str = "") -> str:
    """A counting loop over carries `%i` and those named, as `a=%x b=%y`."""
    pairs = [c.split("=") for c in carries.split()]
    arguments = ", ".join([f"%i: {S}", *(f"%{a}: {V}" for a, _ in pairs)])
    heads = ", ".join([f"%i: {S}", *(f"%_{a}: {V}" for a, _ in pairs)])
    types = ", ".join([S, *([V] * len(pairs))])
    count = len(pairs) + 1
    return f"""
    %zero = "hlo.constant"() {{value = dense<0> : {S}}} : () -> {S}
    %w:{count} = "hlo.while"(%zero, {", ".join(b for _, b in pairs)}) ({{
    ^bb0({heads}):
      %c = "hlo.compare"(%i, %n) {{comparison_direction = #hlo<comparison_direction LT>}}
        : ({S}, {S}) -> tensor<i1>
      "hlo.return"(%c) : (tensor<i1>) -> ()
    }}, {{
    ^bb0({arguments}):{COUNT}
      {body}
      "hlo.return"(%next, {results}) : ({types}) -> ()
    }}) : ({types}) -> ({types}){captured}"""


def main(body: str, results: str, arguments: str = f"%x: {V}, %y: {V}, %n: {S}") -> str:
    values = results.split()
    types = ", ".join([V] * len(values))
    return (
        f"func.func @main({arguments}) -> ({types}) {{{body}\n"
        f"  return {', '.join(values)} : {types}\n}}"
    )


def op(result: str, name: str, *operands: str) -> str:
    types = ", ".join([V] * len(operands))
    return f'{result} = "hlo.{name}"({", ".join(operands)}) : ({types}) -> {V}\n'


def put(result: str, target: str, value: str, at: str) -> str:
    """Puts a constant into one element."""
    name = result.lstrip("%")
    return f"""
    %k{name} = "hlo.constant"() {{value = dense<{at}> : {S}}} : () -> {S}
    %v{name} = "hlo.constant"() {{value = dense<{value}> : tensor<1xf32>}} : () -> tensor<1xf32>
    {result} = "hlo.dynamic_update_slice"(%{target}, %v{name}, %k{name})
      : ({V}, tensor<1xf32>, {S}) -> {V}"""


def branches(first: str, yields: str, second: str, other: str, number: str = "%n") -> str:
    """%b: the first branch where a number is even, else the second one."""
    types = ", ".join([V] * len(yields.split(",")))
    return f"""
    %two = "hlo.constant"() {{value = dense<2> : {S}}} : () -> {S}
    %unit = "hlo.constant"() {{value = dense<1> : {S}}} : () -> {S}
    %rest = "hlo.remainder"({number}, %two) : ({S}, {S}) -> {S}
    %even = "hlo.compare"(%rest, %unit) {{comparison_direction = #hlo<comparison_direction LT>}}
      : ({S}, {S}) -> tensor<i1>
    %b:{len(yields.split(","))} = "hlo.if"(%even) ({{
      {first}
      "hlo.return"({yields}) : ({types}) -> ()
    }}, {{
      {second}
      "hlo.return"({other}) : ({types}) -> ()
    }}) : (tensor<i1>) -> ({types})
    """


H = "tensor<4xf32>"


def second_half(result: str, source: str) -> str:
    """A view of a part of a value."""
    return (
        f'{result} = "hlo.slice"({source}) {{start_indices = array<i64: 4>, '
        f"limit_indices = array<i64: 8>, strides = array<i64: 1>}} : ({V}) -> {H}\n"
    )


def sorted_twice(result: str, half: str) -> str:
    """Reads such a part where it is in memory."""
    name = result.lstrip("%")
    return f"""
    %s{name} = "hlo.sort"({half}) ({{
    ^bb0(%l{name}: tensor<f32>, %r{name}: tensor<f32>):
      %c{name} = "hlo.compare"(%l{name}, %r{name}) {{
        comparison_direction = #hlo<comparison_direction LT>}}
        : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "hlo.return"(%c{name}) : (tensor<i1>) -> ()
    }}) {{dimension = 0 : i64, is_stable = true}} : ({H}) -> {H}
    {result} = "hlo.concatenate"(%s{name}, %s{name}) {{dimension = 0 : i64}} : ({H}, {H}) -> {V}
    """


CASES: dict[str, str] = {
    "a part of an argument": main(
        second_half("%h", "%x") + sorted_twice("%z", "%h") + op("%e", "negate", "%x"), "%z %e"
    ),
    "a part is read after what overwrites the whole": main(
        op("%m", "negate", "%x")
        + second_half("%h", "%m")
        + op("%e", "abs", "%m")
        + op("%f", "add", "%e", "%y")
        + sorted_twice("%z", "%h"),
        "%z %f",
    ),
    "a part is read after an update of the whole": main(
        op("%m", "negate", "%x")
        + second_half("%h", "%m")
        + put("%u", "m", "7.0", "5")
        + op("%f", "add", "%u", "%y")
        + sorted_twice("%z", "%h"),
        "%z %f",
    ),
    "a part is the update": main(
        op("%m", "negate", "%x")
        + second_half("%h", "%m")
        + f"""%k = "hlo.constant"() {{value = dense<1> : {S}}} : () -> {S}
        %u = "hlo.dynamic_update_slice"(%m, %h, %k) : ({V}, {H}, {S}) -> {V}
        """,
        "%u",
    ),
    "a part is captured, and the whole is carried": main(
        op("%m", "negate", "%x")
        + second_half("%h", "%m")
        + while_of("a=%m b=%y", sorted_twice("%z", "%h") + op("%s", "add", "%a", "%z"), "%s, %a"),
        "%w#1 %w#2",
    ),
    "a part in a branch that overwrites the whole": main(
        op("%m", "negate", "%x")
        + second_half("%h", "%m")
        + branches(
            op("%e", "abs", "%m") + sorted_twice("%z", "%h"), "%e, %z", "", "%m, %y"
        ),
        "%b#0 %b#1",
    ),
    "a part of a part": main(
        op("%m", "negate", "%x")
        + second_half("%h", "%m")
        + f"""%p = "hlo.reshape"(%h) : ({H}) -> tensor<2x2xf32>
        %q = "hlo.slice"(%p) {{start_indices = array<i64: 0, 0>,
          limit_indices = array<i64: 1, 2>, strides = array<i64: 1, 1>}}
          : (tensor<2x2xf32>) -> tensor<1x2xf32>
        %r = "hlo.dot_general"(%q, %p) {{dot_dimension_numbers =
          #hlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}}
          : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
        %t = "hlo.reshape"(%r) : (tensor<1x2xf32>) -> tensor<2xf32>
        %o = "hlo.concatenate"(%t, %h, %t) {{dimension = 0 : i64}}
          : (tensor<2xf32>, {H}, tensor<2xf32>) -> {V}
        """,
        "%o",
    ),
    "swap": main(while_of("a=%x b=%y", "", "%b, %a"), "%w#1 %w#2"),
    "rotation of three": main(
        op("%z", "negate", "%x") + while_of("a=%x b=%y c=%z", "", "%b, %c, %a"),
        "%w#1 %w#2 %w#3",
    ),
    "fibonacci": main(
        while_of("a=%x b=%y", op("%s", "add", "%a", "%b"), "%b, %s"), "%w#1 %w#2"
    ),
    "one value carried twice": main(
        while_of("a=%x b=%x", op("%s", "add", "%a", "%b") + op("%t", "negate", "%b"), "%s, %t"),
        "%w#1 %w#2",
    ),
    "one result carried twice": main(
        while_of("a=%x b=%y", op("%s", "subtract", "%a", "%b"), "%s, %s"), "%w#1 %w#2"
    ),
    "an invariant carry": main(
        while_of("a=%x b=%y", op("%s", "add", "%a", "%b"), "%s, %b"), "%w#1 %w#2"
    ),
    "a carry that takes an invariant": main(
        while_of("a=%x b=%y", op("%s", "add", "%a", "%b"), "%b, %b")
        + op("%z", "add", "%w#1", "%y"),
        "%z %w#2",
    ),
    "the start of a carry is captured": main(
        op("%m", "negate", "%x")
        + while_of("a=%m", op("%s", "add", "%a", "%m"), "%s"),
        "%w#1",
    ),
    "the start of a carry is captured through a view": main(
        op("%m", "negate", "%x")
        + f'%r = "hlo.reshape"(%m) : ({V}) -> tensor<2x4xf32>\n'
        + while_of(
            "a=%m",
            f'%q = "hlo.reshape"(%r) : (tensor<2x4xf32>) -> {V}\n' + op("%s", "add", "%a", "%q"),
            "%s",
        ),
        "%w#1",
    ),
    "the start of a carry is needed afterwards": main(
        op("%m", "negate", "%x")
        + while_of("a=%m", op("%s", "add", "%a", "%a"), "%s")
        + op("%z", "add", "%m", "%w#1"),
        "%z %m",
    ),
    "a result that is an argument": main(op("%z", "negate", "%x"), "%x %z %x"),
    "a result that is another one": main(op("%z", "negate", "%x"), "%z %z"),
    "an update whose operand lives on": main(
        op("%m", "negate", "%x") + put("%u", "m", "7.0", "3") + op("%z", "add", "%u", "%m"),
        "%z %u %m",
    ),
    "two updates of one buffer": main(
        op("%m", "negate", "%x") + put("%u", "m", "7.0", "3") + put("%v", "m", "9.0", "4"),
        "%u %v",
    ),
    "an update of an update, both live": main(
        op("%m", "negate", "%x") + put("%u", "m", "7.0", "3") + put("%v", "u", "9.0", "4")
        + op("%z", "add", "%u", "%v"),
        "%z %v",
    ),
    "an update of an argument": main(put("%u", "x", "7.0", "3"), "%u"),
    "updates in a loop": main(
        while_of(
            "a=%x",
            f"""
            %e = "hlo.dynamic_slice"(%a, %i) {{slice_sizes = array<i64: 1>}}
              : ({V}, {S}) -> tensor<1xf32>
            %d = "hlo.add"(%e, %e) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
            %s = "hlo.dynamic_update_slice"(%a, %d, %next)
              : ({V}, tensor<1xf32>, {S}) -> {V}""",
            "%s",
        ),
        "%w#1",
    ),
    "an update in a loop that keeps the old carry": main(
        while_of(
            "a=%x b=%y",
            f"""
            %e = "hlo.dynamic_slice"(%b, %i) {{slice_sizes = array<i64: 1>}}
              : ({V}, {S}) -> tensor<1xf32>
            %s = "hlo.dynamic_update_slice"(%a, %e, %next)
              : ({V}, tensor<1xf32>, {S}) -> {V}""",
            "%s, %a",
        ),
        "%w#1 %w#2",
    ),
    "a shifted update of itself": main(
        op("%m", "negate", "%x")
        + f"""
        %k = "hlo.constant"() {{value = dense<1> : {S}}} : () -> {S}
        %p = "hlo.slice"(%m) {{start_indices = array<i64: 0>, limit_indices = array<i64: 7>,
          strides = array<i64: 1>}} : ({V}) -> tensor<7xf32>
        %u = "hlo.dynamic_update_slice"(%m, %p, %k) : ({V}, tensor<7xf32>, {S}) -> {V}""",
        "%u",
    ),
    "a reversed update of itself": main(
        op("%m", "negate", "%x")
        + f"""
        %k = "hlo.constant"() {{value = dense<0> : {S}}} : () -> {S}
        %p = "hlo.reverse"(%m) {{dimensions = array<i64: 0>}} : ({V}) -> {V}
        %u = "hlo.dynamic_update_slice"(%m, %p, %k) : ({V}, {V}, {S}) -> {V}""",
        "%u",
    ),
    "a reverse of what dies": main(
        op("%m", "negate", "%x")
        + f'%r = "hlo.reverse"(%m) {{dimensions = array<i64: 0>}} : ({V}) -> {V}\n'
        + op("%z", "add", "%r", "%r"),
        "%z",
    ),
    "branches that swap": main(
        f"""
        %t = "hlo.constant"() {{value = dense<3> : {S}}} : () -> {S}
        %c = "hlo.compare"(%n, %t) {{comparison_direction = #hlo<comparison_direction GT>}}
          : ({S}, {S}) -> tensor<i1>
        %b:2 = "hlo.if"(%c) ({{ "hlo.return"(%y, %x) : ({V}, {V}) -> () }},
          {{ "hlo.return"(%x, %y) : ({V}, {V}) -> () }}) : (tensor<i1>) -> ({V}, {V})
        """
        + op("%z", "subtract", "%b#0", "%b#1"),
        "%z %b#0 %b#1",
    ),
    "a branch that updates in place what dies": main(
        op("%m", "negate", "%x")
        + branches(put("%u", "m", "7.0", "2"), "%u", "", "%m")
        + op("%z", "add", "%b#0", "%y"),
        "%z",
    ),
    "branches that swap what dies": main(
        op("%m", "negate", "%x")
        + op("%p", "negate", "%y")
        + branches("", "%p, %m", op("%r", "subtract", "%m", "%p"), "%r, %m"),
        "%b#0 %b#1",
    ),
    "a branch that reads what it overwrites": main(
        op("%m", "negate", "%x")
        + branches(
            f'%r = "hlo.reverse"(%m) {{dimensions = array<i64: 0>}} : ({V}) -> {V}\n'
            + op("%s", "add", "%r", "%m"),
            "%s, %r", "", "%m, %y",
        ),
        "%b#0 %b#1",
    ),
    "a branch that hands one value on twice": main(
        op("%m", "negate", "%x") + branches("", "%m, %m", op("%r", "add", "%m", "%y"), "%m, %r"),
        "%b#0 %b#1",
    ),
    "branches over carries": main(
        while_of(
            "a=%x d=%y",
            branches(
                op("%s", "add", "%a", "%d"), "%d, %s",
                put("%u", "a", "7.0", "2"), "%u, %d", number="%i",
            ),
            "%b#0, %b#1",
        ),
        "%w#1 %w#2",
    ),
    "a branch that updates what the other returns": main(
        op("%m", "negate", "%x")
        + f"""
        %t = "hlo.constant"() {{value = dense<9> : {S}}} : () -> {S}
        %c = "hlo.compare"(%n, %t) {{comparison_direction = #hlo<comparison_direction LT>}}
          : ({S}, {S}) -> tensor<i1>
        %b = "hlo.if"(%c) ({{{put("%u", "m", "7.0", "2")}
           "hlo.return"(%u) : ({V}) -> () }},
          {{ "hlo.return"(%m) : ({V}) -> () }}) : (tensor<i1>) -> {V}
        """
        + op("%z", "add", "%b", "%m"),
        "%z %b",
    ),
    "a case in a loop": main(
        while_of(
            "a=%x b=%y",
            f"""
            %r:2 = "hlo.case"(%i) (
              {{ "hlo.return"(%b, %a) : ({V}, {V}) -> () }},
              {{ {op("%s", "add", "%a", "%b")} "hlo.return"(%a, %s) : ({V}, {V}) -> () }},
              {{ {op("%s", "negate", "%a")} "hlo.return"(%s, %s) : ({V}, {V}) -> () }}
            ) : ({S}) -> ({V}, {V})
            """,
            "%r#0, %r#1",
        ),
        "%w#1 %w#2",
    ),
    "a loop in a loop": main(
        while_of(
            "a=%x b=%y",
            f"""
            %z0 = "hlo.constant"() {{value = dense<0> : {S}}} : () -> {S}
            %in:3 = "hlo.while"(%z0, %b, %a) ({{
            ^bb0(%j: {S}, %p: {V}, %q: {V}):
              %c2 = "hlo.compare"(%j, %i) {{comparison_direction = #hlo<comparison_direction LE>}}
                : ({S}, {S}) -> tensor<i1>
              "hlo.return"(%c2) : (tensor<i1>) -> ()
            }}, {{
            ^bb0(%j: {S}, %p: {V}, %q: {V}):
              %o2 = "hlo.constant"() {{value = dense<1> : {S}}} : () -> {S}
              %j2 = "hlo.add"(%j, %o2) : ({S}, {S}) -> {S}
              {op("%p2", "add", "%p", "%x")}
              {op("%p3", "subtract", "%p2", "%a")}
              "hlo.return"(%j2, %q, %p3) : ({S}, {V}, {V}) -> ()
            }}) : ({S}, {V}, {V}) -> ({S}, {V}, {V})
            """,
            "%in#2, %in#1",
        ),
        "%w#1 %w#2",
    ),
    "a loop that never runs": main(
        while_of("a=%x b=%y", op("%s", "add", "%a", "%b"), "%s, %a").replace("LT", "GT"),
        "%w#1 %w#2",
    ),
    "a constant carried and captured": main(
        f'%k = "hlo.constant"() {{value = dense<2.5> : {V}}} : () -> {V}\n'
        + while_of("a=%k", op("%s", "add", "%a", "%k") + op("%t", "add", "%s", "%x"), "%t"),
        "%w#1 %k",
    ),
}  # fmt: skip


@pytest.mark.parametrize("reuse", [True, False])
@pytest.mark.parametrize("name", list(CASES))
def test_case(name: str, reuse: bool) -> None:
    assert_matches(CASES[name], [X, Y, N], reuse=reuse)


@pytest.mark.parametrize("name", [n for n in CASES if "branch" in n])
def test_the_other_branch(name: str) -> None:
    assert_matches(CASES[name], [X, Y, N + 1])


def test_branches_work_in_place() -> None:
    """The update writes into what dies; the other branch hands it on where it is."""
    from hlo.driver.program_analysis import analyse
    from hlo.importers import load_program

    host = analyse(load_program(CASES["a branch that updates in place what dies"])).host
    assert host.text.count("memref<8xf32>") and not host.copies
    assert host.text.count("memref.alloc()") == 2  # what dies, and the predicate


@pytest.mark.parametrize(
    "name", [n for n in CASES if "argument" in n or "swap" in n or "update" in n or "part" in n]
)
def test_donated_arguments(name: str) -> None:
    """What a caller gives away may be overwritten; results stay what they were."""
    assert_donated(CASES[name], [X, Y, N], (0, 1))


def assert_donated(text: str, arguments: list[Array], donate: tuple[int, ...]) -> None:
    import hlo
    from hlo import ir
    from hlo.reference.evaluate import evaluate

    expected = evaluate(ir.parse_module(text), [a.copy() for a in arguments])
    found = hlo.compile(text, donate=donate)(*[a.copy() for a in arguments])
    for want, got in zip(expected, found, strict=True):
        np.testing.assert_array_equal(got, want)
