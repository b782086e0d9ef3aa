"""Cases from JAX's primitive harnesses (`jax._src.internal_test_util.test_harnesses`).

    python -m conformance_suite.jax_harnesses FOLDER [--x64] [--every 16]

Lowers each harness to StableHLO, runs it on XLA:CPU and writes a case, and `index.jsonl` with one
line a harness: `name` (its number), `title`, `primitive`, `dtype`, and `status`: `case`,
`not lowered` or `not run`, with `info`. Run as a process of its own: 64-bit types are a setting of
all of JAX.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import subprocess
import sys
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from conformance_suite.case_files import write_case

INDEX = "index.jsonl"
_CLEAR_CACHES_EVERY = 400


def dump(folder: Path, *, x64: bool, every: int = 1) -> list[dict[str, Any]]:
    """Makes the cases of a folder, in a process of their own, unless they are there already.

    Args:
        every: take the first of this many harnesses of each primitive, so all primitives occur.

    Returns:
        The lines of the index.
    """
    index = folder / INDEX
    if not index.exists():
        folder.mkdir(parents=True, exist_ok=True)
        flags = ["--x64"] if x64 else []
        command = [sys.executable, "-m", __spec__.name, str(folder), *flags, f"--every={every}"]
        paths = [str(Path(__file__).resolve().parent.parent)]
        paths += filter(None, [os.environ.get("PYTHONPATH")])
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "JAX_PLATFORMS": "cpu"}
        subprocess.run(command, check=True, env=environment)
    return [json.loads(line) for line in index.read_text().splitlines()]


def _selected(every: int) -> Iterator[tuple[int, Any]]:
    from jax._src.internal_test_util import test_harnesses

    seen: collections.Counter[str] = collections.Counter()
    for number, harness in enumerate(test_harnesses.all_harnesses):
        if seen[harness.group_name] % every == 0:
            yield number, harness
        seen[harness.group_name] += 1


def _write(folder: Path, number: int, harness: Any) -> dict[str, Any]:
    import jax

    dtype = None if harness.dtype is None else np.dtype(harness.dtype).name
    line = {
        "name": str(number),
        "title": harness.fullname,
        "primitive": harness.group_name,
        "dtype": dtype,
    }
    seed = zlib.adler32(harness.fullname.encode()) & 0x7FFFFFFF
    try:
        arguments = harness.dyn_args_maker(np.random.RandomState(seed))
        lowered = jax.jit(harness.dyn_fun).lower(*arguments)
        text = lowered.as_text()
    except Exception as error:
        return {**line, "status": "not lowered", "info": f"{type(error).__name__}: {error}"[:300]}
    try:
        compiled = lowered.compile()
        flat = [_plain(leaf) for leaf in jax.tree.leaves(arguments)]
        kept = sorted(compiled._executable._kept_var_idx)
        results = [_plain(leaf) for leaf in jax.tree.leaves(compiled(*arguments))]
    except Exception as error:
        return {**line, "status": "not run", "info": f"{type(error).__name__}: {error}"[:300]}
    write_case(folder, str(number), text, [flat[i] for i in kept], results)
    return {**line, "status": "case"}


def _plain(leaf: Any) -> np.ndarray[Any, Any]:
    """A leaf as the program takes it: canonical dtype, keys as their words."""
    import jax

    if hasattr(leaf, "dtype") and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    return np.asarray(jax.numpy.asarray(leaf))


def main() -> None:
    """Writes the cases; the index last, whole."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--x64", action="store_true", help="with 64-bit types")
    parser.add_argument("--every", type=int, default=1, help="take one in this many")
    options = parser.parse_args()
    import jax

    warnings.filterwarnings("ignore")
    jax.config.update("jax_enable_x64", options.x64)
    lines = []
    for count, (number, harness) in enumerate(_selected(options.every)):
        lines.append(json.dumps(_write(options.folder, number, harness)))
        if count % _CLEAR_CACHES_EVERY == _CLEAR_CACHES_EVERY - 1:
            jax.clear_caches()
    partial = options.folder / f"{INDEX}.partial"
    partial.write_text("".join(f"{line}\n" for line in lines))
    partial.rename(options.folder / INDEX)


if __name__ == "__main__":
    main()
