"""Regions of reductions, windows, scatters and sorts that read values from outside."""

from __future__ import annotations

import numpy as np
import pytest
from core_programs import assert_matches

X = (np.arange(24, dtype=np.float32) * 7 % 11 - 5).reshape(4, 6)
K = np.asarray(2.0, np.float32)

S, V = "tensor<f32>", "tensor<4x6xf32>"
# The outside value is computed, so that it is no argument of the kernel by itself.
OUTSIDE = f'%o = "hlo.negate"(%k) : ({S}) -> {S}'
LARGEST = f"""^bb0(%a: {S}, %b: {S}):
  %p = "hlo.maximum"(%a, %b) : ({S}, {S}) -> {S}
  %q = "hlo.maximum"(%p, %o) : ({S}, {S}) -> {S}
  "hlo.return"(%q) : ({S}) -> ()"""
ZERO = f'%z = "hlo.constant"() {{value = dense<-9.0> : {S}}} : () -> {S}'

BODIES = {
    "reduce": f"""{ZERO}
      %r = "hlo.reduce"(%x, %z) ({{{LARGEST}}}) {{dimensions = array<i64: 1>}}
        : ({V}, {S}) -> tensor<4xf32>
      return %r : tensor<4xf32>""",
    "fused reduce": f"""{ZERO}
      %e = "hlo.abs"(%x) : ({V}) -> {V}
      %s = "hlo.reduce"(%e, %z) ({{{LARGEST}}}) {{dimensions = array<i64: 1>}}
        : ({V}, {S}) -> tensor<4xf32>
      %r = "hlo.negate"(%s) : (tensor<4xf32>) -> tensor<4xf32>
      return %r : tensor<4xf32>""",
    "reduce_window": f"""{ZERO}
      %r = "hlo.reduce_window"(%x, %z) ({{{LARGEST}}})
        {{window_dimensions = array<i64: 1, 3>}} : ({V}, {S}) -> tensor<4x4xf32>
      return %r : tensor<4x4xf32>""",
    "map": f"""%r = "hlo.map"(%x) ({{^bb0(%a: {S}):
        %q = "hlo.multiply"(%a, %o) : ({S}, {S}) -> {S}
        "hlo.return"(%q) : ({S}) -> () }}) {{dimensions = array<i64: 0, 1>}} : ({V}) -> {V}
      return %r : {V}""",
    "scatter": f"""
      %i = "hlo.constant"() {{value = dense<[1, 3, 1]> : tensor<3xi32>}} : () -> tensor<3xi32>
      %u = "hlo.slice"(%x) {{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 3, 6>,
        strides = array<i64: 1, 1>}} : ({V}) -> tensor<3x6xf32>
      %r = "hlo.scatter"(%x, %i, %u) ({{{LARGEST}}}) {{scatter_dimension_numbers = #hlo.scatter<
        update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
        index_vector_dim = 1>}} : ({V}, tensor<3xi32>, tensor<3x6xf32>) -> {V}
      return %r : {V}""",
    "sort": f"""
      %r = "hlo.sort"(%x) ({{^bb0(%a: {S}, %b: {S}):
        %c = "hlo.subtract"(%a, %o) : ({S}, {S}) -> {S}
        %d = "hlo.subtract"(%b, %o) : ({S}, {S}) -> {S}
        %e = "hlo.abs"(%c) : ({S}) -> {S}
        %f = "hlo.abs"(%d) : ({S}) -> {S}
        %g = "hlo.compare"(%e, %f) {{comparison_direction = #hlo<comparison_direction LT>}}
          : ({S}, {S}) -> tensor<i1>
        "hlo.return"(%g) : (tensor<i1>) -> () }}) {{dimension = 1 : i64, is_stable = true}}
        : ({V}) -> {V}
      return %r : {V}""",
    "select_and_scatter": f"""
      %w = "hlo.slice"(%x) {{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 2, 3>,
        strides = array<i64: 1, 1>}} : ({V}) -> tensor<2x3xf32>
      %r = "hlo.select_and_scatter"(%x, %w, %k) ({{^bb0(%a: {S}, %b: {S}):
        %c = "hlo.add"(%a, %o) : ({S}, {S}) -> {S}
        %g = "hlo.compare"(%c, %b) {{comparison_direction = #hlo<comparison_direction GE>}}
          : ({S}, {S}) -> tensor<i1>
        "hlo.return"(%g) : (tensor<i1>) -> () }}, {{{LARGEST}}})
        {{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}}
        : ({V}, tensor<2x3xf32>, {S}) -> {V}
      return %r : {V}""",
}


@pytest.mark.parametrize("name", list(BODIES))
def test_outside_value(name: str) -> None:
    result = BODIES[name].rsplit(" : ", 1)[1]
    text = f"func.func @main(%x: {V}, %k: {S}) -> {result} {{ {OUTSIDE}\n{BODIES[name]} }}"
    assert_matches(text, [X, K])
