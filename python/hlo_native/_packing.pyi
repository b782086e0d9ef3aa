import enum

import numpy as np
import numpy.typing as npt

class Outcome(enum.Enum):
    PLACED = 0
    INFEASIBLE = 1
    EXHAUSTED = 2

class SearchResult:
    @property
    def outcome(self) -> Outcome: ...
    @property
    def offsets(self) -> npt.NDArray[np.int64]: ...
    @property
    def steps(self) -> int: ...
    @property
    def nodes(self) -> int: ...
    @property
    def restarts(self) -> int: ...

def place_in_order(
    start: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
    size: npt.NDArray[np.int64],
    alignment: npt.NDArray[np.int64],
    order: npt.NDArray[np.int32],
    *,
    best_fit: bool,
    seconds: float = ...,
) -> npt.NDArray[np.int64]: ...
def place_as_allocated(
    start: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
    size: npt.NDArray[np.int64],
    alignment: npt.NDArray[np.int64],
    by_start: npt.NDArray[np.int32],
) -> npt.NDArray[np.int64]: ...
def search(
    start: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
    size: npt.NDArray[np.int64],
    alignment: npt.NDArray[np.int64],
    *,
    capacity: int,
    steps: int,
    seconds: float = ...,
    seed: int = ...,
) -> SearchResult: ...
