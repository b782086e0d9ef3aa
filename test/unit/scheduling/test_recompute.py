"""Values made again under a budget, on problems small enough to count by hand."""

from __future__ import annotations

import random

from hlo.passes.memory.scheduling import Problem, Step, Value, profile, recompute

# 0 makes a (10 bytes), 1 makes b (1) of a, 2 makes c (20) of b, 3 makes d (1) of c; 4 reads a, d.
SKIP = Problem(
    [Step((0,)), Step((1,), (0,)), Step((2,), (1,)), Step((3,), (2,)), Step((4,), (0, 3))],
    [Value(10), Value(1), Value(20), Value(1), Value(0, kept=True)],
)


def test_what_is_cheap_is_made_again_where_it_is_read_next() -> None:
    assert profile(SKIP).peak == 31  # a, b and c, or a, c and d
    found = recompute(SKIP, [1.0] * 5, 25)
    assert found.origins == (0, 1, 2, 3, 0, 4)
    assert found.again == (False, False, False, False, True, False)
    assert found.peak == profile(found.problem).peak == 21
    assert found.problem.steps[5].reads == (5, 3)  # the new value in the place of a


def test_what_must_not_run_again_stays() -> None:
    found = recompute(SKIP, [None, *[1.0] * 4], 25)
    assert found.origins == (0, 1, 2, 3, 4)
    assert found.peak == 31


def test_a_budget_that_is_met_changes_nothing() -> None:
    assert not any(recompute(SKIP, [1.0] * 5, 31).again)


def test_a_chain_is_made_again_link_by_link() -> None:
    # 0 makes p (10), 1 makes q (10) of p, 2 makes r (1) of q, 3 makes s (30) of r, 4 makes t (1) of
    # s, 5 reads q and t. For q again p is needed, which is made again too.
    steps = [
        Step((0,)), Step((1,), (0,)), Step((2,), (1,)), Step((3,), (2,)), Step((4,), (3,)),
        Step((5,), (1, 4)),
    ]  # fmt: skip
    values = [Value(10), Value(10), Value(1), Value(30), Value(1), Value(0, kept=True)]
    found = recompute(Problem(steps, values), [1.0] * 6, 35)
    assert found.origins == (0, 1, 2, 3, 4, 0, 1, 5)
    assert found.peak == 31


def test_the_cheaper_of_two_goes_first() -> None:
    # a and b are alike but for the price.
    steps = [
        Step((0,)), Step((1,)), Step((2,), (0, 1)), Step((3,), (2,)), Step((4,), (3,)),
        Step((5,), (0, 1, 4)),
    ]  # fmt: skip
    values = [Value(10), Value(10), Value(1), Value(20), Value(1), Value(0, kept=True)]
    assert profile(Problem(steps, values)).peak == 41
    found = recompute(Problem(steps, values), [5.0, 1.0, 1.0, 1.0, 1.0, 1.0], 35)
    again = [origin for origin, again in zip(found.origins, found.again, strict=True) if again]
    assert again == [1]


def test_random_problems_stay_sound() -> None:
    for seed in range(40):
        source = random.Random(seed)
        steps: list[Step] = []
        for i in range(40):
            reads = {source.randrange(i) for _ in range(source.randrange(1, 4))} if i else set()
            steps.append(Step((i,), tuple(sorted(reads))))
        values = [Value(source.choice([1, 10, 50]), source.random() < 0.1) for _ in steps]
        problem = Problem(steps, values)
        before = profile(problem).peak
        found = recompute(problem, [source.choice([1.0, 9.0, None]) for _ in steps], before // 2)
        assert found.peak == profile(found.problem).peak <= before
        made: set[int] = set()
        for step, origin, again in zip(
            found.problem.steps, found.origins, found.again, strict=True
        ):
            assert made.issuperset(step.reads)
            assert len(step.reads) == len(problem.steps[origin].reads)
            made.update(step.makes)
            if not again:
                assert step.makes == problem.steps[origin].makes
        assert [
            o for o, again in zip(found.origins, found.again, strict=True) if not again
        ] == list(range(40))


def test_what_runs_again_for_long_does_not_hide_a_lower_peak() -> None:
    """40 bytes are kept while 60 come and go, and 100 throughout; to make the 40 again takes ten
    steps, which have more bytes live in all than are saved.
    """
    chain = 10
    narrow, wide = chain + 1, chain + 2
    values = [Value(100), *(Value(1) for _ in range(chain - 1)), Value(40), Value(1), Value(60)]
    steps = [Step((0,)), *(Step((i,), (i - 1,)) for i in range(1, chain + 1))]
    steps += [Step((narrow,), (chain,)), Step((wide,), (narrow,)), Step((), (wide,))]
    problem = Problem([*steps, Step((), (chain, 0))], values)
    assert profile(problem).peak == 201  # 100 + 40 + 1 + 60
    found = recompute(problem, [None, *[1.0] * (len(problem.steps) - 1)], 1)
    assert found.peak == 161  # 100 + 1 + 60
    assert found.price == sum(found.again) == chain
