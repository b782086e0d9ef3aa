"""The thread pool and the memory cache."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from native_programs import runtime_function

from hlo.executable import runtime

KERNEL = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), ctypes.c_int64, ctypes.c_int64)


def parallel_for(kernel: object, n: int, grain: int, threads: int) -> None:
    state = runtime.CallState(threads)
    function = runtime_function(
        "hlo_rt_parallel_for",
        None,
        ctypes.c_void_p,
        KERNEL,
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.c_int64,
    )
    function(state.address, kernel, None, n, grain)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize(("n", "grain"), [(0, 1), (1, 1), (7, 2), (100, 1), (1000, 64), (5, 100)])
def test_every_unit_is_done_once(threads: int, n: int, grain: int) -> None:
    done = np.zeros(n, np.int64)

    @KERNEL
    def kernel(args: object, begin: int, end: int) -> None:
        assert 0 <= begin < end <= n
        done[begin:end] += 1

    for _ in range(5):
        parallel_for(kernel, n, grain, threads)
    assert (done == 5).all()


def test_work_is_spread_and_one_thread_means_one() -> None:
    def threads_seen(threads: int) -> set[int]:
        seen: set[int] = set()

        @KERNEL
        def kernel(args: object, begin: int, end: int) -> None:
            seen.add(threading.get_native_id())
            time.sleep(0.002)

        parallel_for(kernel, 40, 1, threads)
        return seen

    assert threads_seen(1) == {threading.get_native_id()}
    assert len(threads_seen(3)) == 3


def test_an_idle_thread_takes_the_others_work() -> None:
    units: dict[int, list[int]] = {}

    @KERNEL
    def kernel(args: object, begin: int, end: int) -> None:
        units.setdefault(threading.get_native_id(), []).append(begin)
        time.sleep(0.05 if begin == 0 else 0.001)

    parallel_for(kernel, 20, 1, 2)
    assert len(units[threading.get_native_id()]) < 10


def test_nested_and_concurrent_calls_run_inline() -> None:
    done = np.zeros((4, 8, 100), np.int64)

    def outer(caller: int) -> None:
        @KERNEL
        def kernel(args: object, begin: int, end: int) -> None:
            for row in range(begin, end):

                @KERNEL
                def inner(args: object, low: int, high: int, row: int = row) -> None:
                    done[caller, row, low:high] += 1

                parallel_for(inner, 100, 1, 2)

        parallel_for(kernel, 8, 1, 2)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(outer, range(4)))
    assert (done == 1).all()


def test_a_forked_child_has_its_own_pool() -> None:
    def count() -> int:
        done = np.zeros(64, np.int64)

        @KERNEL
        def kernel(args: object, begin: int, end: int) -> None:
            done[begin:end] += 1

        parallel_for(kernel, 64, 1, 2)
        return int(done.sum())

    assert count() == 64
    child = os.fork()
    if child == 0:
        os._exit(0 if count() == 64 and count() == 64 else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert count() == 64


@pytest.fixture
def memory_cache():
    runtime.trim_cache()
    limit = runtime.memory_statistics()["cache_limit"]
    yield
    runtime.set_cache_limit(limit)


def allocate(size: int) -> int:
    return runtime_function("hlo_rt_alloc", ctypes.c_void_p, ctypes.c_int64)(size)  # type: ignore[return-value]


def free(address: int, size: int) -> None:
    runtime_function("hlo_rt_free", None, ctypes.c_void_p, ctypes.c_int64)(address, size)


@pytest.mark.parametrize("size", [0, 1, 64, 65, 513, 4097, 1 << 20, (4 << 20) + 1, (7 << 20) + 3])
def test_blocks_are_aligned_writable_and_reused(size: int, memory_cache: None) -> None:
    first = allocate(size)
    assert first % (64 if size < 4 << 20 else 2 << 20) == 0
    ctypes.memset(first, 1, size)
    free(first, size)
    again = allocate(size)
    assert again == first
    other = allocate(size)
    assert other >= first + size or other + size <= first
    free(other, size)
    free(again, size)


def test_waste_is_at_most_an_eighth(memory_cache: None) -> None:
    for size in [*range(512, 5000, 61), 100_000, 1_234_567, 9_999_999]:
        before = runtime.memory_statistics()["bytes_in_use"]
        block = allocate(size)
        used = runtime.memory_statistics()["bytes_in_use"] - before
        assert size <= used <= size * 1.126
        free(block, size)


def test_the_cache_keeps_to_its_limit_and_drops_the_oldest(memory_cache: None) -> None:
    runtime.set_cache_limit(3 << 20)
    blocks = [allocate(1 << 20) for _ in range(5)]
    for block in blocks:
        free(block, 1 << 20)
    assert runtime.memory_statistics()["bytes_cached"] == 3 << 20
    assert allocate(1 << 20) == blocks[-1]
    free(blocks[-1], 1 << 20)
    runtime.trim_cache()
    assert runtime.memory_statistics()["bytes_cached"] == 0


def test_impossible_sizes_give_null() -> None:
    assert allocate(-1) is None
    assert allocate(1 << 50) is None
