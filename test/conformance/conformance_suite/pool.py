"""Runs cases in worker processes that are replaced when they die, hang or grow old."""

from __future__ import annotations

import json
import os
import queue
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

SUITE = Path(__file__).resolve().parent.parent
_CASES_A_WORKER = 400
_TAIL_BYTES = 400


class Worker:
    """One process of `conformance_suite.worker`."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the worker
        paths = [str(SUITE), *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "conformance_suite.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(paths)},
        )
        self.served = 0

    def ask(self, folder: Path, name: str, timeout: float) -> dict[str, Any]:
        """Sends one case. A worker that crashed or hung is dead afterwards: see `alive`."""
        assert self._process.stdin is not None
        self.served += 1
        try:
            self._process.stdin.write(f"{json.dumps([str(folder), name])}\n".encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            return self._crash(name)
        line = self._read_line(timeout)
        if line is None:
            self.close()
            return {"name": name, "status": "timeout", "info": f"after {timeout:.0f} s"}
        return json.loads(line.removeprefix(b"@@")) if line else self._crash(name)

    def _read_line(self, timeout: float) -> bytes | None:
        """The next answer; empty when the process ended, None when time is up."""
        assert self._process.stdout is not None
        descriptor, end, read = self._process.stdout.fileno(), time.monotonic() + timeout, b""
        while not read.endswith(b"\n"):
            ready, _, _ = select.select([descriptor], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                return None
            part = os.read(descriptor, 1 << 16)
            if not part:
                return b""
            read += part
        return read

    def _crash(self, name: str) -> dict[str, Any]:
        status = self._process.wait()
        self._errors.seek(0)
        tail = self._errors.read()[-_TAIL_BYTES:].decode(errors="replace")
        return {"name": name, "status": "crash", "info": f"exit status {status}: {tail.strip()}"}

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.wait()


def run_cases(
    folder: Path,
    names: Sequence[str],
    *,
    timeout: float = 90.0,
    workers: int = 2,
    progress: Callable[[dict[str, Any]], None] | None = None,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, dict[str, Any]]:
    """Runs cases of a folder, each alone in the eyes of the others.

    Args:
        timeout: seconds for one case, with the start of a worker.
        progress: called with each answer.
        environment: variables that workers read; see `worker`.

    Returns:
        The answer of each case by name: see `worker.outcome_of`, plus the statuses `crash` and
        `timeout`.
    """
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    for name in names:
        waiting.put(name)
    answers: dict[str, dict[str, Any]] = {}

    def work() -> None:
        worker: Worker | None = None
        while True:
            try:
                name = waiting.get_nowait()
            except queue.Empty:
                break
            if worker is None or not worker.alive or worker.served >= _CASES_A_WORKER:
                if worker is not None:
                    worker.close()
                worker = Worker(environment)
            answers[name] = worker.ask(folder, name, timeout)
            if progress is not None:
                progress(answers[name])
        if worker is not None:
            worker.close()

    threads = [threading.Thread(target=work) for _ in range(min(workers, len(names)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers
