"""What may stand for a program, and what is said of what may not."""

from __future__ import annotations

from pathlib import Path

import pytest

import hlo
from hlo.importers.program import load_program

TEXT = "func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"


def test_a_path_is_read(tmp_path: Path) -> None:
    file = tmp_path / "program.mlir"
    file.write_text(TEXT)
    assert "tensor<f32>" in str(load_program(file))


@pytest.mark.parametrize("path", ["program.mlir", "/no/such/folder/model.mlirbc"])
def test_the_text_of_a_path_is_no_program(path: str) -> None:
    with pytest.raises(hlo.CompileError, match=r"found the path .*: give pathlib\.Path"):
        hlo.compile(path)


def test_other_objects_are_no_program() -> None:
    with pytest.raises(TypeError, match=r"expected a program .* found int"):
        load_program(7)
