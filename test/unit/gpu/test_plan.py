"""Launch plans: stored and read back, printed, walked."""

from __future__ import annotations

import pytest

from hlo.diagnostics import CompileError
from hlo.gpu.plan import (
    BufferSlice,
    Case,
    Constant,
    Copy,
    Fill,
    HostCall,
    Kernel,
    KernelModule,
    Launch,
    LaunchPlan,
    Loop,
    TensorType,
    VendorCall,
    accesses,
)
from hlo.gpu.plan_json import from_json, to_json
from hlo.gpu.plan_text import plan_text
from hlo.gpu.tensor_map import TensorMap

X = BufferSlice("argument", 0, 0, 16)
Y = BufferSlice("result", 0, 0, 16)
T = BufferSlice("arena", 0, 64, 16)
FLAG = BufferSlice("arena", 0, 128, 1)
LAUNCH = Launch("add_0", (1, 1, 1), (128, 1, 1), (X, T), source='loc("a":3:1)', number=7)
MAP = TensorMap(0, "f16", (64, 20), (128,), (64, 8))


def plan() -> LaunchPlan:
    return LaunchPlan(
        target="sm_80",
        name="f",
        kernels={"add_0": Kernel("add_0", "m", 2, (1,), tensor_maps=(MAP,))},
        modules={"m": KernelModule("m", ".version 7.0\n", b"BC\xc0\xde")},
        constants=(Constant(TensorType((2,), "f32"), bytes(8)),),
        arena_bytes=192,
        steps=(
            LAUNCH,
            Fill(FLAG, 1),
            Loop((Copy(FLAG, BufferSlice("arena", 0, 129, 1)),), FLAG, (LAUNCH,)),
            Case(FLAG, ((), (Copy(Y, T, "passed on"),))),
            VendorCall("cublasLt", "matmul", (X,), (Y,), (("m", 2),), "", (LAUNCH,)),
            HostCall("hlo_rt_lapack_spotrf_ffi", (X,), (T,), (0, 1, 1), 'loc("a":4:1)'),
        ),
        arguments=(TensorType((4,), "f32"),),
        results=(TensorType((2, 2), "f32"),),
    )


def test_json_gives_the_plan_back() -> None:
    assert from_json(to_json(plan())) == plan()


def test_text_that_is_no_plan_is_refused() -> None:
    with pytest.raises(CompileError, match="not a launch plan"):
        from_json("{}")
    with pytest.raises(CompileError, match="expected version 4"):
        from_json('{"version": 99}')


def test_text_shows_every_step() -> None:
    assert plan_text(plan()).splitlines()[5:] == [
        "  tensor map of buffer 0: f16 64 x 20, strides 128, tiles 64 x 8, swizzle 128",
        'launch add_0 grid=1x1x1 block=128x1x1 (argument 0[0:16], arena[64:80])  // loc("a":3:1)',
        "fill arena[128:129] with 0x1 (1 bytes)",
        "loop while arena[128:129] after",
        "  copy arena[129:130] to arena[128:129]",
        "do",
        '  launch add_0 grid=1x1x1 block=128x1x1 (argument 0[0:16], arena[64:80])  // loc("a":3:1)',
        "end",
        "case arena[128:129]",
        "branch 0",
        "branch 1",
        "  copy arena[64:80] to result 0[0:16]  // passed on",
        "end",
        "call cublasLt matmul (argument 0[0:16]) to (result 0[0:16]) m=2",
        "or",
        '  launch add_0 grid=1x1x1 block=128x1x1 (argument 0[0:16], arena[64:80])  // loc("a":3:1)',
        "end",
        'host hlo_rt_lapack_spotrf_ffi (argument 0[0:16]) to (arena[64:80])  // loc("a":4:1)',
    ]


def test_accesses_reach_into_loops_and_branches() -> None:
    reads, writes = accesses(plan().steps[2], plan())
    assert FLAG in reads and X in reads
    assert writes == [FLAG, T]
    assert accesses(plan().steps[3], plan())[1] == [Y]
    assert not plan().is_static


def test_slices_overlap_by_bytes() -> None:
    assert T.overlaps(BufferSlice("arena", 0, 79, 1))
    assert not T.overlaps(BufferSlice("arena", 0, 80, 1))
    assert not X.overlaps(Y)
