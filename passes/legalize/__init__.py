"""Turns every op of the dialect into the core ops that kernels are made of."""

from __future__ import annotations

from hlo.passes.base import Pass
from hlo.passes.legalize.drop_no_op_custom_calls import DropNoOpCustomCalls
from hlo.passes.legalize.expand_async import ExpandAsync
from hlo.passes.legalize.expand_batch_norm import ExpandBatchNorm
from hlo.passes.legalize.expand_broadcast import ExpandBroadcast
from hlo.passes.legalize.expand_collectives import ExpandCollectives
from hlo.passes.legalize.expand_dot import ExpandDot
from hlo.passes.legalize.expand_einsum import ExpandEinsum
from hlo.passes.legalize.expand_linear_algebra import ExpandLinearAlgebra
from hlo.passes.legalize.expand_map import ExpandMap
from hlo.passes.legalize.expand_quantization import ExpandQuantization
from hlo.passes.legalize.expand_ragged_dot import ExpandRaggedDot
from hlo.passes.legalize.expand_rng import ExpandRng
from hlo.passes.legalize.expand_scan import ExpandScan
from hlo.passes.legalize.expand_top_k import ExpandTopK
from hlo.passes.legalize.expand_torch_index_select import ExpandTorchIndexSelect
from hlo.passes.legalize.flatten_tuples import FlattenTuples
from hlo.passes.legalize.inline_calls import InlineCalls
from hlo.passes.legalize.order_callbacks import OrderCallbacks
from hlo.passes.legalize.remove_tokens import RemoveTokens
from hlo.passes.legalize.resolve_dynamic_shapes import ResolveDynamicShapes
from hlo.passes.legalize.verify_legalized import VerifyLegalized

PIPELINE: tuple[Pass, ...] = (
    # One function of tensors: calls, tuples and tokens go first, so that the rest sees plain
    # values.
    InlineCalls(),
    FlattenTuples(),
    DropNoOpCustomCalls(),
    ExpandAsync(),  # before collectives, which it uncovers
    OrderCallbacks(),  # before the tokens go
    RemoveTokens(),
    ExpandCollectives(),
    ResolveDynamicShapes(),  # before all that needs to know shapes
    ExpandQuantization(),  # before all that computes
    # Ops that other expansions do not make.
    ExpandBatchNorm(),
    ExpandEinsum(),
    ExpandTorchIndexSelect(),
    ExpandRaggedDot(),
    ExpandRng(),
    ExpandScan(),
    ExpandTopK(),
    ExpandLinearAlgebra(),
    ExpandMap(),
    # Ops with a general form that the ones above may have made.
    ExpandDot(),
    ExpandBroadcast(),
    VerifyLegalized(),
)
"""The passes of legalization, in order."""
