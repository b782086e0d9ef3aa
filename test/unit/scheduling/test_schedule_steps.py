"""Orders of steps against brute force, and how they treat values that share memory."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pytest
from call_counts import calls_of

from hlo.passes.memory.scheduling import Problem, Step, Value, as_given, profile, schedule


def random_problem(source: random.Random, count: int) -> Problem:
    """`count` steps that make one value each and read up to three earlier ones."""
    steps: list[Step] = []
    for i in range(count):
        reads = tuple(
            sorted({source.randrange(i) for _ in range(source.randrange(4))} if i else [])
        )
        over = ((i, reads[0]),) if reads and source.random() < 0.3 else ()
        steps.append(Step((i,), reads, scratch=source.choice([0, 0, 5]), over=over))
    values = [Value(source.choice([1, 10, 10, 50]), source.random() < 0.1) for _ in steps]
    return Problem(steps, values)


def is_possible(problem: Problem, order: tuple[int, ...]) -> bool:
    position = {at: i for i, at in enumerate(order)}
    return sorted(order) == list(range(len(problem.steps))) and all(
        position[earlier] < position[at] for at in order for earlier in problem.before[at]
    )


def least_peak(problem: Problem) -> int:
    """The least peak of all orders that are possible."""
    orders = itertools.permutations(range(len(problem.steps)))
    return min(profile(problem, o).peak for o in orders if is_possible(problem, o))


@pytest.mark.parametrize("seed", range(30))
def test_small_problems_are_solved_exactly(seed: int) -> None:
    problem = random_problem(random.Random(seed), 7)
    found = schedule(problem)
    assert is_possible(problem, found.order)
    assert found.peak == profile(problem, found.order).peak == least_peak(problem)


@pytest.mark.parametrize("seed", range(20))
def test_large_problems_never_get_worse(seed: int) -> None:
    problem = random_problem(random.Random(seed), 200)
    found = schedule(problem)
    assert is_possible(problem, found.order)
    assert found.peak == profile(problem, found.order).peak <= profile(problem).peak
    assert found == schedule(problem)


def test_gradients_are_used_as_they_come() -> None:
    # 50 gradients of 100 bytes along a chain of values of 10 bytes, all applied at the end: 50 x
    # 100 bytes live. In turn, one gradient and two links of the chain are.
    n = 50
    steps, values = [Step((0,))], [Value(10)]
    for i in range(n):
        values += [Value(10), Value(100)]
        steps += [Step((2 * i + 1,), (2 * i,)), Step((2 * i + 2,), (2 * i,))]
        steps[-2] = Step((2 * i + 1,), (max(2 * i - 1, 0),))
        steps[-1] = Step((2 * i + 2,), (2 * i + 1,))
    for i in range(n):
        values.append(Value(0, kept=True))
        steps.append(Step((2 * n + 1 + i,), (2 * i + 2,)))
    found = schedule(Problem(steps, values))
    assert found.peak_before >= n * 100
    assert found.peak <= 120


def test_a_step_over_a_dying_value_takes_no_bytes() -> None:
    values = [Value(8), Value(8)]
    steps = [Step((0,)), Step((1,), (0,), over=((1, 0),))]
    assert profile(Problem(steps, values)).during == (8, 8)


def test_a_value_goes_home_once_home_is_read_no_more() -> None:
    # Value 0 is there from the start. Step 1 reads it; made before that, value 1 needs 8 bytes.
    values = [Value(0), Value(8, kept=True, home=0), Value(0, kept=True)]
    early = Problem([Step((1,)), Step((2,), (0,))], values)
    late = Problem([Step((2,), (0,)), Step((1,))], values)
    assert profile(early).peak == 8
    assert profile(late).peak == 0
    assert schedule(early).order == (1, 0)


def test_gains_below_the_least_are_left() -> None:
    values = [Value(8), Value(1), Value(8), Value(1)]
    steps = [Step((0,)), Step((2,)), Step((1,), (0,)), Step((3,), (2,))]
    assert schedule(Problem(steps, values), least_gain=0.4).peak == 9
    assert schedule(Problem(steps, values), least_gain=0.5).order == (0, 1, 2, 3)
    assert schedule(Problem(steps, values), least_bytes=100).order == (0, 1, 2, 3)


def test_the_best_order_that_will_do_is_taken() -> None:
    values = [Value(8), Value(1), Value(8), Value(1)]
    steps = [Step((0,)), Step((2,)), Step((1,), (0,)), Step((3,), (2,))]
    asked: list[tuple[int, ...]] = []

    def no(order: Sequence[int]) -> bool:
        asked.append(tuple(order))
        return False

    problem = Problem(steps, values)
    assert schedule(problem, accepts=no) == as_given(problem, 17)
    assert asked and len(set(asked)) == len(asked)
    peaks = [profile(problem, order).peak for order in asked]
    assert peaks == sorted(peaks)
    assert peaks[-1] < 17
    assert schedule(problem, accepts=lambda order: order == asked[-1]).order == asked[-1]


def test_work_is_near_linear() -> None:
    few, many = (random_problem(random.Random(1), count) for count in (1_000, 8_000))
    assert calls_of(schedule, many) < 12 * calls_of(schedule, few)  # 8 times the steps


def test_a_small_step_that_many_wait_for_is_not_put_off() -> None:
    """A counter stands last but for the updates that read it, each of which frees a large value."""
    count = 8
    values = [Value(1000) for _ in range(count)] + [Value(4)] + [Value(0, True)] * count
    steps = [Step((i,)) for i in range(count)]
    steps.append(Step((count,)))
    steps += [Step((count + 1 + i,), (i, count)) for i in range(count)]
    found = schedule(Problem(steps, values))
    assert found.peak_before == count * 1000 + 4
    assert found.peak <= 2 * 1000 + 4
