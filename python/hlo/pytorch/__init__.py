"""PyTorch's way in: exported programs (`hlo.from_torch`) and `torch.compile(backend="hlo")`."""

from hlo.pytorch.program import TorchCompiled, TorchProgram, from_torch

__all__ = ["TorchCompiled", "TorchProgram", "from_torch"]
