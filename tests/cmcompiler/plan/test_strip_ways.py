"""Strips are taken where they fit a limit, and where rows asked for again may be."""

from __future__ import annotations

from harness.run_graphs import bottlenecks

from cmcompiler.isa import Isa
from cmcompiler.plan.abi import SLACK
from cmcompiler.plan.drafting import LESS, Drafting
from cmcompiler.plan.feed import feed_rows
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.runs.run import Run, TiledRun
from cmcompiler.plan.strip_ways import StripWays, with_runs
from cmcompiler.plan.strips import is_striped


def test_strips_that_fit_are_planned() -> None:
    ways = StripWays.of(feed_rows(bottlenecks(1)), Isa.DSP)
    assert not [*ways.within(1024)]
    (way,) = ways.within(1 << 20)
    assert is_striped(way.graph)


def test_strips_may_leave_whole_results_alone() -> None:
    ways = StripWays.of(feed_rows(bottlenecks(1)), Isa.DSP).in_rings
    (way,) = ways.within(1 << 20)
    narrow = ways.smallest(1 << 20)
    assert narrow is not None and not (way.in_whole or narrow.in_whole)


def test_narrow_strips_have_runs() -> None:
    ways = StripWays.of(feed_rows(bottlenecks(1)), Isa.DSP)
    way = ways.smallest(1 << 20)
    assert way is not None and is_striped(way.graph)
    assert any(isinstance(node.op, Run) for node in way.graph.nodes)
    assert ways.smallest(1024) is None


def test_rows_asked_for_again_take_no_more_instructions() -> None:
    rows, again = (
        Drafting(bottlenecks(1), Isa.DSP, PlanOptions(feed=feed)) for feed in ("rows", "again")
    )
    budget = rows.nearest(0).size + 128
    assert again.cost(again.within(budget)) <= rows.cost(rows.within(budget))


def test_the_smallest_plan_is_that_of_its_own_budget_and_of_smaller_ones() -> None:
    options = PlanOptions(feed="again")
    drafting = Drafting(bottlenecks(1), Isa.DSP, options)
    least = drafting.nearest(0).size
    assert Drafting(bottlenecks(1), Isa.DSP, options).within(least + SLACK).size <= least
    for part in (LESS, LESS // 2, LESS // 4):
        assert drafting.nearest(least - least // part + SLACK).size > least - least // LESS


def test_strips_whose_columns_a_tile_does_not_suit_get_others() -> None:
    ways = StripWays.of(feed_rows(bottlenecks(1)), Isa.DSP)
    columns = set()
    for strips, widest, _ in ways.every[:2]:
        for runs in widest.run_costs(widest.search.least_peak * 7 // 8):
            graph = with_runs(strips, runs, ways.isa)
            assert graph is not None
            columns |= {node.op.columns for node in graph.nodes if isinstance(node.op, TiledRun)}
    assert len(columns) > 1
