"""Runs make plans possible that rows alone do not, and are taken for nothing else."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from harness.run_graphs import bottlenecks

from cmcompiler.ir.graph import Graph
from cmcompiler.ir.op import TILES
from cmcompiler.isa import Isa
from cmcompiler.plan.drafting import OverBudget, _row_calls, _whole
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.plan import Plan
from cmcompiler.plan.planner import make_plan
from cmcompiler.plan.runs.fitting import Fitting
from cmcompiler.plan.runs.selection import RunSelection


def planned(isa: Isa, budget: int | None) -> Plan:
    return make_plan(bottlenecks(), isa, PlanOptions(budget=budget))


def runs(plan: Plan) -> int:
    return sum(step.kernel == TILES for step in plan.steps)


@pytest.mark.parametrize("isa", list(Isa))
def test_a_budget_below_that_of_rows_is_met_by_runs(isa: Isa) -> None:
    usual = planned(isa, None)
    assert runs(usual) == 0
    budget = usual.least_bytes - 1024
    plan = planned(isa, budget)
    assert runs(plan) > 0 and plan.arena_bytes <= budget
    roomy = planned(isa, 4 * usual.arena_bytes)
    assert runs(roomy) == 0


def test_a_budget_that_no_plan_meets_names_the_smallest_one() -> None:
    with pytest.raises(OverBudget, match="no smaller plan was found"):
        planned(Isa.DSP, 2048)


def test_sets_go_from_few_instructions_to_little_memory() -> None:
    graph, isa = bottlenecks(), Isa.DSP
    whole = _whole(graph, isa)
    rows = _row_calls(graph, isa, whole.calls)
    selection = RunSelection(graph, isa, rows, whole.effort, 8192)
    every = list(selection.sets(8192))
    assert every
    for sets in every:
        costs = [sum(option.cost for option in chosen) for chosen in sets]
        assert costs == sorted(costs)
        for chosen in sets:
            ends = [(option.start, option.end) for option in chosen]
            assert all(a[1] <= b[0] for a, b in pairwise(ends))
            assert len(selection.graph(chosen).nodes) < len(graph.nodes)


def test_runs_that_others_make_needless_are_left_out() -> None:
    """With sizes that only the first operators decide."""
    graph, isa = bottlenecks(), Isa.DSP
    whole = _whole(graph, isa)
    selection = RunSelection(graph, isa, _row_calls(graph, isa, whole.calls), whole.effort, 8192)

    def size(changed: Graph) -> int:
        return 1000 if changed.nodes[0] is not graph.nodes[0] else 9000

    for changed in Fitting(selection, size, 8192).graphs():
        assert changed.nodes[-1] is graph.nodes[-1]
        assert changed.nodes[0] is not graph.nodes[0]
    none = [*Fitting(selection, size, 500).graphs()]
    assert len(none) == 1


def test_no_streams_means_no_runs() -> None:
    options = PlanOptions(streams=False, budget=4096)
    with pytest.raises(OverBudget, match="over the budget of 4,096"):
        make_plan(replace(bottlenecks()), Isa.DSP, options)
