"""Calling a program: argument checks, conversions, results, donation, errors, memory, threads."""

from __future__ import annotations

import ctypes
import gc
import platform
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest
from native_programs import add_one_body, copy_body, entry_module, parse, pointer

from hlo.diagnostics import ArgumentError, CompileError, ExecutionError
from hlo.executable import runtime
from hlo.executable.runtime import Argument, Executable, Result, Signature

F32 = np.dtype(np.float32)


def signature(dtype: object, shape: tuple[int, ...], *, donated: bool = False) -> Signature:
    d = np.dtype(dtype)
    result = Result(d, shape, 0 if donated else None)
    return Signature((Argument("x", d, shape, donated),), (result,))


def copier(dtype: object, shape: tuple[int, ...], **options: object) -> Executable:
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    code = runtime.compile_to_object(entry_module(copy_body(size)))
    return runtime.load([code], signature(dtype, shape), name="copy", **options)  # type: ignore[arg-type]


def adder(count: int, *, donated: bool = False) -> Executable:
    code = runtime.compile_to_object(entry_module(add_one_body(count)))
    return runtime.load([code], signature(F32, (count,), donated=donated), name="add_one")


@pytest.mark.parametrize(
    "dtype",
    [
        np.bool_,
        np.int8,
        np.uint16,
        np.int32,
        np.uint64,
        np.float16,
        np.float32,
        np.float64,
        np.complex64,
        np.complex128,
        ml_dtypes.bfloat16,
        ml_dtypes.float8_e4m3fn,
        ml_dtypes.float4_e2m1fn,
        ml_dtypes.int4,
        ml_dtypes.uint2,
    ],
)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4), (0, 5)])
def test_every_dtype_and_shape_goes_through(dtype: object, shape: tuple[int, ...]) -> None:
    x = np.ones(shape, dtype)  # type: ignore[call-overload]
    (y,) = copier(dtype, shape)(x)
    assert type(y) is np.ndarray
    assert (y.dtype, y.shape) == (np.dtype(dtype), shape)  # type: ignore[arg-type]
    assert y.tobytes() == x.tobytes()
    assert y.flags.writeable
    assert y.flags.c_contiguous


def test_awkward_layouts_are_copied() -> None:
    call = copier(F32, (4, 6))
    base = np.arange(48, dtype=F32).reshape(8, 6)
    readonly = base[:4].copy()
    readonly.flags.writeable = False
    misaligned = np.frombuffer(b"\0" + base[:4].tobytes(), np.uint8)[1:].view(F32).reshape(4, 6)
    assert not misaligned.flags.aligned
    arrays = [
        base[::2],
        np.asfortranarray(base[:4]),
        base[3::-1],
        np.broadcast_to(base[0], (4, 6)),
        base[:4].astype(">f4"),
        readonly,
        misaligned,
    ]
    for array in arrays:
        np.testing.assert_array_equal(call(array)[0], array)


def test_other_array_types() -> None:
    class WithArray:
        def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
            return np.arange(3, dtype=F32)

    class WithDlpack:
        def __dlpack__(self, **options: object) -> object:
            return np.arange(3, dtype=F32).__dlpack__()

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    call = copier(F32, (3,))
    for value in (WithArray(), WithDlpack(), memoryview(np.arange(3, dtype=F32))):
        np.testing.assert_array_equal(call(value)[0], [0, 1, 2])


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (np.float32, 1.5),
        (np.float32, 3),
        (ml_dtypes.bfloat16, 1.5),
        (np.int32, -4),
        (ml_dtypes.int4, -8),
        (np.bool_, True),
        (np.complex64, 1 + 2j),
        (np.float32, np.float32(2)),
    ],
)
def test_scalars(dtype: object, value: object) -> None:
    (y,) = copier(dtype, ())(value)
    assert y.shape == ()
    assert y[()] == value


@pytest.mark.parametrize(
    ("dtype", "value", "message"),
    [
        (np.int32, 1.5, "expected int32.*found a Python float"),
        (np.int8, 300, "int8"),
        (np.uint8, -1, "uint8"),
        (ml_dtypes.int4, 8, "int4.*out of its range"),
        (np.bool_, 1, "expected bool.*found a Python int"),
        (np.float32, 1j, "found a Python complex"),
        (np.float32, True, "found a Python bool"),
        (np.float32, np.float64(1), "found float64"),
        (np.float32, None, "found object"),
        (np.float32, "text", "argument 0 .'x'.: expected float32"),
    ],
)
def test_scalars_that_do_not_fit(dtype: object, value: object, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        copier(dtype, ())(value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            np.zeros((2, 3), np.float64),
            r"argument 0 \('x'\): expected float32\[2,3\], found float64",
        ),
        (np.zeros((3, 2), F32), r"expected float32\[2,3\], found float32\[3,2\]"),
        (np.zeros(6, F32), r"found float32\[6\]"),
        (np.zeros((2, 3), np.int32), r"found int32\[2,3\]"),
        (np.zeros((2, 3), ">f8"), r"found >f8\[2,3\]|found float64"),
        (3.0, r"found float64\[\] \(from a float\)"),
        ([[1, 2, 3]], r"\(from a list\)"),
    ],
)
def test_arrays_that_do_not_fit(value: object, message: str) -> None:
    call = copier(F32, (2, 3))
    with pytest.raises(ArgumentError, match=message):
        call(value)
    with pytest.raises((TypeError, ValueError)):
        call(value)


def test_conversion_errors_carry_their_cause() -> None:
    class Broken:
        def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
            raise KeyError("on a device")

    with pytest.raises(ArgumentError, match=r"Broken that does not convert.*on a device"):
        copier(F32, (1,))(Broken())


def test_argument_count_and_keywords() -> None:
    call = copier(F32, (1,))
    x = np.zeros(1, F32)
    with pytest.raises(ArgumentError, match="'copy': expected 1 arguments, found 2"):
        call(x, x)
    with pytest.raises(ArgumentError, match="expected 1 arguments, found 0"):
        call()
    with pytest.raises(ArgumentError, match="no keyword"):
        call(x=x)  # type: ignore[call-arg]


def test_results_are_fresh_and_outlive_the_program() -> None:
    call = adder(5)
    x = np.arange(5, dtype=F32)
    first = call(x)[0]
    second = call(first)[0]
    del call
    gc.collect()
    np.testing.assert_array_equal(x, range(5))
    np.testing.assert_array_equal(first, range(1, 6))
    np.testing.assert_array_equal(second, range(2, 7))
    assert first.ctypes.data % 64 == 0


def test_many_arguments_and_results() -> None:
    count = 100
    body = "".join(
        pointer(f"x{i}", "args", i)
        + pointer(f"y{i}", "results", count - 1 - i)
        + f"%v{i} = llvm.load %x{i} : !llvm.ptr -> i64\n llvm.store %v{i}, %y{i} : i64, !llvm.ptr\n"
        for i in range(count)
    )
    i64 = np.dtype(np.int64)
    types = Signature(
        tuple(Argument(f"x{i}", i64, ()) for i in range(count)), (Result(i64, ()),) * count
    )
    call = runtime.load([runtime.compile_to_object(entry_module(body))], types)
    assert [int(y) for y in call(*range(count))] == list(range(count))[::-1]


def test_no_arguments_no_results() -> None:
    call = runtime.load([runtime.compile_to_object(entry_module(""))], Signature((), ()))
    assert call() == ()


def test_constants_and_arena() -> None:
    body = (
        pointer("c", "constants", 1)
        + pointer("y", "results", 0)
        + """
    %v = llvm.load %c {alignment = 2 : i64} : !llvm.ptr -> i16
    llvm.store %v, %arena : i16, !llvm.ptr
    %last = llvm.getelementptr %arena[4095] : (!llvm.ptr) -> !llvm.ptr, i8
    %byte = llvm.mlir.constant(7 : i8) : i8
    llvm.store %byte, %last : i8, !llvm.ptr
    %w = llvm.load %arena : !llvm.ptr -> i16
    llvm.store %w, %y : i16, !llvm.ptr
"""
    )
    code = runtime.compile_to_object(entry_module(body))
    bfloat16 = np.dtype(ml_dtypes.bfloat16)
    constants = [np.zeros(3), np.full(2, 1.5, bfloat16)]
    types = Signature((), (Result(bfloat16, ()),))
    call = runtime.load([code], types, constants=constants, arena_bytes=4096)
    assert (call.arena_bytes, call.constant_bytes) == (4096, 28)
    del constants
    gc.collect()
    assert call()[0] == 1.5


def test_errors_of_the_program() -> None:
    body = """
    %message = llvm.mlir.addressof @message : !llvm.ptr
    llvm.call @hlo_rt_set_error(%runtime, %message) : (!llvm.ptr, !llvm.ptr) -> ()
    %code = llvm.mlir.constant(1 : i32) : i32
    llvm.return %code : i32
  ^never:
"""
    text = 'llvm.mlir.global internal constant @message("out of luck\\00")'
    module = entry_module(body, text)
    call = runtime.load([runtime.compile_to_object(module)], Signature((), ()), name="unlucky")
    with pytest.raises(ExecutionError, match=r"'unlucky' failed \(code 1\): out of luck"):
        call()
    silent = entry_module(body.partition("    %code")[0], text)
    call = runtime.load([runtime.compile_to_object(silent)], Signature((), ()), name="silent")
    with pytest.raises(ExecutionError, match=r"'silent' failed.*out of luck"):
        call()


def test_a_missing_entry_is_a_compile_error() -> None:
    code = runtime.compile_to_object(entry_module(""))
    with pytest.raises(CompileError, match="no_such_entry"):
        runtime.load([code], Signature((), ()), entry="no_such_entry")


def test_donated_memory_becomes_the_result() -> None:
    call = adder(1000, donated=True)
    x = np.zeros(1000, F32)
    address = x.ctypes.data
    for step in range(1, 4):
        (x,) = call(x)
        assert x.ctypes.data == address
        assert x[0] == x[-1] == step
    assert call.donation_copies == 0
    (fresh,) = call(call(np.zeros(1000, F32))[0])
    assert fresh[3] == 2


def test_donated_arrays_that_cannot_be_taken_over_are_copied_and_reported() -> None:
    call = adder(10, donated=True)
    whole = np.zeros(20, F32)
    readonly = np.zeros(10, F32)
    readonly.flags.writeable = False
    with pytest.warns(UserWarning, match=r"donated argument 0 \('x'\) of 'add_one' was copied"):
        (y,) = call(whole[:10])
    assert y.sum() == 10
    assert whole.sum() == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert call(readonly)[0].sum() == 10
    assert readonly.sum() == 0
    assert call.donation_copies == 2


def test_a_donated_array_passed_twice_is_copied() -> None:
    i64 = np.dtype(np.int64)
    body = (
        pointer("x", "args", 0)
        + pointer("y", "args", 1)
        + pointer("r", "results", 0)
        + """
    %minus = llvm.mlir.constant(-1 : i64) : i64
    llvm.store %minus, %x : i64, !llvm.ptr
    %v = llvm.load %y : !llvm.ptr -> i64
    llvm.store %v, %r : i64, !llvm.ptr
"""
    )
    types = Signature((Argument("x", i64, (), True), Argument("y", i64, ())), (Result(i64, (), 0),))
    call = runtime.load([runtime.compile_to_object(entry_module(body))], types)
    x = np.array(5)
    with pytest.warns(UserWarning, match="overlap"):
        assert call(x, x)[0] == 5


@pytest.mark.parametrize(
    "results",
    [
        (Result(F32, (2,), 1),),
        (Result(F32, (3,), 0),),
        (Result(F32, (2,), 0), Result(F32, (2,), 0)),
        (Result(F32, (2,), 7),),
    ],
)
def test_impossible_donations_are_refused(results: tuple[Result, ...]) -> None:
    arguments = (Argument("x", F32, (2,), True), Argument("y", F32, (2,)))
    code = runtime.compile_to_object(entry_module(""))
    with pytest.raises(ValueError, match="donated argument"):
        runtime.load([code], Signature(arguments, results))


def test_results_that_do_not_fit_in_memory() -> None:
    huge = Signature((), (Result(F32, (2**45,)),))
    call = runtime.load([runtime.compile_to_object(entry_module(""))], huge)
    with pytest.raises(MemoryError):
        call()
    with pytest.raises(ValueError, match="does not fit"):
        runtime.load(
            [runtime.compile_to_object(entry_module(""))],
            Signature((), (Result(F32, (2**40, 2**40)),)),
        )


def test_calls_from_many_threads() -> None:
    call = adder(20_000)

    def run(seed: int) -> bool:
        x = np.random.default_rng(seed).normal(size=20_000).astype(F32)
        return all(np.array_equal(call(x)[0], x + F32.type(1)) for _ in range(20))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(run, range(16)))


def test_the_gil_is_released() -> None:
    body = """
    llvm.call @sleep_here() : () -> ()
"""
    code = runtime.compile_to_object(
        entry_module(
            body,
            """
  llvm.func @usleep(i32) -> i32
  llvm.func @sleep_here() {
    %t = llvm.mlir.constant(300000 : i32) : i32
    %r = llvm.call @usleep(%t) : (i32) -> i32
    llvm.return
  }""",
        )
    )
    call = runtime.load([code], Signature((), ()))
    thread = threading.Thread(target=call)
    thread.start()
    ticks = 0
    while thread.is_alive():
        ticks += 1
    assert ticks > 1000


SET_MODE = {
    "x86_64": '"push $0; ldmxcsr (%rsp); pop $0", "r"',
    "aarch64": '"msr fpcr, $0", "r"',
}
FLUSHING_MODES = {"x86_64": (0x9FC0, 0x1F80), "aarch64": (1 << 24, 0)}


def set_float_mode(mode: int) -> None:
    """Writes the thread's floating-point control register."""
    code = runtime.compile_to_object(
        parse(f"""module {{ llvm.func @set() {{
            %mode = llvm.mlir.constant({mode} : i64) : i64
            llvm.inline_asm has_side_effects {SET_MODE[platform.machine()]} %mode : (i64) -> ()
            llvm.return
        }} }}""")
    )
    library = runtime.Library([code])
    ctypes.CFUNCTYPE(None)(library.lookup("set"))()


def test_subnormals_are_kept_when_the_caller_flushes_them() -> None:
    body = add_one_body(1).replace("1.0 : f32", "0.5 : f32").replace("fadd", "fmul")
    code = runtime.compile_to_object(entry_module(body))
    call = runtime.load([code], signature(F32, (1,)))
    x = np.array([1 << 22], np.uint32).view(F32)
    flushing, normal = FLUSHING_MODES[platform.machine()]
    set_float_mode(flushing)
    try:
        result = call(x)[0].view(np.uint32)[0]
    finally:
        set_float_mode(normal)
    assert result == 1 << 21


def test_subnormals_are_flushed_where_a_program_says_so() -> None:
    body = add_one_body(1).replace("1.0 : f32", "0.5 : f32").replace("fadd", "fmul")
    code = runtime.compile_to_object(entry_module(body))
    x = np.array([1 << 22], np.uint32).view(F32)
    for flushed, expected in ((True, 0), (False, 1 << 21), (True, 0)):
        call = runtime.load([code], signature(F32, (1,)), flush_subnormals=flushed)
        assert call(x)[0].view(np.uint32)[0] == expected
        assert (x * np.float32(0.5)).view(np.uint32)[0] == 1 << 21  # the caller's mode is its own
