# ruff: noqa: E501 (ops are easier to read on one line)
"""Random programs of the ops that rules look at, small enough to evaluate in milliseconds."""

from __future__ import annotations

import math

import numpy as np

Shape = tuple[int, ...]


class RandomGraph:
    """Builds a function op by op; every value is a tensor of f32, i32 or i1."""

    def __init__(self, seed: int, size: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._lines: list[str] = []
        self.values: list[tuple[str, Shape, str]] = []
        self.arguments = [
            ((2, 3), "f32"),
            ((3,), "f32"),
            ((1, 3, 1), "f32"),
            ((2, 3), "i32"),
            ((), "i32"),
        ]
        for index, (shape, element) in enumerate(self.arguments):
            self.values.append((f"%x{index}", shape, element))
        makers = [
            self._constant, self._iota, self._binary, self._unary, self._compare, self._select,
            self._broadcast, self._reshape, self._transpose, self._slice, self._concatenate, self._pad,
            self._reverse, self._convert, self._dynamic_slice, self._update, self._reduce, self._gather,
            self._scatter,
        ]  # fmt: skip
        for _ in range(size):
            makers[self._rng.integers(len(makers))]()

    def text(self) -> str:
        """The module; it returns the last few values."""
        results = self.values[-6:]
        inputs = ", ".join(
            f"%x{index}: {_type(shape, element)}"
            for index, (shape, element) in enumerate(self.arguments)
        )
        types = ", ".join(_type(shape, element) for _, shape, element in results)
        names = ", ".join(name for name, _, _ in results)
        body = "\n".join(self._lines)
        return f"func.func @main({inputs}) -> ({types}) {{\n{body}\nreturn {names} : {types}\n}}"

    def _pick(self, element: str | None = None, rank: int = 0) -> tuple[str, Shape, str]:
        """A value, recent ones more often."""
        fitting = [
            v for v in self.values if (element is None or v[2] == element) and len(v[1]) >= rank
        ]
        position = int(len(fitting) * math.sqrt(self._rng.random()))
        return fitting[min(position, len(fitting) - 1)]

    def _emit(self, op: str, shape: Shape, element: str) -> str:
        name = f"%{len(self._lines)}"
        self._lines.append(f"{name} = {op}")
        self.values.append((name, shape, element))
        return name

    def _integer(self, low: int, high: int) -> int:
        return int(self._rng.integers(low, high + 1))

    def _constant(self) -> None:
        shape = [(2, 3), (3,), (), (1, 3, 1)][self._integer(0, 3)]
        element = ["f32", "i32"][self._integer(0, 1)]
        numbers = {
            "f32": ["0.0", "-0.0", "1.0", "-1.0", "2.0", "0xFF800000"],
            "i32": ["0", "1", "-1", "2", "3", "-7"],
        }
        number = numbers[element][self._integer(0, 5)]
        if element == "i32" and shape == (3,) and self._integer(0, 1):
            number = f"[{self._integer(-1, 3)}, {self._integer(-1, 3)}, {self._integer(-1, 3)}]"
        self._emit(f"hlo.constant dense<{number}> : {_type(shape, element)}", shape, element)

    def _iota(self) -> None:
        shape = [(2, 3), (3,), (1, 4), (20,)][self._integer(0, 3)]
        dim = self._integer(0, len(shape) - 1)
        self._emit(f"hlo.iota dim = {dim} : {_type(shape, 'i32')}", shape, "i32")

    def _same_shape(self, value: tuple[str, Shape, str]) -> str:
        fitting = [v for v in self.values if v[1:] == value[1:]]
        return fitting[self._integer(0, len(fitting) - 1)][0]

    def _binary(self) -> None:
        value = self._pick()
        ops = {
            "f32": ["add", "subtract", "multiply", "divide", "maximum", "minimum"],
            "i32": [
                "add",
                "subtract",
                "multiply",
                "divide",
                "remainder",
                "maximum",
                "minimum",
                "and",
                "or",
                "xor",
            ],
            "i1": ["and", "or", "xor"],
        }[value[2]]
        op = ops[self._integer(0, len(ops) - 1)]
        kind = _type(*value[1:])
        self._emit(f"hlo.{op} {value[0]}, {self._same_shape(value)} : {kind}", *value[1:])

    def _unary(self) -> None:
        value = self._pick()
        ops = {"f32": ["negate", "abs", "floor"], "i32": ["negate", "abs", "not"], "i1": ["not"]}[
            value[2]
        ]
        op = ops[self._integer(0, len(ops) - 1)]
        self._emit(f"hlo.{op} {value[0]} : {_type(*value[1:])}", *value[1:])

    def _compare(self) -> None:
        value = self._pick()
        direction = ["EQ", "NE", "LT", "LE", "GT", "GE"][self._integer(0, 5)]
        kind, result = _type(*value[1:]), _type(value[1], "i1")
        other = self._same_shape(value)
        self._emit(
            f"hlo.compare {direction}, {value[0]}, {other} : ({kind}, {kind}) -> {result}",
            value[1],
            "i1",
        )

    def _select(self) -> None:
        if all(v[2] != "i1" for v in self.values):
            return
        predicate = self._pick("i1")
        fitting = [v for v in self.values if v[1] == predicate[1]]
        value = fitting[self._integer(0, len(fitting) - 1)]
        kind = _type(*value[1:])
        self._emit(
            f"hlo.select {predicate[0]}, {value[0]}, {self._same_shape(value)} : {_type(predicate[1], 'i1')}, {kind}",
            *value[1:],
        )

    def _broadcast(self) -> None:
        name, shape, element = self._pick()
        if len(shape) > 2:
            return
        new = self._integer(1, 3)
        at = self._integer(0, len(shape))
        result = (*shape[:at], new, *shape[at:])
        dims = [d + (d >= at) for d in range(len(shape))]
        self._emit(
            f"hlo.broadcast_in_dim {name}, dims = {dims} : ({_type(shape, element)}) -> {_type(result, element)}",
            result, element,
        )  # fmt: skip

    def _reshape(self) -> None:
        name, shape, element = self._pick()
        size = math.prod(shape)
        choices: list[Shape] = [(size,), (1, size), (*shape, 1), tuple(s for s in shape if s != 1)]
        result = choices[self._integer(0, 3)]
        if len(result) > 4:
            return
        self._emit(
            f"hlo.reshape {name} : ({_type(shape, element)}) -> {_type(result, element)}",
            result,
            element,
        )

    def _transpose(self) -> None:
        name, shape, element = self._pick(rank=1)
        dims = [int(d) for d in self._rng.permutation(len(shape))]
        result = tuple(shape[d] for d in dims)
        self._emit(
            f"hlo.transpose {name}, dims = {dims} : ({_type(shape, element)}) -> {_type(result, element)}",
            result,
            element,
        )

    def _slice(self) -> None:
        name, shape, element = self._pick(rank=1)
        ranges, result = [], []
        for size in shape:
            low = self._integer(0, max(size - 1, 0))
            high = self._integer(low, size)
            step = self._integer(1, 2)
            ranges.append(f"{low}:{high}:{step}")
            result.append(-(-(high - low) // step))
        if math.prod(result) == 0 and self._integer(0, 3):
            return
        self._emit(
            f"hlo.slice {name} [{', '.join(ranges)}] : ({_type(shape, element)}) -> {_type(tuple(result), element)}",
            tuple(result), element,
        )  # fmt: skip

    def _concatenate(self) -> None:
        value = self._pick(rank=1)
        name, shape, element = value
        dim = self._integer(0, len(shape) - 1)
        if math.prod(shape) > 60:
            return
        other = self._same_shape(value)
        result = tuple(s * 2 if d == dim else s for d, s in enumerate(shape))
        kind = _type(shape, element)
        self._emit(
            f"hlo.concatenate {name}, {other}, dim = {dim} : ({kind}, {kind}) -> {_type(result, element)}",
            result,
            element,
        )

    def _pad(self) -> None:
        name, shape, element = self._pick("f32", rank=1)
        low, high, gap = ([self._integer(-1, 1) for _ in shape], [self._integer(-1, 1) for _ in shape],
                          [self._integer(0, 1) for _ in shape])  # fmt: skip
        result = tuple(
            a + s + max(s - 1, 0) * g + b for a, b, g, s in zip(low, high, gap, shape, strict=True)
        )
        if any(s < 0 for s in result) or math.prod(result) > 200:
            return
        scalar = self._emit("hlo.constant dense<1.0> : tensor<f32>", (), "f32")
        self._emit(
            f"hlo.pad {name}, {scalar}, low = {low}, high = {high}, interior = {gap} : "
            f"({_type(shape, element)}, tensor<f32>) -> {_type(result, element)}",
            result, element,
        )  # fmt: skip

    def _reverse(self) -> None:
        name, shape, element = self._pick(rank=1)
        dims = sorted({self._integer(0, len(shape) - 1) for _ in range(2)})
        self._emit(f"hlo.reverse {name}, dims = {dims} : {_type(shape, element)}", shape, element)

    def _convert(self) -> None:
        name, shape, element = self._pick()
        target = {"f32": "i32", "i32": "f32", "i1": "i32"}[element]
        if element == "f32":
            return  # conversions out of range are not defined
        self._emit(
            f"hlo.convert {name} : ({_type(shape, element)}) -> {_type(shape, target)}",
            shape,
            target,
        )

    def _starts(self, shape: Shape) -> list[str]:
        scalars = [v[0] for v in self.values if v[1:] == ((), "i32")]
        return [scalars[self._integer(0, len(scalars) - 1)] for _ in shape]

    def _dynamic_slice(self) -> None:
        name, shape, element = self._pick(rank=1)
        result = tuple(self._integer(1, s) if s else 0 for s in shape)
        starts = self._starts(shape)
        kinds = ", ".join([_type(shape, element), *["tensor<i32>"] * len(starts)])
        self._emit(
            f"hlo.dynamic_slice {name}, {', '.join(starts)}, sizes = {list(result)} : ({kinds}) -> {_type(result, element)}",
            result, element,
        )  # fmt: skip

    def _update(self) -> None:
        name, shape, element = self._pick(rank=1)
        fitting = [
            v for v in self.values
            if v[2] == element and len(v[1]) == len(shape) and all(a <= b for a, b in zip(v[1], shape, strict=True))
        ]  # fmt: skip
        update = fitting[self._integer(0, len(fitting) - 1)]
        starts = self._starts(shape)
        kinds = ", ".join(
            [_type(shape, element), _type(*update[1:]), *["tensor<i32>"] * len(starts)]
        )
        self._emit(
            f"hlo.dynamic_update_slice {name}, {update[0]}, {', '.join(starts)} : ({kinds}) -> {_type(shape, element)}",
            shape, element,
        )  # fmt: skip

    def _reduce(self) -> None:
        name, shape, element = self._pick(rank=1)
        if element == "i1":
            return
        dim = self._integer(0, len(shape) - 1)
        op, initial = [("add", "0"), ("maximum", "-3"), ("minimum", "5"), ("multiply", "1")][
            self._integer(0, 3)
        ]
        suffix = ".0" if element == "f32" else ""
        scalar = self._emit(
            f"hlo.constant dense<{initial}{suffix}> : tensor<{element}>", (), element
        )
        result = tuple(s for d, s in enumerate(shape) if d != dim)
        self._emit(
            f'"hlo.reduce"({name}, {scalar}) <{{dimensions = array<i64: {dim}>}}> ({{\n'
            f"^bb0(%a: tensor<{element}>, %b: tensor<{element}>):\n%s = hlo.{op} %a, %b : tensor<{element}>\n"
            f"hlo.return %s : tensor<{element}>\n}}) : ({_type(shape, element)}, tensor<{element}>) -> {_type(result, element)}",
            result, element,
        )  # fmt: skip

    def _gather(self) -> None:
        indices = [v for v in self.values if v[1] == (3,) and v[2] == "i32"]
        name, shape, element = self._pick(rank=1)
        if not indices or shape[0] == 0:
            return
        index = indices[self._integer(0, len(indices) - 1)][0]
        result = (3, *shape[1:])
        offsets = list(range(1, len(shape)))
        sizes = ", ".join(str(s) for s in (1, *shape[1:]))
        self._emit(
            f'"hlo.gather"({name}, {index}) <{{dimension_numbers = #hlo.gather<offset_dims = {offsets}, '
            f"collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: {sizes}>}}> : "
            f"({_type(shape, element)}, tensor<3xi32>) -> {_type(result, element)}",
            result, element,
        )  # fmt: skip

    def _scatter(self) -> None:
        indices = [v for v in self.values if v[1] == (3,) and v[2] == "i32"]
        updates = [v for v in self.values if len(v[1]) >= 1 and v[1][0] == 3 and v[2] != "i1"]
        if not indices or not updates:
            return
        index = indices[self._integer(0, len(indices) - 1)][0]
        update, shape, element = updates[self._integer(0, len(updates) - 1)]
        operands = [
            v
            for v in self.values
            if v[2] == element and v[1][1:] == shape[1:] and len(v[1]) == len(shape)
        ]
        operand, whole, _ = operands[self._integer(0, len(operands) - 1)]
        compute = "%s = hlo.add %a, %b" if self._integer(0, 1) else "%s = hlo.maximum %a, %b"
        windows = list(range(1, len(shape)))
        self._emit(
            f'"hlo.scatter"({operand}, {index}, {update}) <{{scatter_dimension_numbers = #hlo.scatter<update_window_dims = {windows}, '
            f"inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{\n"
            f"^bb0(%a: tensor<{element}>, %b: tensor<{element}>):\n{compute} : tensor<{element}>\n"
            f"hlo.return %s : tensor<{element}>\n}}) : ({_type(whole, element)}, tensor<3xi32>, {_type(shape, element)}) -> {_type(whole, element)}",
            whole, element,
        )  # fmt: skip


def _type(shape: Shape, element: str) -> str:
    return "tensor<" + "".join(f"{size}x" for size in shape) + element + ">"
