"""The machine that costs are of: its processors, caches and memory.

One description for every decision that weighs work against traffic. Its figures are of the machines
that generated code is for (AVX-512, a core's own cache of 1 MiB, one shared by all cores of 32
MiB); others differ by a factor of two at the most, which moves no decision far. They are not read
from the host: what is compiled does not depend on where it is compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Level:
    """A cache, or memory.

    Attributes:
        capacity: bytes; 0 for memory, which holds everything.
        bandwidth: bytes a second that one core reads from there, or writes.
        most: bytes a second that all cores together do; 0 if every core has its own.
    """

    name: str
    capacity: int
    bandwidth: float
    most: float = 0.0


@dataclass(frozen=True)
class LibraryRates:
    """How fast the vendor's library multiplies matrices of one type.

    Attributes:
        most: multiply-adds of reals a cycle of one core, of a large product.
        small: the same of a product small enough that nothing is packed; 0 if there are no such.
        small_turned: the same where both operands lie along the depth.
        half: rows, or columns, with which a large product reaches half of `most`.
        half_turned: the same where the right operand lies along the depth.
    """

    most: float
    small: float
    small_turned: float
    half: float
    half_turned: float


@dataclass(frozen=True)
class ProductLibrary:
    """The vendor's matrix products.

    Attributes:
        entered: seconds around a call.
        call: seconds around each product of a call.
        f32, f64, c64, c128: rates by type.
        streamed: bytes of a matrix a cycle that it multiplies with one vector.
        smallest_piece: multiply-adds of reals that are worth another thread.
    """

    entered: float
    call: float
    f32: LibraryRates
    f64: LibraryRates
    c64: LibraryRates
    c128: LibraryRates
    streamed: float
    smallest_piece: float


@dataclass(frozen=True)
class Machine:
    """A processor with its memory.

    Attributes:
        cores: threads that a launch uses at the most.
        clock: cycles a second of each.
        levels: from the nearest cache to memory.
        launch: seconds from one kernel to the next on one thread.
        fork: seconds more that a launch takes on several threads.
        library: the vendor's matrix products.
    """

    cores: int
    clock: float
    levels: tuple[Level, ...]
    launch: float
    fork: float
    library: ProductLibrary

    def on(self, cores: int) -> Machine:
        """The same machine with another number of cores."""
        return replace(self, cores=max(1, cores))

    def pieces(self, seconds: float) -> int:
        """Into how many parts work of one thread is worth dividing: each takes no less than to
        hand it to another thread.
        """
        return max(1, int(seconds / self.fork))

    def level_of(self, distance: float) -> int:
        """Where bytes are found again, by the bytes that were touched since.

        Args:
            distance: those bytes, their own included.
        """
        for number, level in enumerate(self.levels):
            shares = self.cores if not level.most else 1
            if level.capacity * shares >= distance:
                return number
        return len(self.levels) - 1

    def moving_seconds(self, traffic: Sequence[int], cores: int = 1) -> tuple[float, int]:
        """(the time to move bytes, the level that it is the time of).

        What comes from a level passes through all nearer ones; they work at the same time.

        Args:
            traffic: bytes found at each of `levels`.
            cores: that move them together.
        """
        slowest, bound, passing = 0.0, 0, sum(traffic)
        for number, (level, here) in enumerate(zip(self.levels, traffic, strict=True)):
            rate = level.bandwidth * cores
            seconds = passing / (min(rate, level.most) if level.most else rate)
            if seconds > slowest:
                slowest, bound = seconds, number
            passing -= here
        return slowest, bound

    def seconds_from(self, level: int, amount: int, cores: int = 1) -> float:
        """The time to move bytes that are all found at one of `levels`."""
        traffic = [0] * len(self.levels)
        traffic[level] = amount
        return self.moving_seconds(traffic, cores)[0]

    def around(self, cores: int) -> float:
        """Seconds that a kernel takes from launch to return, besides its work."""
        return self.launch + (self.fork if cores > 1 else 0.0)


L1, L2, L3, MEMORY = range(4)

# Measured on Zen 5 (EPYC of 2 processors): docs/cost_model.md compares what it foretells with the
# times of the benchmark programs.
HOST = Machine(
    cores=2,
    clock=4.1e9,
    levels=(
        Level("L1", 48 << 10, 450e9),
        Level("L2", 1 << 20, 240e9),
        Level("L3", 32 << 20, 125e9, 1000e9),
        Level("memory", 0, 60e9, 64e9),
    ),
    launch=20e-9,
    fork=0.4e-6,
    # OpenBLAS 0.3.30 with its kernels for AVX-512: `python benchmarks/product_choice.py`.
    library=ProductLibrary(
        entered=0.1e-6,
        call=0.05e-6,
        f32=LibraryRates(29.0, 31.0, 18.0, 16.0, 40.0),
        f64=LibraryRates(11.7, 15.5, 10.0, 10.0, 10.0),
        c64=LibraryRates(27.5, 0.0, 0.0, 5.0, 8.0),
        c128=LibraryRates(10.9, 0.0, 0.0, 2.0, 2.5),
        streamed=22.0,
        smallest_piece=0.75e6,
    ),
)
