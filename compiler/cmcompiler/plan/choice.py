"""Which of a graph's ops run in streams: for the smallest arena, or the fewest instructions."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from cmcompiler.ir.op import ALIGN
from cmcompiler.plan.draft import ARENA_LIMIT, Draft
from cmcompiler.plan.streams.directions import directed
from cmcompiler.plan.streams.search import Search
from cmcompiler.plan.streams.stream import Stream

BELOW, ABOVE = 16, 32
"""Sets of streams whose memory is laid out: for less than the search finds, and for more."""

WIDER = 1 / 96
"""By how much more memory each of the latter is searched for."""

MARGIN = 24
"""One part in so many that other bands of a group may need more than those with the fewest
instructions."""

FEEDING = 1.25
"""Instructions for rows from outside, of the fewest possible, even if those are too many."""

WITHIN = 12
"""Sets of streams that are laid out to be the fastest within a budget, unless told otherwise."""


def smallest(draft: Draft, search: Search, most: float) -> Draft:
    """The draft with the smallest arena.

    Args:
        draft: without streams.
        search: for streams of it.
        most: instructions, roughly, that streams and rows from outside may add to those of whole
            tensors with all scratch of use.

    Raises:
        Unsupported: an input is fed, but an operator needs all of it.
    """
    if search.is_idle and not draft.needs_streams:
        return draft
    low, trial = search.least_peak, _Trial(draft, search)
    allowed = max(most, FEEDING * search.fewest) if draft.needs_streams else most
    best = None if draft.needs_streams else draft
    for limit in _around(search.least(allowed), low):
        if best is not None and max(limit, low) >= best.size:
            continue
        for drafted in trial.within(limit, allowed):
            best = drafted.within(allowed, best.size if best else ARENA_LIMIT) or best
    assert best is not None
    return best.bounded(low)


def fastest(draft: Draft, search: Search, most: int, trials: int = WITHIN) -> Draft:
    """The draft with the fewest instructions that fits; the smallest one if none does.

    Args:
        draft, search: as above.
        most: bytes.
        trials: sets of streams that are laid out.

    Raises:
        Unsupported: as above.
    """
    best = None if draft.needs_streams else _quickest(draft, None, most)
    if best is not None and not best.surcharge:
        return best
    low, trial = search.least_peak, _Trial(draft, search)
    for step in range(trials if low <= most else 0):
        for drafted in trial.within(most - (most - low) * step // trials):
            best = _quickest(drafted, best, most)
    return smallest(draft, search.anew, inf) if best is None else best.bounded(low)


def _quickest(draft: Draft, best: Draft | None, most: int) -> Draft | None:
    """The faster of both, as small as it is not slower."""
    if draft.size > most:
        return best
    surcharge = draft.enlarged(most).surcharge
    if best is not None and surcharge >= best.surcharge:
        return best
    return draft.within(surcharge, most + ALIGN) or best


def _around(limit: int, low: int) -> Iterator[int]:
    """Bytes for which to look for streams.

    Args:
        limit: that streams with as many instructions as allowed need at least.
        low: that any need.
    """
    # The layout may leave gaps, and scratch then grows less or more than the search assumes.
    if limit > low:
        yield from (low + (limit - low) * step // BELOW for step in range(BELOW))
    yield from (limit + round(limit * step * WIDER) for step in range(ABOVE))
    # Where a few nodes need most, the others leave less to lay out if they need less than those.
    yield from (low * parts // 4 for parts in (3, 2))


class _Trial:
    """Sets of streams that are laid out, each once."""

    def __init__(self, draft: Draft, search: Search) -> None:
        self._draft, self._search = draft, search
        self._sizes: dict[tuple[Stream, ...], int] = {}

    def within(self, limit: int, most: float = inf) -> Iterator[Draft]:
        """The streams with the fewest instructions for so many bytes, and others, unless tried
        before; some with more instructions if the layout needs more bytes.

        Args:
            most: instructions that the others may take.
        """
        for chosen in self._search.ways(limit, most):
            if chosen not in self._sizes:
                yield self._laid_out(chosen, limit)
            if self._sizes[chosen] > limit and self._search.is_small:
                room = limit + limit // MARGIN
                for evened in self._evened(chosen, room):
                    if evened not in self._sizes:
                        yield self._laid_out(evened, room)

    def _laid_out(self, chosen: tuple[Stream, ...], limit: int) -> Draft:
        turned = (self._search.turned(stream, limit) for stream in chosen)
        ways = [(down, up) if up else (down,) for down, up in zip(chosen, turned, strict=True)]
        drafts = [self._draft.in_streams(streams) for streams in (directed(ways), chosen)]
        best = min(drafts, key=lambda each: each.size)
        self._sizes[chosen] = best.size
        return best

    def _evened(self, chosen: tuple[Stream, ...], limit: int) -> Iterator[tuple[Stream, ...]]:
        """These groups in other bands, in which all move their outputs about equally far.

        Groups that follow each other and run in both directions in turn then need no more memory
        than one of them.
        """
        ways = [self._search.banded(stream, limit) for stream in chosen]
        for distance in sorted({stream.distance for stream in chosen}):
            yield tuple(min(group, key=lambda way: abs(way.distance - distance)) for group in ways)
