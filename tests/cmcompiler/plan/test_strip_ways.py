"""Strips are taken where they fit a limit, and where rows asked for again may be."""

from __future__ import annotations

from harness.run_graphs import bottlenecks

from cmcompiler.isa import Isa
from cmcompiler.plan.drafting import Drafting
from cmcompiler.plan.feed import feed_rows
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.runs.run import Run
from cmcompiler.plan.strip_ways import StripWays
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
