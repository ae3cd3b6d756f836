"""What a report says of a model's weights."""

from __future__ import annotations

from cmbuild.report.weights import weights_lines
from cmbuild.results import WeightsResult


def test_trained_weights_are_one_line() -> None:
    (line,) = weights_lines(WeightsResult("trained", "digits, 98 %"))
    assert line.plain.split() == ["weights", "trained:", "digits,", "98", "%"]


def test_random_weights_warn_and_say_how_to_load_others() -> None:
    first, second = weights_lines(WeightsResult("random", "seed 0"))
    assert "! random weights" in first.plain
    assert second.plain.strip() == "seed 0; --weights FILE loads a state dict"
