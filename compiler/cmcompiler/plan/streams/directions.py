"""Whether groups run downwards or upwards, so that their outputs stay near in the arena.

Where rows of an output take the place of input rows, the output lies lower than the input if the
group begins with the first rows, and higher if it begins with the last ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cmcompiler.ir.tensor import Tensor
from cmcompiler.plan.arena import aligned
from cmcompiler.plan.streams.stream import Stream

BEAM = 64
"""Ways to go on with for each group."""


@dataclass(frozen=True, slots=True)
class _Chain:
    """Groups of which each takes over the output of the one before.

    Attributes:
        start: of the last output, in bytes from the first input's.
        low, high: bytes that all of them take.
    """

    streams: tuple[Stream, ...] = ()
    start: int = 0
    low: int = 0
    high: int = 0

    @property
    def last(self) -> Tensor | None:
        takeover = self.streams[-1].takeover if self.streams else None
        return None if takeover is None else takeover.result

    def followed(self, stream: Stream) -> _Chain:
        takeover = stream.takeover
        if takeover is None:
            return _Chain((*self.streams, stream), self.start, self.low, self.high)
        start, low, high = self.start, self.low, self.high
        if takeover.spent is not self.last:
            start, low, high = 0, 0, aligned(takeover.spent.nbytes)
        start -= takeover.shift
        low, high = min(low, start), max(high, start + aligned(takeover.result.nbytes))
        return _Chain((*self.streams, stream), start, low, high)


def directed(ways: Iterable[Sequence[Stream]]) -> tuple[Stream, ...]:
    """One of the ways of each group, for the least extent of each chain, the first if in doubt."""
    return tuple(stream for chain in _chains(ways) for stream in _best(chain).streams)


def _best(chain: Iterable[Sequence[Stream]]) -> _Chain:
    beam = [_Chain()]
    for ways in chain:
        more = [known.followed(way) for known in beam for way in ways]
        beam = sorted(more, key=lambda known: known.high - known.low)[:BEAM]
    return beam[0]


def _chains(ways: Iterable[Sequence[Stream]]) -> Iterator[list[Sequence[Stream]]]:
    """Groups that follow each other in one place."""
    chain: list[Sequence[Stream]] = []
    for each in ways:
        takeover = each[0].takeover
        before = chain[-1][0].takeover if chain else None
        if takeover is None or before is None or takeover.spent is not before.result:
            yield chain
            chain = []
        chain.append(each)
    yield chain
