"""The assembler's report is read, and what it refuses is explained."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from ptx_texts import kernel

from hlo.diagnostics import CompileError, MissingExtraError
from hlo.gpu import ptxas
from hlo.gpu.ptxas import KernelResources, assemble, resources_of

REPORT = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'gemm' for 'sm_80'
ptxas info    : Function properties for gemm
    16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 225 registers, used 1 barriers, 49152 bytes smem, 376 bytes cmem[0]
ptxas info    : Function properties for slow_path
    40 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Compiling entry function 'copy' for 'sm_80'
ptxas info    : Function properties for copy
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, 368 bytes cmem[0]
"""


def test_the_report_is_read() -> None:
    assert resources_of(REPORT) == {
        "gemm": KernelResources(225, 16, 8, 4, 49152, 1),
        "copy": KernelResources(registers=8),
    }
    assert resources_of(REPORT)["gemm"].spills


def test_without_an_assembler_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nowhere() -> None:
        return None

    monkeypatch.setattr(ptxas, "find_ptxas", nowhere)
    with pytest.raises(MissingExtraError, match=r"pip install 'hlo\[cuda\]'"):
        assemble(kernel("", 1), "sm_80")


def script(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str) -> None:
    """Makes a shell script the assembler; `$6` is the output."""
    program = folder / "ptxas"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    monkeypatch.setattr(ptxas, "find_ptxas", lambda: program)


def test_what_it_refuses_is_shown_with_its_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script(monkeypatch, tmp_path,
           'echo "ptxas module.ptx, line 2; error   : Parsing error" >&2; exit 255')  # fmt: skip
    with pytest.raises(CompileError, match=r"refuses the code for sm_80: .*line 2.* `.target"):
        assemble(kernel("", 1), "sm_80")


def test_an_old_assembler_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = "ptxas fatal   : Value 'sm_120' is not defined for option 'gpu-name'"
    script(monkeypatch, tmp_path, f'echo "{text}" >&2; exit 1')
    with pytest.raises(CompileError, match="too old for sm_120"):
        assemble(kernel("", 1), "sm_120")


@pytest.mark.skipif(sys.platform != "linux", reason="the test extra has ptxas for Linux only")
def test_a_kernel_is_assembled_by_the_real_one() -> None:
    assembly = assemble(kernel("  st.global.b32 [%rd0], %r0;", 1), "sm_90")
    assert assembly.cubin[:4] == b"\x7fELF"
    assert 0 < assembly.kernels["k"].registers < 32
    assert not assembly.kernels["k"].spills
