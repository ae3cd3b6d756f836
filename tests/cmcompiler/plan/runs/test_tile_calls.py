"""The calls of a run's steps are those that its turns make, for all that they compute."""

from __future__ import annotations

from collections import Counter

import pytest
from harness.run_graphs import bottlenecks

from cmcompiler.isa import Isa
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.planner import make_plan
from cmcompiler.plan.runs.chains import chains
from cmcompiler.plan.runs.run import Run
from cmcompiler.plan.runs.tile_calls import tile_calls
from cmcompiler.plan.runs.tiling import Keeping, pixels_made


@pytest.mark.parametrize("keeping", Keeping)
@pytest.mark.parametrize(("band", "columns"), [(1, 5), (2, 10), (4, 7), (5, 12)])
def test_they_make_all_pixels_of_all_tiles(band: int, columns: int, keeping: Keeping) -> None:
    chain = next(each for each in chains(bottlenecks(1)) if len(each.parts) == 3)
    node = chain.in_tiles(band, columns, keeping)
    assert isinstance(node.op, Run)
    (row_call,) = node.op.row_calls(node.inputs, node.outputs, Isa.DSP)
    assert len(row_call.tiled) == {0: 3, 1: 4, 2: 6}[keeping]
    for tiled in row_call.tiled:
        if tiled.part is None:
            continue
        part = node.op.parts[tiled.part]
        shape = part.outputs[0].shape
        calls = list(tile_calls(node.op.tiling, tiled, part))
        made = pixels_made(node.op.tiling, tiled.part + 1)
        assert sum(each.count * each.elements for each in calls) == made * shape[3]
        per_pixel = part.op.macs // (shape[1] * shape[2])
        assert sum(each.count * each.macs for each in calls) == made * per_pixel
        assert all(each.arguments is not None for each in calls)


def test_a_plan_has_as_many_as_its_turns() -> None:
    usual = make_plan(bottlenecks(), Isa.DSP)
    plan = make_plan(bottlenecks(), Isa.DSP, PlanOptions(budget=usual.least_bytes - 1024))
    turns: Counter[int] = Counter()
    for index, step in enumerate(plan.steps):
        turns.update(index + 1 + stage for stage in step.turns)
    tiled = {index: step for index, step in enumerate(plan.steps) if step.tiles}
    assert tiled
    for index, step in tiled.items():
        assert sum(each.count for each in step.tiles) == turns[index]
