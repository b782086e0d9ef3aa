"""Ctrl-C, forks, other threads and the end of the process, while a program is compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

START = """
import gc, os, signal, sys, threading, time
import hlo

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it

def program(length):
    lines = ["func.func @main(%v: tensor<8xf32>) -> tensor<8xf32> {"]
    for i in range(length):
        op, value = "sine" if i % 2 else "cosine", i - 1 if i else "v"
        lines.append(f"%{i} = hlo.{op} %{value} : tensor<8xf32>")
    return "\\n".join([*lines, f"return %{length - 1} : tensor<8xf32>", "}"])

def works(length):
    import numpy as np
    expected = np.ones(8, np.float32)
    for i in range(length):
        expected = np.sin(expected) if i % 2 else np.cos(expected)
    (found,) = hlo.compile(program(length))(np.ones(8, np.float32))
    np.testing.assert_allclose(found, expected, rtol=1e-5)

def interrupted_after(seconds, action):
    before = time.perf_counter()
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        action()
    except KeyboardInterrupt:
        return True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return False
"""


def _run(script: str, tmp_path: Path) -> str:
    """What a script prints that begins with `START`, in a process of its own without a cache."""
    file = tmp_path / "script.py"
    file.write_text(START + script)
    done = subprocess.run(
        [sys.executable, file], check=False, capture_output=True, text=True,
        timeout=120,
        env={**os.environ, "HLO_CACHE": "0"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("seconds", [0.03, 0.15])
def test_an_interrupt_waits_while_libraries_are_loaded(seconds: float, tmp_path: Path) -> None:
    script = f"""
print(interrupted_after({seconds}, lambda: hlo.compile))
works(9)
"""
    assert _run(script, tmp_path) == "True"


def test_an_interrupted_compilation_leaves_the_process_as_it_was(tmp_path: Path) -> None:
    script = """
works(3)
text = program(120)
start = time.perf_counter()
hlo.compile(text)
whole = time.perf_counter() - start
stopped = [interrupted_after(whole * k / 8, lambda: hlo.compile(text)) for k in (1, 3, 5)]
assert sum(stopped) >= 2, stopped
assert gc.isenabled()
works(11)
print("done")
"""
    assert _run(script, tmp_path) == "done"


def test_compilation_goes_on_in_a_forked_child(tmp_path: Path) -> None:
    script = """
works(5)
child = os.fork()
if not child:
    works(6)
    os._exit(0)
print(os.waitpid(child, 0)[1])
works(7)
"""
    assert _run(script, tmp_path) == "0"


@pytest.mark.parametrize("count", [2, 8])
def test_threads_compile_different_programs(count: int, tmp_path: Path) -> None:
    script = f"""
done = []
threads = [threading.Thread(target=lambda n=n: done.append(works(30 + n))) for n in range({count})]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(done))
"""
    assert _run(script, tmp_path) == str(count)


def test_the_process_ends_while_a_daemon_thread_compiles(tmp_path: Path) -> None:
    script = """
works(3)
begun = threading.Event()
def forever():
    length = 200
    while True:
        length += 1
        begun.set()
        hlo.compile(program(length))
threading.Thread(target=forever, daemon=True).start()
begun.wait()
time.sleep(0.2)
print("end")
"""
    assert _run(script, tmp_path) == "end"
