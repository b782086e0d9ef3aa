"""`hlo-cache`: shows and empties the compilation cache."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from hlo import knobs
from hlo.driver.byte_text import byte_text
from hlo.driver.cache.program_cache import open_store
from hlo.driver.command_line import run_tool


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of `hlo-cache`."""
    args = _parser().parse_args(argv)
    return run_tool("hlo-cache", lambda: _run(args))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hlo-cache",
        description="Shows and empties the compilation cache, the folder that HLO_CACHE_DIR names.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "action",
        choices=("show", "clear", "evict"),
        help="show: how much there is; clear: remove all; evict: remove the longest unused until "
        "the rest is within HLO_CACHE_LIMIT_MB",
    )
    parser.add_argument("--cache-dir", type=Path, metavar="DIR", help="the folder")
    return parser


def _run(args: argparse.Namespace) -> int:
    with knobs.scope(**({"cache_dir": args.cache_dir} if args.cache_dir else {})):
        store = open_store()
    if args.action == "show":
        usage = store.usage()
        print(
            f"{store.directory}: {usage.files} files, {byte_text(usage.bytes)} of "
            f"{byte_text(store.limit_bytes)}"
        )
        return 0
    removed = store.clear() if args.action == "clear" else store.evict()
    print(f"removed {removed} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
