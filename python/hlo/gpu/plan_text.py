"""A launch plan as text for people: signature, kernels, steps one a line. It does not read back."""

from __future__ import annotations

from collections.abc import Sequence

from hlo.gpu.convolution import Parameter
from hlo.gpu.plan import (
    BufferSlice,
    Case,
    Copy,
    Fill,
    HostCall,
    Launch,
    LaunchPlan,
    Loop,
    Step,
    TensorType,
)
from hlo.gpu.tensor_map import SWIZZLE_BYTES, TensorMap


def plan_text(plan: LaunchPlan) -> str:
    """The plan without its code: `plan.modules` holds that."""
    aliases = dict(plan.aliases)
    lines = [f"plan {plan.name} for {plan.target}, arena {plan.arena_bytes} bytes"]
    lines += [f"argument {i}: {_type(t)}" for i, t in enumerate(plan.arguments)]
    lines += [f"constant {i}: {_type(c.type)}" for i, c in enumerate(plan.constants)]
    for i, kind in enumerate(plan.results):
        place = f" in argument {aliases[i]}" if i in aliases else ""
        lines.append(f"result {i}: {_type(kind)}{place}")
    for kernel in plan.kernels.values():
        shared = kernel.static_shared_bytes
        lines.append(
            f"kernel {kernel.name}: {kernel.parameters} buffers, writes "
            f"{', '.join(map(str, kernel.written)) or 'none'}"
            + (f", {shared} bytes shared" if shared else "")
        )
        lines += [_map(tensor_map) for tensor_map in kernel.tensor_maps]
    lines += _steps(plan.steps, "")
    return "\n".join(lines) + "\n"


def _steps(steps: Sequence[Step], indent: str) -> list[str]:
    return [line for step in steps for line in _step(step, indent)]


def _step(step: Step, indent: str) -> list[str]:
    deeper = indent + "  "
    if isinstance(step, Loop):
        return [
            f"{indent}loop while {_slice(step.predicate)} after",
            *_steps(step.condition, deeper),
            f"{indent}do",
            *_steps(step.body, deeper),
            f"{indent}end",
        ]
    if isinstance(step, Case):
        lines = [f"{indent}case {_slice(step.index)}"]
        for number, branch in enumerate(step.branches):
            lines += [f"{indent}branch {number}", *_steps(branch, deeper)]
        return [*lines, f"{indent}end"]
    if isinstance(step, Launch):
        shared = f" shared={step.shared_bytes}" if step.shared_bytes else ""
        source = f"  // {step.source}" if step.source else ""
        return [
            f"{indent}launch {step.kernel} grid={_three(step.grid)} block={_three(step.block)}"
            f"{shared} ({', '.join(map(_slice, step.arguments))}){source}"
        ]
    if isinstance(step, Copy):
        return [
            f"{indent}copy {_slice(step.source)} to {_slice(step.destination)}{_why(step.reason)}"
        ]
    if isinstance(step, Fill):
        return [
            f"{indent}fill {_slice(step.destination)} with {step.pattern:#x} "
            f"({step.pattern_bytes} bytes){_why(step.reason)}"
        ]
    if isinstance(step, HostCall):
        return [
            f"{indent}host {step.function} ({', '.join(map(_slice, step.reads))}) to "
            f"({', '.join(map(_slice, step.writes))}){_why(step.source)}"
        ]
    lines = [
        f"{indent}call {step.library} {step.name} ({', '.join(map(_slice, step.reads))}) to "
        f"({', '.join(map(_slice, step.writes))})"
        + "".join(f" {name}={_value(value)}" for name, value in step.parameters if value != "")
    ]
    for word, around in (("before", step.before), ("after", step.after)):
        if around:
            lines += [f"{indent}{word}", *_steps(around, deeper)]
    if step.fallback:
        lines += [f"{indent}or", *_steps(step.fallback, deeper), f"{indent}end"]
    return lines


def _value(value: Parameter) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _map(tensor_map: TensorMap) -> str:
    sizes, box = (" x ".join(map(str, values)) for values in (tensor_map.sizes, tensor_map.box))
    return (
        f"  tensor map of buffer {tensor_map.argument}: {tensor_map.element} {sizes}, strides "
        f"{' '.join(map(str, tensor_map.strides))}, tiles {box}, swizzle {SWIZZLE_BYTES}"
    )


def _why(reason: str) -> str:
    return f"  // {reason}" if reason else ""


def _slice(slice_: BufferSlice) -> str:
    name = "arena" if slice_.base == "arena" else f"{slice_.base} {slice_.index}"
    return f"{name}[{slice_.offset}:{slice_.offset + slice_.bytes}]"


def _three(sizes: tuple[int, int, int]) -> str:
    return "x".join(map(str, sizes))


def _type(kind: TensorType) -> str:
    return f"tensor<{''.join(f'{n}x' for n in kind.shape)}{kind.element}>"
