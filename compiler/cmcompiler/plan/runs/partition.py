"""Runs and groups of a graph at once, for the fewest instructions within a limit of memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cmcompiler.plan.runs.selection import RunSelection, StageChoice
from cmcompiler.plan.streams.encoding import PROGRESS_BYTES
from cmcompiler.plan.streams.search import Search

Choices: TypeAlias = tuple[StageChoice, ...]

SHARES = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)
"""Limits of the bytes of tiles: the memory that rows need, divided by each."""

UNITS, FEWEST_UNITS = 96, 16
"""Steps in which the memory of rows is counted, from few nodes to many."""

MANY = 128
"""Nodes from which on there are fewer steps."""

LONGEST = 40
"""Nodes of a group, at most."""

STARTS = (1.12, 1.08, 1.04, 1.0, 0.96, 0.92, 0.88, 0.8)
"""Parts of a limit that groups may need by the estimate at first."""

TRIALS = 24
"""How often groups that need more than the limit are given less room."""

NEAR = 128
"""The smallest limit is found to one part in so many."""

FREE, SHIFTED = 0, 1
"""Rows that the first stage of a group reads are there anyway, or the output, which takes the place
of the input, begins that far before it.
"""


@dataclass(frozen=True, eq=False)
class _Table:
    """Instructions of groups whose tiles take at most some bytes.

    Attributes:
        tiles: bytes.
        stages: stage, and the steps of its rows: all, and without those of its inputs.
        costs: the fewest for each end, FREE or SHIFTED, start and steps; starts count from
            `LONGEST` before the end.
        last: number of the last stage.
    """

    tiles: int
    stages: Sequence[tuple[StageChoice, tuple[int, int]]]
    costs: NDArray[np.float32]
    last: NDArray[np.int16]

    def trace(self, end: int, kind: int, start: int, room: int) -> Iterator[StageChoice]:
        """The stages of the cheapest group, from its last one on.

        Args:
            room: steps.
        """
        costs = self.costs[end, kind, start - end]
        steps = int(np.searchsorted(-costs, -costs[room]))
        while end > start:
            stage, taken = self.stages[self.last[end, kind, start - end, steps]]
            steps -= taken[FREE if kind == FREE and stage.start == start else SHIFTED]
            end = stage.start
            yield stage


@dataclass(frozen=True)
class _Cut:
    """Nodes [start, end) as a group of some stages."""

    start: int
    end: int
    stages: tuple[StageChoice, ...]


class Partition:
    """Cuts a graph into groups, and these into stages, by dynamic programming.

    A group needs the rows that its stages read, all together, its largest tiles, and the whole
    tensors beside it. That is an estimate: groups that need more than a limit get less room in the
    next trial.

    Args:
        search: for groups of the graph without runs.
        searched: for groups of one with runs.
    """

    def __init__(
        self, selection: RunSelection, search: Search, searched: Callable[[Choices], Search]
    ) -> None:
        self._selection, self._search, self._searched = selection, search, searched
        self._size = search.least_peak
        self._count = len(search.whole)
        steps = UNITS * MANY // max(self._count, MANY)
        self._steps = max(steps, FEWEST_UNITS)
        self._unit = max(self._size / self._steps, 1)
        self._impossible: set[StageChoice] = set()
        self._known: list[_Table] = []

    def within(self, limit: int) -> Iterator[Choices]:
        """Sets of runs with few instructions whose groups fit so many bytes."""
        known: set[Choices] = set()
        for start in STARTS if self._selection.has_runs else ():
            runs = self._fitting(limit, start)
            if runs is not None and runs not in known:
                known.add(runs)
                yield runs

    @cached_property
    def smallest(self) -> Choices:
        """The set of runs that needs the fewest bytes, roughly; empty if none needs fewer than
        rows.
        """
        best: Choices = ()
        low, high = 0, self._size
        while high - low > high // NEAR:
            limit = (low + high) // 2
            runs = next(self.within(limit), None)
            if runs is None:
                low = limit
            else:
                best, high = runs, min(limit, self._searched(runs).least_peak)
        return best

    def _fitting(self, limit: int, start: float) -> Choices | None:
        """The runs of the cheapest groups that fit; None if none do."""
        room = self._rooms + start * limit
        for _ in range(TRIALS):
            cuts = self._cheapest(room, limit)
            if cuts is None:
                return None
            runs = tuple(stage for cut in cuts for stage in cut.stages if stage.run is not None)
            bad = [run for run in runs if not self._selection.is_possible(run)]
            if bad:
                self._impossible.update(bad)
                self._known.clear()
                continue
            search = self._searched(runs)
            if search.fits(limit):
                return runs
            self._correct(room, cuts, search, limit)
        return None

    def _correct(
        self, room: NDArray[np.float64], cuts: Sequence[_Cut], search: Search, limit: int
    ) -> None:
        """Gives groups less room that need more than the limit, in a graph with their runs."""
        at = 0
        for cut in cuts:
            first = at + cut.start
            last = first + len(cut.stages)
            at += len(cut.stages) - (cut.end - cut.start)
            over = search.group_bytes(first, last) - limit
            if over > 0:
                room[:, cut.start - cut.end, cut.end] -= max(over, self._unit)

    def _cheapest(self, room: NDArray[np.float64], limit: int) -> list[_Cut] | None:
        """The cuts that take the fewest instructions; None if there are none.

        Args:
            room: bytes for the rows and tiles of each group.
        """
        every = [self._within(table, room) for table in self._tables]
        costs = np.stack([cost for cost, _ in every])
        table, best = costs.argmin(axis=0), costs.min(axis=0)
        total = [0.0] + [inf] * self._count
        cut: list[tuple[int, int] | None] = [None] * (self._count + 1)
        for end in range(1, self._count + 1):
            if self._search.whole[end - 1] <= limit:
                total[end] = total[end - 1]
            reached = min(end, LONGEST)
            sums = best[:, -reached:, end] + total[end - reached : end]
            kind, start = np.unravel_index(sums.argmin(), sums.shape)
            if sums[kind, start] < total[end]:
                total[end] = float(sums[kind, start])
                cut[end] = int(kind), int(start) + end - reached
        if total[-1] == inf:
            return None
        cuts: list[_Cut] = []
        end = self._count
        while end:
            chosen = cut[end]
            if chosen is None:
                end -= 1
                continue
            kind, start = chosen
            place = kind, start - end, end
            made, steps = self._tables[table[place]], every[table[place]][1][place]
            stages = tuple(made.trace(end, kind, start, steps))[::-1]
            cuts.append(_Cut(start, end, stages))
            end = start
        return cuts[::-1]

    def _within(
        self, table: _Table, room: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Instructions of each group in its room, and the steps that its rows may take."""
        exact = np.floor((room - table.tiles) / self._unit)
        steps = np.clip(exact, -1, self._steps).astype(np.intp)
        places = np.maximum(steps, 0).transpose(2, 0, 1)[..., None]
        costs = np.take_along_axis(table.costs, places, axis=3)[..., 0].transpose(1, 2, 0)
        return np.where(steps < 0, inf, costs), steps

    @cached_property
    def _rooms(self) -> NDArray[np.float64]:
        """Bytes that whole tensors beside each group leave of none: for a group whose first stage
        reads whole inputs, and for one whose output takes the place of one.
        """
        rooms = np.full((2, LONGEST, self._count + 1), -inf)
        for end in range(1, self._count + 1):
            for start in range(max(0, end - LONGEST), end):
                size, saved = self._search.frame(start, end)
                size += PROGRESS_BYTES * (end - start)
                rooms[FREE, start - end, end] = -size
                if saved:
                    rooms[SHIFTED, start - end, end] = saved - size
        return rooms

    @property
    def _tables(self) -> list[_Table]:
        if not self._known:
            self._known = [self._table(self._size // share) for share in SHARES]
        return self._known

    def _table(self, tiles: int) -> _Table:
        shape = self._count + 1, 2, LONGEST, self._steps + 1
        costs, last = np.full(shape, inf, np.float32), np.full(shape, -1, np.int16)
        stages = [
            (stage, (round(stage.kept / self._unit), round(stage.read / self._unit)))
            for stage in self._useful(tiles)
        ]
        for number, (stage, (kept, read)) in enumerate(stages):
            start, end = stage.start, stage.end
            for kind, steps in ((FREE, kept), (SHIFTED, read)):
                if steps <= self._steps and stage.cost < costs[end, kind, start - end, steps]:
                    costs[end, kind, start - end, steps] = stage.cost
                    last[end, kind, start - end, steps] = number
            if read > self._steps or self._selection.ends_group(start):
                continue
            length, rest = end - start, self._steps + 1 - read
            longer = costs[start, :, length:, :rest] + np.float32(stage.cost)
            known = costs[end, :, : LONGEST - length, read:]
            is_better = longer < known
            known[is_better] = longer[is_better]
            last[end, :, : LONGEST - length, read:][is_better] = number
        return _Table(tiles, stages, np.minimum.accumulate(costs, axis=3), last)

    def _useful(self, tiles: int) -> Iterator[StageChoice]:
        """Stages that no other one of the same nodes betters, by their ends.

        Args:
            tiles: bytes that theirs take at most.
        """
        same: dict[tuple[int, int], list[StageChoice]] = defaultdict(list)
        for stage in self._selection.stages:
            if stage.tiles <= tiles and stage not in self._impossible:
                same[stage.end, stage.start].append(stage)
        for nodes in sorted(same):
            yield from _undominated(same[nodes])


def _undominated(stages: Iterable[StageChoice]) -> Iterator[StageChoice]:
    least: float = inf
    for stage in sorted(stages, key=lambda stage: (stage.cost, stage.read)):
        if stage.read < least:
            least = stage.read
            yield stage
