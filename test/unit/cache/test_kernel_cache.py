"""Kernels from the cache: of a program that was changed, only what is new is compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hlo
import hlo.numpy as hnp
from hlo import knobs
from hlo.driver import codegen
from hlo.driver.cache import kernel_cache
from hlo.driver.cache.kernel_cache import KernelCache
from hlo.driver.cache.store import Store

X = np.linspace(0.1, 1, 48, dtype=np.float32).reshape(6, 8)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path) -> Iterator[Path]:
    """A cache of its own for each test."""
    folder = tmp_path / "cache"
    with knobs.scope(cache=True, cache_dir=folder):
        yield folder


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The modules of kernels that were given to LLVM."""
    texts: list[str] = []

    class Noted(codegen.runtime.CodegenQueue):
        def add(self, text: str, pipeline: str, options: codegen.runtime.CodegenOptions) -> None:
            if "@hlo_main" not in text and text != codegen.WARM_UP:
                texts.append(text)
            super().add(text, pipeline, options)

    monkeypatch.setattr(codegen.runtime, "CodegenQueue", Noted)
    return texts


def large_ones(texts: list[str]) -> int:
    """How many modules are a single kernel's."""
    return sum(len(text) >= codegen.OWN_MODULE_CHARACTERS for text in texts)


def forget_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What another process would find: the folder alone."""
    monkeypatch.setattr(kernel_cache, "_recent", kernel_cache._Recent(1 << 20))


def layers(*kinds: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Layers with a reversed running sum between them, which keeps each a kernel of its own."""

    def program(x: Any) -> Any:
        for kind in kinds:
            x = hnp.cumsum(kind(x), axis=1)[:, ::-1]
        return x

    return program


def large(*more: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A program of kernels that are modules of their own: sines of many kinds, then `more`."""
    sines = [lambda x, k=k: hnp.sin(x * k) + hnp.cos(x + k) for k in (1.5, 2.5)]
    return layers(*sines, *more)


def run(program: Callable[[Any], Any]) -> np.ndarray[Any, Any]:
    return np.asarray(hlo.jit(program)(X))


def test_a_program_that_was_changed_compiles_only_what_is_new(made: list[str]) -> None:
    run(large())
    first = len(made)
    assert large_ones(made) >= 2
    changed = large(lambda x: hnp.sin(x * 7.5) - hnp.cos(x))
    found = run(changed)
    assert large_ones(made[first:]) == 1
    assert not set(made[first:]) & set(made[:first])
    with knobs.scope(cache=False):
        np.testing.assert_array_equal(found, run(changed))


def test_the_place_in_the_program_makes_no_difference(made: list[str]) -> None:
    run(large())
    first = len(made)
    found = run(
        layers(hnp.tanh, *[lambda x, k=k: hnp.sin(x * k) + hnp.cos(x + k) for k in (2.5, 1.5)])
    )
    assert not set(made[first:]) & set(made[:first])
    assert np.isfinite(found).all()


def test_kernels_come_from_the_folder(
    cache: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = run(large())
    first = len(made)
    for file in (*cache.glob("programs/*"), *cache.glob("sources/*")):
        file.unlink()
    forget_memory(monkeypatch)
    np.testing.assert_array_equal(run(large()), expected)
    assert len(made) == first


@pytest.mark.parametrize("damage", [b"", b"hlocach2", b"x" * 4000])
def test_a_damaged_kernel_is_compiled_again(
    cache: Path, made: list[str], monkeypatch: pytest.MonkeyPatch, damage: bytes
) -> None:
    expected = run(large())
    first = len(made)
    for file in (*cache.glob("programs/*"), *cache.glob("sources/*")):
        file.unlink()
    files = sorted(cache.glob("kernels/*"))
    assert len(files) == first
    files[0].write_bytes(damage)
    forget_memory(monkeypatch)
    np.testing.assert_array_equal(run(large()), expected)
    assert len(made) == first + 1
    assert len(sorted(cache.glob("kernels/*"))) == first  # and kept again


def test_no_cache_means_no_kernels_from_it(made: list[str]) -> None:
    run(large())
    first = len(made)
    with knobs.scope(cache=False):
        run(large())
    assert len(made) == 2 * first


def test_another_compiler_is_a_miss(tmp_path: Path) -> None:
    store = Store(tmp_path / "s", 1 << 20)
    ours, theirs = KernelCache(store, b"ours"), KernelCache(store, b"theirs")
    names = {cache.name_of("text", "p", "o", 2) for cache in (ours, theirs)}
    names |= {ours.name_of(*a) for a in (("u", "p", "o", 2), ("text", "q", "o", 2))}
    names |= {ours.name_of(*a) for a in (("text", "p", "", 2), ("text", "p", "o", 1))}
    assert len(names) == 6


def test_memory_holds_the_objects_used_last(tmp_path: Path) -> None:
    recent = kernel_cache._Recent(10)
    for name, size in (("a", 4), ("b", 4)):
        recent.keep(("f", name), b"x" * size)
    assert recent.find(("f", "a")) is not None
    recent.keep(("f", "c"), b"x" * 4)  # 12 bytes: the one unused longest goes
    assert [recent.find(("f", name)) is not None for name in "abc"] == [True, False, True]
    assert recent.find(("g", "a")) is None  # another folder is another cache


def test_a_disk_that_is_full_is_no_error(
    cache: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    assert np.isfinite(run(large())).all()
    assert not list(cache.glob("*/*")), "half-written files are removed"


def test_processes_that_compile_at_once_share_kernels(cache: Path) -> None:
    code = (
        "import numpy as np, hlo, hlo.numpy as hnp, sys\n"
        "k = float(sys.argv[1])\n"
        "def f(x):\n"
        "    for c in (1.5, 2.5, k):\n"
        "        x = hnp.cumsum(hnp.sin(x * c) + hnp.cos(x + c), axis=1)[:, ::-1]\n"
        "    return x\n"
        "x = np.linspace(0.1, 1, 48, dtype=np.float32).reshape(6, 8)\n"
        "print(float(np.asarray(hlo.jit(f)(x)).sum()))\n"
    )
    environment = {**os.environ, "HLO_CACHE": "1", "HLO_CACHE_DIR": str(cache)}
    children = [
        subprocess.Popen(
            [sys.executable, "-c", code, k], env=environment, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )
        for k in ("3.5", "4.5")
    ]  # fmt: skip
    for child in children:
        out, error = child.communicate(timeout=120)
        assert child.returncode == 0, error
        assert np.isfinite(float(out))
        assert "ignored" not in error
    # The two programs differ in one of three layers: their kernels are in the folder once.
    assert len(list(cache.glob("programs/*"))) == 2
