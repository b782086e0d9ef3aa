"""Compiled programs from the cache: the same results, and a miss whenever anything differs."""

from __future__ import annotations

import contextvars
import dataclasses
import logging
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hlo
import hlo.numpy as hnp
from hlo import ir, knobs
from hlo.driver import compile as driver
from hlo.driver.cache import fingerprint, program_cache
from hlo.driver.cache.stored_program import INLINE_BYTES
from hlo.driver.compile import Compiled

CHAIN = """module @chain {
  func.func @main(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4x8xbf16>) {
    %two = "hlo.constant"() <{value = dense<2.0> : tensor<4x8xf32>}> : () -> tensor<4x8xf32>
    %zero = "hlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %0 = "hlo.multiply"(%x, %two) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = "hlo.sine"(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %2 = "hlo.reduce"(%1, %zero) <{dimensions = array<i64: 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "hlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "hlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    %3 = "hlo.convert"(%1) : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    return %2, %3 : tensor<4xf32>, tensor<4x8xbf16>
  }
}
"""
X = np.arange(32, dtype=np.float32).reshape(4, 8) / 10


@pytest.fixture(autouse=True)
def cache(tmp_path: Path) -> Iterator[Path]:
    """A cache of its own for each test."""
    folder = tmp_path / "cache"
    with knobs.scope(cache=True, cache_dir=folder):
        yield folder


def compiled(program: object, **options: Any) -> Compiled:
    return hlo.compile(program, **options)


def files(cache: Path, kind: str) -> list[Path]:
    return sorted((cache / kind).glob("*"))


def assert_same_results(first: Compiled, second: Compiled, *arguments: Any) -> None:
    for a, b in zip(first(*arguments), second(*arguments), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_the_second_compilation_needs_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    first = compiled(CHAIN)
    assert (first.statistics.cache, first.from_cache) == ("miss", False)

    def refused(*_: Any) -> Any:
        raise AssertionError("a pass or the importer ran")

    monkeypatch.setattr(driver, "make_program", refused)
    monkeypatch.setattr("hlo.driver.program_source.load_program", refused)
    second = compiled(CHAIN)
    assert (second.statistics.cache, second.from_cache) == ("hit", True)
    assert set(second.stage_seconds) == {"cache", "load"}
    assert second.name == "chain"
    assert_same_results(first, second, X)
    counts = dataclasses.replace(first.statistics, stage_seconds={}, cache="")
    assert dataclasses.replace(second.statistics, stage_seconds={}, cache="") == counts


def test_reports_of_a_program_from_the_cache_are_the_same() -> None:
    first, second = compiled(CHAIN), compiled(CHAIN)
    assert second.from_cache
    assert first.explain().as_text() == second.explain().as_text()
    assert first.memory_analysis().as_text() == second.memory_analysis().as_text()
    assert first.cost_analysis() == second.cost_analysis()
    assert first.arena == second.arena
    for stage in ("input", "fused", "placed", "llvm"):
        assert first.as_text(stage) == second.as_text(stage)


def test_text_bytes_path_and_module_are_one_program(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "chain.mlir"
    path.write_text(CHAIN)
    compiled(CHAIN)
    for form in (CHAIN.encode(), path, ir.parse_module(CHAIN), bytearray(CHAIN.encode())):
        assert compiled(form).from_cache
    assert len(files(cache, "programs")) == 1


def test_layout_of_the_text_and_locations_make_no_difference(cache: Path) -> None:
    compiled(CHAIN)
    moved = "// A comment moves every line.\n" + CHAIN.replace("    %0", "      %0")
    second = compiled(moved)
    assert second.from_cache and "import" in second.stage_seconds
    third = compiled(moved)
    assert third.from_cache and "import" not in third.stage_seconds
    assert len(files(cache, "programs")) == 1


@pytest.mark.parametrize(
    "change",
    [
        ("dense<2.0>", "dense<3.0>"),
        ("hlo.sine", "hlo.cosine"),
        ("module @chain", "module @other"),
        ('"hlo.multiply"(%x, %two)', '"hlo.multiply"(%two, %x)'),
    ],
)
def test_another_program_is_a_miss(change: tuple[str, str]) -> None:
    compiled(CHAIN)
    other = CHAIN.replace(*change)
    assert other != CHAIN
    assert not compiled(other).from_cache


@pytest.mark.parametrize("kind", ["f32", "i8", "i1", "bf16", "complex<f32>"])
def test_every_element_of_a_large_constant_is_in_the_key(kind: str) -> None:
    """They are hashed apart from the text, which leaves them out."""
    store, size = program_cache.open_store(), program_cache.LARGE_CONSTANT + 1
    scalar = {"complex<f32>": "(1.0, 0.0)", "i8": "1", "i1": "true"}.get(kind, "1.0")
    zero = {"complex<f32>": "(0.0, 0.0)", "i8": "0", "i1": "false"}.get(kind, "0.0")

    def key(at: int, in_attribute: bool = False) -> str:
        listed = ", ".join(scalar if i == at else zero for i in range(size))
        value, shape = f"dense<[{listed}]> : tensor<{size}x{kind}>", f"tensor<{size}x{kind}>"
        note = f"attributes {{note = {value}}}" if in_attribute else ""
        text = f"""func.func @main() -> {shape} {note} {{
          %c = "hlo.constant"() {{value = {value}}} : () -> {shape} return %c : {shape} }}"""
        name: str = program_cache.ProgramCache(store, "cpu", {}).name_of_module(
            ir.parse_module(text)
        )
        return name

    places = (0, 1, size - 1)
    assert len({key(at) for at in places} | {key(at, True) for at in places}) == 6
    assert key(1) == key(1)


@pytest.mark.parametrize(
    "options",
    [{"donate": (0,)}, {"threads": 1}, {"reuse": False}, {"optimize": False}, {"fast": True}],
)
def test_other_options_are_a_miss(options: dict[str, Any]) -> None:
    compiled(CHAIN)
    assert not compiled(CHAIN, **options).from_cache
    assert compiled(CHAIN, **options).from_cache


def test_every_option_is_in_the_key() -> None:
    """An option that somebody adds counts without being named anywhere in the cache."""
    settings = {field.name: field.default for field in dataclasses.fields(driver.Options)}
    asked: list[dict[str, Any]] = []
    real = driver.open_cache
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "open_cache", lambda t, o: asked.append(dict(o)) or real(t, o))
        compiled(CHAIN)
    assert [set(options) for options in asked] == [set(settings)]
    store = program_cache.open_store()

    def key(options: dict[str, Any]) -> str:
        return program_cache.ProgramCache(store, "cpu", options).name_of_source(b"")

    keys = {key(settings), *(key({**settings, name: "another"}) for name in settings)}
    assert len(keys) == 1 + len(settings)


def test_another_machine_or_compiler_is_a_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(CHAIN)
    machine = program_cache.machine_fingerprint()
    for i in range(len(machine)):
        other = (*machine[:i], machine[i] + "x", *machine[i + 1 :])
        with monkeypatch.context() as patch:
            patch.setattr(program_cache, "machine_fingerprint", lambda other=other: other)
            assert not compiled(CHAIN).from_cache
    with monkeypatch.context() as patch:
        patch.setattr(program_cache, "compiler_fingerprint", lambda _: "another")
        assert not compiled(CHAIN).from_cache
    with monkeypatch.context() as patch:
        patch.setattr(program_cache, "FORMAT", program_cache.FORMAT + 1)
        assert not compiled(CHAIN).from_cache
    assert compiled(CHAIN).from_cache


def test_the_compilers_files_count_by_contents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "pass.py"
    monkeypatch.setattr(fingerprint, "_files", lambda: iter([("pass.py", file)]))
    store = program_cache.open_store()
    reads: list[int] = []
    real = fingerprint._contents_digest

    def counted(*arguments: Any) -> str:
        reads.append(1)
        return real(*arguments)

    monkeypatch.setattr(fingerprint, "_contents_digest", counted)

    def found(contents: str) -> str:
        if not file.exists() or file.read_text() != contents:
            file.write_text(contents)
        fingerprint._known.clear()
        return fingerprint.compiler_fingerprint(store)

    first = found("one")
    assert found("one") == first and len(reads) == 1  # known by its times
    os.utime(file, (1, 1))
    assert found("one") == first and len(reads) == 2  # read again: the same
    assert found("two") != first and len(reads) == 3  # of the same size
    os.utime(file, (1, 1))
    assert found("six") != first
    monkeypatch.setattr(fingerprint, "_version", lambda _: "0.0")
    assert found("one") != first
    fingerprint._known.clear()


def test_native_modules_count_by_their_build_ids(tmp_path: Path) -> None:
    def module(digest: bytes) -> str:
        """An ELF file whose only program header is at 64, with notes at 128."""
        notes = struct.pack("<III", 4, 4, 1) + b"GNU\0" + bytes(4)  # of another kind
        notes += struct.pack("<III", 4, 20, 3) + b"GNU\0" + digest
        header = struct.pack("<IIQQQQQQ", 4, 4, 128, 0, 0, len(notes), len(notes), 4)
        head = b"\x7fELF\2\1".ljust(32, b"\0") + struct.pack("<Q", 64)
        head = head.ljust(54, b"\0") + struct.pack("<HH", 56, 1)
        file = tmp_path / "module.so"
        file.write_bytes((head.ljust(64, b"\0") + header).ljust(128, b"\0") + notes)
        return str(file)

    assert fingerprint._build_id(module(b"a" * 20)) == b"a" * 20
    assert fingerprint._build_id(module(b"b" * 20)) == b"b" * 20
    files = [("module.so", module(b"a" * 20))]
    first = fingerprint._contents_digest(files, "")
    module(b"b" * 20)
    assert fingerprint._contents_digest(files, "") != first
    (tmp_path / "module.so").write_bytes(b"no ELF file")
    assert fingerprint._build_id(files[0][1]) is None
    assert fingerprint._contents_digest(files, "") != first


def test_who_asks_for_verification_gets_passes() -> None:
    compiled(CHAIN)
    assert compiled(CHAIN, verify=True).statistics.cache == "off"


def test_off_means_off(cache: Path) -> None:
    with knobs.scope(cache=False):
        assert compiled(CHAIN).statistics.cache == "off"
    assert not cache.exists()


def test_large_constants_are_kept_once(cache: Path) -> None:
    weights = np.random.default_rng(0).random(INLINE_BYTES, np.float32)
    small = np.arange(64, dtype=np.float32)

    def f(x: Any) -> Any:
        return hnp.dot(x, weights) + hnp.sum(small[::-1] * hnp.sort(x[:64]))

    def g(x: Any) -> Any:
        return hnp.dot(x, weights) - 1.0

    x = np.linspace(0, 1, INLINE_BYTES, dtype=np.float32)
    first = [hlo.jit(h).lower(x).compile().executable for h in (f, g)]
    assert len(files(cache, "constants")) == 1
    second = [hlo.jit(h).lower(x).compile().executable for h in (f, g)]
    for a, b in zip(first, second, strict=True):
        assert b.from_cache
        assert_same_results(a, b, x)
    # A constant that is gone or damaged is a miss, and is written again.
    (path,) = files(cache, "constants")
    path.unlink()
    assert not hlo.jit(f).lower(x).compile().executable.from_cache
    assert files(cache, "constants") == [path]
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    third = hlo.jit(f).lower(x).compile().executable
    assert not third.from_cache
    assert_same_results(first[0], third, x)
    assert hlo.jit(f).lower(x).compile().executable.from_cache


def test_donation_works_from_the_cache() -> None:
    def f(x: Any) -> Any:
        return x * 2.0 + 1.0

    for expected in (False, True):
        program = hlo.jit(f, donate_argnums=0).lower(X).compile()
        assert program.executable.from_cache == expected
        given = np.array(X)
        result = program(given)
        assert np.shares_memory(given, result)
        np.testing.assert_array_equal(result, X * 2 + 1)


def test_a_damaged_program_is_a_miss_wherever_the_damage_is(
    cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = compiled(CHAIN)
    (program,) = files(cache, "programs")
    whole = program.read_bytes()
    rng = np.random.default_rng(0)
    places = {0, 7, 8, 39, 40, 47, 48, len(whole) - 1}
    for at in sorted(places | {int(k) for k in rng.integers(0, len(whole), 12)}):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << int(rng.integers(8))
        program.write_bytes(damaged)
        caplog.clear()
        with caplog.at_level(logging.WARNING, "hlo.cache"):
            second = compiled(CHAIN)
        assert not second.from_cache, at
        assert "is ignored" in caplog.text
        assert_same_results(first, second, X)
        assert compiled(CHAIN).from_cache
    for length in (0, 10, 45, len(whole) // 2, len(whole) - 1):
        program.write_bytes(whole[:length])
        assert not compiled(CHAIN).from_cache


@pytest.mark.parametrize("contents", [b"", b"\0" * 8, b"\x02\0\0\0\0\0\0\0{}", b"\xff" * 100])
def test_contents_that_are_no_program_are_a_miss(cache: Path, contents: bytes) -> None:
    """The checksum holds, but another version wrote the file, or a person."""
    compiled(CHAIN)
    (program,) = files(cache, "programs")
    program_cache.open_store().write("programs", program.name, [contents])
    assert not compiled(CHAIN).from_cache
    assert compiled(CHAIN).from_cache


def test_object_code_that_cannot_be_loaded_is_a_miss(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = program_cache.ProgramCache.find

    def spoilt(self: program_cache.ProgramCache, name: str) -> Any:
        found = real(self, name)
        return found and dataclasses.replace(found, objects=found.objects[1:])

    compiled(CHAIN)
    with monkeypatch.context() as patch:
        patch.setattr(program_cache.ProgramCache, "find", spoilt)
        assert not compiled(CHAIN).from_cache


def test_a_source_that_leads_nowhere_is_a_miss(cache: Path) -> None:
    compiled(CHAIN)
    (source,) = files(cache, "sources")
    program_cache.open_store().write("sources", source.name, [b"nothing"])
    assert compiled(CHAIN).from_cache  # by its canonical text
    program_cache.open_store().write("sources", source.name, [b"../../\xff"])
    assert compiled(CHAIN).from_cache


def test_invalid_programs_stay_errors() -> None:
    wrong = CHAIN.replace('"hlo.sine"(%0)', '"hlo.sine"(%zero)')
    for _ in range(2):
        with pytest.raises(hlo.CompileError, match="expects different type"):
            compiled(wrong)


def test_a_folder_that_cannot_be_used_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with knobs.scope(cache_dir=blocked / "cache"):
        assert compiled(CHAIN).statistics.cache == "miss"
        assert compiled(CHAIN).statistics.cache == "miss"


def test_the_default_folder_follows_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with knobs.scope(cache_dir=None):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert program_cache.default_directory() == tmp_path / "hlo"
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        assert program_cache.default_directory() == tmp_path / "home" / ".cache" / "hlo"


def test_threads_compile_one_program_side_by_side() -> None:
    found: list[Compiled] = []

    def work() -> None:
        found.append(compiled(CHAIN))

    # Knobs are each thread's own.
    threads = [
        threading.Thread(target=contextvars.copy_context().run, args=(work,)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for other in found[1:]:
        assert_same_results(found[0], other, X)


PROCESS = f"""
import numpy as np, hlo
for _ in range(3):
    x = np.arange(32, dtype=np.float32).reshape(4, 8) / 10
    program = hlo.compile({CHAIN!r})
    print(program.statistics.cache, program(x)[0].tobytes().hex())
"""


def processes(cache: Path, count: int) -> list[list[str]]:
    environment = {**os.environ, "HLO_CACHE": "1", "HLO_CACHE_DIR": str(cache)}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(count)
    ]
    outputs = [process.communicate()[0].split() for process in running]
    assert [process.returncode for process in running] == [0] * count
    return outputs


def test_processes_share_the_folder(cache: Path) -> None:
    outputs = processes(cache, 3)
    assert len({result for words in outputs for result in words[1::2]}) == 1
    assert all(words[4] == "hit" for words in outputs)
    (again,) = processes(cache, 1)
    assert again[0::2] == ["hit"] * 3
    assert len(files(cache, "programs")) == 1
