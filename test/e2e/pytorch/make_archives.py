"""Writes the archives of `data/`, with PyTorch 2.13: `python make_archives.py [FAMILY...]`."""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from families import FAMILIES, Counter

DATA = Path(__file__).parent / "data"


class Family(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *tensors: torch.Tensor) -> Any:
        """The function's results."""
        return self.function(*tensors)


def save(program: Any, path: Path) -> None:
    """Writes an archive, compressed, with file names from the top of the repository."""
    held = io.BytesIO()
    torch.export.save(program, held)
    root = f"{Path(__file__).resolve().parents[3]}/".encode()
    with zipfile.ZipFile(held) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name in source.namelist():
            if "sample_inputs" not in name:
                file.writestr(name, source.read(name).replace(root, b""))


def as_array(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """A tensor as NumPy has it; bfloat16 as float32."""
    dense = tensor.detach().resolve_conj().contiguous()
    return (dense.float() if dense.dtype == torch.bfloat16 else dense).numpy()


def main() -> None:
    """Runs the command."""
    chosen = sys.argv[1:] or [*FAMILIES, "counter"]
    for name in chosen:
        torch.manual_seed(0)
        if name == "counter":
            inputs: tuple[torch.Tensor, ...] = (torch.randn(4, 3),)
            program = torch.export.export(Counter(), inputs).run_decompositions({})
            save(program, DATA / "counter.pt2")
            continue
        function, make = FAMILIES[name]
        inputs = make()
        with torch.no_grad():
            # Scans are captured by TorchDynamo alone.
            program = torch.export.export(Family(function), inputs, strict=name == "scans")
            results = function(*[tensor.clone() for tensor in inputs])
        save(program, DATA / f"{name}.pt2")
        arrays = {f"in{i}": as_array(x) for i, x in enumerate(inputs)}
        arrays |= {f"out{i:03}": as_array(x) for i, x in enumerate(results)}
        np.savez_compressed(DATA / f"{name}.npz", **arrays)
        print(name, len(results))


if __name__ == "__main__":
    main()
