"""Sets of runs that fit a limit, of which none takes fewer instructions."""

from __future__ import annotations

from itertools import chain, pairwise, product
from math import inf

from harness.run_graphs import lines

from cmcompiler.isa import Isa
from cmcompiler.plan.feed import feed_rows
from cmcompiler.plan.way import Way


def test_no_one_or_two_runs_take_fewer_instructions() -> None:
    way = Way(feed_rows(lines()), Isa.MVE)
    fitting, selection = way._fitting, way._selection
    every = chain.from_iterable(selection._by_nodes.values())
    runs = [run for run in every if selection.is_possible(run)]
    pairs = [(a, b) for a, b in product(runs, runs) if a.end <= b.start]
    searches = [way._searched(chosen) for chosen in [*((run,) for run in runs), *pairs]]
    least, rows = min(each.least_peak for each in searches), way.search.least_peak
    found = []
    for limit in range(least + least // 24, rows, (rows - least) // 12):
        fewest = min(each.cheapest(limit) for each in searches if each.fits(limit))
        found.append(min(fitting.costs(limit).values(), default=inf))
        assert found[-1] <= fewest, limit
    assert all(more >= less for more, less in pairwise(found))
