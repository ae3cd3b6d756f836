"""Graphs with runs whose rows fit a limit of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from cmcompiler.ir.graph import Graph
from cmcompiler.plan.runs.selection import RunSelection, StageChoice

MOST = 2
"""Sets of runs with the fewest instructions that are planned."""


@dataclass
class Fitting:
    """Tries the sets of a selection.

    Attributes:
        least: bytes that groups of a graph need at least.
        limit: bytes.
    """

    selection: RunSelection
    least: Callable[[Graph], int]
    limit: int
    _known: dict[tuple[StageChoice, ...], int] = field(default_factory=dict, init=False)

    def graphs(self) -> Iterator[Graph]:
        """Those with the fewest instructions that fit, roughly; the smallest one if none does."""
        fitting = {}
        for sets in self.selection.sets(self.limit):
            if (chosen := self._cheapest(sets)) is not None:
                fitting[chosen] = sum(choice.cost for choice in chosen)
        best = sorted(fitting, key=lambda chosen: fitting[chosen])[:MOST]
        if not best:
            best = sorted(self._known, key=lambda chosen: self._known[chosen])[:1]
        for chosen in best:
            yield self.selection.graph(self._without_idle(chosen))

    def _without_idle(self, chosen: tuple[StageChoice, ...]) -> tuple[StageChoice, ...]:
        """Without the runs that others make room enough for, those that cost most first."""
        if self._size(chosen) > self.limit:
            return chosen
        for choice in sorted(chosen, key=lambda choice: -choice.cost):
            fewer = tuple(other for other in chosen if other is not choice)
            if self._size(fewer) <= self.limit:
                chosen = fewer
        return chosen

    def _cheapest(self, sets: list[tuple[StageChoice, ...]]) -> tuple[StageChoice, ...] | None:
        """The first that fits, as if all after it did; None if none does."""
        if not sets:
            return None
        if self._size(sets[-1]) > self.limit:
            lowered = self._lowered(sets[-1])
            return lowered if self._size(lowered) <= self.limit else None
        low, high = -1, len(sets) - 1
        while high - low > 1:
            middle = (low + high) // 2
            if self._size(sets[middle]) <= self.limit:
                high = middle
            else:
                low = middle
        return sets[high]

    def _lowered(self, chosen: tuple[StageChoice, ...]) -> tuple[StageChoice, ...]:
        """Without the runs that save no memory: where whole images are small, they cost some."""
        for choice in chosen[::-1]:
            fewer = tuple(other for other in chosen if other is not choice)
            if self._size(fewer) <= self._size(chosen):
                chosen = fewer
        return chosen

    def _size(self, chosen: tuple[StageChoice, ...]) -> int:
        if chosen not in self._known:
            self._known[chosen] = self.least(self.selection.graph(chosen))
        return self._known[chosen]
