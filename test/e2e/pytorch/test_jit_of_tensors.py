"""Functions under `hlo.jit` called with PyTorch's tensors give tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hlo
import hlo.numpy as hnp

torch = pytest.importorskip("torch")

KINDS = ["float32", "float64", "float16", "bfloat16", "int32", "int64", "uint8", "bool"]


@hlo.jit
def double(x: Any) -> Any:
    return {"twice": x + x, "rest": (x, [hnp.sum(x)])}


@pytest.mark.parametrize("kind", KINDS)
def test_results_follow_their_arguments(kind: str) -> None:
    x = torch.tensor([[1, 0, 1], [1, 1, 0]]).to(getattr(torch, kind))
    for _ in range(2):  # bound, then as it was met before
        found = double(x)
        assert isinstance(found["twice"], torch.Tensor)
        assert found["twice"].dtype == x.dtype
        assert torch.equal(found["twice"], x | x if kind == "bool" else x + x)
        assert torch.equal(found["rest"][0], x)
        assert float(found["rest"][1][0]) == 4.0


def test_one_program_serves_arrays_and_tensors() -> None:
    traced: list[int] = []

    @hlo.jit
    def f(x: Any, y: Any, scale: Any) -> Any:
        traced.append(1)
        return x * scale - y

    x, y = torch.ones(5), torch.full((5,), 3.0)
    for _ in range(2):
        assert isinstance(f(x, y, 2.0), torch.Tensor)
        assert isinstance(f(x.numpy(), y.numpy(), 2.0), np.ndarray)
        assert isinstance(f(x, y.numpy(), 2.0), np.ndarray)  # of both: NumPy's
        assert f(x, y, 2.0).tolist() == [-1.0] * 5
    assert len(traced) == 1


def test_tensors_in_containers_strided_ones_and_constants() -> None:
    weights = torch.arange(6.0).reshape(2, 3).t()
    offset = torch.ones(2, dtype=torch.bfloat16)

    @hlo.jit
    def f(parameters: Any, x: Any) -> Any:
        return x @ parameters["w"] + offset

    found = f({"w": weights}, torch.ones(4, 3))
    assert torch.equal(found, torch.ones(4, 3) @ weights + 1)
    lowered = f.lower({"w": weights}, torch.ones(4, 3)).compile()
    assert torch.equal(lowered({"w": weights}, torch.ones(4, 3)), found)
    assert torch.equal(torch.as_tensor(hnp.sin(torch.zeros(3))), torch.zeros(3))


def test_what_would_lose_a_gradient_is_refused() -> None:
    with pytest.raises(hlo.ArgumentError, match="gradient"):
        double(torch.ones(2, 3, requires_grad=True))
    assert isinstance(double(torch.ones(2, 3, requires_grad=True).detach())["twice"], torch.Tensor)
    with torch.no_grad():  # none is recorded of PyTorch's own operators either
        found = double(torch.ones(2, 3, requires_grad=True))["twice"]
    assert torch.equal(found, torch.full((2, 3), 2.0))
    assert not found.requires_grad
    with pytest.raises(hlo.ArgumentError, match="gradient"):
        double(torch.ones(2, 3, requires_grad=True))


@pytest.mark.parametrize("kind", ["int4", "float8_e4m3", "float6_e2m3fn", "float4_e2m1fn"])
def test_results_that_no_tensor_holds(kind: str) -> None:
    convert = hlo.jit(lambda x: x.astype(kind))
    for _ in range(2):  # bound, then as it was met before
        with pytest.raises(hlo.CompileError, match=f"no tensors of {kind}"):
            convert(torch.ones(3))
    assert convert(np.ones(3, np.float32)).tolist() == [1.0] * 3


def test_shapes_and_dtypes_that_do_not_fit() -> None:
    compiled = double.lower(torch.ones(3)).compile()
    with pytest.raises(hlo.ArgumentError, match=r"expected float32\[3\].*found float32\[4\]"):
        compiled(torch.ones(4))
    with pytest.raises(hlo.CompileError, match="arrays of complex32 are not supported"):
        double(torch.ones(3, dtype=torch.complex32))
