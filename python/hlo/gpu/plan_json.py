"""Launch plans as JSON, both ways; equal plans give equal text."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from hlo.diagnostics import CompileError
from hlo.gpu.plan import (
    BufferSlice,
    Case,
    Constant,
    Copy,
    Fill,
    HostCall,
    Kernel,
    KernelModule,
    Launch,
    LaunchPlan,
    Loop,
    Step,
    TensorType,
    VendorCall,
)
from hlo.gpu.tensor_map import TensorMap

VERSION = 4


def to_json(plan: LaunchPlan) -> str:
    """A plan as one JSON object."""
    return json.dumps(_plan(plan), sort_keys=True)


def from_json(text: str) -> LaunchPlan:
    """The plan that `to_json` wrote.

    Raises:
        CompileError: the text is not a plan of this version.
    """
    try:
        data = json.loads(text)
        version = data["version"]
    except (ValueError, TypeError, KeyError) as error:
        raise CompileError(f"this is not a launch plan: {error}") from error
    if version != VERSION:
        raise CompileError(f"a launch plan of version {version}; expected version {VERSION}")
    try:
        return _read_plan(data)
    except (KeyError, TypeError, ValueError) as error:
        raise CompileError(f"a malformed launch plan: {error!r}") from error


def _plan(plan: LaunchPlan) -> dict[str, Any]:
    return {
        "version": VERSION,
        "target": plan.target,
        "name": plan.name,
        "kernels": [
            {
                "name": k.name, "module": k.module, "parameters": k.parameters,
                "written": k.written, "static_shared_bytes": k.static_shared_bytes,
                "block": k.block, "tensor_maps": list(map(asdict, k.tensor_maps)),
            }
            for k in plan.kernels.values()
        ],
        "modules": [
            {"name": m.name, "ptx": m.ptx, "bitcode": m.bitcode and _text(m.bitcode)}
            for m in plan.modules.values()
        ],
        "constants": [{"type": _type(c.type), "data": _text(c.data)} for c in plan.constants],
        "arena_bytes": plan.arena_bytes,
        "steps": _steps(plan.steps),
        "arguments": [_type(t) for t in plan.arguments],
        "results": [_type(t) for t in plan.results],
        "aliases": plan.aliases,
        "arena_slices": plan.arena_slices,
    }  # fmt: skip


def _read_plan(data: dict[str, Any]) -> LaunchPlan:
    kernels = [
        Kernel(
            k["name"], k["module"], k["parameters"], tuple(k["written"]),
            k["static_shared_bytes"], None if k["block"] is None else _three(k["block"]),
            tuple(map(_read_map, k["tensor_maps"])),
        )
        for k in data["kernels"]
    ]  # fmt: skip
    modules = [
        KernelModule(m["name"], m["ptx"], None if m["bitcode"] is None else _bytes(m["bitcode"]))
        for m in data["modules"]
    ]
    return LaunchPlan(
        target=data["target"],
        name=data["name"],
        kernels={k.name: k for k in kernels},
        modules={m.name: m for m in modules},
        constants=tuple(
            Constant(_read_type(c["type"]), _bytes(c["data"])) for c in data["constants"]
        ),
        arena_bytes=data["arena_bytes"],
        steps=_read_steps(data["steps"]),
        arguments=tuple(map(_read_type, data["arguments"])),
        results=tuple(map(_read_type, data["results"])),
        aliases=tuple((r, a) for r, a in data["aliases"]),
        arena_slices=tuple((label, at, size) for label, at, size in data["arena_slices"]),
    )


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _type(kind: TensorType) -> list[Any]:
    return [kind.element, *kind.shape]


def _read_type(data: Sequence[Any]) -> TensorType:
    return TensorType(tuple(data[1:]), data[0])


def _three(data: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = data
    return x, y, z


def _read_map(data: dict[str, Any]) -> TensorMap:
    return TensorMap(
        data["argument"], data["element"], tuple(data["sizes"]), tuple(data["strides"]),
        tuple(data["box"]),
    )  # fmt: skip


def _slice(slice_: BufferSlice) -> list[Any]:
    return [slice_.base, slice_.index, slice_.offset, slice_.bytes]


def _read_slice(data: Sequence[Any]) -> BufferSlice:
    base, index, offset, size = data
    return BufferSlice(base, index, offset, size)


def _slices(slices: Sequence[BufferSlice]) -> list[list[Any]]:
    return [_slice(s) for s in slices]


def _read_slices(data: Sequence[Sequence[Any]]) -> tuple[BufferSlice, ...]:
    return tuple(_read_slice(s) for s in data)


def _steps(steps: Sequence[Step]) -> list[dict[str, Any]]:
    return [_step(step) for step in steps]


def _step(step: Step) -> dict[str, Any]:
    if isinstance(step, Launch):
        return {
            "step": "launch", "kernel": step.kernel, "grid": step.grid, "block": step.block,
            "arguments": _slices(step.arguments), "shared_bytes": step.shared_bytes,
            "source": step.source, "number": step.number,
        }  # fmt: skip
    if isinstance(step, Copy):
        return {
            "step": "copy", "destination": _slice(step.destination),
            "source": _slice(step.source), "reason": step.reason,
        }  # fmt: skip
    if isinstance(step, Fill):
        return {
            "step": "fill", "destination": _slice(step.destination), "pattern": step.pattern,
            "pattern_bytes": step.pattern_bytes, "reason": step.reason,
        }  # fmt: skip
    if isinstance(step, Loop):
        return {
            "step": "loop", "condition": _steps(step.condition),
            "predicate": _slice(step.predicate), "body": _steps(step.body),
        }  # fmt: skip
    if isinstance(step, Case):
        return {
            "step": "case", "index": _slice(step.index),
            "branches": [_steps(branch) for branch in step.branches],
        }  # fmt: skip
    if isinstance(step, HostCall):
        return {
            "step": "host", "function": step.function, "reads": _slices(step.reads),
            "writes": _slices(step.writes), "parameters": step.parameters, "source": step.source,
        }  # fmt: skip
    return {
        "step": "vendor", "library": step.library, "name": step.name,
        "reads": _slices(step.reads), "writes": _slices(step.writes),
        "parameters": step.parameters, "source": step.source,
        "fallback": _steps(step.fallback), "before": _steps(step.before),
        "after": _steps(step.after),
    }  # fmt: skip


def _read_steps(data: Sequence[dict[str, Any]]) -> tuple[Step, ...]:
    return tuple(_read_step(step) for step in data)


def _read_step(data: dict[str, Any]) -> Step:
    kind = data["step"]
    if kind == "launch":
        return Launch(
            data["kernel"], _three(data["grid"]), _three(data["block"]),
            _read_slices(data["arguments"]), data["shared_bytes"], data["source"],
            data["number"],
        )  # fmt: skip
    if kind == "copy":
        return Copy(_read_slice(data["destination"]), _read_slice(data["source"]), data["reason"])
    if kind == "fill":
        return Fill(
            _read_slice(data["destination"]), data["pattern"], data["pattern_bytes"],
            data["reason"],
        )  # fmt: skip
    if kind == "loop":
        return Loop(
            _read_steps(data["condition"]), _read_slice(data["predicate"]),
            _read_steps(data["body"]),
        )  # fmt: skip
    if kind == "case":
        return Case(_read_slice(data["index"]), tuple(map(_read_steps, data["branches"])))
    if kind == "vendor":
        return VendorCall(
            data["library"], data["name"], _read_slices(data["reads"]),
            _read_slices(data["writes"]),
            tuple((k, tuple(v) if isinstance(v, list) else v) for k, v in data["parameters"]),
            data["source"],
            *(
                tuple(s for s in _read_steps(data.get(part, ())) if isinstance(s, Launch))
                for part in ("fallback", "before", "after")
            ),
        )  # fmt: skip
    if kind == "host":
        return HostCall(
            data["function"], _read_slices(data["reads"]), _read_slices(data["writes"]),
            tuple(data["parameters"]), data["source"],
        )  # fmt: skip
    raise ValueError(f"unknown step {kind!r}")
