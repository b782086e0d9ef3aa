"""Runs one program of a peer, in the peer's own Python: started by benchmarks/outside_peers.py.

    python worker.py PEER NAME THREADS [PROGRAM.mlir ARGUMENTS.npz]

It prints one JSON object when it is ready (`{"compile_s": ...}`, or `{"error": ...}`), and then for
every line it reads the seconds of one run. PEER is `torch`, `torch.compile` or `iree`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

Step = Callable[[], object]


class NoCounterpartError(Exception):
    """The peer has no such program."""


def torch_step(name: str, threads: int, compiled: bool) -> Step:
    import torch
    from torch_models import MODELS

    if name not in MODELS:
        raise NoCounterpartError("no such model for torch")
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    return MODELS[name](compiled)


def iree_step(program: Path, arguments: Path, threads: int) -> Step:
    import iree.compiler
    import iree.runtime
    import numpy as np

    iree.runtime.flags.parse_flags(f"--task_topology_group_count={threads}")
    binary = iree.compiler.compile_str(
        program.read_bytes(), target_backends=["llvm-cpu"], input_type="stablehlo",
        extra_args=["--iree-llvmcpu-target-cpu=host"],
    )  # fmt: skip
    config = iree.runtime.Config("local-task")
    context = iree.runtime.SystemContext(config=config)
    module = iree.runtime.VmModule.copy_buffer(context.instance, binary)
    context.add_vm_module(module)
    entry = context.modules[module.name]["main"]
    with np.load(arguments) as loaded:
        arrays = [loaded[f"arg{i}"] for i in range(len(loaded.files))]
    device = [iree.runtime.asdevicearray(config.device, array) for array in arrays]

    return lambda: entry(*device)  # waits for the results


def make_step(peer: str, name: str, threads: int, files: list[str]) -> Step:
    if peer == "iree":
        return iree_step(Path(files[0]), Path(files[1]), threads)
    return torch_step(name, threads, peer == "torch.compile")


def main() -> int:
    peer, name, threads, *files = sys.argv[1:]
    # What libraries print must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    start = time.perf_counter()
    try:
        step = make_step(peer, name, int(threads), files)
        step()
    except Exception as error:
        first = str(error).strip().splitlines()[:1] or [""]
        print(json.dumps({"error": f"{type(error).__name__}: {first[0]}"[:200]}), file=answers)
        return 1
    print(json.dumps({"compile_s": time.perf_counter() - start}), file=answers)
    for _ in sys.stdin:
        start = time.perf_counter()
        step()
        print(time.perf_counter() - start, file=answers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
