"""The order of a stream's turns as laps: turns that repeat a number of times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LONGEST = 128
"""Turns of a lap that repeats, at most."""

MOST_TURNS = (1 << 16) - 1

_HEAD = 4
"""Bytes of a lap beside its turns."""


@dataclass(frozen=True, slots=True)
class Lap:
    """struct cm_lap of cmrt/program.h.

    Attributes:
        turns: stages, one after the other.
        rounds: how often.
    """

    turns: tuple[int, ...]
    rounds: int = 1


def laps(order: Sequence[int]) -> list[Lap]:
    """The laps that make up an order of stages in few bytes."""
    count = len(order)
    repeats = _repeats(order)
    size = [0] * (count + 1)  # bytes from each turn on
    more = [0] * (count + 1)  # the same where a lap of one round is under way
    is_repeat = [False] * count
    for at in reversed(range(count)):
        length, rounds = repeats[at]
        more[at] = 1 + min(more[at + 1], size[at + 1])
        size[at] = _HEAD + more[at]
        if rounds > 1:
            repeated = _HEAD + length + size[at + length * rounds]
            is_repeat[at] = repeated < size[at]
            size[at] = min(size[at], repeated)
    laps, at = [], 0
    while at < count:
        length, rounds = repeats[at] if is_repeat[at] else (1, 1)
        if rounds == 1:
            most = min(count - at, MOST_TURNS)
            while length < most and more[at + length] <= size[at + length]:
                length += 1
        laps.append(Lap(tuple(order[at : at + length]), rounds))
        at += length * rounds
    return laps


def _repeats(order: Sequence[int]) -> list[tuple[int, int]]:
    """Per turn, the lap from there on that saves most by its rounds: its turns, and how many."""
    turns = np.array(order)
    count = len(turns)
    saved, best, rounds = np.zeros(count, int), np.ones(count, int), np.ones(count, int)
    for length in range(1, min(count // 2, LONGEST) + 1):
        equal = turns[:-length] == turns[length:]
        places = np.arange(len(equal))
        ends = np.append(np.flatnonzero(~equal), len(equal))
        repeated = (ends[np.searchsorted(ends, places)] - places) // length
        better = np.flatnonzero(repeated * length > saved[places])
        saved[better] = repeated[better] * length
        best[better], rounds[better] = length, repeated[better] + 1
    return list(zip(best.tolist(), rounds.tolist(), strict=True))
