"""Barriers in memory, bulk copies and warpgroup products of the interpreter, on PTX by hand."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_texts import HEADER, Array, kernel, run

from hlo.diagnostics import UnsupportedError
from hlo.gpu.device import DeviceBuffer
from hlo.gpu.emulated_device import EmulatedDevice, EmulationError
from hlo.gpu.tensor_map import TensorMap

LINE = 128  # bytes of a line of a tile


def swizzled(lines: Array) -> Array:
    """Lines of 128 bytes as shared memory has them: piece p of line r is at p xor (r mod 8)."""
    pieces = lines.view(np.uint8).reshape(-1, 8, 16)
    places = np.arange(8)[None] ^ (np.arange(len(pieces)) % 8)[:, None]
    return np.take_along_axis(pieces, places[..., None], axis=1).reshape(-1, LINE)


# 128 threads bring 72 lines of 128 bytes to shared memory: 9 times 8 bytes each; then multiply
# 64 lines of A by 8 of B, 16 elements of the depth.
_COPY = "\n".join(
    f"  ld.global.b64 %rd20, [%rd40+{1024 * i}];\n  st.shared.b64 [%rd41+{1024 * i}], %rd20;"
    for i in range(9)
)
_ZEROS = "\n".join(f"  mov.b32 %r{20 + i}, 0;" for i in range(4))
PRODUCT = f"""
  mul.wide.u32 %rd50, %r1, 8;
  mov.u64 %rd30, tile;
  add.s64 %rd40, %rd0, %rd50;
  add.s64 %rd41, %rd30, %rd50;
{_COPY}
  fence.proxy.async.shared::cta;
  bar.sync 0;
  shr.u64 %rd31, %rd30, 4;
  or.b64 %rd32, %rd31, {1 << 62 | (1024 >> 4) << 32};
  add.s64 %rd33, %rd32, {8192 >> 4};
{_ZEROS}
  wgmma.fence.sync.aligned;
  setp.eq.b32 %p1, 0, 0;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%r20, %r21, %r22, %r23}}, %rd32, %rd33, %p1,
      1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  mul.wide.u32 %rd51, %r1, 16;
  add.s64 %rd42, %rd1, %rd51;
  st.global.v4.b32 [%rd42], {{%r20, %r21, %r22, %r23}};
"""
TILE = ".shared .align 1024 .b8 tile[9216];"


def multiply(body: str, left: Array, right: Array) -> Array:
    lines = np.zeros((72, 64), np.float16)
    lines[:64, :16], lines[64:, :16] = left, right
    text = kernel(body, 2, declarations=TILE).replace("sm_90", "sm_90a")
    result = np.zeros((128, 4), np.float32)
    (made,) = run(text, [swizzled(lines)], [result], block=(128, 1, 1))
    found = np.zeros((64, 8), np.float32)
    for thread in range(128):
        warp, lane = divmod(thread, 32)
        for k in range(4):
            row, column = 16 * warp + lane // 4 + 8 * (k // 2), 2 * (lane % 4) + k % 2
            found[row, column] = made[thread, k]
    return found


RNG = np.random.default_rng(0)
LEFT = RNG.standard_normal((64, 16)).astype(np.float16)
RIGHT = RNG.standard_normal((8, 16)).astype(np.float16)


def test_a_product_of_swizzled_tiles() -> None:
    expected = LEFT.astype(np.float64) @ RIGHT.astype(np.float64).T
    np.testing.assert_allclose(multiply(PRODUCT, LEFT, RIGHT), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("broken", "kind"),
    [
        ("  fence.proxy.async.shared::cta;\n", "proxy"),
        ("  wgmma.fence.sync.aligned;\n", "async"),
        ("  wgmma.commit_group.sync.aligned;\n", "async"),
        ("  wgmma.wait_group.sync.aligned 0;\n", "async"),
    ],
)
def test_what_a_product_needs(broken: str, kind: str) -> None:
    assert broken in PRODUCT
    with pytest.raises(EmulationError) as caught:
        multiply(PRODUCT.replace(broken, ""), LEFT, RIGHT)
    assert caught.value.kind == kind


def test_a_product_reads_tiles_that_others_have_written_before_a_barrier() -> None:
    with pytest.raises(EmulationError) as caught:
        multiply(PRODUCT.replace("  bar.sync 0;\n", ""), LEFT, RIGHT)
    assert caught.value.kind in ("race", "uninitialized", "proxy")


def test_all_warps_of_a_warpgroup_multiply() -> None:
    alone = PRODUCT.replace(
        "  wgmma.fence", "  setp.gt.u32 %p2, %r1, 95;\n  @%p2 exit;\n  wgmma.fence"
    )
    with pytest.raises(EmulationError) as caught:
        multiply(alone, LEFT, RIGHT)
    assert caught.value.kind == "collective"


def test_layouts_that_are_not_known_are_refused() -> None:
    with pytest.raises(EmulationError, match="not swizzled by 128"):
        multiply(PRODUCT.replace(str(1 << 62 | 64 << 32), str(64 << 32)), LEFT, RIGHT)
    with pytest.raises(UnsupportedError, match="wgmma"):
        multiply(PRODUCT.replace("m64n8k16.f32", "m64n8k16.f16"), LEFT, RIGHT)


# A tile of 8 lines of 64 elements; 32 threads hand it on as it is in shared memory.
TILE_COPY = f"""{HEADER}
.shared .align 1024 .b8 tile[1024];
.shared .align 8 .b64 come;
.visible .entry k(.param .u64 k_0, .param .u64 k_1, .param .align 64 .b8 k_2[128])
{{
  .reg .pred %p<4>;
  .reg .b32 %r<9>;
  .reg .b64 %rd<20>;
  ld.param.b64 %rd0, [k_1];
  mov.b64 %rd1, k_2;
  cvta.param.u64 %rd2, %rd1;
  mov.u64 %rd3, tile;
  mov.u64 %rd4, come;
  mov.u32 %r1, %tid.x;
  setp.ne.b32 %p1, %r1, 0;
  @%p1 bra wait;
  mbarrier.init.shared::cta.b64 [%rd4], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%rd4], BYTES;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%rd3],
      [%rd2, {{X, Y}}], [%rd4];
wait:
  bar.sync 0;
again:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%rd4], 0;
  @!%p2 bra again;
  mul.wide.u32 %rd5, %r1, 32;
  add.s64 %rd6, %rd3, %rd5;
  add.s64 %rd7, %rd0, %rd5;
  ld.shared.v2.b64 {{%rd8, %rd9}}, [%rd6];
  st.global.v2.b64 [%rd7], {{%rd8, %rd9}};
  ld.shared.v2.b64 {{%rd8, %rd9}}, [%rd6+16];
  st.global.v2.b64 [%rd7+16], {{%rd8, %rd9}};
  ret;
}}
"""
WHOLE = RNG.standard_normal((20, 104)).astype(np.float16)


def copied(x: int, y: int, size: int = 1024, text: str = TILE_COPY) -> Array:
    device = EmulatedDevice()
    source, target = device.allocate(WHOLE.nbytes), device.allocate(1024)
    device.write(source, WHOLE.reshape(-1).view(np.uint8))
    # 104 elements of 2 bytes: lines are 208 bytes apart.
    tensor_map = TensorMap(0, "f16", (104, 20), (208,), (64, 8))
    text = text.replace("X,", f"{x},").replace("Y}", f"{y}}}").replace("BYTES", str(size))
    buffers = [DeviceBuffer(source, WHOLE.nbytes, False), DeviceBuffer(target, 1024)]
    module = device.load_ptx(text)
    device.launch(module, "k", (1, 1, 1), (32, 1, 1), 0, buffers, [tensor_map])
    data = np.empty(1024, np.uint8)
    device.read(target, data)
    return swizzled(data.reshape(8, LINE)).view(np.float16)


@pytest.mark.parametrize(("x", "y"), [(0, 0), (40, 3), (64, 16), (-8, -2), (-3, 19), (104, 0)])
def test_a_copied_tile_is_zero_outside_of_the_tensor(x: int, y: int) -> None:
    padded = np.pad(WHOLE, ((8, 40), (64, 128)))  # so that no index is negative
    expected = padded[y + 8 : y + 16, x + 64 : x + 128]
    np.testing.assert_array_equal(copied(x, y), expected)


@pytest.mark.parametrize(
    ("size", "kind"), [(0, "async"), (1008, "async"), (1040, "barrier"), (2048, "barrier")]
)
def test_a_phase_ends_when_its_bytes_have_come(size: int, kind: str) -> None:
    with pytest.raises(EmulationError) as caught:
        copied(0, 0, size)
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("  @!%p2 bra again;\n", "", "async"),
        ("  fence.mbarrier_init.release.cluster;\n", "", "proxy"),
        ("init.shared::cta.b64 [%rd4], 1;", "init.shared::cta.b64 [%rd4], 2;", "barrier"),
        ("  mbarrier.init.shared::cta.b64 [%rd4], 1;\n", "", "barrier"),
        ("bytes [%rd3],", "bytes [%rd3+16],", "alignment"),
    ],
)
def test_what_a_copy_needs(old: str, new: str, kind: str) -> None:
    assert old in TILE_COPY
    text = TILE_COPY.replace(old, new)
    if "try_wait" not in old and old.startswith("  @!"):
        text = text.replace("  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%rd4], 0;\n", "")
    with pytest.raises(EmulationError) as caught:
        copied(0, 0, text=text)
    assert caught.value.kind == kind
