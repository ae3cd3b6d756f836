"""Graphs with runs whose rows fit a limit of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from cmcompiler.ir.graph import Graph
from cmcompiler.plan.runs.selection import RunSelection, StageChoice

MOST = 2
"""Sets of runs with the fewest instructions that are planned."""


@dataclass
class Fitting:
    """Tries the sets of a selection for several limits.

    Attributes:
        least: bytes that groups of a graph need at least.
    """

    selection: RunSelection
    least: Callable[[Graph], int]
    _known: dict[tuple[StageChoice, ...], int] = field(default_factory=dict, init=False)
    _less: dict[tuple[StageChoice, ...], tuple[StageChoice, ...]] = field(
        default_factory=dict, init=False
    )

    def graphs(self, limit: int) -> Iterator[Graph]:
        """Those with the fewest instructions that fit, roughly.

        Args:
            limit: bytes.
        """
        fitting = {}
        for most, sets in self.selection.sets.items():
            if most <= limit and (chosen := self._cheapest(sets, limit)) is not None:
                fitting[chosen] = sum(choice.cost for choice in chosen)
        best = sorted(fitting, key=lambda chosen: fitting[chosen])[:MOST]
        for chosen in best:
            yield self.selection.graph(self._without_idle(chosen, limit))

    @cached_property
    def smallest(self) -> Graph | None:
        """The one with the least memory; None if there are no runs."""
        every = [self._lowered(sets[-1]) for sets in self.selection.sets.values() if sets]
        return self.selection.graph(min(every, key=self._size)) if every else None

    def _without_idle(self, chosen: tuple[StageChoice, ...], limit: int) -> tuple[StageChoice, ...]:
        """Without the runs that others make room enough for, those that cost most first."""
        for choice in sorted(chosen, key=lambda choice: -choice.cost):
            fewer = tuple(other for other in chosen if other is not choice)
            if self._size(fewer) <= limit:
                chosen = fewer
        return chosen

    def _cheapest(
        self, sets: list[tuple[StageChoice, ...]], limit: int
    ) -> tuple[StageChoice, ...] | None:
        """The first that fits, as if all after it did; None if none does."""
        if not sets:
            return None
        if self._size(sets[-1]) > limit:
            lowered = self._lowered(sets[-1])
            return lowered if self._size(lowered) <= limit else None
        low, high = -1, len(sets) - 1
        while high - low > 1:
            middle = (low + high) // 2
            if self._size(sets[middle]) <= limit:
                high = middle
            else:
                low = middle
        return sets[high]

    def _lowered(self, chosen: tuple[StageChoice, ...]) -> tuple[StageChoice, ...]:
        """Without the runs that save no memory: where whole images are small, they cost some."""
        if chosen not in self._less:
            self._less[chosen] = self._find_lowered(chosen)
        return self._less[chosen]

    def _find_lowered(self, chosen: tuple[StageChoice, ...]) -> tuple[StageChoice, ...]:
        for choice in chosen[::-1]:
            fewer = tuple(other for other in chosen if other is not choice)
            if self._size(fewer) <= self._size(chosen):
                chosen = fewer
        return chosen

    def _size(self, chosen: tuple[StageChoice, ...]) -> int:
        if chosen not in self._known:
            self._known[chosen] = self.least(self.selection.graph(chosen))
        return self._known[chosen]
