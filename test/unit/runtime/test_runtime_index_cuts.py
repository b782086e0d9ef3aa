"""Indices cut at the borders of basic blocks: frozen, shared where a constant lies between them."""

from __future__ import annotations

import ctypes
import re

from native_programs import parse

from hlo.executable import runtime
from hlo.executable.runtime import CodegenOptions

LICM = CodegenOptions(passes="function(loop-mssa(licm))")

# Sums a[20 i + j] + a[20 i + j + 16] over i < n and j < 4; `{flags}` are those of the first sum.
NEST = """module {{
  llvm.func @nest(%a: !llvm.ptr, %n: i64) -> i64 {{
    %zero = llvm.mlir.constant(0 : i64) : i64
    %one = llvm.mlir.constant(1 : i64) : i64
    %four = llvm.mlir.constant(4 : i64) : i64
    %sixteen = llvm.mlir.constant(16 : i64) : i64
    %twenty = llvm.mlir.constant(20 : i64) : i64
    llvm.br ^rows(%zero, %zero : i64, i64)
  ^rows(%i: i64, %total: i64):
    %row = llvm.mul %i, %twenty : i64
    %further = llvm.add %row, %sixteen {flags} : i64
    llvm.br ^columns(%zero, %total : i64, i64)
  ^columns(%j: i64, %sum: i64):
    %x = llvm.add %row, %j : i64
    %y = llvm.add %further, %j : i64
    %px = llvm.getelementptr %a[%x] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %py = llvm.getelementptr %a[%y] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %vx = llvm.load %px : !llvm.ptr -> i64
    %vy = llvm.load %py : !llvm.ptr -> i64
    %s = llvm.add %sum, %vx : i64
    %next_sum = llvm.add %s, %vy : i64
    %next_j = llvm.add %j, %one : i64
    %more = llvm.icmp "slt" %next_j, %four : i64
    llvm.cond_br %more, ^columns(%next_j, %next_sum : i64, i64), ^end
  ^end:
    %next_i = llvm.add %i, %one : i64
    %go_on = llvm.icmp "slt" %next_i, %n : i64
    llvm.cond_br %go_on, ^rows(%next_i, %next_sum : i64, i64), ^exit
  ^exit:
    llvm.return %next_sum : i64
  }}
}}"""

# h = 9 h + (k + i + 1) over i < 5, in 32 bits: what hashes by rounds computes of its counter.
HASH = """module {
  llvm.func @hash(%k: i32) -> i32 {
    %zero = llvm.mlir.constant(0 : i32) : i32
    %one = llvm.mlir.constant(1 : i32) : i32
    %nine = llvm.mlir.constant(9 : i32) : i32
    %five = llvm.mlir.constant(5 : i32) : i32
    llvm.br ^rounds(%zero, %zero : i32, i32)
  ^rounds(%i: i32, %h: i32):
    %next = llvm.add %i, %one : i32
    %key = llvm.add %k, %next : i32
    %mixed = llvm.mul %h, %nine : i32
    %sum = llvm.add %mixed, %key : i32
    %more = llvm.icmp "slt" %next, %five : i32
    llvm.cond_br %more, ^rounds(%next, %sum : i32, i32), ^exit
  ^exit:
    llvm.return %sum : i32
  }
}"""


def text_of(flags: str) -> str:
    return runtime.compile_to_llvm_ir(parse(NEST.format(flags=flags)), LICM)


def test_a_value_of_another_block_is_frozen_once() -> None:
    text = text_of("")
    (frozen,) = re.findall(r"(%\d+) = freeze i64", text)
    assert f"add i64 {frozen}, 16" in text  # the other index lies 16 elements further


def test_sums_that_may_be_poison_are_not_made_of_others() -> None:
    assert len(re.findall(r"freeze i64", text_of("overflow<nsw>"))) == 2


def test_counters_of_loops_stay_recognizable() -> None:
    text = text_of("")
    for phi in re.findall(r"(%\d+) = phi i64 \[ 0", text):
        assert not re.search(rf"freeze i64 {phi}\b", text)


def test_what_is_computed_of_a_narrow_counter_is_frozen_and_the_counter_is_not() -> None:
    text = runtime.compile_to_llvm_ir(parse(HASH), LICM)
    (frozen,) = re.findall(r"= freeze i32 (%\d+)", text)
    (step,) = re.findall(r"(%\d+) = add i32 %\d+, 1\n", text)
    assert frozen != step
    assert f"{frozen} = add i32 %0, {step}" in text


def test_a_hash_of_its_counter_stays_the_same() -> None:
    library = runtime.Library([runtime.compile_to_object(parse(HASH), LICM)])
    compute = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(library.lookup("hash"))
    expected = 0
    for i in range(5):
        expected = 9 * expected + 1000 + i + 1
    assert compute(1000) == expected


def test_nothing_is_cut_without_passes() -> None:
    text = runtime.compile_to_llvm_ir(parse(NEST.format(flags="")), CodegenOptions(passes=""))
    assert "freeze" not in text


def test_results_are_the_same() -> None:
    values = (ctypes.c_int64 * 60)(*[k * k for k in range(60)])
    expected = sum(values[20 * i + j] + values[20 * i + j + 16] for i in range(3) for j in range(4))
    for flags in ("", "overflow<nsw>"):
        library = runtime.Library(
            [runtime.compile_to_object(parse(NEST.format(flags=flags)), LICM)]
        )
        nest = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(
            library.lookup("nest")
        )
        assert nest(ctypes.addressof(values), 3) == expected
