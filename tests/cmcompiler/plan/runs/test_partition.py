"""Groups and runs are found at once: sets that fit a limit, with few instructions."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import pytest
from harness.run_graphs import bottlenecks

from cmcompiler.isa import Isa
from cmcompiler.plan.runs.partition import Choices, Partition
from cmcompiler.plan.runs.selection import RunSelection
from cmcompiler.plan.streams.search import Search
from cmcompiler.plan.way import Way

WAY = Way(bottlenecks(), Isa.DSP)
SELECTION = RunSelection(WAY.graph, Isa.DSP, WAY.row_calls, WAY.whole.effort)


@cache
def search(runs: Choices) -> Search:
    return Way(SELECTION.graph(runs), Isa.DSP, measured=WAY.measured).search


PARTITION = Partition(SELECTION, WAY.search, search)


@pytest.mark.parametrize("part", [3, 5, 7, 8])
def test_sets_fit_the_limit_that_they_are_for(part: int) -> None:
    limit = WAY.search.least_peak * part // 8
    sets = [*PARTITION.within(limit)]
    assert bool(sets) == (limit >= search(PARTITION.smallest).least_peak)
    for runs in sets:
        assert all(a.end <= b.start for a, b in pairwise(runs))
        assert all(SELECTION.is_possible(run) for run in runs)
        assert search(runs).least_peak <= limit


def test_the_smallest_set_needs_less_than_any_run_alone() -> None:
    least = search(PARTITION.smallest).least_peak
    alone = [run for run in SELECTION.stages if run.run and SELECTION.is_possible(run)]
    assert least <= min(search((run,)).least_peak for run in alone[:: len(alone) // 50])
    assert least < WAY.search.least_peak


def test_less_memory_takes_more_instructions() -> None:
    least, most = search(PARTITION.smallest).least_peak, WAY.search.least_peak
    limits = [least, (3 * least + most) // 4, (least + most) // 2, most]
    costs = [
        min(search(runs).cheapest(limit) for runs in PARTITION.within(limit)) for limit in limits
    ]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > costs[-1]


def test_where_there_is_room_a_set_has_no_runs() -> None:
    assert () in [*PARTITION.within(2 * WAY.search.least_peak)]
