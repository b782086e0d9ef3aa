from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

class Fault(Exception): ...  # noqa: N818

class Program:
    @property
    def shared_bytes(self) -> int: ...
    @property
    def instructions(self) -> int: ...

class Memory:
    def __init__(self) -> None: ...
    def allocate(self, bytes: int, name: str) -> int: ...
    def adopt(self, address: int, bytes: int, name: str) -> None: ...
    def release(self, address: int) -> None: ...
    @property
    def allocated_bytes(self) -> int: ...
    def write(self, address: int, data: npt.NDArray[np.uint8]) -> None: ...
    def read(self, address: int, data: npt.NDArray[np.uint8]) -> None: ...
    def copy(self, to: int, source: int, bytes: int) -> None: ...

def handlers() -> list[str]: ...
def make_program(
    names: Sequence[str],
    instructions: npt.NDArray[np.int32],
    immediates: npt.NDArray[np.int64],
    operands: npt.NDArray[np.int32],
    tables: Sequence[Sequence[int]],
    constants: bytes,
    specials: Sequence[tuple[int, int]],
    register_bytes: int,
    shared_bytes: int,
    local_bytes: int,
) -> Program: ...
def launch(
    program: Program,
    memory: Memory,
    grid: Sequence[int],
    block: Sequence[int],
    shared_bytes: int,
    parameters: bytes,
    ranges: Sequence[tuple[int, int, bool]],
    seed: int,
    races: bool,
    instruction_limit: int,
) -> int: ...
def fiber_symbols() -> dict[str, int]: ...
def launch_fibers(
    entry: int,
    operations: Sequence[tuple[str, Sequence[int], int, int, int, int]],
    memory: Memory,
    grid: Sequence[int],
    block: Sequence[int],
    arguments: Sequence[int],
    shared: Sequence[tuple[int, int]],
    ranges: Sequence[tuple[int, int, bool]],
    schedule: int,
) -> int: ...
