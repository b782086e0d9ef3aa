"""Pytrees: what is a node, what is a leaf, and what goes wrong."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest

import hlo
from hlo import tree


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass(frozen=True)
class Layer:
    weight: Any
    bias: Any
    name: str = field(default="layer", metadata={"static": True})


class Pair:
    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second


tree.register_node(Pair, lambda p: ((p.first, p.second), "pair"), lambda _, c: Pair(*c))


@pytest.mark.parametrize(
    ("value", "leaves", "paths"),
    [
        (1, [1], [""]),
        (None, [], []),
        ((), [], []),
        ((1, [2, (3,)]), [1, 2, 3], ["[0]", "[1][0]", "[1][1][0]"]),
        ({"b": 2, "a": 1}, [1, 2], ["['a']", "['b']"]),
        (OrderedDict(b=2, a=1), [2, 1], ["['b']", "['a']"]),
        (defaultdict(int, b=2, a=1), [1, 2], ["['a']", "['b']"]),
        (Point(1, {"z": 2}), [1, 2], [".x", ".y['z']"]),
        (Layer(1, None), [1], [".weight"]),
        ([None, "text"], ["text"], ["[1]"]),
    ],
)
def test_flatten_and_back(value: Any, leaves: list[Any], paths: list[str]) -> None:
    found, definition = tree.flatten(value)
    assert found == leaves
    assert tree.leaf_paths(definition) == paths
    rebuilt = tree.unflatten(definition, leaves)
    assert rebuilt == value
    assert type(rebuilt) is type(value)


def test_registered_node() -> None:
    doubled = tree.map(lambda x: x * 2, Pair(1, [2, 3]))
    assert (doubled.first, doubled.second) == (2, [4, 6])
    with pytest.raises(hlo.TreeError, match="already a pytree node"):
        tree.register_node(Pair, lambda p: ((), None), lambda _, c: Pair(0, 0))


def test_structures_compare_and_hash() -> None:
    first, second = tree.structure({"a": (1, 2)}), tree.structure({"a": (3, 4)})
    assert first == second
    assert hash(first) == hash(second)
    for other in ({"a": [1, 2]}, {"b": (1, 2)}, {"a": (1, 2, 3)}, Layer(1, 2, "other")):
        assert tree.structure(other) != first
    assert tree.structure(Layer(1, 2, "a")) != tree.structure(Layer(1, 2, "b"))


def test_structure_reads_like_its_value() -> None:
    assert str(tree.structure(({"a": 1}, [None, (2,)]))) == "TreeDef(({'a': *}, [None, (*,)]))"
    assert str(tree.structure(Point(1, 2))) == "TreeDef(Point(x: *, y: *))"


def test_map_over_several_trees() -> None:
    assert tree.map(lambda a, b: a + b, {"x": 1, "y": [2]}, {"x": 10, "y": [20]}) == {
        "x": 11,
        "y": [22],
    }
    assert tree.map(lambda a, b: (a, b), [1], [(2, 3)]) == [(1, (2, 3))]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"x": 1}, r"at the root: expected \{'x': \*, 'y': \[\*\]\}"),
        ({"x": 1, "y": (2,)}, r"at \['y'\]: expected list, found tuple"),
        ([1, [2]], "at the root: expected dict, found list"),
    ],
)
def test_map_over_trees_that_differ(other: Any, message: str) -> None:
    with pytest.raises(hlo.TreeError, match=message):
        tree.map(lambda a, b: a + b, {"x": 1, "y": [2]}, other)


def test_errors() -> None:
    with pytest.raises(hlo.TreeError, match="must be sortable"):
        tree.flatten({1: 2, "a": 3})
    with pytest.raises(hlo.TreeError, match="expected 2 leaves"):
        tree.unflatten(tree.structure((1, 2)), [1])
