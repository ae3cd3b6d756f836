"""Which calibration inputs judge."""

from __future__ import annotations

from typing import Any

import pytest

from cmcompiler.frontend.holdout import Holdout


def inputs(count: int) -> Any:
    return [(number,) for number in range(count)]


@pytest.mark.parametrize(("count", "judging"), [(4, 1), (8, 2), (360, 90), (3000, 250)])
@pytest.mark.parametrize("is_sequence", [False, True])
def test_what_judges_does_not_calibrate(count: int, judging: int, is_sequence: bool) -> None:
    given = inputs(count)
    parts = Holdout.of(given, is_sequence)
    assert sorted([*parts.calibrating, *parts.judging]) == given
    assert parts.held_out == len(parts.judging) == (count // 4 if is_sequence else judging)


def test_a_sequence_stays_in_one_piece_and_other_inputs_are_spread() -> None:
    sequence = Holdout.of(inputs(8), is_sequence=True)
    assert sequence.judging == inputs(8)[6:]
    spread = Holdout.of(inputs(8), is_sequence=False)
    assert spread.judging == [(3,), (7,)]


def test_few_inputs_do_both() -> None:
    parts = Holdout.of(inputs(3), is_sequence=False)
    assert parts.judging == parts.calibrating == inputs(3)
    assert parts.held_out == 0
