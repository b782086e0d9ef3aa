"""Saved programs run elsewhere as they ran here; what is none, or does not fit, says so."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import hlo
import hlo.numpy as hnp
from hlo.driver import saved_program
from hlo.driver.saved_program import MAGIC, from_bytes, to_bytes

LOOP = """
func.func @main(%x: tensor<8x64xf32>, %n: tensor<i32>) -> (tensor<8x64xf32>, tensor<i32>) {
  %w = hlo.constant dense<0.5> : tensor<8x64xf32>
  %one = hlo.constant dense<1> : tensor<i32>
  %r:2 = hlo.while(%v = %x, %i = %n) : tensor<8x64xf32>, tensor<i32> cond {
    %zero = hlo.constant dense<0> : tensor<i32>
    %more = hlo.compare GT, %i, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %more : tensor<i1>
  } do {
    %s = hlo.multiply %v, %w : tensor<8x64xf32>
    %t = hlo.tanh %s : tensor<8x64xf32>
    %j = hlo.subtract %i, %one : tensor<i32>
    hlo.return %t, %j : tensor<8x64xf32>, tensor<i32>
  }
  return %r#0, %r#1 : tensor<8x64xf32>, tensor<i32>
}
"""
X, N = np.linspace(-3, 3, 512, dtype=np.float32).reshape(8, 64), np.int32(3)


class Pair(NamedTuple):
    a: Any
    b: Any


def layer(params: dict[str, Any], x: Any, *, scale: Any) -> dict[str, Any]:
    y = hnp.tanh(x @ params["w"] + params["b"])
    return {"y": y * scale, "rest": (None, [y.sum()])}


ARGUMENTS = ({"w": np.full((64, 5), 0.1, np.float32), "b": np.ones(5, np.float32)}, X)
SCALE = np.float32(2)


def compiled_layer(**options: Any) -> hlo.Compiled:
    return hlo.jit(layer).lower(*ARGUMENTS, scale=SCALE).compile(**options)


def same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    np.testing.assert_array_equal(found["y"], expected["y"])
    assert found["rest"][0] is None
    np.testing.assert_array_equal(found["rest"][1][0], expected["rest"][1][0])


def test_a_function_runs_in_another_process(tmp_path: Path) -> None:
    """Without compiling: the cache is off there, and all time is loading."""
    compiled = compiled_layer()
    compiled.save(tmp_path / "layer.hlo")
    script = f"""
import numpy as np, hlo
from hlo.driver import made_program
made_program.make_program = None
f = hlo.load({str(tmp_path / "layer.hlo")!r})
x = np.linspace(-3, 3, 512, dtype=np.float32).reshape(8, 64)
params = {{"w": np.full((64, 5), 0.1, np.float32), "b": np.ones(5, np.float32)}}
y = f(params, x, scale=np.float32(2))
np.save({str(tmp_path / "y.npy")!r}, y["y"])
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
    expected = compiled(*ARGUMENTS, scale=SCALE)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), expected["y"])


def test_a_function_keeps_structures_and_reports(tmp_path: Path) -> None:
    compiled = compiled_layer(threads=1)
    compiled.save(tmp_path / "layer.hlo")
    loaded = hlo.load(tmp_path / "layer.hlo")
    same(loaded(*ARGUMENTS, scale=SCALE), compiled(*ARGUMENTS, scale=SCALE))
    assert str(loaded.explain()) == str(compiled.explain())
    assert loaded.executable.options == compiled.executable.options
    with pytest.raises(hlo.ArgumentError, match="structure"):
        loaded(*ARGUMENTS)


def test_pickles_and_copies() -> None:
    """Of functions whose arguments are of any container."""
    lowered = hlo.jit(lambda p: Pair(p.a + p.b, None)).lower(Pair(X, X))
    compiled = lowered.compile()
    expected = compiled(Pair(X, X))
    for again in (
        pickle.loads(pickle.dumps(compiled)),
        copy.deepcopy(compiled),
        pickle.loads(pickle.dumps(lowered)).compile(),
    ):
        found = again(Pair(X, X))
        assert isinstance(found, Pair)
        assert found.b is None
        np.testing.assert_array_equal(found.a, expected.a)


def test_another_container_than_json_has_is_refused(tmp_path: Path) -> None:
    compiled = hlo.jit(lambda p: p.a).lower(Pair(X, X)).compile()
    with pytest.raises(hlo.TreeError, match="found Pair"):
        compiled.save(tmp_path / "f.hlo")
    numbered = hlo.jit(lambda d: d[1.5]).lower({1.5: X}).compile()
    with pytest.raises(hlo.TreeError, match=r"found 1\.5"):
        numbered.save(tmp_path / "f.hlo")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("target", ["cpu", "nvptx:sm_80"])
def test_programs_of_each_target(target: str) -> None:
    emulated = {} if target == "cpu" else {"emulate": True}
    program: Any = hlo.compile(LOOP, target=target, **emulated)
    again: Any = from_bytes(to_bytes(program))
    for ours, theirs in zip(again(X, N), program(X, N), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert again.target_name == target
    assert again.statistics.kernels == program.statistics.kernels
    assert again.as_text("fused") == program.as_text("fused")


def test_large_constants_and_donation() -> None:
    table = np.arange(300000, dtype=np.float32)
    function = hlo.jit(lambda x: x + hnp.asarray(table), donate_argnums=0)
    compiled = function.lower(table).compile()
    data = to_bytes(compiled.executable)
    assert len(data) < 2 * table.nbytes + 100000  # the program and its code each hold it once
    given = np.ones_like(table)
    (found,) = from_bytes(data)(given)  # type: ignore[operator]
    np.testing.assert_array_equal(found, table + 1)
    assert np.shares_memory(found, given)


def changed(data: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """A saved program with its header changed, whole otherwise."""
    body = data[len(MAGIC) + 32 :]
    length = int.from_bytes(body[:8], "little")
    header = json.loads(body[8 : 8 + length])
    change(header)
    text = json.dumps(header).encode()
    body = len(text).to_bytes(8, "little") + text + body[8 + length :]
    return MAGIC + sha256(body).digest() + body


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("features", ["fma9"], r"lacks fma9 of"),
        ("abi", -1, "version of hlo's runtime"),
        ("triple", "riscv64-unknown-linux-gnu", "expected riscv64"),
    ],
)
def test_code_for_another_place(key: str, value: Any, message: str, tmp_path: Path) -> None:
    """It is refused, or compiled from the program in the file."""
    program = hlo.compile(LOOP, threads=1)
    data = changed(to_bytes(program), lambda header: header["machine"].update({key: value}))
    path = tmp_path / "p.hlo"
    path.write_bytes(data)
    with pytest.raises(hlo.CompileError, match=message) as failure:
        hlo.load(path)
    assert "recompile=True" in str(failure.value)
    again = hlo.load(path, recompile=True)
    assert again.options == program.options
    np.testing.assert_array_equal(again(X, N)[0], program(X, N)[0])


def test_a_blas_library_that_is_not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    data = to_bytes(hlo.compile(LOOP))
    monkeypatch.setattr(saved_program.runtime, "BLAS_PATH", "")
    with pytest.raises(hlo.CompileError, match="BLAS library"):
        from_bytes(changed(data, lambda header: header["machine"].update({"blas": True})))


def test_files_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "p.hlo"
    with pytest.raises(FileNotFoundError):
        hlo.load(path)
    for data in (b"", b"func.func", MAGIC, MAGIC + bytes(100)):
        path.write_bytes(data)
        with pytest.raises(hlo.ParseError, match=r"p\.hlo: .*saved program|written by"):
            hlo.load(path)
    whole = to_bytes(hlo.compile(LOOP))
    for data in (whole[:-1], whole[: len(whole) // 2], whole[:200] + b"\0" + whole[201:]):
        path.write_bytes(data)
        with pytest.raises(hlo.ParseError, match="damaged"):
            hlo.load(path)
    unknown = changed(whole, lambda header: header["options"].update(nosuch=1))
    with pytest.raises(hlo.ParseError, match="another version"):
        from_bytes(unknown)
    shorter = changed(whole, lambda header: header.update(code=header["code"] - 1))
    with pytest.raises(hlo.ParseError, match="another version"):
        from_bytes(shorter)


def test_a_program_that_calls_python_stays() -> None:
    function = hlo.jit(lambda x: hlo.pure_callback(np.sin, hlo.ShapeDtype((8, 64), "f4"), x))
    with pytest.raises(hlo.UnsupportedError, match="calls Python functions"):
        pickle.dumps(function.lower(X).compile())


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "p.hlo"
    path.write_bytes(b"before")
    program = hlo.compile(LOOP)
    program.save(path)
    assert [each.name for each in tmp_path.iterdir()] == ["p.hlo"]
    assert hlo.load(path).name == program.name
    with pytest.raises(OSError, match="none"):
        program.save(tmp_path / "none" / "p.hlo")
