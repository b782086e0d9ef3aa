"""Bytecode is read in a child process first: whatever that does becomes an error."""

from __future__ import annotations

import io
import os
import signal
import time
from collections.abc import Callable

import numpy as np
import pytest

import hlo
from hlo.importers import load_program
from hlo.importers.bytecode_guard import check_readable

ADD = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "hlo.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


def loop() -> None:
    while True:
        pass


def complain_and_abort() -> None:
    os.write(2, b"x.cpp:7: f(): Assertion `n > 0' failed.\nStack dump\n")
    os.abort()


def take_memory() -> None:
    np.ones(1 << 31)
    os.abort()  # not reached: 16 GiB are more than the limit, and NumPy raises


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (complain_and_abort, r"ends MLIR with SIGABRT \(x.cpp:7: f\(\): Assertion `n > 0' failed"),
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), "ends MLIR with SIGSEGV"),
        (loop, "does not come to an end"),
        (lambda: os._exit(3), "ends MLIR with status 3"),
    ],
)
def test_a_child_that_ends_badly_is_an_error(read: Callable[[], None], message: str) -> None:
    with pytest.raises(hlo.ParseError, match=f"m.bc: the bytecode is damaged: .*{message}"):
        check_readable(read, 10, "m.bc", cpu_seconds=1)


def test_a_child_that_waits_for_ever_is_an_error() -> None:
    with pytest.raises(hlo.ParseError, match="does not come to an end"):
        check_readable(lambda: time.sleep(60), 10, "m.bc", wait_seconds=0.2)


def test_exceptions_and_results_are_the_parents_business() -> None:
    def fail() -> None:
        raise ValueError

    check_readable(fail, 10, "-")
    check_readable(lambda: 7, 10, "-")
    check_readable(take_memory, 10, "-")


def test_whole_bytecode_is_read() -> None:
    stream = io.BytesIO()
    load_program(ADD).operation.write_bytecode(stream)
    assert "hlo.add" in str(load_program(stream.getvalue()))


def test_damaged_bytecode_is_an_error_or_a_program() -> None:
    stream = io.BytesIO()
    load_program(ADD).operation.write_bytecode(stream)
    whole = stream.getvalue()
    rng = np.random.default_rng(1)
    for _ in range(40):
        damaged = bytearray(whole)
        for at in rng.integers(4, len(whole), 3):
            damaged[at] = rng.integers(256)
        try:
            load_program(bytes(damaged))
        except hlo.CompileError as error:
            assert str(error)
