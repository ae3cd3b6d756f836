"""Which vertical strips of a graph's first operators fit a limit of memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from cmcompiler.ir.graph import Graph
from cmcompiler.isa import Isa
from cmcompiler.plan.strips import striped
from cmcompiler.plan.way import Way

MOST = 1
"""Sets of strips that are planned with all operators."""


@dataclass(frozen=True, eq=False)
class StripWays:
    """A graph by rows, with strips.

    Attributes:
        graph: without them.
    """

    graph: Graph
    isa: Isa

    @cached_property
    def _every(self) -> list[tuple[Way, Way]]:
        """The graph with strips, and these alone."""
        return [
            (Way(full, self.isa), Way(strips, self.isa)) for full, strips in striped(self.graph)
        ]

    def within(self, limit: int) -> Iterator[Way]:
        """The graphs whose strips take the fewest instructions of those that fit.

        Args:
            limit: bytes.
        """
        fitting = [
            (full.whole.effort + strips.search.cheapest(limit), index)
            for index, (full, strips) in enumerate(self._every)
            if strips.search.fits(limit)
        ]
        for _, index in sorted(fitting)[:MOST]:
            yield self._every[index][0]
