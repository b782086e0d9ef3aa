"""Random programs: movement, elementwise ops, folds, updates, loops and branches, nested."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import numpy as np
from core_programs import Array, number, reducer, sample, tensor

Name = tuple[str, tuple[int, ...]]  # SSA name and shape

SIZES = (1, 2, 3, 5, 8, 17, 32, 64)
MOST_ELEMENTS = 3000


class RandomProgram:
    """A program of one element type with integer counters beside it.

    Attributes:
        text: the module.
        arguments: one array for each argument.
    """

    def __init__(self, seed: int, kind: str = "i32", ops: int = 25) -> None:
        self._random = random.Random(seed)
        self._kind = kind
        self._lines: list[str] = []
        self._count = 0
        self._depth = 0
        self.arguments: list[Array] = []
        parameters: list[str] = []
        pool: list[Name] = []
        for i in range(3):
            shape = self._shape()
            pool.append((f"%arg{i}", shape))
            parameters.append(f"%arg{i}: {tensor(shape, kind)}")
            self.arguments.append(sample(shape, kind, seed + i))
        parameters.append("%n: tensor<i32>")
        self.arguments.append(np.asarray(self._random.randint(0, 4), np.int32))
        for _ in range(ops):
            self._grow(pool)
        results = [self._pick(pool) for _ in range(self._random.randint(1, 4))] + [pool[-1]]
        types = ", ".join(tensor(s, kind) for _, s in results)
        body = "\n".join(self._lines)
        self.text = (
            f"func.func @main({', '.join(parameters)}) -> ({types}) {{\n{body}\n"
            f"return {', '.join(n for n, _ in results)} : {types}\n}}\n"
        )

    # -- pieces ------------------------------------------------------------------------------------
    def _shape(self) -> tuple[int, ...]:
        while True:
            shape = tuple(self._random.choice(SIZES) for _ in range(self._random.randint(0, 3)))
            if int(np.prod(shape)) <= MOST_ELEMENTS:
                return shape

    def _pick(self, pool: list[Name]) -> Name:
        """Recent values are likelier."""
        at = int(len(pool) * self._random.random() ** 0.6)
        return pool[at]

    def _fresh(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def _emit(
        self, name: str, operands: list[Name], shape: tuple[int, ...], attributes: str = "",
        regions: str = "", extra: str = "", extra_types: str = "",
    ) -> Name:  # fmt: skip
        result = self._fresh()
        operand_names = ", ".join(n for n, _ in operands) + extra
        types = ", ".join(tensor(s, self._kind) for _, s in operands) + extra_types
        self._lines.append(
            f'{result} = "hlo.{name}"({operand_names}){f" ({regions})" if regions else ""} '
            f"{{{attributes}}} : ({types}) -> {tensor(shape, self._kind)}"
        )
        return result, shape

    def _constant(self, value: int, shape: tuple[int, ...] = ()) -> Name:
        return self._emit(
            "constant", [], shape,
            f"value = dense<{number(value, self._kind)}> : {tensor(shape, self._kind)}",
        )  # fmt: skip

    def _index(self, limit: int) -> str:
        """A scalar i32: a constant, perhaps out of range, or one that depends on %n."""
        result = self._fresh()
        value = self._random.randint(-2, limit + 2)
        self._lines.append(
            f'{result} = "hlo.constant"() {{value = dense<{value}> : tensor<i32>}} '
            ": () -> tensor<i32>"
        )
        if self._random.random() < 0.5:
            total = self._fresh()
            self._lines.append(
                f'{total} = "hlo.add"({result}, %n) : (tensor<i32>, tensor<i32>) -> tensor<i32>'
            )
            return total
        return result

    def _grow(self, pool: list[Name]) -> None:
        steps: list[Callable[[list[Name]], Name | None]] = [
            self._binary, self._binary, self._binary, self._unary, self._broadcast,
            self._transpose, self._reshape, self._slice, self._pad, self._concatenate,
            self._reverse, self._reduce, self._reduce, self._normalise, self._dot, self._update,
            self._update, self._take, self._scatter, self._gather, self._window, self._totals,
            self._select, self._iota, self._sort, self._shift,
        ]  # fmt: skip
        if self._depth < 2:
            steps += [self._loop, self._branch]
        value = self._random.choice(steps)(pool)
        if value is not None:
            pool.append(value)

    # -- ops ---------------------------------------------------------------------------------------
    def _partner(self, pool: list[Name], shape: tuple[int, ...]) -> Name:
        same = [v for v in pool if v[1] == shape]
        return self._random.choice(same)

    def _binary(self, pool: list[Name]) -> Name:
        x = self._pick(pool)
        y = self._partner(pool, x[1])
        name = self._random.choice(["add", "subtract", "maximum", "minimum"])
        return self._emit(name, [x, y], x[1])

    def _unary(self, pool: list[Name]) -> Name:
        x = self._pick(pool)
        names = ["negate", "abs", "tanh"] if "f" in self._kind else ["negate", "abs"]
        return self._emit(self._random.choice(names), [x], x[1])

    def _broadcast(self, pool: list[Name]) -> Name | None:
        x = self._pick(pool)
        rank = len(x[1]) + self._random.randint(0, 3 - min(len(x[1]), 3))
        dims = sorted(self._random.sample(range(rank), len(x[1])))
        shape = [self._random.choice(SIZES) for _ in range(rank)]
        for d, n in zip(dims, x[1], strict=True):
            if n != 1:
                shape[d] = n
        if int(np.prod(shape)) > MOST_ELEMENTS:
            return None
        listed = ": " + ", ".join(map(str, dims)) if dims else ""
        return self._emit(
            "broadcast_in_dim", [x], tuple(shape), f"broadcast_dimensions = array<i64{listed}>"
        )

    def _transpose(self, pool: list[Name]) -> Name | None:
        x = self._pick(pool)
        order = list(range(len(x[1])))
        if not order:
            return None
        self._random.shuffle(order)
        listed = ", ".join(map(str, order))
        return self._emit(
            "transpose", [x], tuple(x[1][d] for d in order), f"permutation = array<i64: {listed}>"
        )

    def _reshape(self, pool: list[Name]) -> Name:
        x = self._pick(pool)
        size = int(np.prod(x[1]))
        divisors = [d for d in range(1, size + 1) if size % d == 0]
        first = self._random.choice(divisors)
        shape = self._random.choice([(size,), (first, size // first), (1, first, size // first)])
        return self._emit("reshape", [x], shape)

    def _slice(self, pool: list[Name]) -> Name | None:
        x = self._pick(pool)
        if not x[1]:
            return None
        starts, limits, steps = [], [], []
        for n in x[1]:
            start = self._random.randint(0, n - 1)
            starts.append(start)
            limits.append(self._random.randint(start + 1, n))
            steps.append(self._random.choice([1, 1, 2, 3]))
        shape = tuple(-(-(b - a) // s) for a, b, s in zip(starts, limits, steps, strict=True))
        texts = [", ".join(map(str, v)) for v in (starts, limits, steps)]
        return self._emit(
            "slice", [x], shape,
            f"start_indices = array<i64: {texts[0]}>, limit_indices = array<i64: {texts[1]}>, "
            f"strides = array<i64: {texts[2]}>",
        )  # fmt: skip

    def _pad(self, pool: list[Name]) -> Name | None:
        x = self._pick(pool)
        if not x[1]:
            return None
        low = [self._random.choice([0, 0, 1, -1, 3]) for _ in x[1]]
        high = [self._random.choice([0, 0, 1, -1, 2]) for _ in x[1]]
        gap = [self._random.choice([0, 0, 0, 1]) for _ in x[1]]
        shape = tuple(
            n + a + b + (n - 1) * g for n, a, b, g in zip(x[1], low, high, gap, strict=True)
        )
        if min(shape) < 1 or int(np.prod(shape)) > MOST_ELEMENTS:
            return None
        filler = self._constant(self._random.choice([0, 2]))
        texts = [", ".join(map(str, v)) for v in (low, high, gap)]
        return self._emit(
            "pad", [x, filler], shape,
            f"edge_padding_low = array<i64: {texts[0]}>, edge_padding_high = array<i64: "
            f"{texts[1]}>, interior_padding = array<i64: {texts[2]}>",
        )  # fmt: skip

    def _concatenate(self, pool: list[Name]) -> Name | None:
        x = self._pick(pool)
        if not x[1] or int(np.prod(x[1])) * 2 > MOST_ELEMENTS:
            return None
        y, d = self._partner(pool, x[1]), self._random.randrange(len(x[1]))
        shape = tuple(2 * n if k == d else n for k, n in enumerate(x[1]))
        return self._emit("concatenate", [x, y], shape, f"dimension = {d} : i64")

    def _reverse(self, pool: list[Name]) -> Name | None:
        x = self._pick(pool)
        if not x[1]:
            return None
        d = self._random.randrange(len(x[1]))
        return self._emit("reverse", [x], x[1], f"dimensions = array<i64: {d}>")

    def _fold(self, x: Name, dims: list[int]) -> Name:
        initial = self._constant(0)
        op = self._random.choice(["add", "maximum"])
        listed = ", ".join(map(str, dims))
        shape = tuple(n for d, n in enumerate(x[1]) if d not in dims)
        return self._emit(
            "reduce", [x, initial], shape, f"dimensions = array<i64: {listed}>",
            reducer(op, self._kind),
        )  # fmt: skip

    def _reduce(self, pool: list[Name]) -> Name | None:
        x = self._pick(pool)
        if not x[1]:
            return None
        rank = len(x[1])
        subsets = [
            list(c) for n in range(1, rank + 1) for c in itertools.combinations(range(rank), n)
        ]
        return self._fold(x, self._random.choice(subsets))

    def _normalise(self, pool: list[Name]) -> Name | None:
        """x - broadcast(reduce(x)): what a softmax does."""
        x = self._pick(pool)
        if not x[1]:
            return None
        d = self._random.randrange(len(x[1]))
        kept = ", ".join(str(k) for k in range(len(x[1])) if k != d)
        total = self._fold(x, [d])
        wide = self._emit(
            "broadcast_in_dim", [total], x[1],
            f"broadcast_dimensions = array<i64{': ' + kept if kept else ''}>",
        )  # fmt: skip
        return self._emit("subtract", [x, wide], x[1])

    def _dot(self, pool: list[Name]) -> Name | None:
        pairs = [
            (x, y) for x in pool for y in pool
            if len(x[1]) == len(y[1]) == 2 and x[1][1] == y[1][0]
        ]  # fmt: skip
        if not pairs:
            return None
        x, y = self._random.choice(pairs)
        return self._emit(
            "dot_general", [x, y], (x[1][0], y[1][1]),
            "dot_dimension_numbers = #hlo.dot<lhs_contracting_dimensions = [1], "
            "rhs_contracting_dimensions = [0]>",
        )  # fmt: skip

    def _update(self, pool: list[Name]) -> Name | None:
        pairs = [
            (x, y) for x in pool for y in pool
            if len(x[1]) == len(y[1]) and all(a >= b for a, b in zip(x[1], y[1], strict=True))
        ]  # fmt: skip
        x, y = self._random.choice(pairs)
        starts = [self._index(n) for n in x[1]]
        return self._emit(
            "dynamic_update_slice", [x, y], x[1],
            extra="".join(f", {s}" for s in starts), extra_types=", tensor<i32>" * len(starts),
        )  # fmt: skip

    def _take(self, pool: list[Name]) -> Name:
        x = self._pick(pool)
        sizes = tuple(self._random.randint(1, n) for n in x[1])
        starts = [self._index(n) for n in x[1]]
        listed = ": " + ", ".join(map(str, sizes)) if sizes else ""
        return self._emit(
            "dynamic_slice", [x], sizes, f"slice_sizes = array<i64{listed}>",
            extra="".join(f", {s}" for s in starts), extra_types=", tensor<i32>" * len(starts),
        )  # fmt: skip

    def _rows(self, count: int, limit: int) -> str:
        result = self._fresh()
        rows = ", ".join(str(self._random.randint(-1, limit)) for _ in range(count))
        self._lines.append(
            f'{result} = "hlo.constant"() {{value = dense<[{rows}]> : tensor<{count}xi32>}} '
            f": () -> tensor<{count}xi32>"
        )
        return result

    def _scatter(self, pool: list[Name]) -> Name | None:
        pairs = [
            (x, u) for x in pool for u in pool if len(x[1]) == len(u[1]) and x[1][1:] == u[1][1:]
            and x[1]
        ]  # fmt: skip
        if not pairs:
            return None
        x, u = self._random.choice(pairs)
        rows = self._rows(u[1][0], x[1][0])
        windows = ", ".join(str(d) for d in range(1, len(u[1])))
        fields = f"update_window_dims = [{windows}], " if windows else ""
        result = self._fresh()
        kind = self._kind
        self._lines.append(
            f'{result} = "hlo.scatter"({x[0]}, {rows}, {u[0]}) '
            f"({reducer(self._random.choice(['add', 'maximum']), kind)}) "
            f"{{scatter_dimension_numbers = #hlo.scatter<{fields}inserted_window_dims = [0], "
            "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : "
            f"({tensor(x[1], kind)}, tensor<{u[1][0]}xi32>, {tensor(u[1], kind)}) "
            f"-> {tensor(x[1], kind)}"
        )
        return result, x[1]

    def _gather(self, pool: list[Name]) -> Name | None:
        x = self._pick(pool)
        if not x[1]:
            return None
        count = self._random.choice([1, 4, 7])
        rows = self._rows(count, x[1][0])
        offsets = ", ".join(str(d) for d in range(1, len(x[1])))
        sizes = ", ".join(map(str, (1, *x[1][1:])))
        fields = f"offset_dims = [{offsets}], " if offsets else ""
        return self._emit(
            "gather", [x], (count, *x[1][1:]),
            f"dimension_numbers = #hlo.gather<{fields}collapsed_slice_dims = [0], "
            f"start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: {sizes}>",
            extra=f", {rows}", extra_types=f", tensor<{count}xi32>",
        )  # fmt: skip

    def _windows(
        self, x: Name, size: list[int], stride: list[int], pads: list[tuple[int, int]]
    ) -> Name | None:
        shape = tuple(
            (n + low + high - w) // s + 1
            for n, w, s, (low, high) in zip(x[1], size, stride, pads, strict=True)
        )
        if min(shape) < 1 or int(np.prod(shape)) > MOST_ELEMENTS:
            return None
        initial = self._constant(self._random.choice([0, 0, 1]))
        rows = ", ".join(f"[{low}, {high}]" for low, high in pads)
        return self._emit(
            "reduce_window", [x, initial], shape,
            f"window_dimensions = array<i64: {', '.join(map(str, size))}>, "
            f"window_strides = array<i64: {', '.join(map(str, stride))}>, "
            f"padding = dense<[{rows}]> : tensor<{len(pads)}x2xi64>",
            reducer(self._random.choice(["add", "maximum"]), self._kind),
        )  # fmt: skip

    def _window(self, pool: list[Name]) -> Name | None:
        x = self._pick(pool)
        if not x[1]:
            return None
        size = [self._random.choice([1, 1, 2, 3]) for _ in x[1]]
        stride = [self._random.choice([1, 1, 2]) for _ in x[1]]
        pads = [(self._random.choice([0, 1]), self._random.choice([0, 0, 1, -1])) for _ in x[1]]
        return self._windows(x, size, stride, pads)

    def _totals(self, pool: list[Name]) -> Name | None:
        x = self._pick(pool)
        if not x[1]:
            return None
        d = self._random.randrange(len(x[1]))
        n = x[1][d]
        size = [n if k == d else 1 for k in range(len(x[1]))]
        pads = [(0, 0)] * len(x[1])
        pads[d] = self._random.choice([(n - 1, 0), (0, n - 1)])
        return self._windows(x, size, [1] * len(x[1]), pads)

    def _select(self, pool: list[Name]) -> Name:
        x = self._pick(pool)
        y, z = self._partner(pool, x[1]), self._partner(pool, x[1])
        flag, kind = self._fresh(), tensor(x[1], self._kind)
        mask = tensor(x[1], "i1")
        self._lines.append(
            f'{flag} = "hlo.compare"({x[0]}, {y[0]}) '
            "{comparison_direction = #hlo<comparison_direction LT>} : "
            f"({kind}, {kind}) -> {mask}"
        )
        result = self._fresh()
        self._lines.append(
            f'{result} = "hlo.select"({flag}, {y[0]}, {z[0]}) : ({mask}, {kind}, {kind}) -> {kind}'
        )
        return result, x[1]

    def _iota(self, pool: list[Name]) -> Name | None:
        shape = self._pick(pool)[1]
        if not shape:
            return None
        d = self._random.randrange(len(shape))
        return self._emit("iota", [], shape, f"iota_dimension = {d} : i64")

    def _sort(self, pool: list[Name]) -> Name | None:
        x = self._pick(pool)
        if not x[1]:
            return None
        d = self._random.randrange(len(x[1]))
        scalar = tensor((), self._kind)
        return self._emit(
            "sort", [x], x[1], f"dimension = {d} : i64, is_stable = true",
            f'{{^bb0(%a: {scalar}, %b: {scalar}): %c = "hlo.compare"(%a, %b) '
            "{comparison_direction = #hlo<comparison_direction LT>} : "
            f'({scalar}, {scalar}) -> tensor<i1> "hlo.return"(%c) : (tensor<i1>) -> ()}}',
        )  # fmt: skip

    def _shift(self, pool: list[Name]) -> Name | None:
        """The sum of two overlapping slices, as stencils have them."""
        x = self._pick(pool)
        if not x[1] or x[1][-1] < 2:
            return None
        shape = (*x[1][:-1], x[1][-1] - 1)
        zeros, ones = ", ".join("0" for _ in shape), ", ".join("1" for _ in shape)
        first = self._emit(
            "slice", [x], shape,
            f"start_indices = array<i64: {zeros}>, limit_indices = array<i64: "
            f"{', '.join(map(str, shape))}>, strides = array<i64: {ones}>",
        )  # fmt: skip
        start = ", ".join(["0"] * (len(shape) - 1) + ["1"])
        second = self._emit(
            "slice", [x], shape,
            f"start_indices = array<i64: {start}>, limit_indices = array<i64: "
            f"{', '.join(map(str, x[1]))}>, strides = array<i64: {ones}>",
        )  # fmt: skip
        return self._emit("add", [first, second], shape)

    # -- control flow ------------------------------------------------------------------------------
    def _nested(self, pool: list[Name], wanted: list[tuple[int, ...]]) -> tuple[str, list[Name]]:
        """Text of a block that computes values of certain shapes from those of the pool."""
        saved, self._lines = self._lines, []
        self._depth += 1
        inner = list(pool)
        for _ in range(self._random.randint(0, 6)):
            self._grow(inner)
        results: list[Name] = []
        for shape in wanted:
            same = [v for v in inner if v[1] == shape]
            results.append(same[int(len(same) * self._random.random() ** 0.5)])
        self._depth -= 1
        text, self._lines = "\n".join(self._lines), saved
        return text, results

    def _loop(self, pool: list[Name]) -> Name:
        carried = [self._pick(pool) for _ in range(self._random.randint(1, 3))]
        shapes = [s for _, s in carried]
        tag = self._fresh().lstrip("%")
        names = [(f"%c{tag}_{i}", s) for i, s in enumerate(shapes)]
        heads = [f"%h{tag}_{i}" for i in range(len(names))]
        # The latest of the pool are likelier.
        carries_last = self._random.random() < 0.5
        inner_pool = [*pool, *names] if carries_last else [*names, *pool]
        body, results = self._nested(inner_pool, shapes)
        types = ["tensor<i32>", *(tensor(s, self._kind) for s in shapes)]
        listed = ", ".join(types)
        zero, loop = self._fresh(), self._fresh()
        arguments = ", ".join(f"{n}: {t}" for n, t in zip(
            [f"%i{tag}", *(n for n, _ in names)], types, strict=True))  # fmt: skip
        head = ", ".join(f"{n}: {t}" for n, t in zip([f"%i{tag}", *heads], types, strict=True))
        self._lines.append(
            f'{zero} = "hlo.constant"() {{value = dense<0> : tensor<i32>}} : '
            "() -> tensor<i32>\n"
            f'{loop}:{len(types)} = "hlo.while"'
            f"({', '.join([zero, *(n for n, _ in carried)])}) ({{\n"
            f"^bb0({head}):\n"
            f'%t{tag} = "hlo.compare"(%i{tag}, %n) '
            "{comparison_direction = #hlo<comparison_direction LT>} : "
            "(tensor<i32>, tensor<i32>) -> tensor<i1>\n"
            f'"hlo.return"(%t{tag}) : (tensor<i1>) -> ()\n}}, {{\n^bb0({arguments}):\n{body}\n'
            f'%o{tag} = "hlo.constant"() {{value = dense<1> : tensor<i32>}} : () -> tensor<i32>\n'
            f'%p{tag} = "hlo.add"(%i{tag}, %o{tag}) : (tensor<i32>, tensor<i32>) -> tensor<i32>\n'
            f'"hlo.return"({", ".join([f"%p{tag}", *(n for n, _ in results)])}) : '
            f"({listed}) -> ()\n"
            f"}}) : ({listed}) -> ({listed})"
        )
        found = [(f"{loop}#{i + 1}", s) for i, s in enumerate(shapes)]
        pool += found[:-1]
        return found[-1]

    def _branch(self, pool: list[Name]) -> Name:
        shapes = [self._pick(pool)[1] for _ in range(self._random.randint(1, 2))]
        regions: list[str] = []
        types = ", ".join(tensor(s, self._kind) for s in shapes)
        count = self._random.randint(1, 3)
        for _ in range(count):
            body, results = self._nested(pool, shapes)
            names = ", ".join(n for n, _ in results)
            regions.append(f'{{\n{body}\n"hlo.return"({names}) : ({types}) -> ()\n}}')
        result = self._fresh()
        self._lines.append(
            f'{result}:{len(shapes)} = "hlo.case"(%n) ({", ".join(regions)}) : '
            f"(tensor<i32>) -> ({types})"
        )
        found = [(f"{result}#{i}", s) for i, s in enumerate(shapes)]
        pool += found[:-1]
        return found[-1]
