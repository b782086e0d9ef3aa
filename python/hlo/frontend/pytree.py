"""Pytrees: nested Python containers whose leaves are arrays.

Nodes are tuples, lists, dicts (by sorted key), OrderedDicts, defaultdicts, named tuples,
dataclasses (fields marked ``metadata={"static": True}`` belong to the structure), None (no
leaves) and types given to `register_node`. Everything else is a leaf.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeVar

from hlo.frontend.errors import TreeError

T = TypeVar("T")


class _NodeKind(NamedTuple):
    flatten: Callable[[Any], tuple[Sequence[Any], Any]]
    unflatten: Callable[[Any, Sequence[Any]], Any]
    labels: Callable[[Any, int], Sequence[str]]


class TreeDef:
    """The structure of a pytree: its nodes without its leaves. Immutable.

    Attributes:
        node_type: the container's type; None for a leaf.
        data: what the container knows beside its children, such as a dict's keys.
        children: structures of the children.
        num_leaves: leaves below this node.
    """

    # One is made for each container of each call of a compiled function: a plain class is quickest.
    __slots__ = ("_hash", "children", "data", "node_type", "num_leaves")

    def __init__(
        self, node_type: type | None, data: Any, children: tuple[TreeDef, ...], num_leaves: int
    ) -> None:
        self.node_type = node_type
        self.data = data
        self.children = children
        self.num_leaves = num_leaves
        try:
            self._hash = hash((node_type, data, children))
        except TypeError:  # data that cannot be hashed is still compared
            self._hash = hash((node_type, children))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, TreeDef)
            and self._hash == other._hash
            and self.node_type is other.node_type
            and self.data == other.data
            and self.children == other.children
        )

    def __reduce__(self) -> tuple[Callable[..., TreeDef], tuple[Any, ...]]:
        return _restored, (self.node_type, self.data, self.children, self.num_leaves)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this structure with these leaves."""
        return tree_unflatten(self, leaves)

    def __str__(self) -> str:
        return f"TreeDef({_render(self)})"


_LEAF: Final = TreeDef(None, None, (), 1)
_NONE: Final = TreeDef(type(None), None, (), 0)


def _restored(node_type: type | None, *rest: Any) -> TreeDef:
    if node_type is None:
        return _LEAF
    return _NONE if node_type is type(None) else TreeDef(node_type, *rest)


def plain(definition: TreeDef) -> Any:
    """A structure of tuples, lists, dicts and None as JSON has it; `from_plain` reads it.

    Raises:
        TreeError: it holds another container, or a key that is no string and no integer.
    """
    if definition.node_type is None:
        return "leaf"
    if definition is _NONE:
        return None
    children = [plain(child) for child in definition.children]
    if definition.node_type in (tuple, list):
        return {definition.node_type.__name__: children}
    if definition.node_type is not dict:
        raise TreeError(
            f"expected tuples, lists, dicts and None, found {definition.node_type.__qualname__}"
        )
    odd = [key for key in definition.data if type(key) not in (str, int)]
    if odd:
        raise TreeError(f"expected strings and integers as keys of a dict, found {odd[0]!r}")
    return {"dict": children, "keys": list(definition.data)}


def from_plain(data: Any) -> TreeDef:
    """The structure that `plain` was given."""
    if data is None or data == "leaf":
        return _LEAF if data else _NONE
    name = next(iter(data))
    children = tuple(from_plain(child) for child in data[name])
    node_type: type = {"tuple": tuple, "list": list, "dict": dict}[name]
    keys = tuple(data["keys"]) if node_type is dict else None
    return TreeDef(node_type, keys, children, sum(child.num_leaves for child in children))


def _positions(_: Any, count: int) -> Sequence[str]:
    return [f"[{i}]" for i in range(count)]


def _key_labels(data: Any, _: int) -> Sequence[str]:
    return [f"[{key!r}]" for key in data]


def _sorted_keys(tree: dict[Any, Any]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(tree))
    except TypeError as error:
        raise TreeError(
            f"the keys of a dict in a pytree must be sortable, found {list(tree)!r}"
        ) from error


def _flatten_dict(tree: dict[Any, Any]) -> tuple[Sequence[Any], Any]:
    keys = _sorted_keys(tree)
    return [tree[key] for key in keys], keys


def _flatten_defaultdict(tree: defaultdict[Any, Any]) -> tuple[Sequence[Any], Any]:
    keys = _sorted_keys(tree)
    return [tree[key] for key in keys], (tree.default_factory, keys)


_NODES: Final[dict[type, _NodeKind]] = {
    tuple: _NodeKind(lambda t: (t, None), lambda _, leaves: tuple(leaves), _positions),
    list: _NodeKind(lambda t: (t, None), lambda _, leaves: list(leaves), _positions),
    dict: _NodeKind(
        _flatten_dict, lambda keys, leaves: dict(zip(keys, leaves, strict=True)), _key_labels
    ),
    OrderedDict: _NodeKind(
        lambda t: (list(t.values()), tuple(t)),
        lambda keys, leaves: OrderedDict(zip(keys, leaves, strict=True)),
        _key_labels,
    ),
    defaultdict: _NodeKind(
        _flatten_defaultdict,
        lambda data, leaves: defaultdict(data[0], zip(data[1], leaves, strict=True)),
        lambda data, _: [f"[{key!r}]" for key in data[1]],
    ),
}
_LEAF_TYPES: Final[set[type]] = set()


def register_node(
    node_type: type[T],
    flatten: Callable[[T], tuple[Sequence[Any], Hashable]],
    unflatten: Callable[[Any, Sequence[Any]], T],
) -> None:
    """Makes instances of a type nodes of pytrees.

    Args:
        node_type: the type itself; subclasses are not included.
        flatten: instance -> (children, hashable data).
        unflatten: (data, children) -> instance.

    Raises:
        TreeError: if the type is registered already.
    """
    if node_type in _NODES:
        raise TreeError(f"{node_type.__name__} is already a pytree node")
    _NODES[node_type] = _NodeKind(flatten, unflatten, _positions)


def register_leaf(leaf_type: type[T]) -> type[T]:
    """Makes instances of a type leaves, also where they are dataclasses. Usable as a decorator."""
    _LEAF_TYPES.add(leaf_type)
    return leaf_type


def _named_tuple_kind(node_type: type) -> _NodeKind:
    fields: tuple[str, ...] = getattr(node_type, "_fields")  # noqa: B009
    return _NodeKind(
        lambda t: (t, None),
        lambda _, leaves: node_type(*leaves),
        lambda _, __: [f".{name}" for name in fields],
    )


def _dataclass_kind(node_type: type) -> _NodeKind:
    fields = dataclasses.fields(node_type)
    child_names = tuple(f.name for f in fields if not f.metadata.get("static", False))
    static_names = tuple(f.name for f in fields if f.metadata.get("static", False))

    def flatten(tree: Any) -> tuple[Sequence[Any], Any]:
        return [getattr(tree, n) for n in child_names], tuple(
            getattr(tree, n) for n in static_names
        )

    def unflatten(data: Any, children: Sequence[Any]) -> Any:
        # __init__ may convert or reject what is not an array (a leaf may be anything here).
        made = object.__new__(node_type)
        values = (*zip(child_names, children, strict=True), *zip(static_names, data, strict=True))
        for name, value in values:
            object.__setattr__(made, name, value)
        return made

    return _NodeKind(flatten, unflatten, lambda _, __: [f".{name}" for name in child_names])


def _node_kind(node_type: type) -> _NodeKind | None:
    found = _NODES.get(node_type)
    if found is not None:
        return found
    if node_type in _LEAF_TYPES:
        return None
    if issubclass(node_type, tuple) and hasattr(node_type, "_fields"):
        found = _named_tuple_kind(node_type)
    elif dataclasses.is_dataclass(node_type):
        found = _dataclass_kind(node_type)
    else:
        _LEAF_TYPES.add(node_type)
        return None
    _NODES[node_type] = found
    return found


def _flatten_into(tree: Any, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> TreeDef:
    if is_leaf is not None and is_leaf(tree):
        leaves.append(tree)
        return _LEAF
    if tree is None:
        return _NONE
    kind = _node_kind(type(tree))
    if kind is None:
        leaves.append(tree)
        return _LEAF
    children, data = kind.flatten(tree)
    before = len(leaves)
    definitions = tuple([_flatten_into(child, leaves, is_leaf) for child in children])
    return TreeDef(type(tree), data, definitions, len(leaves) - before)


def tree_flatten(
    tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[Any], TreeDef]:
    """Leaves of a tree, left to right, and its structure."""
    leaves: list[Any] = []
    return leaves, _flatten_into(tree, leaves, is_leaf)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """Leaves of a tree, left to right."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeDef:
    """Structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def _build(definition: TreeDef, leaves: Iterator[Any]) -> Any:
    if definition.node_type is None:
        return next(leaves)
    if definition is _NONE:
        return None
    children = [_build(child, leaves) for child in definition.children]
    if definition.node_type is type(None):
        return None
    kind = _node_kind(definition.node_type)
    assert kind is not None
    return kind.unflatten(definition.data, children)


def tree_unflatten(definition: TreeDef, leaves: Iterable[Any]) -> Any:
    """The tree of a structure with these leaves, left to right.

    Raises:
        TreeError: if there are too few or too many leaves.
    """
    values = list(leaves)
    if len(values) != definition.num_leaves:
        raise TreeError(
            f"expected {definition.num_leaves} leaves for {definition}, found {len(values)}"
        )
    return _build(definition, iter(values))


def builder_of(definition: TreeDef) -> Callable[[tuple[Any, ...]], Any]:
    """`tree_unflatten` for a structure that is built again and again, from a tuple of leaves."""
    return _builder(definition, 0)


def _builder(definition: TreeDef, start: int) -> Callable[[tuple[Any, ...]], Any]:
    """From the leaves of a whole tree to the part of it whose leaves begin at `start`."""
    node_type, end = definition.node_type, start + definition.num_leaves
    if node_type is None:
        return itemgetter(start)
    if node_type is type(None):
        return lambda _: None
    kind, data = _node_kind(node_type), definition.data
    assert kind is not None
    if node_type is dict and all(child.node_type is None for child in definition.children):
        return lambda leaves: dict(zip(data, leaves[start:end], strict=True))
    children: list[Callable[[tuple[Any, ...]], Any]] = []
    for child in definition.children:
        children.append(_builder(child, start))
        start += child.num_leaves
    return lambda leaves: kind.unflatten(data, [build(leaves) for build in children])


def _flatten_up_to(definition: TreeDef, tree: Any, path: str) -> list[Any]:
    if definition.node_type is None:
        return [tree]
    if definition.node_type is type(None):
        if tree is not None:
            raise TreeError(f"trees differ at {path or 'the root'}: expected None, found {tree!r}")
        return []
    kind = _node_kind(type(tree))
    if kind is None or type(tree) is not definition.node_type:
        raise TreeError(
            f"trees differ at {path or 'the root'}: expected "
            f"{definition.node_type.__name__}, found {type(tree).__name__}"
        )
    children, data = kind.flatten(tree)
    if len(children) != len(definition.children) or data != definition.data:
        raise TreeError(
            f"trees differ at {path or 'the root'}: expected {_render(definition)}, "
            f"found {_render(tree_structure(tree))}"
        )
    labels = kind.labels(data, len(children))
    found: list[Any] = []
    for label, child, child_tree in zip(labels, definition.children, children, strict=True):
        found += _flatten_up_to(child, child_tree, path + label)
    return found


def tree_map(
    function: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """Applies a function to the leaves of a tree and the matching subtrees of further trees.

    Raises:
        TreeError: if a further tree does not have the first one's structure.
    """
    leaves, definition = tree_flatten(tree, is_leaf)
    others = [_flatten_up_to(definition, other, "") for other in rest]
    return tree_unflatten(definition, map(function, leaves, *others))


def leaf_paths(definition: TreeDef, prefix: str = "") -> list[str]:
    """How Python would reach each leaf, such as ``[0]['w']``, left to right."""
    if definition.node_type is None:
        return [prefix]
    if definition.node_type is type(None):
        return []
    kind = _node_kind(definition.node_type)
    assert kind is not None
    labels = kind.labels(definition.data, len(definition.children))
    return [
        path
        for label, child in zip(labels, definition.children, strict=True)
        for path in leaf_paths(child, prefix + label)
    ]


def _render(definition: TreeDef) -> str:
    if definition.node_type is None:
        return "*"
    if definition.node_type is type(None):
        return "None"
    parts = [_render(child) for child in definition.children]
    if definition.node_type is tuple:
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
    if definition.node_type is list:
        return f"[{', '.join(parts)}]"
    kind = _node_kind(definition.node_type)
    assert kind is not None
    labels = kind.labels(definition.data, len(parts))
    body = ", ".join(
        f"{label.strip('[].')}: {part}" for label, part in zip(labels, parts, strict=True)
    )
    if definition.node_type is dict:
        return f"{{{body}}}"
    return f"{definition.node_type.__name__}({body})"
