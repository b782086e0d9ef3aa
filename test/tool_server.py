"""Runs command-line tools in forks of one process that has imported them: without the 0.6 s of
processor time that a tool takes to start.

`python tool_server.py SOCKET` prints a line once it listens, and ends, with all that it runs, when
its standard input does. `served_tool.py` is the other side.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import traceback

TOOLS = ("opt", "run", "translate", "place", "cache", "reduce", "bisect")
# What the tools import when they first need it.
LATE = (
    "hlo.driver.compile",
    "hlo.driver.gpu_compile",
    "hlo.importers.jaxlib_bridge",
    "hlo.ir.dialect_modules.hlo",
)


def main(path: str) -> None:
    for module in (*(f"hlo.tools.hlo_{tool}" for tool in TOOLS), *LATE):
        importlib.import_module(module)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path)
        listener.listen(16)
        print("listening", flush=True)
        while True:
            ready, _, _ = select.select([listener, sys.stdin], [], [])
            if sys.stdin in ready:
                os.killpg(0, signal.SIGKILL)
            connection, _ = listener.accept()
            with connection:
                if os.fork() == 0:
                    listener.close()
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    _answer(connection)


def _answer(connection: socket.socket) -> None:
    """Runs the tool that is asked for and sends its exit status; does not return."""
    status = 1
    try:
        message, descriptors, _, _ = socket.recv_fds(connection, 1 << 20, 3)
        for own, given in enumerate(descriptors):
            os.dup2(given, own)
            os.close(given)
        request = json.loads(message)
        os.chdir(request["directory"])
        os.environ.clear()
        os.environ.update(request["environment"])
        status = _run(*request["arguments"])
    finally:
        connection.send(str(status).encode())
        os._exit(0)


def _run(module: str, *arguments: str) -> int:
    """The exit status of `python -m module arguments`."""
    sys.argv = [module, *arguments]
    sys.modules.pop(module)  # it runs afresh
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as exit_:
        status = exit_.code
        if not isinstance(status, int):
            if status is not None:
                print(status, file=sys.stderr)
            status = int(status is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return status


if __name__ == "__main__":
    main(sys.argv[1])
