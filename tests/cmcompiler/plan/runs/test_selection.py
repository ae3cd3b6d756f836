"""Runs make plans possible that rows alone do not, and are taken for nothing else."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

import pytest
from harness.run_graphs import bottlenecks

from cmcompiler.ir.graph import Graph
from cmcompiler.ir.op import TILES
from cmcompiler.isa import Isa
from cmcompiler.plan.drafting import Drafting, OverBudget
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.plan import Plan
from cmcompiler.plan.planner import make_plan
from cmcompiler.plan.runs.fitting import Fitting
from cmcompiler.plan.runs.partition import Choices, Partition
from cmcompiler.plan.runs.selection import RunSelection
from cmcompiler.plan.streams.search import Search
from cmcompiler.plan.way import Way


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


def partition_of(graph: Graph) -> tuple[RunSelection, Partition]:
    way = Way(graph, Isa.DSP)
    selection = RunSelection(graph, Isa.DSP, way.row_calls, way.whole.effort)
    searched = way.measured
    return selection, Partition(
        selection,
        way.search,
        lambda runs: Way(selection.graph(runs), Isa.DSP, measured=searched).search,
    )


def test_pairs_take_fewer_instructions_than_the_runs_that_they_replace() -> None:
    graph = bottlenecks()
    selection, partition = partition_of(graph)
    chosen, nodes = partition.smallest, range(len(graph.nodes))
    costliest = max(chosen, key=lambda option: option.cost)
    pairs = [*selection.pairs(chosen, costliest, 4096)]
    costs = [selection._cost(each, nodes) for each in (*pairs, chosen)]
    assert costs == pytest.approx(sorted(costs))
    kept = [any(option.is_alike(costliest) for option in changed) for changed in pairs]
    assert any(kept) and not all(kept)
    for changed in pairs:
        assert set(changed) != set(chosen)
        assert not any(a.overlaps(b) for a, b in combinations(changed, 2))


def test_other_tiles_of_the_same_nodes_take_less_memory_for_more_instructions() -> None:
    selection, partition = partition_of(bottlenecks())
    chosen = partition.smallest
    every = selection.cheaper(max(chosen, key=lambda option: option.cost))
    assert len(every) > 1
    for same in every:
        assert all(option.is_alike(same[0]) for option in same)
        assert all(a.cost <= b.cost for a, b in pairwise(same))
        assert all(a.read + a.tiles > b.read + b.tiles for a, b in pairwise(same))


class Sized(Search):
    """A search that knows its results."""

    def __init__(self, least: int, cost: float) -> None:
        self.least_peak, self._instructions, self.is_small = least, cost, True

    def cheapest(self, limit: int) -> float:
        return self._instructions


def fitting_of(graph: Graph, cost: int) -> Fitting:
    """With sizes that only the first operators decide.

    Args:
        cost: instructions of each node that is left.
    """

    selection, partition = partition_of(graph)

    def searched(runs: Choices) -> Search:
        nodes = selection.graph(runs).nodes
        least = 1000 if nodes[0] is not graph.nodes[0] else 9000
        return Sized(least, cost * len(nodes))

    return Fitting(selection, partition, searched)


def test_runs_that_others_make_needless_are_left_out() -> None:
    graph = bottlenecks()
    fitting = fitting_of(graph, -(10**9))
    changed = next(fitting.graphs(8192))
    assert changed.nodes[-1] is graph.nodes[-1]
    assert changed.nodes[0] is not graph.nodes[0]
    assert not [*fitting.graphs(500)]
    assert fitting.smallest is not None


def test_one_run_gets_smaller_tiles() -> None:
    fitting = fitting_of(bottlenecks(), -(10**9))
    costs = fitting.costs(8192)
    best = min(costs, key=lambda chosen: costs[chosen])
    ways = [each for own in best for each in fitting.selection.smaller(own)]
    assert all(any(each.is_alike(own) for own in best) for each in ways)
    graphs = [*fitting.smaller(8192)]
    assert graphs
    assert len(graphs) <= len(ways)
    assert all(len(graph.nodes) == len(fitting.selection.graph(best).nodes) for graph in graphs)


def test_runs_that_save_instructions_stay() -> None:
    graph = bottlenecks()
    changed = next(fitting_of(graph, 10**9).graphs(8192))
    assert changed.nodes[-1] is not graph.nodes[-1]


def test_more_memory_takes_no_more_instructions() -> None:
    drafting = Drafting(bottlenecks(), Isa.DSP, PlanOptions())
    drafts = [drafting.within(budget) for budget in range(6400, 12000, 700)]
    assert all(a.surcharge >= b.surcharge for a, b in pairwise(drafts))


def test_no_streams_means_no_runs() -> None:
    options = PlanOptions(streams=False, budget=4096)
    with pytest.raises(OverBudget, match="over the budget of 4,096"):
        make_plan(replace(bottlenecks()), Isa.DSP, options)
