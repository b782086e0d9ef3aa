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
assert any(stopped), stopped
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


@pytest.mark.parametrize("ignored", ["", "signal.signal(signal.SIGINT, signal.SIG_IGN)"])
def test_subinterpreters_are_told_so(ignored: str, tmp_path: Path) -> None:
    pytest.importorskip("_xxsubinterpreters")
    script = f"""
import _xxsubinterpreters as interpreters
{ignored}
works(3)
one = interpreters.create()
try:
    interpreters.run_string(one, "import hlo; hlo.jit")
except interpreters.RunFailedError as error:
    print(error)
interpreters.destroy(one)
works(4)
"""
    assert "expected the main interpreter, found a subinterpreter" in _run(script, tmp_path)


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


@pytest.mark.parametrize(
    "action",
    [
        "hlo.compile(program(n))",
        "hlo.jit(lambda v: hlo.numpy.sin(v) + n).lower(hlo.ShapeDtype((n,), 'float32')).as_text()",
        "hlo.compile(text).explain()",
        "load_program(text)",
    ],
    ids=["compile", "lower", "explain", "load"],
)
def test_the_process_ends_while_daemon_threads_are_busy(action: str, tmp_path: Path) -> None:
    """One lets the next in when it is done, while the interpreter is torn down."""
    script = f"""
import hlo.numpy
from hlo.importers import load_program
works(3)
text = program(40)
begun = threading.Event()
def forever():
    n = 8
    while True:
        n += 1
        begun.set()
        {action}
for _ in range(3):
    threading.Thread(target=forever, daemon=True).start()
begun.wait()
time.sleep(0.2)
print("end")
"""
    assert _run(script, tmp_path) == "end"


def test_a_program_is_compiled_at_the_very_end(tmp_path: Path) -> None:
    """By a function that is called behind the gate's own."""
    script = """
import atexit
import hlo.exit_gate
def last():
    works(4)
    print("late")
atexit.unregister(hlo.exit_gate.GATE.close)
atexit.register(last)
atexit.register(hlo.exit_gate.GATE.close)
"""
    assert _run(script, tmp_path) == "late"


def test_a_compilation_within_a_compilation_passes_the_gate(tmp_path: Path) -> None:
    """On a thread with a small stack, whose compilations go to threads of their own."""
    script = """
works(3)
from hlo.executable import runtime
done = []
def nested():
    done.append(runtime.on_large_stack(lambda: hlo.compile(program(5))))
threading.stack_size(1 << 20)
thread = threading.Thread(target=nested)
thread.start()
thread.join()
print(len(done))
"""
    assert _run(script, tmp_path) == "1"
