"""Archives of `torch.export.save` give what PyTorch gave, without PyTorch."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hlo
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.pytorch.archive import read_archive
from hlo.pytorch.graph import Graph, Input, Node, Output, Ref
from hlo.pytorch.lowering import lower_graph
from hlo.pytorch.ops import OPERATORS

DATA = Path(__file__).parent / "data"
FAMILIES = sorted(path.stem for path in DATA.glob("*.npz"))
# Relative and absolute. Sums in float32 differ in the order of their terms, powers by some ULP.
TOLERANCES = {"linalg": 2e-4, "convolutions": 2e-5, "pooling": 1e-5, "spectral": 1e-5}

RANDOM = {
    f"aten.{name}"
    for name in (
        *("rand.default", "randn.default", "rand_like.default", "randn_like.default"),
        *("randint.default", "randint.low", "bernoulli.default", "bernoulli.p"),
        *("native_dropout.default", "dropout.default", "uniform.default", "log_normal.default"),
        *("exponential.default", "geometric.default", "cauchy.default"),
    )
}


def load(name: str) -> tuple[list[Any], list[Any]]:
    """Inputs and results that PyTorch recorded."""
    with np.load(DATA / f"{name}.npz") as arrays:
        inputs = [arrays[key] for key in sorted(arrays) if key.startswith("in")]
        return inputs, [arrays[key] for key in sorted(arrays) if key.startswith("out")]


def test_there_are_archives() -> None:
    assert len(FAMILIES) >= 16


@pytest.mark.parametrize("name", FAMILIES)
def test_results_are_pytorchs(name: str) -> None:
    program = hlo.from_torch(DATA / f"{name}.pt2")
    inputs, expected = load(name)
    inputs = [
        np.asarray(array, aval.dtype) for array, aval in zip(inputs, program.arguments, strict=True)
    ]
    found = program.compile()(*inputs)
    assert len(found) == len(expected)
    for i, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        assert ours.shape == theirs.shape, i
        bound = TOLERANCES.get(name, 5e-6)
        if ours.dtype != theirs.dtype:  # bfloat16, which is stored as float32
            bound = 8e-3
        elif ours.dtype == np.float16:
            bound = 2e-3
        np.testing.assert_allclose(
            ours.astype(theirs.dtype), theirs, rtol=bound, atol=bound, err_msg=f"result {i}"
        )


def test_every_operator_is_met() -> None:
    """All of the table is in an archive, but for random numbers and for what is refused."""
    met = {node.target for path in DATA.glob("*.pt2") for node in read_archive(path).graph.nodes}
    functions: dict[Callable[..., Any], set[str]] = {}
    for target, function in OPERATORS.items():
        functions.setdefault(function, set()).add(target)
    # Refused, numbers of graphs with dynamic shapes, and what graphs of torch.compile alone have.
    apart = {"data_dependent", "bincount", "sym_size", "sym_numel", "with_effects"}
    missing = [
        sorted(targets)
        for function, targets in functions.items()
        if not targets & (met | RANDOM) and function.__name__ not in apart
    ]
    assert not missing


@pytest.mark.parametrize(
    ("name", "arguments", "quartiles"),
    [
        ("uniform", {"from": -1.0, "to": 3.0}, (0, 1, 2)),
        ("exponential", {"lambd": 2.0}, (0.1438, 0.3466, 0.6931)),
        ("geometric", {"p": 0.3}, (1, 2, 4)),
        ("cauchy", {"median": 2.0, "sigma": 3.0}, (-1, 2, 5)),
        ("log_normal", {"mean": 1.0, "std": 2.0}, (0.7054, 2.7183, 10.4745)),
    ],
)
def test_random_numbers_are_of_their_distribution(
    name: str, arguments: dict[str, float], quartiles: tuple[float, ...]
) -> None:
    aval = ShapeDtype((40000,), np.dtype(np.float32))
    node = Node(f"aten.{name}.default", {"self": Ref("x"), **arguments}, ("y",))
    graph = Graph((Input("x", "argument", "x", aval),), (node,), (Output(Ref("y")),))
    hlo.seed_rng(3)
    (found,) = hlo.compile(lower_graph(graph, (aval,), ("x",)))(np.zeros(40000, np.float32))
    np.testing.assert_allclose(np.quantile(found, (0.25, 0.5, 0.75)), quartiles, 0.04, 0.04)


def test_state_is_kept_between_calls() -> None:
    """A buffer that the model changes is changed by each call; the archive's own stays."""
    program = hlo.from_torch(DATA / "counter.pt2")
    compiled = program.compile()
    x = np.ones((4, 3), np.float32)
    once, calls = compiled(x)
    twice, again = compiled(x)
    assert (calls, again) == (1, 2)
    np.testing.assert_allclose(twice, 2 * once, rtol=1e-6)
    assert compiled.state["calls"] == 2
    assert program.state["calls"] == 0


def test_operations_carry_the_users_lines_and_modules() -> None:
    program = hlo.from_torch(DATA / "counter.pt2")
    text = str(program.module.operation.get_asm(enable_debug_info=True))
    assert '"linear/dot_general"' in text
    assert "test/e2e/pytorch/families.py" in text


def changed(name: str, change: Callable[[Any], None]) -> bytes:
    """An archive with its graph changed."""
    held = io.BytesIO()
    with zipfile.ZipFile(DATA / f"{name}.pt2") as source, zipfile.ZipFile(held, "w") as file:
        for entry in source.namelist():
            data = source.read(entry)
            if entry.endswith("model.json"):
                program = json.loads(data)
                change(program)
                data = json.dumps(program).encode()
            file.writestr(entry, data)
    return held.getvalue()


def test_a_change_that_a_view_shows_is_refused() -> None:
    """The others of `in_place` change what has one name."""
    nodes = (
        Node("aten.mul.Tensor", {"self": Ref("x"), "other": 2}, ("y",)),
        Node("aten.view.default", {"self": Ref("y"), "size": [4]}, ("v",)),
        Node("aten.add_.Tensor", {"self": Ref("v"), "other": 1}, ("w",)),
    )
    aval = ShapeDtype((2, 2), np.dtype(np.float32))
    inputs = (Input("x", "argument", "x", aval),)
    argument = Node("aten.add_.Tensor", {"self": Ref("x"), "other": 1}, ("w",))
    for changing in (nodes, (argument,)):
        graph = Graph(inputs, changing, (Output(Ref("w")),))
        with pytest.raises(hlo.UnsupportedError, match="others may see"):
            lower_graph(graph, (aval,), ("x",))


def test_an_unknown_operator_is_named_with_its_line() -> None:
    def rename(program: Any) -> None:
        program["graph_module"]["graph"]["nodes"][0]["target"] = "torch.ops.mine.op.default"

    program = hlo.from_torch(changed("creation", rename))
    with pytest.raises(hlo.UnsupportedError, match=r"\.py:\d+: 'mine\.op\.default'"):
        program.compile()


@pytest.mark.parametrize(
    "name", ["aten.add_.Tensor", "aten.copy_.default", "aten.index_put_.default"]
)
def test_changes_in_place_are_refused(name: str) -> None:
    """Taken as functions they would be lost, and the result wrong."""

    def rename(program: Any) -> None:
        program["graph_module"]["graph"]["nodes"][3]["target"] = f"torch.ops.{name}"

    assert name not in OPERATORS
    with pytest.raises(hlo.UnsupportedError, match="in place"):
        hlo.from_torch(changed("creation", rename)).compile()


def test_another_schema_is_refused() -> None:
    def age(program: Any) -> None:
        program["schema_version"]["major"] = 7

    with pytest.raises(hlo.UnsupportedError, match="schema version 8, found 7"):
        hlo.from_torch(changed("creation", age))


@pytest.mark.parametrize("data", [b"", b"PK", b"\0" * 100], ids=["empty", "short", "zeros"])
def test_what_is_no_archive_is_refused(data: bytes) -> None:
    with pytest.raises(hlo.ParseError, match=r"written by torch\.export\.save"):
        hlo.from_torch(data)


def test_a_damaged_archive_is_refused() -> None:
    whole = (DATA / "counter.pt2").read_bytes()
    for length in range(0, len(whole), len(whole) // 37):
        with pytest.raises(hlo.CompileError):
            hlo.from_torch(whole[:length])


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(hlo.ParseError, match=r"none\.pt2"):
        hlo.from_torch(tmp_path / "none.pt2")


def test_wrong_arguments_are_refused() -> None:
    compiled = hlo.from_torch(DATA / "counter.pt2").compile()
    with pytest.raises(hlo.ArgumentError, match="expected an argument x"):
        compiled()
    with pytest.raises(hlo.ArgumentError, match=r"expected float32\[4,3\] for x"):
        compiled(np.ones((4, 4), np.float32))
    with pytest.raises(hlo.ArgumentError, match="expected 1 tensors"):
        compiled(np.ones((4, 3), np.float32), np.ones(3, np.float32))
