"""Functions on pytrees, under the names of `jax.tree`."""

from __future__ import annotations

from hlo.frontend.pytree import (
    TreeDef,
    leaf_paths,
    register_leaf,
    register_node,
)
from hlo.frontend.pytree import tree_flatten as flatten
from hlo.frontend.pytree import tree_leaves as leaves
from hlo.frontend.pytree import tree_map as map
from hlo.frontend.pytree import tree_structure as structure
from hlo.frontend.pytree import tree_unflatten as unflatten

__all__ = [
    "TreeDef",
    "flatten",
    "leaf_paths",
    "leaves",
    "map",
    "register_leaf",
    "register_node",
    "structure",
    "unflatten",
]
