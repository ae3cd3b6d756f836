"""Graphs with runs whose rows fit a limit of memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from cmcompiler.ir.graph import Graph
from cmcompiler.plan.runs.partition import Choices, Partition
from cmcompiler.plan.runs.selection import RunSelection, StageChoice
from cmcompiler.plan.streams.search import Search

MOST = 2
"""Sets of runs with the fewest instructions that are planned."""

TRADES = 2
"""How often a run of the best set gets room from another one, at most."""

TRIED = 200
"""Pairs of runs that are tried for that, at most."""

ROUGHLY = 16
"""One part in so many by which bytes of pairs may be over the limit by their estimate, unless
images are large: of these, sets that fill the limit rarely have layouts that fit.
"""

REPAIRS = 12
"""Sets with smaller tiles of one run that are planned where the best set has gaps."""

NEAREST = 8
"""Sets with the fewest instructions of which cheaper tiles are looked for."""


@dataclass
class Fitting:
    """Tries the sets of a partition for several limits.

    Attributes:
        searched: for groups of the graph with some runs.
    """

    selection: RunSelection
    partition: Partition
    searched: Callable[[Choices], Search]
    _costs: dict[int, dict[Choices, float]] = field(default_factory=dict, init=False)
    _fitting: dict[tuple[Choices, int], bool] = field(default_factory=dict, init=False)

    def graphs(self, limit: int) -> Iterator[Graph]:
        """Graphs with the fewest instructions that fit, roughly.

        Args:
            limit: bytes.
        """
        costs = self.costs(limit)
        for chosen in sorted(costs, key=lambda chosen: costs[chosen])[:MOST]:
            yield self.selection.graph(chosen)

    def smaller(self, limit: int) -> Iterator[Graph]:
        """Graphs of the best set that fits with smaller tiles of one run, the fewest instructions
        first: for layouts that need more than groups do.

        Args:
            limit: bytes.
        """
        costs = self.costs(limit)
        best = min(costs, key=lambda chosen: costs[chosen], default=())
        others = [(own, other) for own in best for other in self.selection.smaller(own)]
        others.sort(key=lambda pair: pair[1].cost - pair[0].cost)
        for own, other in others[:REPAIRS]:
            yield self.selection.graph(tuple(other if each is own else each for each in best))

    def costs(self, limit: int) -> dict[Choices, float]:
        """Sets that fit and instructions, roughly, of the graphs with these runs.

        Args:
            limit: bytes.
        """
        if limit not in self._costs:
            self._costs[limit] = self._find_costs(limit)
        return self._costs[limit]

    def _find_costs(self, limit: int) -> dict[Choices, float]:
        first = [chosen for chosen in self.partition.within(limit) if chosen]
        smallest = self.partition.smallest if not first else ()
        if smallest and self._fits(smallest, limit):
            first.append(smallest)
        # Runs that others make room enough for may save those some instructions.
        fewer = (self._without_idle(chosen, limit) for chosen in first)
        every = dict.fromkeys(sorted([*first, *fewer], key=_own_cost)[:NEAREST])
        cheaper = [self._with_cheaper(runs, limit, order) for runs in every for order in (-1, 1)]
        every |= dict.fromkeys(cheaper)
        costs: dict[Choices, float] = {}
        for chosen in sorted(every, key=_own_cost):
            # Operators outside of runs add to their cost.
            if len(costs) >= MOST and _own_cost(chosen) >= sorted(costs.values())[MOST - 1]:
                break
            costs[chosen] = self.searched(chosen).cheapest(limit)
        for _ in range(TRADES if costs else 0):
            traded = self._traded(min(costs, key=lambda chosen: costs[chosen]), limit)
            if traded in costs:
                break
            costs[traded] = self.searched(traded).cheapest(limit)
        return costs

    @cached_property
    def smallest(self) -> Graph | None:
        """The one with the least memory; None if there are no runs."""
        return self.selection.graph(self.smallest_set) if self.smallest_set else None

    @cached_property
    def smallest_set(self) -> Choices:
        """The set with the least memory; empty if there are no runs."""
        return self._lowered(self.partition.smallest)

    def _without_idle(self, chosen: Choices, limit: int) -> Choices:
        """Without the runs that others make room enough for, those that cost most first."""
        costly = (choice for choice in chosen if not self.selection.is_free(choice))
        for choice in sorted(costly, key=lambda choice: -choice.cost):
            fewer = tuple(other for other in chosen if other is not choice)
            if self._fits(fewer, limit):
                chosen = fewer
        return chosen

    def _with_cheaper(self, chosen: Choices, limit: int, order: int) -> Choices:
        """With other tiles of the same operators, where such that take fewer instructions fit.

        Args:
            order: -1 to begin with the runs that cost most, 1 with those that cost least.
        """
        for choice in sorted(chosen, key=lambda choice: order * choice.cost):
            chosen = self._with_other(chosen, choice, limit)
        return chosen

    def _with_other(self, chosen: Choices, choice: StageChoice, limit: int) -> Choices:
        """With the tiles instead of one run that take the fewest instructions of those that fit."""
        best, cost = chosen, choice.cost
        for others in self.selection.cheaper(choice):
            # As if all after one that fits did; as a rule few do.
            low, high, step = -1, len([other for other in others if other.cost < cost]), 1
            while high - low > 1:
                middle = max(high - step, (low + high) // 2)
                changed = tuple(others[middle] if each is choice else each for each in chosen)
                if self.selection.is_possible(others[middle]) and self._fits(changed, limit):
                    high, best, cost, step = middle, changed, others[middle].cost, 2 * step
                else:
                    low = middle
        return best

    def _traded(self, chosen: Choices, limit: int) -> Choices:
        """With cheaper tiles of one run, for which another one beside it makes room: of the
        costliest run for which that is possible the pair that takes the fewest instructions.
        """
        spare = limit - self._size(chosen)
        if self.searched(chosen).is_small:
            spare += limit // ROUGHLY
        for run in sorted(chosen, key=lambda choice: -choice.cost):
            pairs = self.selection.pairs(chosen, run, spare)
            for changed in itertools.islice(pairs, TRIED):
                if all(map(self.selection.is_possible, changed)) and self._fits(changed, limit):
                    return changed
        return chosen

    def _lowered(self, chosen: Choices) -> Choices:
        """Without the runs that save no memory: where whole images are small, they cost some."""
        for choice in chosen[::-1]:
            fewer = tuple(other for other in chosen if other is not choice)
            if self._fits(fewer, self._size(chosen)):
                chosen = fewer
        return chosen

    def _fits(self, chosen: Choices, limit: int) -> bool:
        key = chosen, limit
        if key not in self._fitting:
            self._fitting[key] = self.searched(chosen).fits(limit)
        return self._fitting[key]

    def _size(self, chosen: Choices) -> int:
        return self.searched(chosen).least_peak


def _own_cost(chosen: Choices) -> float:
    """Instructions of the runs."""
    return sum(choice.cost for choice in chosen)
