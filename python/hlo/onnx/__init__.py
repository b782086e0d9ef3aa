"""ONNX's way in: `hlo.from_onnx` (docs/onnx.md)."""

from hlo.onnx.program import OnnxCompiled, OnnxProgram, from_onnx

__all__ = ["OnnxCompiled", "OnnxProgram", "from_onnx"]
