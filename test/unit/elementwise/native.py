"""Compiles emitters to native functions over arrays, many in one module."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from mlir import ir
from mlir.execution_engine import ExecutionEngine
from mlir.passmanager import PassManager

from hlo.passes.hlo_to_loops.builder import Builder, Value
from hlo.passes.hlo_to_loops.element_types import ElementType, element_type
from hlo.passes.hlo_to_loops.elementwise import EMITTERS, pack, unpack

PIPELINE = (
    "builtin.module(convert-scf-to-cf,convert-vector-to-llvm,expand-strided-metadata,"
    "finalize-memref-to-llvm,convert-func-to-llvm{use-bare-ptr-memref-call-conv=true},convert-math-to-llvm,"
    "convert-to-llvm,reconcile-unrealized-casts)"
)
CAPACITY = 1 << 24

NUMPY_TYPES: dict[str, Any] = {
    "i1": np.bool_,
    "i2": ml_dtypes.int2,
    "i4": ml_dtypes.int4,
    "ui2": ml_dtypes.uint2,
    "ui4": ml_dtypes.uint4,
    **{f"i{n}": np.dtype(f"int{n}").type for n in (8, 16, 32, 64)},
    **{f"ui{n}": np.dtype(f"uint{n}").type for n in (8, 16, 32, 64)},
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "bf16": ml_dtypes.bfloat16,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E3M4": ml_dtypes.float8_e3m4,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "f6E2M3FN": ml_dtypes.float6_e2m3fn,
    "f6E3M2FN": ml_dtypes.float6_e3m2fn,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
    "complex<f32>": np.complex64,
    "complex<f64>": np.complex128,
}


def _memref(type_: ElementType) -> str:
    return f"memref<{CAPACITY}x{'2x' if type_.is_complex else ''}{type_.memory}>"


@dataclass
class Signature:
    """One function to compile: an op on operand types, at a vector width."""

    op: str
    operands: tuple[str, ...]
    result: str
    lanes: int = 0
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])


def _access(type_: ElementType, lanes: int) -> tuple[str, str]:
    """(memref type to access, vector type of the access) of one load or store."""
    return _memref(type_), f"vector<{lanes}x{type_.memory}>"


def _load(b: Builder, name: str, iv: str, type_: ElementType) -> tuple[str, ...]:
    memref = _memref(type_)
    if type_.is_complex:
        index = [b.index(0), b.index(1)]
        if not b.lanes:
            return tuple(b.load(f"memref.load {name}[{iv}, {i}] : {memref}") for i in index)
        parts: list[str] = []
        for i in index:
            lanes: list[str] = []
            for lane in range(b.lanes):
                at = b.op(f"arith.addi {iv}, {b.index(lane)} : index")
                lanes.append(b.load(f"memref.load {name}[{at}, {i}] : {memref}"))
            parts.append(
                b.op(f"vector.from_elements {', '.join(lanes)} : {b.type_of(type_.memory)}")
            )
        return tuple(parts)
    if not b.lanes:
        return (b.load(f"memref.load {name}[{iv}] : {memref}"),)
    return (b.load(f"vector.load {name}[{iv}] : {memref}, {b.type_of(type_.memory)}"),)


def _store(b: Builder, name: str, iv: str, value: Value) -> None:
    type_ = value.type
    memref, stored = _memref(type_), pack(b, value)
    if type_.is_complex:
        for part, i in zip(stored, (b.index(0), b.index(1)), strict=True):
            if not b.lanes:
                b.effect(f"memref.store {part}, {name}[{iv}, {i}] : {memref}")
                continue
            for lane in range(b.lanes):
                at = b.op(f"arith.addi {iv}, {b.index(lane)} : index")
                element = b.op(
                    f"vector.extract {part}[{lane}] : {type_.memory} from {b.type_of(type_.memory)}"
                )
                b.effect(f"memref.store {element}, {name}[{at}, {i}] : {memref}")
        return
    if not b.lanes:
        b.effect(f"memref.store {stored[0]}, {name}[{iv}] : {memref}")
    else:
        b.effect(f"vector.store {stored[0]}, {name}[{iv}] : {memref}, {b.type_of(type_.memory)}")


def function_text(name: str, signature: Signature) -> str:
    """A function over arrays whose length is a multiple of the width."""
    b = Builder(signature.lanes)
    types = [element_type(t) for t in signature.operands]
    result = element_type(signature.result)
    with b.loop(b.index(0), "%n", b.index(max(signature.lanes, 1))) as loop:
        operands = [unpack(b, t, _load(b, f"%a{i}", loop.iv, t)) for i, t in enumerate(types)]
        value = EMITTERS[signature.op](b, operands, result, signature.attributes)
        assert value.type == result, (signature, value)
        _store(b, "%r", loop.iv, value)
    arguments = [f"%a{i}: {_memref(t)}" for i, t in enumerate(types)] + [f"%r: {_memref(result)}"]
    parameters = ", ".join([*arguments, "%n: index"])
    head = f"func.func @{name}({parameters}) attributes {{llvm.emit_c_interface}} {{"
    return f"{head}\n{b.text()}\n  return\n}}\n"


class Compiled:
    """Functions `f0`, `f1`, ... of the signatures, callable on arrays."""

    def __init__(self, signatures: Sequence[Signature], opt_level: int = 2) -> None:
        self.signatures = list(signatures)
        self.text = "".join(function_text(f"f{i}", s) for i, s in enumerate(signatures))
        with ir.Context(), ir.Location.unknown():
            module = ir.Module.parse(self.text)
            PassManager.parse(PIPELINE).run(module.operation)
            self._engine = ExecutionEngine(module, opt_level=opt_level)

    def call(self, index: int, *arrays: np.ndarray) -> np.ndarray:
        """Runs one function on equally long arrays; pads to a multiple of the width."""
        signature = self.signatures[index]
        size = arrays[0].size
        padded = -(-size // 64) * 64
        assert padded <= CAPACITY
        buffers: list[np.ndarray] = []
        for array, name in zip(arrays, signature.operands, strict=True):
            buffer = np.zeros(padded, NUMPY_TYPES[name])
            buffer[:size] = array.ravel()
            buffers.append(buffer)
        result = np.zeros(padded, NUMPY_TYPES[signature.result])
        pointers = [ctypes.c_void_p(b.ctypes.data) for b in (*buffers, result)]
        count = ctypes.c_int64(padded)
        slots = [ctypes.cast(ctypes.pointer(x), ctypes.c_void_p) for x in (*pointers, count)]
        packed = (ctypes.c_void_p * len(slots))(*slots)
        address = self._engine.raw_lookup(f"f{index}")
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(ctypes.addressof(packed))
        return result[:size]
