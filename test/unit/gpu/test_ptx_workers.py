"""Kernels are compiled in processes of their own, which LLVM may end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hlo
from hlo import knobs
from hlo.diagnostics import CompileError
from hlo.driver import gpu_compile
from hlo.passes.hlo_to_gpu.gpu_kernel import GpuKernel
from hlo.passes.hlo_to_gpu.target import gpu_target
from hlo.passes.lower_to_ptx import worker_process
from hlo.passes.lower_to_ptx.module_code import BITCODE, PTX, KernelFunction, ModuleSource
from hlo.passes.lower_to_ptx.worker import Answer
from hlo.passes.lower_to_ptx.worker_process import (
    WorkerLostError,
    WorkerProcess,
    reason_of_death,
)
from hlo.passes.lower_to_ptx.workers import WORKERS, Workers

SM_80 = gpu_target("nvptx:sm_80")
# An instruction that only x86 processors have: LLVM's back end for NVIDIA ends the process.
FATAL = '  llvm.call_intrinsic "llvm.x86.sse2.mfence"() : () -> ()\n'
SORT_AND_SINE = """
func.func @main(%a: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "hlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %less = "hlo.compare"(%x, %y) <{comparison_direction = #hlo<comparison_direction LT>}>
      : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "hlo.return"(%less) : (tensor<i1>) -> ()
  }) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = "hlo.sine"(%0) : (tensor<64xf32>) -> tensor<64xf32> loc("second.py":5:6)
  return %1 : tensor<64xf32>
}
"""


def source(*names: str, body: str = "", forms: tuple[str, ...] = (PTX,)) -> ModuleSource:
    functions = {
        name: KernelFunction(f"func.func @{name}() {{\n{body}  return\n}}\n", 32) for name in names
    }
    return ModuleSource("module_0", functions, SM_80, forms)


def ptx_of(answer: Answer | WorkerLostError) -> str:
    assert isinstance(answer, Answer)
    assert not answer.refused
    return answer.code[PTX].decode()


def test_a_module_is_wanted_in_several_forms() -> None:
    (answer,) = WORKERS.answers([source("one", forms=(PTX, BITCODE))])
    assert ".entry one(" in ptx_of(answer)
    assert isinstance(answer, Answer)
    assert answer.code[BITCODE].startswith(b"BC")


def test_what_llvm_ends_is_an_error_and_the_others_are_compiled() -> None:
    good, bad, last = WORKERS.answers([source("one"), source("two", body=FATAL), source("three")])
    assert ".entry one(" in ptx_of(good)
    assert isinstance(bad, WorkerLostError)
    assert "Cannot select: intrinsic %llvm.x86.sse2.mfence" in str(bad)
    assert ".entry three(" in ptx_of(last)


def test_malformed_text_is_refused_by_a_process_that_goes_on() -> None:
    (answer,) = WORKERS.answers([source("one", body="  no.such_op\n")])
    assert isinstance(answer, Answer)
    assert "no.such_op" in answer.refused
    assert ".entry two(" in ptx_of(WORKERS.answers([source("two")])[0])


def test_the_error_names_the_kernel_and_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    emit = gpu_compile.emit_gpu_kernel

    def broken(region: Any, **options: Any) -> GpuKernel:
        kernel = emit(region, **options)
        if region.results[0].producer.name != "sine":
            return kernel
        (stage,) = kernel.stages
        text = stage.text.replace("  return", f"{FATAL}  return")
        return replace(kernel, stages=(replace(stage, text=text),))

    monkeypatch.setattr(gpu_compile, "emit_gpu_kernel", broken)
    with knobs.scope(cache=False), pytest.raises(CompileError) as caught:
        hlo.compile(SORT_AND_SINE, target="nvptx:sm_80")
    assert "LLVM gave up on the kernel sine_" in str(caught.value)
    assert "Cannot select" in str(caught.value)
    assert caught.value.location == 'loc("second.py":5:6)'


def test_a_process_that_was_killed_is_replaced() -> None:
    WORKERS.answers([source("one")])
    assert WORKERS.pids
    for pid in WORKERS.pids:
        os.kill(pid, signal.SIGKILL)
    assert ".entry two(" in ptx_of(WORKERS.answers([source("two")])[0])


def test_a_process_that_is_killed_at_work_says_so() -> None:
    worker = WorkerProcess()
    worker.wait_until_ready()
    os.kill(worker.pid, signal.SIGSTOP)
    worker.send(source("one"))
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(WorkerLostError, match="killed, perhaps for want of memory"):
        worker.answer()
    assert not worker.alive


def test_threads_share_the_processes() -> None:
    workers = Workers()
    answers: dict[str, str] = {}

    def ask(name: str) -> None:
        with knobs.scope(threads=1):
            answers[name] = ptx_of(workers.answers([source(name)])[0])

    threads = [threading.Thread(target=ask, args=(f"kernel_{k}",)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(f".entry {name}(" in ptx for name, ptx in answers.items())
    assert len(answers) == 4
    assert len(workers.pids) == 1
    workers.close()
    assert not workers.pids


def test_where_none_can_start_this_process_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    workers = Workers()
    with pytest.warns(RuntimeWarning, match="compiled in this process"):
        assert ".entry one(" in ptx_of(workers.answers([source("one")])[0])
    monkeypatch.setattr(sys, "executable", "/usr/bin/an-application")
    assert ".entry one(" in ptx_of(Workers().answers([source("one")])[0])
    with knobs.scope(isolate=False):
        assert ".entry one(" in ptx_of(workers.answers([source("one")])[0])


def test_one_that_ends_before_it_is_ready_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_process, "_PROGRAM", "raise SystemExit('no such module')")
    workers = Workers()
    with pytest.warns(RuntimeWarning, match="no such module") as warned:
        answers = workers.answers([source("one"), source("two")])
    assert [".entry" in ptx_of(answer) for answer in answers] == [True, True]
    assert len(warned) == 1  # though two were started
    assert not workers.pids
    assert ".entry one(" in ptx_of(workers.answers([source("one")])[0])


def test_one_that_is_killed_before_it_is_ready_is_replaced() -> None:
    workers = Workers()
    workers.start()
    os.kill(workers.pids[0], signal.SIGKILL)
    assert ".entry one(" in ptx_of(workers.answers([source("one")])[0])
    assert len(workers.pids) == 1
    workers.close()


def test_where_each_is_killed_this_process_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "_PROGRAM", "import os; os.kill(os.getpid(), 9)")
    with pytest.warns(RuntimeWarning, match="its process was killed"):
        assert ".entry one(" in ptx_of(Workers().answers([source("one")])[0])


def test_those_that_are_ready_wait_for_none_that_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = Workers()
    with knobs.scope(threads=2):
        workers.answers([source("one")])
        monkeypatch.setattr(worker_process, "_PROGRAM", "import sys; sys.stdin.read()")
        answers = workers.answers([source("two"), source("three"), source("four")])
    assert [".entry" in ptx_of(answer) for answer in answers] == [True, True, True]
    assert len(workers.pids) == 2
    workers.close()


@pytest.mark.parametrize(
    ("status", "lines", "reason"),
    [
        (-6, ["LLVM ERROR: Cannot select: x", "In function: f"], "Cannot select: x"),
        (-6, ["python: a.cpp:1: f: Assertion `x > 0' failed."], "Assertion `x > 0' failed."),
        (-11, ["Stack dump:", ""], "its process ended with signal 11: Stack dump:"),
        (3, [], "its process ended with status 3: it wrote nothing"),
    ],
)
def test_reasons_of_death(status: int, lines: list[str], reason: str) -> None:
    assert reason_of_death(status, lines) == reason


PRELUDE = f"""
import os, threading
import hlo
from hlo import knobs
from hlo.passes.lower_to_ptx.workers import WORKERS

def compile():
    with knobs.scope(cache=False):
        return hlo.compile({SORT_AND_SINE!r}, target="nvptx:sm_80").as_text("ptx")
"""


def run_script(body: str, folder: Path) -> str:
    """Output of a script without a guard of `__main__`; it may leave no process behind."""
    script = folder / "script.py"
    path = os.pathsep.join(filter(None, sys.path))
    script.write_text(PRELUDE + textwrap.dedent(body))
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)], check=False, capture_output=True, text=True,
        timeout=120, cwd=folder, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout


def test_processes_end_with_a_script(tmp_path: Path) -> None:
    body = """
        compile()
        print(*WORKERS.pids)
    """
    numbers = run_script(body, tmp_path).split()
    assert numbers
    for number in numbers:
        with pytest.raises(ProcessLookupError):
            os.kill(int(number), 0)


def test_a_forked_child_has_processes_of_its_own(tmp_path: Path) -> None:
    body = """
        first = compile()
        parents = set(WORKERS.pids)
        child = os.fork()
        if child == 0:
            same = compile() == first
            own = set(WORKERS.pids)
            os._exit(0 if same and own and not own & parents else 1)
        print(os.waitpid(child, 0)[1], compile() == first)
    """
    assert run_script(body, tmp_path).split() == ["0", "True"]


def test_daemon_threads_may_compile_until_the_end(tmp_path: Path) -> None:
    body = """
        threading.Thread(target=lambda: [compile() for _ in range(100)], daemon=True).start()
        print(".entry" in compile())
    """
    assert run_script(body, tmp_path).split() == ["True"]
