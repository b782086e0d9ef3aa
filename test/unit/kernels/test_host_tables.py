"""The table of kernels, liveness, work and its split into units."""

from __future__ import annotations

import pytest
from kernel_regions import node, region

from hlo.passes.hlo_to_host.kernel_region import kernel_region
from hlo.passes.hlo_to_host.kernel_table import KernelTable, KnownKernels, structural_key
from hlo.passes.hlo_to_host.liveness import BlockLiveness
from hlo.passes.hlo_to_loops.element_types import element_type
from hlo.passes.hlo_to_loops.folds import identity_of
from hlo.passes.hlo_to_loops.kernel_function import Kernel
from hlo.passes.hlo_to_loops.kernels import emit_kernel
from hlo.passes.hlo_to_loops.loop_kernel import Nest
from hlo.passes.hlo_to_loops.work import work_of

V = "tensor<8xf32>"


def unary(name: str, shape: str = V, attributes: str = "") -> str:
    return (
        f"func.func @f(%x: {shape}) -> {shape} {{ "
        f'%r = "hlo.{name}"(%x) {{{attributes}}} : ({shape}) -> {shape} return %r : {shape} }}'
    )


def key(text: str) -> object:
    return structural_key(kernel_region(region(text).nodes[-1])[0])


def test_keys_are_of_ops_types_and_attributes() -> None:
    assert key(unary("sine")) == key(unary("sine"))
    assert key(unary("sine")) != key(unary("cosine"))
    assert key(unary("sine")) != key(unary("sine", "tensor<9xf32>"))
    assert key(unary("sine")) != key(unary("sine", "tensor<8xf64>"))
    reverse = "dimensions = array<i64: {}>"
    wide = "tensor<8x8xf32>"
    assert key(unary("reverse", wide, reverse.format(0))) != key(
        unary("reverse", wide, reverse.format(1))
    )


def test_keys_tell_operands_apart() -> None:
    def subtract(operands: str) -> str:
        return (
            f"func.func @f(%x: {V}, %y: {V}) -> {V} {{ "
            f'%r = "hlo.subtract"({operands}) : ({V}, {V}) -> {V} return %r : {V} }}'
        )

    assert key(subtract("%x, %x")) != key(subtract("%x, %y"))
    assert key(subtract("%x, %y")) == key(subtract("%y, %x"))  # inputs in order of use


def test_keys_do_not_tell_how_a_fusion_was_written() -> None:
    def fusion(operands: str, arguments: str, body: str) -> str:
        return (
            f"func.func @f(%x: {V}, %y: {V}) -> {V} {{ "
            f'%r = "hlo.fusion"({operands}) <{{kind = "loop"}}> ({{ ^bb0({arguments}): {body} '
            f'"hlo.return"(%sum) : ({V}) -> () }}) : ({V}, {V}) -> {V} return %r : {V} }}'
        )

    def unary(result: str, name: str, operand: str) -> str:
        return f'{result} = "hlo.{name}"({operand}) : ({V}) -> {V} '

    total = f'%sum = "hlo.subtract"(%s, %c) : ({V}, {V}) -> {V} '
    sine, cosine = unary("%s", "sine", "%a"), unary("%c", "cosine", "%b")
    straight = fusion("%x, %y", f"%a: {V}, %b: {V}", sine + cosine + total)
    crossed = fusion("%y, %x", f"%b: {V}, %a: {V}", cosine + sine + total)
    other = fusion("%x, %y", f"%b: {V}, %a: {V}", sine + unary("%c", "sine", "%b") + total)
    assert key(straight) == key(crossed)
    assert key(straight) != key(other)

    def inputs(text: str) -> list[int]:
        program = region(text)
        return [program.arguments.index(t) for t in kernel_region(program.nodes[-1])[1]]

    assert inputs(straight) == inputs(crossed) == [0, 1]
    assert inputs(fusion("%x, %y", f"%b: {V}, %a: {V}", sine + cosine + total)) == [1, 0]


def test_keys_hold_constants() -> None:
    def plus(number: str) -> str:
        return (
            f'func.func @f(%x: {V}) -> {V} {{ %c = "hlo.constant"() {{value = dense<{number}> : '
            f'{V}}} : () -> {V} %r = "hlo.add"(%x, %c) : ({V}, {V}) -> {V} return %r : {V} }}'
        )

    assert key(plus("1.0")) == key(plus("1.0"))
    assert key(plus("1.0")) != key(plus("2.0"))
    assert key(plus("0.0")) != key(plus("-0.0"))


def test_a_kernel_is_emitted_once() -> None:
    table, count = KernelTable(), 0
    shape = region(unary("sine"))

    def emit():
        nonlocal count
        count += 1
        return emit_kernel(shape)

    first = table.add("a", "sine", emit)
    assert table.add("a", "other", emit) == first
    assert count == 1
    # Another key with the same text is the same kernel.
    assert table.add("b", "other", emit) == first
    assert list(table.kernels) == [first]


def test_kernels_of_other_programs_are_not_emitted_again() -> None:
    known, emitted = KnownKernels(characters=10), list[str]()

    def add(key: str, text: str) -> None:
        def emit() -> Kernel:
            emitted.append(key)
            return Kernel(text, 1, (), ())

        table = KernelTable(known=known)
        assert table.kernels[table.add(key, "k", emit)].text == text

    for key in "aabaca":
        add(key, key * 4)
    assert emitted == ["a", "b", "c"]
    add("b", "bbbb")  # 12 characters were too many: the one unused longest was forgotten
    assert emitted == ["a", "b", "c", "b"]


def test_last_uses_follow_views() -> None:
    found = region(
        f"""func.func @f(%x: {V}) -> {V} {{
        %a = "hlo.sine"(%x) : ({V}) -> {V}
        %v = "hlo.reshape"(%a) : ({V}) -> tensor<2x4xf32>
        %b = "hlo.negate"(%x) : ({V}) -> {V}
        %c = "hlo.negate"(%v) : (tensor<2x4xf32>) -> tensor<2x4xf32>
        %d = "hlo.abs"(%a) : ({V}) -> {V}
        return %b : {V} }}"""
    )
    live = BlockLiveness(found.nodes, found.results)
    x, a, v, b, c = found.arguments[0], *(n.results[0] for n in found.nodes[:4])
    assert live.last_use(x) == 2
    assert live.last_use(a) == live.last_use(v) == 4  # a is v's storage
    assert live.root(v) is a
    assert live.last_use(b) == 5  # a result: after the last op
    assert live.last_use(c) == -1


def test_work_counts_what_is_folded_and_what_is_dear() -> None:
    assert work_of(region(unary("negate", "tensor<1000xf32>"))) == 1000
    assert work_of(region(unary("sine", "tensor<1000xf32>"))) > 5000
    dot = region(
        """func.func @f(%x: tensor<10x20xf32>, %y: tensor<20x30xf32>) -> tensor<10x30xf32> {
        %r = "hlo.dot_general"(%x, %y) {dot_dimension_numbers = #hlo.dot<
          lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}
          : (tensor<10x20xf32>, tensor<20x30xf32>) -> tensor<10x30xf32>
        return %r : tensor<10x30xf32> }"""
    )
    assert work_of(dot) >= 10 * 20 * 30


@pytest.mark.parametrize(
    ("extents", "block", "units"),
    [
        ((100,), 4096, 1),
        ((10000,), 4096, 3),  # 4096 + 4096 + 1808
        ((4097,), 4096, 2),
        ((5, 17), 4096, 5),
        ((100, 50, 17), 4096, 100),  # 100 units are enough: rows of 50 stay together
        ((3, 50, 17), 4096, 150),
        ((3, 10000), 4096, 9),
    ],
)
def test_units_of_loops(extents: tuple[int, ...], block: int, units: int) -> None:
    assert Nest.of(extents, block).units == units


def test_identities() -> None:
    f32, i8, ui8, i1 = (element_type(n) for n in ("f32", "i8", "ui8", "i1"))
    assert str(identity_of("add", f32)) == "-0.0"  # 0 would turn -0 into 0
    assert identity_of("maximum", f32) == float("-inf")
    assert identity_of("maximum", i8) == -128
    assert identity_of("minimum", ui8) == 255
    assert identity_of("and", i8) == -1
    assert identity_of("multiply", i1) is True
    assert identity_of("subtract", f32) is None
    assert identity_of("maximum", element_type("complex<f32>")) is None


def test_scalar_constants_go_into_kernels_but_not_into_libraries() -> None:
    text = """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %c = "hlo.constant"() {value = dense<2.0> : tensor<4xf32>} : () -> tensor<4xf32>
      %r = "hlo.multiply"(%x, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %r : tensor<4xf32> }"""
    inner, inputs = kernel_region(node("multiply", text))
    assert [n.name for n in inner.nodes] == ["constant", "multiply"]
    assert len(inputs) == 1
