"""ONNX's own cases of its operators, which the package `onnx` brings: each a model of one node (or
of its definition by others), arguments and results."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import hlo
from hlo.diagnostics import UnsupportedError
from hlo.onnx.ops.registry import UnknownValueError

ROOT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "node"
NAMES = sorted(path.name for path in ROOT.iterdir())
SAMPLE = 8

REFUSED: Final = (
    # Strings.
    r"equal_string|regex_full|string_|strnormalizer|label_encoder|tfidf|image_decoder",
    # Results whose extents depend on values.
    r"nonmaxsuppression",
    # Sequences and optionals as arguments, or out of a branch that is taken when it runs.
    r"identity_(opt|sequence)|if_(opt|seq)|loop1[36]_seq|sequence_(insert|map)",
    r"optional_get_element_(optional|sequence)|has_element_(empty_optional|optional|tensor)_input",
    # Random numbers, which no standard defines.
    r"bernoulli|training_dropout(_default)?(_mask)?$",
    # Operators without a meaning here.
    r"ai_onnx_ml|deform_conv|roialign",
)
_IS_REFUSED = re.compile("|".join(REFUSED))


@dataclass(frozen=True)
class Case:
    """A model, its arguments by name, and its results."""

    model: Any
    arguments: dict[str, Any]
    results: list[Any]


def _value(path: Path, kind: Any) -> Any:
    data = path.read_bytes()
    if kind.HasField("tensor_type"):
        return numpy_helper.to_array(onnx.TensorProto.FromString(data))
    if kind.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))


def read(name: str) -> Case:
    """A case of the suite."""
    folder = ROOT / name
    model = onnx.load(folder / "model.onnx")
    data = folder / "test_data_set_0"
    arguments = {
        each.name: _value(data / f"input_{i}.pb", each.type)
        for i, each in enumerate(model.graph.input)
    }
    results = [
        _value(data / f"output_{i}.pb", each.type) for i, each in enumerate(model.graph.output)
    ]
    return Case(model, arguments, results)


def run(case: Case) -> list[Any]:
    """The case's results; arguments that decide about shapes are made constants."""
    arrays = {k: v for k, v in case.arguments.items() if isinstance(v, np.ndarray)}
    constants: dict[str, Any] = {}
    while True:
        shapes = {name: array.shape for name, array in arrays.items() if name not in constants}
        program = hlo.from_onnx(case.model, constants=constants, shapes=shapes)
        try:
            compiled = program.compile()
        except UnknownValueError as error:
            if error.value in arrays and error.value not in constants:
                more = {error.value: arrays[error.value]}
            else:  # a value that is computed of arguments
                more = {k: v for k, v in arrays.items() if v.ndim == 0 or _is_index(v)}
                more = {k: v for k, v in more.items() if k not in constants}
            if not more:
                raise
            constants |= more
            continue
        found = compiled(*(v for k, v in case.arguments.items() if k not in constants))
        return list(found) if isinstance(found, tuple) else [found]


def _is_index(array: Any) -> bool:
    return array.ndim == 1 and array.dtype.kind in "iu"


def check(found: Any, expected: Any) -> None:
    """Equal integers; floats within the suite's own tolerance, 1e-3, and narrow ones' last bit."""
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            check(a, b)
        return
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    if expected.dtype.kind in "biu" or "int" in expected.dtype.name:
        np.testing.assert_array_equal(found, expected)
        return
    narrow = expected.dtype.itemsize <= 2
    limits = ml_dtypes.finfo(expected.dtype)
    tolerance = max(1e-3, float(limits.eps)) if narrow else 1e-3
    left, right = found.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_allclose(left, right, rtol=tolerance, atol=1e-2 if narrow else 1e-5)


def _examine(name: str) -> None:
    if _IS_REFUSED.search(name):
        with pytest.raises((UnsupportedError, hlo.ArgumentError)):
            run(read(name))
        return
    case = read(name)
    check(run(case), case.results)


def test_what_is_refused_is_among_the_cases() -> None:
    assert len(NAMES) > 1500
    for pattern in REFUSED:
        assert any(re.search(pattern, name) for name in NAMES)


@pytest.mark.parametrize("name", NAMES[::SAMPLE])
def test_a_sample(name: str) -> None:
    _examine(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for i, name in enumerate(NAMES) if i % SAMPLE])
def test_the_others(name: str) -> None:
    _examine(name)
