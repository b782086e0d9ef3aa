"""Processes that compile kernels, for all threads of this one.

LLVM's back end ends the process when it meets what it cannot select instructions for, or a check of
its own fails. So it runs in processes that nothing else runs in: what it does to them is a
`CompileError` here, and modules of one program are compiled side by side. They are started when a
program for a GPU is first compiled, kept for the next one, and end with this process.
"""

from __future__ import annotations

import atexit
import os
import selectors
import sys
import threading
import warnings
from collections.abc import Sequence
from typing import cast

from hlo import knobs
from hlo.passes.lower_to_ptx.module_code import ModuleSource
from hlo.passes.lower_to_ptx.worker import Answer, answer_to
from hlo.passes.lower_to_ptx.worker_process import WorkerLostError, WorkerProcess

MOST_PROCESSES = 4


class Workers:
    """The processes of this one, each used by one thread at a time."""

    def __init__(self) -> None:
        self._usable = _is_python(sys.executable)
        self._closed = False
        self._forget()

    def _forget(self) -> None:
        self._changed = threading.Condition()
        self._all: set[WorkerProcess] = set()
        self._idle: list[WorkerProcess] = []

    @property
    def pids(self) -> list[int]:
        """The system's numbers of the processes."""
        return [worker.pid for worker in self._all]

    def start(self) -> None:
        """Starts a first process, if there is none, so that it is ready when it is asked."""
        if _wanted() and (worker := self._new(most=1)) is not None:
            self._release(worker)

    def answers(self, sources: Sequence[ModuleSource]) -> list[Answer | WorkerLostError]:
        """What becomes of each source; an error for each that LLVM ended a process on."""
        held: list[WorkerProcess] = []
        try:
            if _wanted() and sources:
                self._acquire(held, min(len(sources), _most()))
            return _Round(self, sources, held).run()
        except BaseException:
            for worker in held:  # what they work on is not wanted any more
                worker.close()
            raise
        finally:
            for worker in held:
                self._release(worker)

    def replace(self, dead: WorkerProcess, *, needed: bool) -> WorkerProcess | None:
        """A process in place of one that has died, if one can be had."""
        self._release(dead)
        return self._new(most=_most()) if needed else None

    def _acquire(self, held: list[WorkerProcess], wanted: int) -> None:
        """Fills `held` with at least one process, unless none can start, and at most so many."""
        while self._usable and not held:
            with self._changed:
                while len(held) < wanted and self._idle:
                    held.append(self._idle.pop())
            while len(held) < wanted and (worker := self._new(most=_most())) is not None:
                held.append(worker)
            for worker in [worker for worker in held if not worker.alive]:
                held.remove(worker)
                self._release(worker)
            with self._changed:
                if not held and self._usable and not self._idle and len(self._all) >= _most():
                    self._changed.wait()

    def _new(self, most: int) -> WorkerProcess | None:
        with self._changed:
            if not self._usable or len(self._all) >= most:
                return None
            try:
                worker = WorkerProcess()
            except OSError as error:
                self.give_up(str(error))
                return None
            self._all.add(worker)
            return worker

    def give_up(self, reason: str) -> None:
        """What keeps one process from starting would keep the next one too."""
        if not self._usable:
            return
        self._usable = False
        warnings.warn(
            "code for GPUs is compiled in this process, which an error in LLVM may end: none could "
            f"be started for it: {reason}",
            RuntimeWarning,
            stacklevel=2,
        )

    def _release(self, worker: WorkerProcess) -> None:
        with self._changed:
            if worker.alive and not self._closed:
                self._idle.append(worker)
            else:
                worker.close()
                self._all.discard(worker)
            self._changed.notify_all()

    def close(self) -> None:
        """Ends the idle processes now, and others as soon as they are released."""
        with self._changed:
            self._closed = True
            for worker in self._idle:
                worker.close()
            self._all.difference_update(self._idle)
            self._idle.clear()

    def abandon(self) -> None:
        """In a forked child, which starts its own."""
        for worker in self._all:
            worker.abandon()
        self._forget()


class _Round:
    """Sources on their way through processes that a thread holds."""

    def __init__(
        self, workers: Workers, sources: Sequence[ModuleSource], held: list[WorkerProcess]
    ) -> None:
        self._workers = workers
        self._held = held
        self._sources = sources
        self._waiting = list(enumerate(sources))[::-1]
        self._tried: set[int] = set()
        self._starting: set[WorkerProcess] = set()
        self._was_killed = False  # a process that was starting
        self._busy: dict[WorkerProcess, int] = {}
        self._found: dict[int, Answer | WorkerLostError] = {}
        self._selector = selectors.DefaultSelector()

    def run(self) -> list[Answer | WorkerLostError]:
        """What becomes of each source, in order."""
        with self._selector:
            for worker in list(self._held):
                self._begin(worker)
            while self._busy or (self._waiting and self._starting):
                for key, _ in self._selector.select():
                    self._hear(cast(WorkerProcess, key.data))
        for number, source in self._waiting:  # there is no process, and none can be started
            self._found[number] = answer_to(source)
        return [self._found[number] for number in sorted(self._found)]

    def _begin(self, worker: WorkerProcess) -> None:
        """Those that are ready do not wait for those that start."""
        if worker.is_ready:
            self._feed(worker)
        else:
            self._starting.add(worker)
            self._selector.register(worker, selectors.EVENT_READ, worker)

    def _hear(self, worker: WorkerProcess) -> None:
        self._selector.unregister(worker)
        if worker not in self._starting:
            self._take(worker)
            return
        self._starting.remove(worker)
        try:
            worker.wait_until_ready()
        except WorkerLostError as error:
            if not error.killed or self._was_killed:
                self._workers.give_up(str(error))
            self._was_killed = True
            self._replace(worker)
        else:
            self._feed(worker)

    def _feed(self, worker: WorkerProcess) -> None:
        if not self._waiting:
            return
        number, source = self._waiting.pop()
        try:
            worker.send(source)
        except WorkerLostError:  # it was killed while it had nothing to do
            self._waiting.append((number, source))
            self._replace(worker)
        else:
            self._busy[worker] = number
            self._selector.register(worker, selectors.EVENT_READ, worker)

    def _take(self, worker: WorkerProcess) -> None:
        number = self._busy.pop(worker)
        try:
            self._found[number] = worker.answer()
        except WorkerLostError as error:
            if error.killed and number not in self._tried:  # from outside: it may have been idle
                self._tried.add(number)
                self._waiting.append((number, self._sources[number]))
            else:
                self._found[number] = error
            self._replace(worker)
        else:
            self._feed(worker)

    def _replace(self, dead: WorkerProcess) -> None:
        self._held.remove(dead)
        fresh = self._workers.replace(dead, needed=bool(self._waiting))
        if fresh is not None:
            self._held.append(fresh)
            self._begin(fresh)


def _most() -> int:
    return min(knobs.current().threads or len(os.sched_getaffinity(0)), MOST_PROCESSES)


def _wanted() -> bool:
    return knobs.current().isolate


def _is_python(executable: str | None) -> bool:
    """Whether it can be asked to run a program; where Python is embedded it is another command."""
    return executable is not None and "python" in os.path.basename(executable)


WORKERS = Workers()
atexit.register(WORKERS.close)
os.register_at_fork(after_in_child=WORKERS.abandon)
