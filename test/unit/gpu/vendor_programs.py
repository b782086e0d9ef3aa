"""Programs with calls of vendors' libraries, and what measurements of them are made to give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import pytest

import hlo
from hlo.driver.gpu_compile import GpuCompiled
from hlo.gpu.cuda import vendor
from hlo.gpu.plan import VendorCall

Function = Callable[..., jax.Array]


def seem(monkeypatch: pytest.MonkeyPatch, library: float, kernels: float) -> None:
    """What measurements of the library and of the kernels give."""
    times = {"library": library, "kernels": kernels}

    def seconds(_: object, work: Callable[[], None]) -> float:
        work()
        return times[work.__name__]

    monkeypatch.setattr(vendor.VendorCalls, "seconds", seconds)


def compiled(f: Function, *arguments: Any, **options: Any) -> GpuCompiled:
    text = jax.jit(f, keep_unused=True).lower(*arguments).as_text()
    program = hlo.compile(text, target="nvptx:sm_80", **options)
    assert isinstance(program, GpuCompiled)
    return program


def calls(program: GpuCompiled) -> list[VendorCall]:
    return [step for step in program.plan.walk() if isinstance(step, VendorCall)]
