"""Each point of a curve of RAM is the plan that its budget gives by itself."""

from __future__ import annotations

from itertools import pairwise

import pytest
from harness.run_graphs import bottlenecks

from cmcompiler.ir.op import TILES
from cmcompiler.isa import Isa
from cmcompiler.plan.curve import RamCurve, ram_curve
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.planner import make_plan


@pytest.fixture(
    scope="module",
    params=[pytest.param(isa, marks=[pytest.mark.long] * (isa is not Isa.DSP)) for isa in Isa],
)
def curve(request: pytest.FixtureRequest) -> tuple[Isa, RamCurve]:
    return request.param, ram_curve(bottlenecks(), request.param, PlanOptions())


def test_its_budget_makes_each_plan_alone(curve: tuple[Isa, RamCurve]) -> None:
    isa, points = curve[0], curve[1].points
    for point in points:
        alone = make_plan(bottlenecks(), isa, PlanOptions(budget=point.budget))
        assert alone.arena_bytes == point.plan.arena_bytes <= point.budget
        assert alone.steps == point.plan.steps


def test_it_goes_from_the_fastest_to_the_smallest_plan(curve: tuple[Isa, RamCurve]) -> None:
    isa, (usual, points) = curve[0], (curve[1].usual, curve[1].points)
    whole = make_plan(bottlenecks(), isa, PlanOptions(streams=False))
    assert points[0].plan.arena_bytes >= whole.arena_bytes
    assert all(a.plan.arena_bytes > b.plan.arena_bytes for a, b in pairwise(points))
    assert usual == make_plan(bottlenecks(), isa).arena_bytes
    # Rows alone need more than runs.
    least = make_plan(bottlenecks(), isa, PlanOptions(surcharge=float("inf"))).arena_bytes
    assert points[-1].plan.arena_bytes < least
    assert any(step.kernel == TILES for step in points[-1].plan.steps)
