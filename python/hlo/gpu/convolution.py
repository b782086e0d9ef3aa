"""A convolution as vendors' libraries know it: the call that a launch plan names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias, cast

Direction: TypeAlias = Literal["forward", "input", "weights"]
"""What is computed: y of x and w, the gradient of x, or that of w."""

Layout: TypeAlias = Literal["first", "last"]
"""Where features are in memory: ahead of the spatial dimensions (NCHW), or behind them (NHWC)."""

Parameter: TypeAlias = int | float | str | tuple[int, ...]


@dataclass(frozen=True)
class Convolution:
    """y[n, k, p] = sum over c, t of x[n, c, p * stride + t * dilation - before] w[k, c, t].

    In groups: w has the features of one group of x, and so many groups as that takes.

    Attributes:
        direction: which of the three tensors is computed of the other two. Operands are in the
            order x, w, y, then the bias and the residual.
        x: n, c and the spatial extents.
        w: k, features of a group of x, and the extents of the window.
        y: n, k and the spatial extents.
        layout: of all three; a window is in memory as [k, c, ...] or [k, ..., c].
        before, after: zeros around x in each spatial dimension.
        turned: the window's elements are in reverse order in each spatial dimension.
        factor, result: element types of the two factors, and of what is computed.
        bias: a vector along the features of the result, of its type, is added.
        residual: a tensor like the result is added.
        activation: `relu` or none, of that sum.
        tf32: whether f32 factors may be rounded to tf32.
        deterministic: whether results must be the same in every run.
    """

    direction: Direction
    x: tuple[int, ...]
    w: tuple[int, ...]
    y: tuple[int, ...]
    layout: Layout
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    turned: bool
    factor: str
    result: str
    bias: bool = False
    residual: bool = False
    activation: str = ""
    tf32: bool = False
    deterministic: bool = True

    @property
    def groups(self) -> int:
        return self.x[1] // self.w[1]

    @property
    def flops(self) -> int:
        """Floating-point operations, those on zeros around x included."""
        return 2 * math.prod(self.y) * math.prod(self.w[1:])

    @property
    def operands(self) -> tuple[str, ...]:
        """Names of the two factors: of `x`, `w` and `y`."""
        computed = {"forward": "y", "input": "x", "weights": "w"}[self.direction]
        return tuple(name for name in ("x", "w", "y") if name != computed)

    def windows_fit(self) -> bool:
        """Whether y has as many places as windows fit into x with its zeros."""
        dims = zip(
            self.x[2:], self.w[2:], self.y[2:], self.strides, self.dilation, self.before,
            self.after, strict=True,
        )  # fmt: skip
        return all(
            (x + before + after - (w - 1) * dilation - 1) // stride + 1 == y
            for x, w, y, stride, dilation, before, after in dims
        )

    def parameters(self) -> tuple[tuple[str, Parameter], ...]:
        """As a launch plan has them; what is off is left out."""
        found = ((f.name, getattr(self, f.name)) for f in fields(self))
        return tuple(
            (name, int(value) if isinstance(value, bool) else value)
            for name, value in found
            if value is not False and value != ""
        )

    @staticmethod
    def of(parameters: Sequence[tuple[str, Parameter]]) -> Convolution:
        """The convolution with such parameters.

        Raises:
            ValueError: they are no convolution's, or extents do not fit together.
        """
        given = dict(parameters)
        switches = ("turned", "bias", "residual", "tf32", "deterministic")
        values = {**given, **{name: bool(given.get(name, False)) for name in switches}}
        try:
            made = Convolution(**cast(Mapping[str, object], values))  # pyright: ignore[reportArgumentType]
        except TypeError as error:
            raise ValueError(f"not the parameters of a convolution: {error}") from None
        made._check()
        return made

    def _check(self) -> None:
        ranks = {len(dims) for dims in (self.x, self.w, self.y)}
        spatial = len(self.x) - 2
        windows = (self.strides, self.dilation, self.before, self.after)
        if len(ranks) > 1 or spatial < 0 or any(len(values) != spatial for values in windows):
            raise ValueError(f"a convolution of ranks {sorted(ranks)} with {spatial} dimensions")
        fits = self.x[0] == self.y[0] and self.w[0] == self.y[1] and self.x[1] % self.w[1] == 0
        if not (fits and self.windows_fit()):
            raise ValueError(f"no convolution of {self.x} by {self.w} gives {self.y}")


def strides_of(dims: Sequence[int], layout: Layout) -> tuple[int, ...]:
    """Elements between neighbours in dimensions [n, c, spatial...] of a tensor without gaps."""
    spatial = range(2, len(dims))
    order = (0, 1, *spatial) if layout == "first" else (0, *spatial, 1)
    found = [0] * len(dims)
    step = 1
    for d in reversed(order):
        found[d] = step
        step *= dims[d]
    return tuple(found)


def layouts_of(dims: Sequence[int], strides: Sequence[int]) -> frozenset[Layout]:
    """The layouts that a tensor with such strides has; strides of single elements do not matter."""
    layouts: tuple[Layout, ...] = ("last", "first")
    return frozenset(
        layout
        for layout in layouts
        if all(
            n == 1 or stride == wanted
            for n, stride, wanted in zip(dims, strides, strides_of(dims, layout), strict=True)
        )
    )
