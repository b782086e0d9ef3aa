"""The guard against regressions, the report of the benchmarks, and peers that are not there."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

import compare
import outside_peers
import report_page

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
REPORT: dict[str, Any] = {
    "name": "p",
    "run_ms": 2.0,
    "spread": 0.02,
    "compile_s": 0.1,
    "cached_compile_s": 0.001,
    "gflops": 1.0,
    "gbytes_s": 2.0,
    "peer": {
        "run_ms": 4.0,
        "spread": 0.03,
        "compile_s": 0.2,
        "kernels": 9,
        "temp_bytes": 10,
        "peak_bytes": 1010,
    },
    "others": {"torch": {"run_ms": 3.0, "spread": 0.0, "compile_s": 1.0}},
    "absent": {"iree": "ended with status 1", "torch.compile": outside_peers.NO_PYTHON},
    "mismatches": 0,
    "ill_conditioned": 0,
    "elements": 4,
    "max_rel_err": 0.0,
    "kernels": 3,
    "arena_bytes": 1000,
    "argument_bytes": 16,
    "result_bytes": 16,
    "alias_bytes": 0,
}
QUIET = {"text": "a machine", "load": 0.1, "processors": 2}


def figures(**changes: Any) -> dict[str, Any]:
    return {"machine": QUIET, "programs": [{**copy.deepcopy(REPORT), **changes}]}


def found(**changes: Any) -> list[tuple[str, bool]]:
    findings = compare.compare(figures(), figures(**changes))
    return [(finding.what, finding.worse) for finding in findings]


def test_the_same_figures_are_no_finding() -> None:
    assert found() == []


def test_ratios_may_move_by_tolerance_and_noise() -> None:
    # Allowed against XLA: 0.1 + 2 * (0.02 + 0.03) = 0.2, so 2 ms may become 2.4.
    assert found(run_ms=2.39) == [("torch time / ours", True)]  # torch: 0.1 + 2 * 0.02
    assert found(run_ms=2.41) == [("xla time / ours", True), ("torch time / ours", True)]
    assert found(run_ms=1.0) == [("xla time / ours", False), ("torch time / ours", False)]


def test_noise_excuses_only_so_much() -> None:
    # 0.1 + 0.5 at the most.
    assert ("xla time / ours", True) in found(run_ms=3.3, spread=5.0)
    assert found(run_ms=2.9, spread=5.0) == []


def cases(**changes: Any) -> dict[str, Any]:
    case = {"name": "add 4096", "ours_us": 1.0, "jax_us": 8.0, "torch_us": 2.0}
    return {"machine": QUIET, "cases": [{**case, **changes}]}


def test_ratios_of_micro_benchmarks_are_compared_too() -> None:
    def found_of(**changes: Any) -> list[tuple[str, bool]]:
        return [(f.what, f.worse) for f in compare.compare(cases(), cases(**changes))]

    assert found_of() == found_of(ours_us=1.49) == found_of(jax_us=6.0, torch_us=None) == []
    assert found_of(ours_us=1.51) == [("jax time / ours", True), ("torch time / ours", True)]
    assert found_of(jax_us=16.0) == [("jax time / ours", False)]
    assert found_of(name="new", ours_us=9.0) == []


def test_a_slower_machine_is_no_finding() -> None:
    slower = {**REPORT["peer"], "run_ms": 12.0}
    others = {"torch": {**REPORT["others"]["torch"], "run_ms": 9.0}}
    assert found(run_ms=6.0, peer=slower, others=others) == []


def test_exact_figures_count() -> None:
    assert found(kernels=4) == [("kernels", True)]
    assert found(kernels=2) == [("kernels", False)]
    assert found(arena_bytes=1005) == []
    assert found(arena_bytes=1100) == [("arena_bytes", True)]


def test_results_and_failures_count() -> None:
    assert found(mismatches=1) == [("results", True)]
    assert found(error="crashed") == [("runs", True)]
    broken = figures(error="crashed")
    assert [f.worse for f in compare.compare(broken, figures())] == [False]
    assert compare.compare(broken, broken) == []


def test_compile_times_count() -> None:
    assert found(compile_s=0.14) == []
    assert found(compile_s=0.2) == [("xla's compile time / ours (compile_s)", True)]
    assert found(cached_compile_s=0.01) == [("xla's compile time / ours (cached_compile_s)", True)]


def test_peers_that_one_run_lacks_do_not_count() -> None:
    assert found(others={}) == []


def test_the_command_says_what_is_worse(tmp_path: Path) -> None:
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    before.write_text(json.dumps(figures()))
    after.write_text(json.dumps(figures(kernels=9)))
    command = [sys.executable, str(BENCHMARKS / "compare.py"), str(after), str(before)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "WORSE  p: kernels: 3 -> 9" in done.stdout
    after.write_text(json.dumps(figures()))
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    after.write_text("{")
    assert subprocess.run(command, capture_output=True, check=False).returncode == 2


def test_the_page_names_absent_peers_and_noise() -> None:
    made = figures(spread=0.4)
    made["machine"] = {**QUIET, "load": 7.0}
    made["programs"].append({"name": "q", "error": "a | b"})
    page = report_page.markdown(made)
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert len({row.replace("\\|", "").count("|") for row in rows}) == 1
    assert "- iree: ended with status 1 (p)" in page
    assert f"- torch.compile: {outside_peers.NO_PYTHON}\n" in page
    assert "load average was 7.0" in page and "p (40%)" in page
    assert "1 of 2 programs match XLA" in page and "torch, running 1.50 (1 programs)" in page


def test_peers_without_a_python_have_a_reason(tmp_path: Path) -> None:
    for python in (None, tmp_path / "python"):
        with outside_peers.OutsidePeers(python, ["torch"], tmp_path / "p.mlir", [], 1) as peers:
            assert peers.ready == []
            assert peers.reasons == {"torch": outside_peers.NO_PYTHON}


def peers_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, timeout: float) -> Any:
    worker = tmp_path / "worker.py"
    worker.write_text(script)
    monkeypatch.setattr(outside_peers, "WORKER", worker)
    return outside_peers.OutsidePeers(
        Path(sys.executable), ["iree"], tmp_path / "p.mlir", [np.ones(2)], 1, timeout
    )


def test_a_peer_answers_each_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = """import sys, numpy
assert sys.argv[1:4] == ["iree", "p", "1"] and numpy.load(sys.argv[5])["arg0"].sum() == 2
print('{"compile_s": 0.5}', flush=True)
for i, _ in enumerate(sys.stdin):
    print(i + 0.25, flush=True)
    if i == 1: break
"""
    with peers_of(tmp_path, monkeypatch, script, 60.0) as peers:
        (peer,) = peers.ready
        assert (peer.compile_s, peer.run(), peer.run()) == (0.5, 0.25, 1.25)
        with pytest.raises(outside_peers.PeerGoneError):
            peer.run()


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ('print(\'{"error": "no such model"}\')', "no such model"),
        ("import sys; sys.exit(3)", "ended with status 3"),
        ("import time; time.sleep(60)", "not ready after 1 s"),
    ],
)
def test_a_peer_that_fails_is_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, reason: str
) -> None:
    with peers_of(tmp_path, monkeypatch, script, 1.0) as peers:
        assert peers.ready == []
        assert peers.reasons == {"iree": reason}
