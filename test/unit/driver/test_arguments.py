"""Arguments from files, literals, specifications and seeds."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from hlo import ir
from hlo.diagnostics import ArgumentError
from hlo.driver.arguments import (
    ArgumentType,
    check_arguments,
    donations,
    entry_types,
    from_seed,
    from_specification,
    load_arguments,
    parse_literal,
)


@pytest.fixture(scope="module")
def context() -> ir.Context:
    return ir.make_context()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f32[2,3]=1,2,3,4,5,6", np.float32([[1, 2, 3], [4, 5, 6]])),
        ("f32[4]=0.5", np.float32([0.5] * 4)),
        ("f64=-inf", np.float64(-np.inf)),
        ("i32=7", np.int32(7)),
        ("ui8[2]=0xff,0", np.uint8([255, 0])),
        ("u8[1]=3", np.uint8([3])),
        ("pred[2]=true,0", np.bool_([True, False])),
        ("c64[2]=1+2j,3", np.complex64([1 + 2j, 3])),
        ("complex<f64>=1j", np.complex128(1j)),
        ("i4[2]=1,-8", np.array([1, -8], ml_dtypes.int4)),
        ("bf16[2]=1,nan", np.array([1, np.nan], ml_dtypes.bfloat16)),
        ("f32[0]=", np.zeros(0, np.float32)),
        ("dense<[1.0, 2.0]> : tensor<2xf32>", np.float32([1, 2])),
    ],
)
def test_literals(text: str, expected: np.ndarray, context: ir.Context) -> None:
    found = parse_literal(text, context)
    assert found.shape == np.shape(expected)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.astype(np.complex128), np.asarray(expected, np.complex128))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("i8=200", "does not fit int8"),
        ("f32[2]=1,2,3", "expected 2 values or one, found 3"),
        ("nope=1", "expected an element type"),
        ("f32[2]=x", "could not convert"),
        ("pred=2", "expected true or false"),
        ("1,2,3", "expected an argument such as"),
        ("dense<[1.0]> : tensor<2xf32>", "cannot read the tensor literal"),
        ("f32[9999999999,9999999999]=1", "99999999980000000001 elements are more than memory"),
        ("i8[99999999999999999999]=1", "more than memory can hold"),
    ],
)
def test_bad_literals(text: str, reason: str, context: ir.Context) -> None:
    with pytest.raises(ArgumentError, match=reason):
        parse_literal(text, context)


def test_npz_is_read_by_number_or_in_order(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, **{f"arg{i}": np.int32(i) for i in reversed(range(12))})
    assert [int(a) for a in load_arguments(path)] == list(range(12))
    np.savez(path, weight=np.float32(2), bias=np.float32(1))
    assert [float(a) for a in load_arguments(path)] == [2.0, 1.0]


def test_npy_is_one_argument(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(3))
    (found,) = load_arguments(tmp_path / "a.npy")
    np.testing.assert_array_equal(found, np.arange(3))


def test_unreadable_files_are_argument_errors(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="cannot read arguments"):
        load_arguments(tmp_path / "missing.npz")
    (tmp_path / "bad.npz").write_bytes(b"not an archive")
    with pytest.raises(ArgumentError, match="cannot read arguments"):
        load_arguments(tmp_path / "bad.npz")


def _archive(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def test_files_that_are_damaged_or_of_another_kind_say_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"

    def complaint() -> str:
        with pytest.raises(ArgumentError, match=f"cannot read arguments from {path}: ") as caught:
            load_arguments(path)
        return str(caught.value)

    np.savez(path, arg0=np.zeros(100))
    whole = path.read_bytes()
    path.write_bytes(whole[:200] + b"\xff" + whole[201:])
    assert "Bad CRC-32" in complaint()
    path.write_bytes(whole[:300])
    assert "not a zip file" in complaint()
    path.write_bytes(b"")
    assert "expected a .npy or .npz file, found neither" in complaint()
    _archive(path, {"arg0": b"text"})
    assert "'arg0' is no array" in complaint()
    _archive(path, {"arg0.npy": b"\x93NUMPY"})
    complaint()
    np.savez(path, arg0=np.array([None]))
    assert "Object arrays" in complaint()


@pytest.mark.parametrize("names", [("arg0", "arg2"), ("arg1", "arg2"), ("arg0", "0")])
def test_positions_in_a_file_have_no_gaps(names: tuple[str, str], tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **dict.fromkeys(names, np.zeros(1)))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match="expected the names arg0, arg1, found"):
        load_arguments(tmp_path / "a.npz")


def test_big_endian_numbers_are_turned_around() -> None:
    (found,) = check_arguments([np.array([1, -2], ">i4")], [ArgumentType((2,), np.dtype(np.int32))])
    assert found.dtype.isnative and found.tolist() == [1, -2]


def test_raw_bytes_of_ml_dtypes_are_viewed_as_the_dtype_expected(tmp_path: Path) -> None:
    values = np.array([1, 2.5], ml_dtypes.bfloat16)
    np.savez(tmp_path / "a.npz", values)
    kind = ArgumentType((2,), np.dtype(ml_dtypes.bfloat16))
    (found,) = check_arguments(load_arguments(tmp_path / "a.npz"), [kind])
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found.astype(np.float32), values.astype(np.float32))


def test_arguments_must_fit_the_program() -> None:
    kind = ArgumentType((2,), np.dtype(np.float32))
    with pytest.raises(ArgumentError, match="takes 1 arguments, found 2"):
        check_arguments([np.zeros(2, np.float32)] * 2, [kind])
    with pytest.raises(
        ArgumentError, match=r"argument 0: expected float32\[2\], found float64\[2\]"
    ):
        check_arguments([np.zeros(2)], [kind])
    with pytest.raises(ArgumentError, match=r"expected float32\[2\], found float32\[3\]"):
        check_arguments([np.zeros(3, np.float32)], [kind])


def test_specifications_make_the_same_arguments_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    arguments = [
        {"shape": [3], "dtype": "float32", "fill": {"normal": [0.0, 1.0], "clip": [-0.5, 0.5]}},
        {"shape": [4], "dtype": "int32", "fill": {"integers": [2, 3]}},
        {"shape": [2], "dtype": "bool", "fill": {"bernoulli": 0.0}},
        {"shape": [2], "dtype": "float64", "fill": {"constant": 7}},
        {"shape": [2, 1], "dtype": "int8", "values": [1, 2]},
        {"shape": [], "dtype": "bool", "fill": {"bernoulli": 1.0}},
    ]
    path.write_text(json.dumps({"args": arguments}))
    made = from_specification(path)
    normal, integers, booleans, constant, values, scalar = made
    expected = np.random.default_rng([0, 20261129]).standard_normal(3, np.float32).clip(-0.5, 0.5)
    np.testing.assert_array_equal(normal, expected)
    assert set(integers.tolist()) <= {2, 3} and integers.dtype == np.int32
    assert not booleans.any() and booleans.dtype == np.bool_
    assert constant.tolist() == [7.0, 7.0]
    assert values.tolist() == [[1], [2]]
    assert scalar.shape == () and bool(scalar)
    assert all(array.flags.owndata and array.flags.writeable for array in made)


def test_checked_arguments_can_be_donated() -> None:
    kind = ArgumentType((2, 1), np.dtype("float32"))
    view = np.zeros(2, np.float32).reshape(2, 1)
    (found,) = check_arguments([view], [kind])
    assert found.flags.owndata and not np.shares_memory(found, view)
    (same,) = check_arguments([found], [kind])
    assert same is found


def test_bad_specifications(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    for fill in ('{"cauchy": 1}', "[]", "{}", '{"normal": [1]}', '{"constant": 1000}', "1", "null"):
        path.write_text(f'{{"args": [{{"shape": [1], "dtype": "int8", "fill": {fill}}}]}}')
        with pytest.raises(ArgumentError, match="not a specification"):
            from_specification(path)
    path.write_text("[" * 100_000)
    with pytest.raises(ArgumentError, match="not a specification"):
        from_specification(path)
    with pytest.raises(ArgumentError, match="cannot read"):
        from_specification(tmp_path / "missing.json")


def test_seeds_give_arguments_of_every_kind() -> None:
    dtypes = [np.float32, np.int8, np.bool_, np.complex64, ml_dtypes.bfloat16, ml_dtypes.uint4]
    kinds = [ArgumentType((5,), np.dtype(dtype)) for dtype in dtypes]
    first, again = from_seed(kinds, 3), from_seed(kinds, 3)
    for kind, one, two in zip(kinds, first, again, strict=True):
        assert (one.shape, one.dtype) == (kind.shape, kind.dtype)
        assert one.tobytes() == two.tobytes()


def test_the_entry_tells_types_and_donations(context: ir.Context) -> None:
    module = ir.parse_module(
        """func.func @main(%a: tensor<2x3xf32> {tf.aliasing_output = 1 : i32}, %b: tensor<i1>,
                           %c: tensor<4xcomplex<f32>> {jax.buffer_donor = true}) { return }""",
        context,
    )
    assert [str(kind) for kind in entry_types(module)] == ["float32[2,3]", "bool[]", "complex64[4]"]
    assert donations(module) == {0: 1, 2: None}
    with pytest.raises(ArgumentError, match="no function @other"):
        entry_types(module, "other")
