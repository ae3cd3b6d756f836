"""Laps unroll to the order they were made from, and take few bytes where it repeats."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cmcompiler.plan.streams.laps import Lap, laps

TURNS = st.lists(st.integers(0, 5), min_size=1, max_size=12)


def unrolled(collected: list[Lap]) -> list[int]:
    return [turn for lap in collected for _ in range(lap.rounds) for turn in lap.turns]


@given(st.lists(st.tuples(TURNS, st.integers(1, 9)), min_size=1, max_size=6))
def test_laps_unroll_to_their_order(parts: list[tuple[list[int], int]]) -> None:
    order = unrolled([Lap(tuple(turns), rounds) for turns, rounds in parts])
    assert unrolled(laps(order)) == order


def test_the_beginning_and_the_end_of_an_order_surround_what_repeats() -> None:
    order = [0, 0, 1] + [0, 1, 2, 0, 1, 3] * 50 + [1, 2, 3]
    assert [lap.rounds for lap in laps(order)] in ([1, 50, 1], [1, 49, 1])


def test_one_stage_takes_one_lap() -> None:
    assert laps([0] * 30_000) == [Lap((0,), 30_000)]


def test_turns_that_never_repeat_are_one_lap() -> None:
    assert laps(list(range(9))) == [Lap(tuple(range(9)))]
