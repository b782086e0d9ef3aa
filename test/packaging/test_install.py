"""The package installs as a newcomer would: a wheel elsewhere, and in place.

Each test makes a virtual environment of its own: they are slow and need the package index.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "hlo.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path) -> str:
    finished = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, f"{command}\n{finished.stdout}\n{finished.stderr}"
    return finished.stdout


def checkout(folder: Path) -> Path:
    """The committed and uncommitted files of the repository, as a clone would have them."""
    names = run(
        "git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT
    ).splitlines()
    for name in names:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).exists():
            shutil.copy2(ROOT / name, target, follow_symlinks=False)
    return folder


def environment(folder: Path) -> Path:
    """A fresh virtual environment; its folder of programs."""
    run(sys.executable, "-m", "venv", folder, cwd=ROOT)
    return folder / "bin"


def check_programs(programs: Path, folder: Path) -> None:
    """The command-line tools work, away from the sources."""
    (folder / "p.mlir").write_text(PROGRAM)
    assert "hlo.add" in run(programs / "hlo-opt", "p.mlir", cwd=folder)
    shown = run(
        programs / "hlo-run", "p.mlir", "--arg=f32[4]=1,2,3,4", "--check=reference", cwd=folder
    )
    assert "[2. 4. 6. 8.]" in shown
    assert "match" in shown


def test_a_wheel_installed_elsewhere_works(tmp_path: Path) -> None:
    sources = checkout(tmp_path / "sources")
    options = ("-q", "--no-build-isolation", "--no-deps", "-w", tmp_path / "wheel")
    run(sys.executable, "-m", "pip", "wheel", *options, ".", cwd=sources)
    (wheel,) = (tmp_path / "wheel").glob("hlo-*.whl")
    shutil.rmtree(sources)
    programs = environment(tmp_path / "venv")
    run(programs / "pip", "install", "-q", wheel, cwd=tmp_path)
    check_programs(programs, tmp_path)


def test_an_install_in_place_sees_new_files(tmp_path: Path) -> None:
    sources = checkout(tmp_path / "sources")
    programs = environment(tmp_path / "venv")
    run(programs / "pip", "install", "-q", "-e", ".", cwd=sources)
    check_programs(programs, tmp_path)
    for package in ("python/hlo", "passes", "tools"):
        (sources / package / "brand_new.py").write_text("VALUE = 7\n")
    for module in ("hlo.brand_new", "hlo.passes.brand_new", "hlo.tools.brand_new"):
        code = f"from {module} import VALUE; print(VALUE)"
        assert run(programs / "python", "-c", code, cwd=tmp_path) == "7\n"
