"""What the micro-benchmarks share: their command line, the clock, and runs timed in turn."""

from __future__ import annotations

import argparse
import fnmatch
import importlib
import importlib.util
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_PEERS = ROOT / ".venv-peers"

SAMPLE_SECONDS = 2e-4
# Between the runs of two sides: the idle threads of OpenMP and of Eigen spin for some milliseconds
# before they sleep, and until then take half of a processor from whoever runs next.
PAUSE_SECONDS = 0.01
WARM_SECONDS = 3e-4

Run = Callable[[], object]
Clock = Callable[[], float]


def parser(documentation: str | None) -> argparse.ArgumentParser:
    """Patterns of cases, threads, rounds and the clock; the first paragraph describes the tool."""
    made = argparse.ArgumentParser(description=(documentation or "").partition("\n\n")[0])
    made.add_argument("patterns", nargs="*", help="names of cases, by shell patterns; all if none")
    made.add_argument("--threads", type=int, default=0, help="0 for all processors")
    made.add_argument("--rounds", type=int, default=15, help="samples of each side")
    made.add_argument("--cpu-time", action="store_true", help="one processor, processor time")
    return made


def unpin_library() -> None:
    """Lets OpenBLAS, loaded from here on, take the kernels that it has for this processor, whatever
    the environment says.
    """
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        os.environ.pop(name, None)


def clock_of(args: argparse.Namespace) -> Clock:
    """The clock that the options ask for, in seconds; processor time is that of one processor, to
    which the process is bound, and one thread.
    """
    if not args.cpu_time:
        return time.perf_counter
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    args.threads = 1
    return time.process_time


def threads_of(args: argparse.Namespace) -> int:
    """How many threads run."""
    return args.threads or len(os.sched_getaffinity(0))


def torch_of(threads: int) -> Any | None:
    """PyTorch with so many threads (0 for all processors): this environment's, or that of the
    environment which `make bench-peers` made or $PEERS names, if its Python has our version; None
    where there is none. Packages that both environments have are this one's.
    """
    if importlib.util.find_spec("torch") is None:
        peers = Path(os.environ.get("PEERS") or DEFAULT_PEERS)
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        packages = peers / "lib" / version / "site-packages"
        if not (packages / "torch").is_dir():
            return None
        sys.path.append(str(packages))
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(threads or len(os.sched_getaffinity(0)))
    return torch


def counted(args: argparse.Namespace) -> str:
    """What the figures are, in words."""
    if args.cpu_time:
        return "processor time of one thread"
    return f"wall time of {threads_of(args)} threads"


def is_chosen(name: str, patterns: Sequence[str]) -> bool:
    """Whether a case matches one of the patterns, of which none means all."""
    return not patterns or any(fnmatch.fnmatch(name, f"*{pattern}*") for pattern in patterns)


def geometric_mean(ratios: Iterable[float]) -> float:
    """NaN of none."""
    logarithms = [math.log(ratio) for ratio in ratios]
    return math.exp(statistics.mean(logarithms)) if logarithms else math.nan


def names_of(names: Sequence[str]) -> str:
    """A list of cases in a sentence."""
    return ", ".join(names) if names else "nowhere"


def time_in_turn(
    runs: Sequence[Run], clock: Clock, rounds: int, *,
    pause: float = PAUSE_SECONDS, warm: float = WARM_SECONDS,
) -> list[float]:  # fmt: skip
    """Median seconds of each run, the runs alternating, each after a pause in which the threads of
    the one before go to sleep and after runs that wake its own; short ones are repeated within a
    sample.

    Args:
        pause: seconds.
        warm: seconds of the runs before a sample, at the least.
    """
    repeats: list[int] = []
    for run in runs:
        for _ in range(3):
            run()
        start = time.perf_counter()
        run()
        once = max(time.perf_counter() - start, 1e-7)
        repeats.append(max(1, round(SAMPLE_SECONDS / once)))
    samples: list[list[float]] = [[] for _ in runs]
    for _ in range(rounds):
        for run, count, times in zip(runs, repeats, samples, strict=True):
            time.sleep(pause)
            _warm(run, warm)
            start = clock()
            for _ in range(count):
                run()
            times.append((clock() - start) / count)
    return [statistics.median(times) for times in samples]


def _warm(run: Run, seconds: float) -> None:
    end = time.perf_counter() + seconds
    while True:
        run()
        if time.perf_counter() >= end:
            return


def machine_code(text: str) -> Any:
    """The library of functions that a module of the standard dialects, without vector ops that take
    a lowering of their own, is compiled to.
    """
    from hlo import ir
    from hlo.executable import runtime
    from hlo.passes.lower_to_llvm.modules import KERNEL_PIPELINE, lower

    context = ir.make_lowering_context()
    runtime.register_llvm_translation(context)
    return runtime.Library([runtime.compile_to_object(lower(text, KERNEL_PIPELINE, context))])
