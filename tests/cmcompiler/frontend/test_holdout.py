"""Which calibration inputs judge."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from cmcompiler.frontend.holdout import Holdout


def inputs(count: int) -> Any:
    """Of integers, so that none has an extreme of a range."""
    return [(torch.tensor([number]),) for number in range(count)]


def numbers(given: Any) -> list[float]:
    return [float(each[0]) for each in given]


@pytest.mark.parametrize(("count", "judging"), [(4, 1), (8, 2), (360, 90), (3000, 256)])
@pytest.mark.parametrize("is_sequence", [False, True])
def test_what_judges_does_not_calibrate(count: int, judging: int, is_sequence: bool) -> None:
    given = inputs(count)
    parts = Holdout.of(given, is_sequence)
    assert sorted(numbers([*parts.calibrating, *parts.judging])) == numbers(given)
    assert parts.held_out == len(parts.judging) == (count // 4 if is_sequence else judging)


def test_a_sequence_stays_in_one_piece_and_other_inputs_are_spread() -> None:
    sequence = Holdout.of(inputs(8), is_sequence=True)
    assert numbers(sequence.judging) == [6, 7]
    spread = Holdout.of(inputs(8), is_sequence=False)
    assert numbers(spread.judging) == [2, 6]


def test_few_inputs_do_both() -> None:
    parts = Holdout.of(inputs(3), is_sequence=False)
    assert numbers(parts.judging) == numbers(parts.calibrating) == [0, 1, 2]
    assert parts.held_out == 0


def test_the_smallest_and_the_largest_number_calibrate() -> None:
    torch.manual_seed(0)
    given = [(torch.randn(4), torch.tensor([at]), torch.randn(2)) for at in range(16)]
    parts = Holdout.of(given, is_sequence=False)
    assert parts.held_out == 4
    for place in (0, 2):
        kept = torch.stack([each[place] for each in parts.calibrating])
        whole = torch.stack([each[place] for each in given])
        assert (kept.min(), kept.max()) == (whole.min(), whole.max())


def test_extremes_everywhere_leave_one_to_judge() -> None:
    given = [(torch.tensor([1.0 * at, -at]), torch.tensor([-1.0 * at, 9 - at])) for at in range(4)]
    parts = Holdout.of(given, is_sequence=False)
    assert parts.held_out == 1


def test_inputs_with_the_largest_results_calibrate() -> None:
    given = inputs(8)
    results = [(torch.tensor([float(at == 3), -float(at == 6)]),) for at in range(8)]
    parts = Holdout.of(given, False, results)
    assert {3, 6} <= set(numbers(parts.calibrating))
    assert parts.held_out == 2
