"""`hlo.mulhi` becomes a wider product, or four."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import bit_width, element_of, is_unsigned
from hlo.passes.rewrite.walk import expand


@dataclass(frozen=True)
class ExpandMultiplyHigh(Pass):
    """Replaces the upper half of a product by the product in twice the width, shifted; for 64 bits by
    products of 32-bit halves (H. S. Warren, Hacker's Delight, section 8-2).

        hlo.mulhi %a, %b : tensor<4xi32>
      ==>
        hlo.convert (hlo.shift_right_arithmetic (the product in i64), 32)
    """

    def run(self, module: ir.Module) -> bool:
        """Expands by width."""
        return expand(module, {"hlo.mulhi": _expand})


def _expand(op: ir.Operation, builder: Builder) -> Sequence[ir.Value]:
    lhs, rhs = op.operands
    element = element_of(lhs)
    width, unsigned = bit_width(element), is_unsigned(element)
    if width == 64:
        return [_halves_product(builder, lhs, rhs, unsigned)]
    wide = builder.integer_type(64, unsigned=unsigned)
    product = builder.multiply(builder.convert(lhs, wide), builder.convert(rhs, wide))
    return [builder.convert(_shift(builder, product, width, unsigned), element)]


def _shift(builder: Builder, value: ir.Value, amount: int, unsigned: bool) -> ir.Value:
    name = "shift_right_logical" if unsigned else "shift_right_arithmetic"
    return builder.binary(name, value, builder.constant_like(amount, value))


def _halves_product(
    builder: Builder, lhs: ir.Value, rhs: ir.Value, unsigned: bool
) -> ir.Value:
    b = builder
    mask = b.constant_like(0xFFFFFFFF, lhs)
    low_l, low_r = b.binary("and", lhs, mask), b.binary("and", rhs, mask)
    high_l, high_r = _shift(b, lhs, 32, unsigned), _shift(b, rhs, 32, unsigned)
    carry = _shift(b, b.multiply(low_l, low_r), 32, True)
    middle = b.add(b.multiply(high_l, low_r), carry)
    low_middle = b.add(b.multiply(low_l, high_r), b.binary("and", middle, mask))
    total = b.add(b.multiply(high_l, high_r), _shift(b, middle, 32, unsigned))
    return b.add(total, _shift(b, low_middle, 32, unsigned))
