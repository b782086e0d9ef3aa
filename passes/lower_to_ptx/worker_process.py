"""A process of `worker.serve`, from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from typing import IO, BinaryIO, cast

from hlo.passes.lower_to_ptx.module_code import ModuleSource
from hlo.passes.lower_to_ptx.worker import READY, Answer, read_message, write_message

# Modules are looked for where this process looks, not in the folder that is the current one.
_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[1:]; import hlo.ir; "
    "from hlo.passes.lower_to_ptx.worker import serve; serve()"
)
_TOLD_BYTES = 4000  # what is read of a dead process's last words


class WorkerLostError(Exception):
    """A process that ended before it answered; the message says why.

    Attributes:
        killed: whether somebody else ended it, and not what it was doing.
    """

    def __init__(self, status: int, lines: list[str]) -> None:
        self.killed = status == -signal.SIGKILL
        super().__init__(reason_of_death(status, lines))


class WorkerProcess:
    """One process. Only one thread may use it at a time.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as this
        # A session of its own: Ctrl-C is for the process that asks.
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *(path for path in sys.path if path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, bufsize=0,
            start_new_session=True,
        )  # fmt: skip
        self._input = cast(BinaryIO, self._process.stdin)
        self._output = cast(BinaryIO, self._process.stdout)
        self._ready = False

    def fileno(self) -> int:
        """A descriptor that can be read once there is an answer, or the process is dead."""
        return self._output.fileno()

    @property
    def pid(self) -> int:
        """The system's number of the process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    @property
    def is_ready(self) -> bool:
        """Whether it is known that the process can take a source."""
        return self._ready

    def wait_until_ready(self) -> None:
        """Returns when the process can take a source.

        Raises:
            WorkerLostError: it could not import what it needs.
        """
        if not self._ready:
            self._ready = self._read() == READY

    def send(self, source: ModuleSource) -> None:
        """Gives a process that is ready a source; the answer is to be read before the next.

        Raises:
            WorkerLostError: it is dead.
        """
        try:
            write_message(self._input, source)
        except OSError:
            raise self._lost() from None

    def answer(self) -> Answer:
        """The answer to the source that was sent last.

        Raises:
            WorkerLostError: LLVM ended the process.
        """
        return cast(Answer, self._read())

    def _read(self) -> object:
        try:
            return read_message(self._output)
        except (EOFError, OSError):
            raise self._lost() from None

    def _lost(self) -> WorkerLostError:
        self._process.kill()  # for one that is alive, and closed its output
        status = self._process.wait()
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - _TOLD_BYTES))
        lines = self._errors.read().decode(errors="replace").splitlines()
        self.close()
        return WorkerLostError(status, lines)

    def close(self) -> None:
        """Ends the process, whatever it does: it has nothing to tidy up."""
        self._process.kill()
        self._process.wait()
        for stream in (self._input, self._output, self._errors):
            stream.close()

    def abandon(self) -> None:
        """In a forked child: the process is its parent's, and must see its input end with that."""
        self._process.returncode = 0  # so that nobody waits for it
        for stream in (self._input, self._output, self._errors):
            stream.close()


def reason_of_death(status: int, lines: list[str]) -> str:
    """Why a process ended, in one line.

    Args:
        status: as `subprocess` gives it.
        lines: the last that it wrote.
    """
    for line in lines:
        for sign in ("LLVM ERROR: ", "Assertion `"):
            if sign in line:
                return line[line.index(sign) :].removeprefix("LLVM ERROR: ").strip()
    if status == -signal.SIGKILL:
        return "its process was killed, perhaps for want of memory"
    told = next((line.strip() for line in reversed(lines) if line.strip()), "it wrote nothing")
    number = f"signal {-status}" if status < 0 else f"status {status}"
    return f"its process ended with {number}: {told}"
