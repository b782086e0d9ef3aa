"""Programs whose values have any layouts at all mean the same once the layouts are shapes."""

from __future__ import annotations

import random

import numpy as np
import pytest
from fuzzing.differences import mismatches
from fuzzing.programs import Grower

from hlo import ir
from hlo.importers import load_program
from hlo.passes import legalize
from hlo.passes.hlo_to_loops.graph import Region, Tensor, region_of
from hlo.passes.layouts.assign_layouts import laid_out
from hlo.passes.layouts.flow import SEPARATE
from hlo.passes.layouts.materialize_layouts import MaterializeLayouts
from hlo.passes.layouts.op_orders import family_of
from hlo.passes.layouts.orders import Order, normal, row_major
from hlo.passes.rewrite.walk import body_of, functions
from hlo.reference.evaluate import evaluate

STEPS = 12


def scramble(region: Region, choose: random.Random) -> int:
    """Gives results random layouts, wherever ops can have them; returns how many."""
    count = 0
    for node in region.nodes:
        count += sum(scramble(inner, choose) for inner in node.regions)
        if node.name in SEPARATE:
            for tensor, result in zip(node.results, node.source.results, strict=True):
                order = random_order(tensor, choose)
                if order != row_major(tensor.rank):
                    result.set_type(laid_out(result.type, order, node.source.location))
                    count += 1
        elif node.results and not node.results[0].rank < 2:
            order = random_order(node.results[0], choose)
            if order == row_major(len(order)) or not family_of(node).allows(node, order):
                continue
            for result in node.source.results:
                result.set_type(laid_out(result.type, order, node.source.location))
            count += 1
    return count


def random_order(tensor: Tensor, choose: random.Random) -> Order:
    return normal(tensor.shape, choose.sample(range(tensor.rank), tensor.rank))


def check(seed: int) -> int:
    """Compares a random program before and after; returns how many values had layouts."""
    program = Grower(seed, STEPS).program
    module = load_program(program.text)
    for step in legalize.PIPELINE:
        step.run(module)
    arguments = list(program.arguments.values())
    with np.errstate(all="ignore"):
        expected = evaluate(module, arguments)
    (block,) = map(body_of, functions(module).values())
    count = scramble(region_of(block), random.Random(seed))
    assert MaterializeLayouts().run(module) == (count > 0)
    ir.verify(module)
    assert "#hlo.layout" not in str(module)
    with np.errstate(all="ignore"):
        found = evaluate(module, arguments)
    for value, result, right in zip(program.results, found, expected, strict=True):
        assert not mismatches(value, np.asarray(result), np.asarray(right)), f"{seed}: {value}"
    return count


@pytest.mark.parametrize("block", range(10))
def test_layouts_change_no_result(block: int) -> None:
    assert sum(map(check, range(block * 20, block * 20 + 20))) > 0


@pytest.mark.slow
@pytest.mark.parametrize("block", range(50))
def test_layouts_of_many_programs_change_no_result(block: int) -> None:
    assert sum(map(check, range(50_000 + block * 20, 50_020 + block * 20))) > 0
