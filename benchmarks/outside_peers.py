"""Peers with a Python of their own: PyTorch, eager and compiled, and IREE.

They are optional: what is not installed, or cannot run a program, is a reason in place of a time.
`make bench PEERS=FOLDER` names a virtual environment with `torch`, `iree-base-compiler` and
`iree-base-runtime`, or some of them; the Makefile's `bench-peers` makes one.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

WORKER = Path(__file__).resolve().parent / "peers" / "worker.py"
NAMES = ("torch", "torch.compile", "iree")
NO_PYTHON = "no Python of the peers"


class PeerGoneError(Exception):
    """The peer's process ended, or took too long."""


class OutsidePeer:
    """A program of a peer, compiled and ready in a process of its own.

    Attributes:
        name: of the peer.
        compile_s: seconds until its first run was done; None where there is no such program.
        reason: why there is none.
    """

    def __init__(self, name: str, command: Sequence[str], timeout: float) -> None:
        self.name = name
        self.compile_s: float | None = None
        self.reason = ""
        self._timeout = timeout
        environment = dict(os.environ)
        environment.pop("PYTHONPATH", None)
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=environment, bufsize=0,
        )  # fmt: skip
        try:
            ready: dict[str, Any] = json.loads(self._line())
        except (PeerGoneError, ValueError) as error:
            ready = {"error": str(error)}
        self.compile_s = ready.get("compile_s")
        self.reason = str(ready.get("error", ""))
        if self.compile_s is None:
            self.close()

    def run(self) -> float:
        """Runs once; seconds, as the peer's process measures them.

        Raises:
            PeerGoneError: it ended or took too long.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(b"\n")
        except OSError as error:
            raise PeerGoneError(f"{self.name} ended") from error
        return float(self._line())

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.communicate()

    def _line(self) -> str:
        """The next line that the process prints."""
        assert self._process.stdout is not None
        end = time.monotonic() + self._timeout
        line = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not selector.select(max(0.0, end - time.monotonic())):
                    raise PeerGoneError(f"not ready after {self._timeout:.0f} s")
                data = self._process.stdout.read(4096)
                if not data:
                    raise PeerGoneError(f"ended with status {self._process.wait()}")
                line += data
        return line.decode()


class OutsidePeers:
    """The peers of one program; use as a context.

    Args:
        python: the interpreter of the peers' environment; None, or one that is not there, for none.
        names: which peers.
        program, arguments: what IREE compiles and is given.
    """

    def __init__(
        self, python: Path | None, names: Sequence[str], program: Path,
        arguments: Sequence[np.ndarray[Any, Any]], threads: int, timeout: float = 120.0,
    ) -> None:  # fmt: skip
        self._python = python if python is not None and python.exists() else None
        self._names = names
        self._program = program
        self._arguments = arguments
        self._threads = threads
        self._timeout = timeout
        self.ready: list[OutsidePeer] = []
        self.reasons: dict[str, str] = {}

    def __enter__(self) -> OutsidePeers:
        for name in self._names:
            if self._python is None:
                self.reasons[name] = NO_PYTHON
                continue
            with tempfile.TemporaryDirectory() as folder:
                peer = self._started(name, Path(folder))
            if peer.compile_s is None:
                self.reasons[name] = peer.reason
            else:
                self.ready.append(peer)
        return self

    def __exit__(self, *_: object) -> None:
        for peer in self.ready:
            peer.close()

    def _started(self, name: str, folder: Path) -> OutsidePeer:
        command = [str(self._python), str(WORKER), name, self._program.stem, str(self._threads)]
        if name == "iree":
            file = folder / "arguments.npz"
            np.savez(file, **{f"arg{i}": array for i, array in enumerate(self._arguments)})
            command += [str(self._program), str(file)]
        return OutsidePeer(name, command, self._timeout)
