"""What no kernel may do is found, with the line and the thread; what it may do is not."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_texts import HEADER, kernel, run

from hlo.diagnostics import CompileError, ParseError, UnsupportedError
from hlo.gpu.emulated_device import EmulatedDevice, EmulationError

SCHEDULES = [0, 1, 2, 3, 4]
SHARED = ".shared .align 16 .b8 buffer[1024];"

# Each thread writes its own word and reads its neighbour's in the block of 64.
EXCHANGE = """
  .shared .align 4 .b8 words[256];
  mul.wide.u32 %rd10, %r1, 4;
  mov.b64 %rd11, words;
  add.s64 %rd12, %rd11, %rd10;
  st.shared.b32 [%rd12], %r1;
  BARRIER
  add.s32 %r10, %r1, SHIFT;
  and.b32 %r10, %r10, 63;
  mul.wide.u32 %rd13, %r10, 4;
  add.s64 %rd14, %rd11, %rd13;
  ld.shared.b32 %r11, [%rd14];
  add.s64 %rd15, %rd0, %rd10;
  st.global.b32 [%rd15], %r11;
"""


def exchange(barrier: str, shift: int = 33) -> str:
    return kernel(EXCHANGE.replace("BARRIER", barrier).replace("SHIFT", str(shift)), 1)


def fails(text: str, kind: str, match: str = "", *, words: int = 64, block: int = 64,
          schedule: int = 0, grid: int = 1, shared_bytes: int = 0) -> EmulationError:  # fmt: skip
    with pytest.raises(EmulationError, match=match or None) as caught:
        run(text, [], [np.zeros(words, np.uint32)], block=(block, 1, 1), grid=(grid, 1, 1),
            shared_bytes=shared_bytes, device=EmulatedDevice(schedule))  # fmt: skip
    assert caught.value.kind == kind
    return caught.value


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_threads_exchange_words_behind_a_barrier(schedule: int) -> None:
    (found,) = run(exchange("bar.sync 0;"), [], [np.zeros(64, np.uint32)], block=(64, 1, 1),
                   device=EmulatedDevice(schedule))  # fmt: skip
    np.testing.assert_array_equal(found, (np.arange(64) + 33) % 64)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_without_the_barrier_it_is_found_under_any_schedule(schedule: int) -> None:
    with pytest.raises(EmulationError) as caught:
        run(exchange(""), [], [np.zeros(64, np.uint32)], block=(64, 1, 1),
            device=EmulatedDevice(schedule))  # fmt: skip
    assert caught.value.kind in ("race", "uninitialized")


def test_lanes_of_a_warp_need_a_barrier_too() -> None:
    error = fails(exchange("", shift=1), "race", "thread 1 of warp 0 has written")
    assert error.thread == (0, 0, 0)
    assert "ld.shared.b32" in str(error)
    # One among the lanes of the warp is enough if nothing passes between warps.
    text = exchange("bar.warp.sync -1;", shift=1).replace(
        "and.b32 %r10, %r10, 63", "xor.b32 %r10, %r1, 1"
    )
    (found,) = run(text, [], [np.zeros(64, np.uint32)], block=(64, 1, 1))
    np.testing.assert_array_equal(found, np.arange(64) ^ 1)


def test_warp_barriers_order_accesses_and_shuffles_do_not() -> None:
    # Lanes read a word, then overwrite their neighbour's, then read again.
    text = """
  xor.b32 %r10, %r1, 1;
  mul.wide.u32 %rd10, %r1, 4;
  mul.wide.u32 %rd11, %r10, 4;
  add.s64 %rd12, %rd0, %rd10;
  add.s64 %rd13, %rd0, %rd11;
  ld.global.b32 %r11, [%rd12];
  FIRST
  st.global.b32 [%rd13], %r1;
  SECOND
  ld.global.b32 %r11, [%rd12];"""
    barrier, shuffle = "bar.warp.sync -1;", "shfl.sync.bfly.b32 %r12, %r11, 2, 31, -1;"

    def code(first: str, second: str) -> str:
        return kernel(text.replace("FIRST", first).replace("SECOND", second), 1)

    (found,) = run(code(barrier, barrier), [], [np.zeros(32, np.uint32)])
    np.testing.assert_array_equal(found, np.arange(32) ^ 1)
    fails(code(shuffle, barrier), "race", "has read", words=32, block=32)
    fails(code(barrier, shuffle), "race", "has written", words=32, block=32)


def test_blocks_may_not_share_what_one_writes() -> None:
    text = kernel("  st.global.b32 [%rd0], %r0;", 1)
    fails(text, "race", "block number 0 has written", block=1, grid=2)
    # The same value from all is no harm, nor are atomic operations.
    run(kernel("  st.global.b32 [%rd0], 7;", 1), [], [np.zeros(1, np.uint32)], grid=(2, 1, 1))
    (found,) = run(kernel("  red.global.add.u32 [%rd0], 1;", 1), [], [np.zeros(1, np.uint32)],
                   grid=(3, 1, 1), block=(40, 1, 1))  # fmt: skip
    assert found == 120


def test_reading_what_another_block_writes_is_a_race() -> None:
    text = kernel("""
  ld.global.b32 %r10, [%rd0];
  setp.ne.b32 %p1, %r2, 1;
  @%p1 bra $DONE;
  st.global.b32 [%rd0], 5;
$DONE:""", 1)  # fmt: skip
    fails(text, "race", "another block has read", block=1, grid=2)
    fails(text, "race", "has written", block=1, grid=2, schedule=1)


def test_a_write_after_many_warps_have_read_is_a_race() -> None:
    text = kernel("""
  ld.global.b32 %r10, [%rd0];
  setp.ne.b32 %p1, %r1, 100;
  @%p1 bra $DONE;
  st.global.b32 [%rd0], 5;
$DONE:""", 1)  # fmt: skip
    fails(text, "race", "warp 0 has read", block=128)


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ("  st.global.b32 [%rd0+256], 1;", "bounds", "4 bytes past the 256 bytes"),
        ("  st.global.b32 [%rd0+-4], 1;", "bounds", "4 bytes before the 256 bytes"),
        ("  st.global.v4.b32 [%rd0+248], {1, 2, 3, 4};", "alignment", "no multiple"),
        ("  st.global.b32 [%rd0+2], 1;", "alignment", "no multiple"),
        ("  st.shared.b32 [0], 1;", "bounds", "shared memory at offset -1024"),
        ("  ld.local.b32 %r9, [4];", "bounds", "local memory"),
        ("  trap;", "trap", "reaches a trap"),
        ("  shfl.sync.idx.b32 %r9, %r1, 0, 31, 2;", "collective", "does not name the thread"),
        ("  bar.sync 16;", "barrier", "there is no barrier 16"),
    ],
)
def test_single_mistakes(body: str, kind: str, message: str) -> None:
    error = fails(kernel(body, 1), kind, message)
    assert error.line == kernel(body, 1).splitlines().index(body) + 1


def test_writing_what_the_plan_lets_a_kernel_only_read() -> None:
    with pytest.raises(EmulationError, match="lets it only read"):
        run(kernel("  st.global.b32 [%rd0], 1;", 1), [np.zeros(4, np.uint32)], [])


def test_shared_memory_is_read_only_after_it_is_written() -> None:
    text = kernel("  .shared .align 4 .b8 word[4];\n  ld.shared.b32 %r9, [word];", 1)
    fails(text, "uninitialized", "no thread has written")


GUARDED = """
  setp.{0}.u32 %p1, %r1, {1};
  @%p1 bra $SKIP;
  {2}
$SKIP:"""


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("comparison", "bound", "kind"), [("eq", 5, "barrier"), ("ge", 32, "barrier")]
)
def test_a_barrier_that_some_threads_skip(
    comparison: str, bound: int, kind: str, schedule: int
) -> None:
    fails(kernel(GUARDED.format(comparison, bound, "bar.sync 0;"), 1), kind, schedule=schedule)


def test_a_barrier_after_some_threads_have_left() -> None:
    fails(kernel("  setp.ge.u32 %p1, %r1, 32;\n  @%p1 exit;\n  bar.sync 0;", 1), "barrier",
          "deadlock: 32 of|deadlock: 32 threads of 64 arrived")  # fmt: skip


def test_a_shuffle_that_a_named_lane_skips() -> None:
    body = GUARDED.format("eq", 5, "shfl.sync.bfly.b32 %r9, %r1, 1, 31, -1;")
    fails(kernel(body, 1), "collective", "only 31 threads of warp 0 came here")


def test_named_barriers_order_the_warps_that_meet_there() -> None:
    # Warps 0 and 1 meet at barrier 1, warps 2 and 3 at barrier 2.
    body = EXCHANGE.replace("words[256]", "words[512]").replace("BARRIER", """
  shr.u32 %r20, %r1, 6;
  add.s32 %r21, %r20, 1;
  barrier.sync %r21, 64;""").replace("add.s32 %r10, %r1, SHIFT", "xor.b32 %r10, %r1, 32").replace(
        "and.b32 %r10, %r10, 63", "mov.b32 %r10, %r10")  # fmt: skip
    for schedule in SCHEDULES:
        (found,) = run(kernel(body, 1), [], [np.zeros(128, np.uint32)], block=(128, 1, 1),
                       device=EmulatedDevice(schedule))  # fmt: skip
        np.testing.assert_array_equal(found, np.arange(128) ^ 32)
    crossing = body.replace("xor.b32 %r10, %r1, 32", "xor.b32 %r10, %r1, 64")
    with pytest.raises(EmulationError) as caught:
        run(kernel(crossing, 1), [], [np.zeros(128, np.uint32)], block=(128, 1, 1))
    assert caught.value.kind in ("race", "uninitialized")


ASYNC = """
  .shared .align 16 .b8 tile[512];
  mul.wide.u32 %rd10, %r1, 16;
  mov.b64 %rd11, tile;
  add.s64 %rd12, %rd11, %rd10;
  add.s64 %rd13, %rd0, %rd10;
  cp.async.cg.shared.global [%rd12], [%rd13], 16;
  cp.async.commit_group;
  WAIT
  bar.sync 0;
  xor.b32 %r10, %r1, 1;
  mul.wide.u32 %rd14, %r10, 16;
  add.s64 %rd15, %rd11, %rd14;
  ld.shared.v4.b32 {%r11, %r12, %r13, %r14}, [%rd15];
  add.s64 %rd16, %rd1, %rd10;
  st.global.v4.b32 [%rd16], {%r11, %r12, %r13, %r14};
"""


def test_asynchronous_copies_are_there_once_waited_for() -> None:
    x = np.arange(128, dtype=np.uint32)
    (found,) = run(
        kernel(ASYNC.replace("WAIT", "cp.async.wait_group 0;"), 2), [x], [np.zeros_like(x)]
    )
    np.testing.assert_array_equal(found.reshape(32, 4), x.reshape(32, 4)[np.arange(32) ^ 1])


@pytest.mark.parametrize("wait", ["", "cp.async.wait_group 1;"])
def test_asynchronous_copies_that_nobody_waits_for(wait: str) -> None:
    x = np.arange(128, dtype=np.uint32)
    with pytest.raises(EmulationError, match="nobody has waited for it") as caught:
        run(kernel(ASYNC.replace("WAIT", wait), 2), [x], [np.zeros_like(x)])
    assert caught.value.kind == "async"


def test_a_copy_into_a_buffer_that_is_still_read_is_a_race() -> None:
    again = ASYNC.replace("WAIT", "cp.async.wait_group 0;") + (
        "  cp.async.cg.shared.global [%rd12], [%rd13], 16;\n  cp.async.wait_all;\n"
    )
    x = np.arange(128, dtype=np.uint32)
    with pytest.raises(EmulationError, match="has read"):
        run(kernel(again, 2), [x], [np.zeros_like(x)])


def test_a_kernel_that_does_not_end() -> None:
    device = EmulatedDevice(instruction_limit=10_000)
    with pytest.raises(EmulationError, match="has not ended after 10000") as caught:
        run(kernel("$L:\n  bra $L;", 1), [], [np.zeros(1, np.uint32)], device=device)
    assert caught.value.kind == "limit"


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_lanes_part_and_meet(schedule: int) -> None:
    # Collatz steps: every lane loops as often as its number says.
    body = """
  add.s32 %r10, %r0, 1;
  mov.b32 %r11, 0;
$LOOP:
  setp.eq.s32 %p1, %r10, 1;
  @%p1 bra $END;
  and.b32 %r12, %r10, 1;
  setp.eq.b32 %p2, %r12, 0;
  @%p2 bra $EVEN;
  mad.lo.s32 %r10, %r10, 3, 1;
  bra.uni $NEXT;
$EVEN:
  shr.u32 %r10, %r10, 1;
$NEXT:
  add.s32 %r11, %r11, 1;
  bra.uni $LOOP;
$END:
  shfl.sync.bfly.b32 %r13, %r11, 1, 31, -1;
  mul.wide.u32 %rd10, %r0, 4;
  add.s64 %rd11, %rd0, %rd10;
  st.global.b32 [%rd11], %r13;"""

    def steps(n: int) -> int:
        return 0 if n == 1 else 1 + steps(n // 2 if n % 2 == 0 else 3 * n + 1)

    (found,) = run(kernel(body, 1), [], [np.zeros(128, np.uint32)], block=(64, 1, 1),
                   grid=(2, 1, 1), device=EmulatedDevice(schedule))  # fmt: skip
    np.testing.assert_array_equal(found, [steps((i ^ 1) + 1) for i in range(128)])


def test_functions_are_called_with_arguments_and_give_results() -> None:
    declarations = """
.global .align 4 .b8 table[8] = {10, 0, 0, 0, 20, 0, 0, 0};
.func (.param .b32 result) pick(.param .b32 which)
{
  .reg .b32 %r<5>;
  .reg .b64 %rd<5>;
  ld.param.b32 %r1, [which];
  mul.wide.u32 %rd1, %r1, 4;
  mov.b64 %rd2, table;
  add.s64 %rd3, %rd2, %rd1;
  ld.global.b32 %r2, [%rd3];
  st.param.b32 [result], %r2;
  ret;
}"""
    body = """
  and.b32 %r10, %r0, 1;
  {
    .param .b32 param0;
    .param .b32 retval0;
    st.param.b32 [param0], %r10;
    call.uni (retval0), pick, (param0);
    ld.param.b32 %r11, [retval0];
  }
  mul.wide.u32 %rd10, %r0, 4;
  add.s64 %rd11, %rd0, %rd10;
  st.global.b32 [%rd11], %r11;"""
    (found,) = run(kernel(body, 1, declarations=declarations), [], [np.zeros(32, np.uint32)])
    np.testing.assert_array_equal(found, [10, 20] * 16)


def test_branch_tables_and_local_memory() -> None:
    body = """
  .local .align 4 .b8 depot[16];
  and.b32 %r10, %r0, 3;
  mov.b64 %rd10, depot;
  cvta.local.u64 %rd11, %rd10;
  st.b32 [%rd11+4], %r0;
$table: .branchtargets $A, $B, $C, $C;
  brx.idx %r10, $table;
$A:
  mov.b32 %r11, 100;
  bra.uni $OUT;
$B:
  mov.b32 %r11, 200;
  bra.uni $OUT;
$C:
  ld.local.b32 %r11, [depot+4];
$OUT:
  mul.wide.u32 %rd12, %r0, 4;
  add.s64 %rd13, %rd0, %rd12;
  st.global.b32 [%rd13], %r11;"""
    (found,) = run(kernel(body, 1), [], [np.zeros(32, np.uint32)])
    np.testing.assert_array_equal(found, [(100, 200, i, i)[i % 4] for i in range(32)])


def test_dynamic_shared_memory_has_the_size_of_the_launch() -> None:
    declarations = ".extern .shared .align 16 .b8 dynamic[];"
    body = "  st.shared.b32 [dynamic+60], 1;"
    run(kernel(body, 1, declarations=declarations), [], [np.zeros(1, np.uint32)], block=(1, 1, 1),
        shared_bytes=64)  # fmt: skip
    fails(kernel(body, 1, declarations=declarations), "bounds", "shared memory at offset 60 of 32",
          block=1, shared_bytes=32)  # fmt: skip


def test_unknown_instructions_are_named_with_their_line() -> None:
    instruction = "tcgen05.wait::ld.sync.aligned;"
    text = kernel(f"  {instruction}", 1)
    line = text.splitlines().index(f"  {instruction}") + 1
    with pytest.raises(UnsupportedError, match=f"PTX line {line}: .* '{instruction}'"):
        run(text, [], [np.zeros(1, np.uint32)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER + ".entry k() { add.s32 %r1, , 3; }", "PTX line 4: expected an operand, found ','"),
        (HEADER + ".entry k() { ret }", "PTX line 4: expected an operand, found '}'"),
        (HEADER + "\n.entry k() {\n ret;\n", "expected '}', found 'end of text'"),
        (HEADER + "what", "PTX line 4: expected a directive"),
        ("\x01", "PTX line 1: unexpected character"),
    ],
)
def test_what_is_not_ptx_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        EmulatedDevice().load_ptx(text)


def test_launches_that_a_driver_would_refuse() -> None:
    text = kernel("", 1).replace("\n{", "\n.reqntid 32, 1, 1\n{", 1)
    for block, message in ((64, "it is compiled for"), (2048, "from 1 to"), (0, "from 1 to")):
        with pytest.raises(CompileError, match=message):
            run(text, [], [np.zeros(1, np.uint32)], block=(block, 1, 1))
    with pytest.raises(CompileError, match="takes 1 buffers and 0 tensor maps, 2 and 0"):
        run(kernel("", 1), [], [np.zeros(1, np.uint32)] * 2)
    with pytest.raises(CompileError, match="bytes of shared memory"):
        run(kernel("", 1), [], [np.zeros(1, np.uint32)], shared_bytes=1 << 20)
