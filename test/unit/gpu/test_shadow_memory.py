"""Who touched a byte last: accesses of every width, many readers, barriers of some and of all."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_texts import kernel, run

from hlo.gpu.emulated_device import EmulatedDevice, EmulationError

SCHEDULES = [0, 1, 2, 5]
# %rd11 is the buffer, %rd12 the thread's own 16 bytes of it.
START = """
  .shared .align 16 .b8 buffer[4096];
  mov.b64 %rd11, buffer;
  mul.wide.u32 %rd10, %r1, 16;
  add.s64 %rd12, %rd11, %rd10;
  st.shared.v4.b32 [%rd12], {%r1, %r1, %r1, %r1};
"""


def by(thread: int, code: str, number: int) -> str:
    """Code that one thread runs."""
    return f"""
  setp.ne.b32 %p{number}, %r1, {thread};
  @%p{number} bra $SKIP{number};
{code}
$SKIP{number}:
"""


def check(body: str, kind: str | None, schedule: int, threads: int = 128) -> None:
    device = EmulatedDevice(schedule)
    text = kernel(START + body + "\n  st.global.b32 [%rd0], 0;", 1)
    try:
        run(text, [], [np.zeros(1, np.uint32)], block=(threads, 1, 1), device=device)
    except EmulationError as error:
        assert error.kind == kind, error
    else:
        assert kind is None


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("st.shared.b8 [%rd11+5], %rs1;", "st.shared.b8 [%rd11+6], %rs2;", None),
        ("st.shared.b8 [%rd11+5], 1;", "ld.shared.b32 %r11, [%rd11+4];", "race"),
        ("st.shared.b8 [%rd11+5], 1;", "ld.shared.b32 %r11, [%rd11+8];", None),
        ("st.shared.b64 [%rd11+8], 1;", "ld.shared.v2.b64 {%rd13, %rd14}, [%rd11];", "race"),
        ("st.shared.b16 [%rd11+2], 1;", "ld.shared.b16 %rs1, [%rd11+2];", "race"),
        ("ld.shared.v2.b64 {%rd13, %rd14}, [%rd11];", "st.shared.b8 [%rd11+15], 1;", "race"),
        ("ld.shared.b32 %r11, [%rd11];", "st.shared.b32 [%rd11+4], 1;", None),
        ("ld.shared.b32 %r11, [%rd11];", "atom.shared.add.u32 %r12, [%rd11], 1;", "race"),
        ("atom.shared.add.u32 %r11, [%rd11], 1;", "atom.shared.add.u32 %r12, [%rd11], 1;", None),
    ],
)  # fmt: skip
def test_threads_of_two_warps(first: str, second: str, kind: str | None, schedule: int) -> None:
    body = "  bar.sync 0;" + by(3, first, 1) + "  BETWEEN" + by(70, second, 2)
    check(body.replace("BETWEEN", ""), kind, schedule)
    check(body.replace("BETWEEN", "bar.sync 0;"), None, schedule)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_what_many_warps_have_read_is_written_behind_a_barrier_of_all(schedule: int) -> None:
    read = "  bar.sync 0;\n  ld.shared.v4.b32 {%r11, %r12, %r13, %r14}, [%rd11+16];\n"
    write = by(1, "  st.shared.b32 [%rd11+20], 9;", 1)
    check(read + write, "race", schedule)
    check(read + "  bar.sync 0;" + write, None, schedule)
    # Not behind one of the first two warps alone.
    some = """
  setp.ge.u32 %p5, %r1, 64;
  @%p5 bra $OTHERS;
  bar.sync 1, 64;
$OTHERS:
"""
    check(read + some + write, "race", schedule)
    check(read + some + write, None, schedule, threads=64)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_lane_may_write_what_it_alone_has_read(schedule: int) -> None:
    own = "  ld.shared.b32 %r11, [%rd12];\n  ld.shared.b32 %r12, [%rd12];\n"
    check(own + "  st.shared.b32 [%rd12], 7;", None, schedule)
    pair = """
  bar.warp.sync -1;
  and.b32 %r20, %r1, -2;
  mul.wide.u32 %rd20, %r20, 16;
  add.s64 %rd21, %rd11, %rd20;
  ld.shared.b32 %r11, [%rd21];
"""
    write = "  st.shared.b32 [%rd12], 7;"
    check(pair + write, "race", schedule)
    check(pair + "  bar.warp.sync -1;\n" + write, None, schedule)


@pytest.mark.parametrize("schedule", [0, 1])
def test_writing_what_is_there_hides_no_reader(schedule: int) -> None:
    """Warp 0 reads, warp 1 writes the same value and meets warp 2, which writes another one."""
    body = "  bar.sync 0;" + by(2, "  ld.shared.b32 %r11, [%rd11];", 1)
    body += by(33, "  st.shared.b32 [%rd11], 0;", 2)
    body += """
  setp.lt.u32 %p5, %r1, 32;
  @%p5 bra $FIRST;
  setp.ge.u32 %p6, %r1, 96;
  @%p6 bra $FIRST;
  bar.sync 1, 64;
$FIRST:
"""
    check(body + by(65, "  st.shared.b32 [%rd11], 5;", 3), "race", schedule)
    check(body + by(65, "  st.shared.b32 [%rd11+4], 5;", 3), None, schedule)


# Each block stores its number; the one that counts three reads what the others have stored.
HAND_OVER = """
  mul.wide.u32 %rd10, %r2, 4;
  add.s64 %rd11, %rd0, %rd10;
  setp.ne.b32 %p1, %r1, 40;
  @%p1 bra $STORED;
  st.global.b32 [%rd11], %r2;
$STORED:
  bar.sync 0;
  setp.ne.b32 %p2, %r1, 0;
  @%p2 bra $COUNTED;
  fence.acq_rel.gpu;
  atom.global.inc.u32 %r10, [%rd1], 2;
  membar.gl;
  st.shared.b32 [slot], %r10;
$COUNTED:
  bar.sync 0;
  ld.shared.b32 %r11, [slot];
  setp.ne.b32 %p3, %r11, 2;
  @%p3 bra $DONE;
  ld.global.b32 %r12, [%rd0];
  ld.global.b32 %r13, [%rd0+4];
  ld.global.b32 %r14, [%rd0+8];
  st.global.b32 [%rd2], %r13;
$DONE:
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("", "", None),
        ("fence.acq_rel.gpu;", "", "race"),  # nothing is released
        ("membar.gl;", "", "race"),  # nothing is acquired
        ("fence.acq_rel.gpu;", "fence.acq_rel.cta;", "race"),
        ("$STORED:\n  bar.sync 0;", "$STORED:", "race"),  # of thread 40 no more than of others
        ("atom.global.inc.u32 %r10, [%rd1], 2;", "atom.global.inc.u32 %r10, [%rd1+4], 2;", None),
    ],
)
def test_blocks_are_ordered_by_fences_and_atomics(
    old: str, new: str, kind: str | None, schedule: int
) -> None:
    text = kernel(HAND_OVER.replace(old, new, 1), 3, declarations=".shared .align 4 .b8 slot[4];")
    results = [np.zeros(3, np.uint32), np.zeros(2, np.uint32), np.zeros(1, np.uint32)]
    try:
        found = run(text, [], results, grid=(3, 1, 1), block=(64, 1, 1),
                    device=EmulatedDevice(schedule))  # fmt: skip
    except EmulationError as error:
        assert error.kind == kind, error
    else:
        assert kind is None
        assert found[2][0] == 1
        assert not found[1].any()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_an_atomic_elsewhere_orders_nothing(schedule: int) -> None:
    """Blocks count in one place, and hand over at places of their own."""
    ordered = "  fence.acq_rel.gpu;\n  atom.global.inc.u32 %r10, [%rd1], 2;\n"
    assert ordered in HAND_OVER
    text = kernel(
        HAND_OVER.replace(
            ordered,
            "  atom.global.inc.u32 %r10, [%rd1], 2;\n  fence.acq_rel.gpu;\n"
            "  add.s64 %rd12, %rd11, 12;\n  atom.global.add.u32 %r20, [%rd12], 1;\n",
        ),
        3, declarations=".shared .align 4 .b8 slot[4];",
    )  # fmt: skip
    results = [np.zeros(6, np.uint32), np.zeros(2, np.uint32), np.zeros(1, np.uint32)]
    with pytest.raises(EmulationError) as caught:
        run(text, [], results, grid=(3, 1, 1), block=(64, 1, 1), device=EmulatedDevice(schedule))
    assert caught.value.kind == "race"
