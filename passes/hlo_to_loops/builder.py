"""Builds the text of one kernel: SSA numbering, scoped CSE, structured loops.

Text, not op objects: it costs half as much to build, a mistake is a parse error instead of an
assertion that ends the process, and after numbering it is the key by which identical kernels are
found.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from hlo.passes.hlo_to_loops.element_types import ElementType
from hlo.passes.hlo_to_loops.stack import KERNEL_STACK_BYTES, element_bytes


@dataclass(frozen=True)
class Value:
    """One element (or W lanes of elements) in registers.

    Attributes:
        type: element type in the language.
        parts: SSA names, one, or (real, imaginary) for complex.
        lanes: 0 for a scalar, else the number of vector lanes.
    """

    type: ElementType
    parts: tuple[str, ...]
    lanes: int = 0

    @property
    def name(self) -> str:
        """The SSA name of a value that is not complex."""
        assert len(self.parts) == 1
        return self.parts[0]


@dataclass
class Loop:
    """An open `scf.for`: its induction variable, its carried values, and, once closed, results."""

    iv: str
    carried: list[str]
    results: list[str]
    yielded: list[str] = field(default_factory=list[str])


def float_bits(value: float, bits: int) -> str:
    """Hexadecimal form of a float constant that MLIR's parser reads back bit by bit."""
    try:
        return f"0x{struct.pack('>f' if bits == 32 else '>d', value).hex().upper()}"
    except OverflowError:
        return float_bits(float("inf") if value > 0 else float("-inf"), bits)


class Builder:
    """Text of a kernel body under construction.

    `lanes` is the current vector width: `type_of`, `constant` and the elementwise emitters build
    scalars when it is 0 and `vector<lanes x ...>` otherwise.
    """

    # Whether a NaN that a float op gives is an operand's, made quiet, or has no bits but the first.
    keeps_nans = True
    # Whether the code is for the machine that compiles it, and may use its instructions.
    is_for_host = True
    # Whether what is rarely needed may be a function of its own; see `call_rare`.
    outlines = False

    def __init__(self, lanes: int = 0) -> None:
        self.lanes = lanes
        self._constants: list[str] = []
        # One list of lines and one table of known ops for each open region, outermost first.
        self._regions: list[list[str]] = [[]]
        self._scopes: list[dict[object, Any]] = [{}]
        # Regions of the stack below this level run unconditionally where the current one does.
        self._guard = 0
        self._loop_level = 0
        # The names defined in each open region; function arguments are in none.
        self._defined: list[set[str]] = [set()]
        self._next = 0
        self._stack_bytes = 0
        # Values of the integer, the float and the index constants, by name.
        self._integers: dict[str, int] = {}
        self._floats: dict[str, float] = {}
        self._indices: dict[str, int] = {}
        self._splats: dict[str, str] = {}
        # How many lanes, the first ones, each mask of `first_lanes` lets through.
        self.lanes_of_mask: dict[str, int] = {}
        # Texts of the functions that the body calls, by name.
        self._functions: dict[str, str] = {}

    # -- names and types ---------------------------------------------------------------------------
    def fresh(self) -> str:
        self._next += 1
        name = f"%{self._next}"
        self._defined[-1].add(name)
        return name

    def type_of(self, scalar: str) -> str:
        """`f32` as it stands at the current width: `f32` or `vector<16xf32>`."""
        return f"vector<{self.lanes}x{scalar}>" if self.lanes else scalar

    @contextmanager
    def width(self, lanes: int) -> Generator[None]:
        """Builds at another vector width inside the `with`."""
        saved, self.lanes = self.lanes, lanes
        try:
            yield
        finally:
            self.lanes = saved

    # -- straight-line ops -------------------------------------------------------------------------
    def op(self, text: str) -> str:
        """Appends a pure op with one result; an equal one in scope is reused."""
        for scope in reversed(self._scopes):
            if (known := scope.get(text)) is not None:
                return known
        name = self.fresh()
        self.effect(f"{name} = {text}")
        self._scopes[-1][text] = name
        return name

    def load(self, text: str) -> str:
        """Appends an op with one result that reads memory: never reused across stores."""
        name = self.fresh()
        self.effect(f"{name} = {text}")
        return name

    def effect(self, text: str) -> None:
        """Appends an op without results."""
        self._regions[-1].append("  " * len(self._regions) + text)

    # -- what is known in the open regions ---------------------------------------------------------
    def recall(self, key: object) -> Any | None:
        """What `remember` stored under `key` in the innermost open region that has it, or None."""
        for scope in reversed(self._scopes):
            if (known := scope.get(key)) is not None:
                return known
        return None

    def remember(self, key: object, value: object) -> None:
        """Stores `value` under `key` until the current region closes."""
        self._scopes[-1][key] = value

    def is_visible(self, name: str, level: int) -> bool:
        """Whether an SSA name is an argument or defined in an open region at most `level` deep."""
        return all(name not in defined for defined in self._defined[level + 1 :])

    @property
    def level(self) -> int:
        """How many regions are open around the next op, the function body excluded."""
        return len(self._regions) - 1

    @property
    def loop_level(self) -> int:
        """The level of the innermost loop's body around the next op, conditions in it excluded."""
        return min(self._loop_level, self.level)

    @property
    def region(self) -> object:
        """A token for the innermost open region; see `is_inside`."""
        return self._regions[-1]

    def is_inside(self, region: object) -> bool:
        """Whether the next op goes into `region` or one nested in it, rather than ahead of it."""
        return any(open_region is region for open_region in self._regions)

    def can_hoist_to(self, level: int) -> bool:
        """Whether what is computed here may be computed at `level`: no condition lies between."""
        return level >= self._guard

    @contextmanager
    def at_level(self, level: int) -> Generator[None]:
        """Builds in the enclosing region `level`, ahead of the region now open inside it."""
        saved, end = (self._regions, self._scopes, self._defined), level + 1
        self._regions, self._scopes = self._regions[:end], self._scopes[:end]
        self._defined = self._defined[:end]
        try:
            yield
        finally:
            self._regions, self._scopes, self._defined = saved

    def constant(self, value: float | int | bool, scalar: str) -> str:
        """A constant of type `scalar` in every lane of the current width, at the kernel's entry."""
        if scalar == "i1":
            literal = "true" if value else "false"
        elif scalar[0] == "f":
            if scalar == "f16":
                literal = f"0x{struct.pack('>e', value).hex().upper()}"
            else:
                literal = float_bits(float(value), int(scalar[1:]))
        elif scalar == "index":
            literal = str(int(value))
        else:
            bits = int(scalar[1:])
            wrapped = int(value) & ((1 << bits) - 1)
            literal = str(wrapped - (1 << bits) if wrapped >> (bits - 1) else wrapped)
        typ = self.type_of(scalar)
        # The parser takes a scalar `true` or `false` without a type only.
        typed = (
            f"dense<{literal}> : {typ}"
            if self.lanes
            else literal
            if scalar == "i1"
            else f"{literal} : {typ}"
        )
        known, fresh = self._entry_constant(typed)
        if fresh and scalar[0] == "i" and scalar not in ("i1", "index"):
            self._integers[known] = int(literal)
        elif scalar[0] == "f":
            self._floats[known] = float(value)
        return known

    def table(self, values: Sequence[float], scalar: str) -> str:
        """A constant with one `f32` or `f64` value a lane of the current width."""
        assert len(values) == self.lanes
        listed = ", ".join(float_bits(value, int(scalar[1:])) for value in values)
        return self._entry_constant(f"dense<[{listed}]> : {self.type_of(scalar)}")[0]

    def first_lanes(self, count: int, lanes: int) -> str:
        """A mask of the first `count` of `lanes` lanes."""
        bits = ", ".join(["true"] * count + ["false"] * (lanes - count))
        name, _ = self._entry_constant(f"dense<[{bits}]> : vector<{lanes}xi1>")
        self.lanes_of_mask[name] = count
        return name

    def lanes_below(self, count: str, lanes: int) -> str:
        """A mask of the first lanes, as many as the `index` value `count` says."""
        numbers = ", ".join(map(str, range(lanes)))
        ramp, _ = self._entry_constant(f"dense<[{numbers}]> : vector<{lanes}xi32>")
        limit = self.op(f"arith.index_cast {count} : index to i32")
        with self.width(lanes):
            return self.op(
                f"arith.cmpi slt, {ramp}, {self.splat(limit, 'i32')} : vector<{lanes}xi32>"
            )

    def part(self, name: str, scalar: str, start: int, count: int) -> str:
        """Lanes `start` to `start + count` of a vector at the current width."""
        order, kind = ", ".join(map(str, range(start, start + count))), self.type_of(scalar)
        return self.op(f"vector.shuffle {name}, {name} [{order}] : {kind}, {kind}")

    def _entry_constant(self, typed: str) -> tuple[str, bool]:
        """The name of a constant at the kernel's entry, and whether it is new."""
        text = f"arith.constant {typed}"
        known = self._scopes[0].get(text)
        if known is not None:
            return known, False
        name = self.fresh()
        self._constants.append(f"  {name} = {text}")
        self._scopes[0][text] = name
        return name, True

    def integer_of(self, name: str) -> int | None:
        """The signed value that all lanes of an integer constant have; None of anything else."""
        return self._integers.get(name)

    def float_of(self, name: str) -> float | None:
        """The value that all lanes of a float constant have; None of anything else."""
        return self._floats.get(name)

    def index(self, value: int) -> str:
        """A scalar `index` constant, whatever the current width."""
        with self.width(0):
            name = self.constant(value, "index")
        self._indices[name] = value
        return name

    def has_stack(self, elements: int, scalar: str) -> bool:
        """Whether the kernel may keep another such buffer on the stack."""
        return self._stack_bytes + elements * element_bytes(scalar) <= KERNEL_STACK_BYTES

    def stack_buffer(self, elements: int, scalar: str) -> str:
        """A buffer on the stack, aligned for vectors, made at the kernel's entry.

        See `has_stack` for where there may be many.
        """
        name = self.fresh()
        self._stack_bytes += elements * element_bytes(scalar)
        self._constants.append(
            f"  {name} = memref.alloca() {{alignment = 64}} : memref<{elements}x{scalar}>"
        )
        return name

    def splat(self, scalar_name: str, scalar_type: str) -> str:
        """A scalar SSA value in every lane of the current width."""
        if not self.lanes:
            return scalar_name
        if (value := self.integer_of(scalar_name)) is not None:
            return self.constant(value, scalar_type)
        name = self.op(
            f"vector.broadcast {scalar_name} : {scalar_type} to {self.type_of(scalar_type)}"
        )
        self._splats[name] = scalar_name
        return name

    def scalar_before_loop(self, name: str) -> tuple[str, int] | None:
        """The scalar that all lanes of a vector are, if it is the same in all turns of the
        innermost loop, and the level of the region where it is defined.
        """
        scalar = self._splats.get(name)
        if scalar is None:
            return None
        level = next(k for k in range(self.level + 1) if self.is_visible(scalar, k))
        return (scalar, level) if level < self.loop_level else None

    def join(self, parts: Sequence[str], scalar: str, lanes: int) -> str:
        """A power of two of vectors of `lanes` lanes as one, the first ones' lanes first."""
        names = list(parts)
        while len(names) > 1:
            kind, order = f"vector<{lanes}x{scalar}>", ", ".join(map(str, range(2 * lanes)))
            names = [
                self.op(f"vector.shuffle {low}, {high} [{order}] : {kind}, {kind}")
                for low, high in zip(names[::2], names[1::2], strict=True)
            ]
            lanes *= 2
        return names[0]

    # -- structure ---------------------------------------------------------------------------------
    @contextmanager
    def _region(
        self, head: Callable[[], str] | None, *, conditional: bool = False
    ) -> Generator[None]:
        """Opens a region; when it closes well, `head()` and the body are appended.

        A region left by an exception disappears with all it holds. One without a head is none of
        MLIR's: what is computed in it is known in it alone.
        """
        guard, loop_level = self._guard, self._loop_level
        self._regions.append([])
        self._scopes.append({})
        self._defined.append(set())
        if conditional:
            self._guard = self.level
        else:
            self._loop_level = self.level
        try:
            yield
        except BaseException:
            self._regions.pop()
            raise
        else:
            body = self._regions.pop()
            if head is not None:
                self.effect(head())
            self._regions[-1].extend(body)
        finally:
            self._guard, self._loop_level = guard, loop_level
            self._scopes.pop()
            self._defined.pop()

    @contextmanager
    def loop(
        self, lower: str, upper: str, step: str, carried: Sequence[tuple[str, str]] = (),
        *, unroll: int = 0,
    ) -> Generator[Loop]:  # fmt: skip
        """An `scf.for` over `index`; `carried` gives (initial SSA name, MLIR type) pairs.

        Set `loop.yielded` inside the `with`; read `loop.results` after it. Of a loop that is known
        to go round once there is only the body.

        Args:
            unroll: how often LLVM repeats the body in one round; 0 leaves that to it.
        """
        if (only := self._only_round(lower, upper, step)) is not None:
            with self._once(only, [init for init, _ in carried]) as loop:
                yield loop
            return
        outer = self._defined[-1]
        before = set(outer)
        iv = self.fresh()
        names = [self.fresh() for _ in carried]
        inside = outer - before
        outer -= inside
        types = ", ".join(t for _, t in carried)
        head = f"scf.for {iv} = {lower} to {upper} step {step}"
        loop = Loop(iv, names, [])
        if carried:
            result = self.fresh()
            loop.results = (
                [result] if len(carried) == 1 else [f"{result}#{i}" for i in range(len(carried))]
            )
            inits = ", ".join(f"{n} = {init}" for n, (init, _) in zip(names, carried, strict=True))
            packed = result if len(carried) == 1 else f"{result}:{len(carried)}"
            head = f"{packed} = {head} iter_args({inits}) -> ({types})"
        with self._region(lambda: head + " {"):
            self._defined[-1] |= inside
            yield loop
            if carried:
                assert len(loop.yielded) == len(carried), "a loop must yield every carried value"
                self.effect(f"scf.yield {', '.join(loop.yielded)} : {types}")
        how = f"count = {unroll} : i32" if unroll > 1 else "disable = true"
        note = f" {{llvm.loop_annotation = #llvm.loop_annotation<unroll = <{how}>>}}"
        self.effect(f"}}{note}" if unroll else "}")

    def _only_round(self, lower: str, upper: str, step: str) -> int | None:
        """The counter of a loop's one round, if it is known to be the only one."""
        first, end, stride = map(self._indices.get, (lower, upper, step))
        if first is None or end is None or stride is None:
            return None
        return first if first < end <= first + stride else None

    @contextmanager
    def _once(self, counter: int, carried: Sequence[str]) -> Generator[Loop]:
        """The body of a loop that goes round once, in a region of the builder's alone."""
        with self._region(None):
            iv = self.fresh()
            self.effect(f"{iv} = arith.constant {counter} : index")
            loop = Loop(iv, list(carried), [])
            yield loop
        assert len(loop.yielded) == len(carried), "a loop must yield every carried value"
        loop.results = list(loop.yielded)

    @contextmanager
    def when(self, condition: str) -> Generator[None]:
        """An `scf.if` without results."""
        with self._region(lambda: f"scf.if {condition} {{", conditional=True):
            yield
        self.effect("}")

    @contextmanager
    def choice(self, condition: str, types: Sequence[str]) -> Generator[Choice]:
        """An `scf.if` with results: use `with choice.then():`, `with choice.otherwise():`."""
        choice = Choice(self, condition, list(types))
        yield choice
        self.effect("}")

    def call_rare(
        self,
        name: str,
        operands: Sequence[tuple[str, str]],
        results: Sequence[str],
        body: Callable[[Builder, list[str]], list[str]],
    ) -> list[str]:
        """Results of a function that is seldom called, one for all places of the kernel.

        It is compiled once, and a call from a cold function's side is an unlikely path to LLVM,
        which then keeps its registers for the common one.

        Args:
            name: what the function computes; its text must depend on that and the types alone.
            operands: (SSA name, MLIR type) of each.
            results: MLIR types.
            body: builds the results from the parameters.
        """
        kinds = ", ".join(kind for _, kind in operands)
        given = ", ".join(results)
        symbol = f"{name}_{self.lanes}"
        if symbol not in self._functions:
            inner = Builder(self.lanes)
            parameters = [f"%in{i}" for i in range(len(operands))]
            returned = ", ".join(body(inner, parameters))
            typed = ", ".join(f"{p}: {k}" for p, (_, k) in zip(parameters, operands, strict=True))
            marks = 'llvm.linkage = #llvm.linkage<internal>, passthrough = ["cold", "noinline"]'
            self._functions[symbol] = (
                f"func.func private @NAME__{symbol}({typed}) -> ({given}) attributes {{{marks}}} {{"
                f"\n{inner.text()}\n  return {returned} : {given}\n}}\n"
            )
        names = ", ".join(operand for operand, _ in operands)
        found, count = self.fresh(), len(results)
        self.effect(
            f"{found}:{count} = func.call @NAME__{symbol}({names}) : ({kinds}) -> ({given})"
        )
        return [f"{found}#{i}" for i in range(count)] if count > 1 else [found]

    def text(self) -> str:
        """The body: constants first, then the ops in order."""
        return "\n".join(self._constants + self._regions[0])

    def functions_text(self) -> str:
        """The functions that the body calls, to stand behind the one that it is the body of."""
        return "".join(self._functions.values())


class Choice:
    """An open `scf.if` with results; set `yielded` in each arm, read `results` afterwards."""

    def __init__(self, builder: Builder, condition: str, types: list[str]) -> None:
        self._builder = builder
        self._types = types
        self.yielded: list[str] = []
        result = builder.fresh()
        self.results = [result] if len(types) == 1 else [f"{result}#{i}" for i in range(len(types))]
        packed = result if len(types) == 1 else f"{result}:{len(types)}"
        self._head = f"{packed} = scf.if {condition} -> ({', '.join(types)}) {{"

    @contextmanager
    def then(self) -> Generator[None]:
        yield from self._arm(self._head)

    @contextmanager
    def otherwise(self) -> Generator[None]:
        yield from self._arm("} else {")

    def _arm(self, head: str) -> Generator[None]:
        region = self._builder._region(lambda: head, conditional=True)  # pyright: ignore[reportPrivateUsage]
        with region:
            yield
            self._builder.effect(f"scf.yield {', '.join(self.yielded)} : {', '.join(self._types)}")
