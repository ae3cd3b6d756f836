"""Which vertical strips of a graph's first operators fit a limit of memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import inf

from cmcompiler.ir.graph import Graph, Node
from cmcompiler.isa import Isa
from cmcompiler.plan.runs.calls import NoTiles
from cmcompiler.plan.runs.chains import Chain, is_possible
from cmcompiler.plan.runs.partition import Choices
from cmcompiler.plan.runs.run import TiledRun
from cmcompiler.plan.strips import Strips, every_strips
from cmcompiler.plan.way import Way

MOST = 1
"""Sets of strips that are planned with all operators."""

CHEAP = 0.02
"""Part of the instructions that rows of strips may take more before runs in them are tried."""

GAPS = 32
"""One part in so many of a limit that runs in strips leave free for gaps of the layout."""

ROOM = 4
"""One part in so many of a limit is left for strips beside the image that they are parts of."""

MOST_WORK = 1.5
"""Instructions of strips, of the fewest possible, beyond which less memory does not pay."""

SPARE = 4
"""One part in so many of the least bytes of strips may be taken more by runs that are possible in
all of them.
"""


@dataclass(frozen=True, eq=False)
class StripWays:
    """A graph by rows, with strips.

    Attributes:
        every: strips, the widest one of each, and instructions that all take as whole tensors, the
            fewest first.
        in_whole: see Computation.
    """

    isa: Isa
    every: Sequence[tuple[Strips, Way, float]]
    in_whole: bool = True

    @classmethod
    def of(cls, graph: Graph, isa: Isa) -> StripWays:
        """
        Args:
            graph: without strips.
        """
        every = [
            (strips, Way(strips.widest, isa), Way(strips.striped, isa).whole.effort)
            for strips in every_strips(graph)
        ]
        return cls(isa, sorted(every, key=lambda each: each[2]))

    @cached_property
    def in_rings(self) -> StripWays:
        """The same without inputs in the places of whole results."""
        every = [(strips, widest.in_rings, effort) for strips, widest, effort in self.every]
        return StripWays(self.isa, every, in_whole=False)

    def within(self, limit: int) -> Iterator[Way]:
        """The graphs whose strips take the fewest instructions of those that fit.

        Args:
            limit: bytes.
        """
        fitting = sorted(self._fitting(limit), key=lambda each: each[0])
        graphs = (with_runs(strips, runs, self.isa) for _, strips, runs in fitting)
        for graph in islice((graph for graph in graphs if graph is not None), MOST):
            yield Way(graph, self.isa, in_whole=self.in_whole)

    def _fitting(self, limit: int) -> Iterator[tuple[float, Strips, Choices]]:
        """Instructions, strips and the runs of each of these."""
        least = inf
        for strips, widest, effort in self.every:
            count, most = len(strips.strips), limit - limit // ROOM
            if strips.image.nbytes > most or effort >= least:
                continue
            rows = inf
            if widest.search.fits(limit):
                rows = effort + count * widest.search.cheapest(limit)
                yield rows, strips, ()
            least = min(least, rows)
            if rows <= (1 + CHEAP) * effort:
                continue
            for runs, cost in widest.run_costs(limit - limit // GAPS).items():
                yield effort + count * cost, strips, runs
                least = min(least, effort + count * cost)

    def smallest(self, size: int) -> Way | None:
        """The graph with the narrowest strips and with runs that take little memory, where images
        leave room; None if there are none.

        Args:
            size: bytes that it should take less than.
        """
        most = MOST_WORK * min((effort for _, _, effort in self.every), default=0)
        narrowest = {each[0].image: each for each in self.every if each[2] < most}
        small = [
            (widest.smallest_runs, strips, widest)
            for strips, widest, _ in narrowest.values()
            if strips.image.nbytes <= size - size // ROOM
        ]
        for (runs, least), strips, widest in sorted(small, key=lambda each: each[0][1]):
            costs = widest.run_costs(least + least // SPARE)
            for chosen in (runs, *sorted(costs, key=lambda each: costs[each])):
                graph = with_runs(strips, chosen, self.isa) if chosen else None
                if graph is not None:
                    return Way(graph, self.isa, in_whole=self.in_whole)
        return None


def with_runs(strips: Strips, runs: Choices, isa: Isa) -> Graph | None:
    """The graph with the same runs in all strips; None if kernels cannot make tiles of one."""
    try:
        return strips.with_strips([[*_contracted(strip, runs, isa)] for strip in strips.strips])
    except NoTiles:
        return None


def _contracted(strip: list[Node], runs: Choices, isa: Isa) -> Iterator[Node]:
    """The nodes of a strip with some runs.

    Raises:
        NoTiles: kernels cannot make tiles of one.
    """
    at = 0
    for choice in runs:
        assert choice.run is not None
        yield from strip[at : choice.start]
        op, chain = choice.run[1].op, Chain(choice.start, tuple(strip[choice.start : choice.end]))
        assert isinstance(op, TiledRun)
        yield _tiled(chain, op, isa)
        at = choice.end
    yield from strip[at:]


def _tiled(chain: Chain, run: TiledRun, isa: Isa) -> Node:
    """Nodes of a strip in the tiles of a run; in others if these do not suit its columns, narrower
    ones first.

    Raises:
        NoTiles: there are none.
    """
    width = chain.output.shape[2]
    usual = min(run.columns, width)
    for columns in (*range(usual, 0, -1), *range(usual + 1, width + 1)):
        node = chain.in_tiles(run.band, columns, run.keeping)
        if is_possible(node, isa):
            return node
    raise NoTiles
