"""Which convolutions fetch lines of their input ahead, and which."""

from __future__ import annotations

from kernel_regions import region

from hlo.passes.hlo_to_loops.contraction_kernel import emit_contraction


def text(size: int, stride: int = 1) -> str:
    """The kernel of a 3 x 3 convolution of 64 features with padding."""
    results = -(-size // stride)
    data, result = (f"tensor<2x{n}x{n}x64xf32>" for n in (size, results))
    weights = "tensor<3x3x64x64xf32>"
    made = emit_contraction(
        region(f"""
      func.func @main(%x: {data}, %k: {weights}) -> {result} {{
        %0 = hlo.convolution(%x, %k)
          dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
          window = {{stride = [{stride}, {stride}], pad = [[1, 1], [1, 1]]}}
          {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
          : ({data}, {weights}) -> {result}
        return %0 : {result}
      }}""")
    )
    assert made is not None
    return made.text


def test_tiles_fetch_the_line_below() -> None:
    """Two images of 56 x 56 x 64 are 1.5 MiB. A window of three lines from -1 on ends with line 1:
    the tile below reads line 2 as well, 2 * 56 * 64 = 7168 elements on; 14 places of 64 are 896.
    """
    found = text(56)
    assert found.count("memref.prefetch") == 1
    assert "arith.constant 7168 : index" in found and "arith.constant 896 : index" in found


def test_windows_two_apart_move_by_two_lines() -> None:
    assert text(56, stride=2).count("memref.prefetch") == 2


def test_a_small_input_is_in_the_cache() -> None:
    """Two images of 28 x 28 x 64 are 392 KiB."""
    assert "memref.prefetch" not in text(28)
