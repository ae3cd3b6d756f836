"""Ratios of a graph's outputs, by output and by sample."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from cmcompiler.frontend.output_meter import OutputMeter


class Rounding:
    """Stands in for a simulation: two outputs and a state, of which rounding loses a tenth."""

    def run_on(
        self, samples: list[tuple[Tensor, ...]], *, rounding: bool
    ) -> list[tuple[Tensor, ...]]:
        left = 0.9 if rounding else 1.0
        return [(x * left, x, torch.zeros(1)) for (x,) in samples]


@pytest.fixture
def meter() -> OutputMeter:
    loud, quiet = (torch.ones(4),), (torch.full((4,), 1e-3),)
    return OutputMeter(Rounding(), ([loud, quiet], [loud]), [], 1)  # type: ignore[arg-type]


def test_each_output_counts_by_itself(meter: OutputMeter) -> None:
    measured = meter.measure()
    assert len(measured.outputs) == 4
    assert meter.by_output(0, measured.outputs) == [pytest.approx(20), math.inf]
    assert meter.each_other() == [pytest.approx(20), math.inf]
    assert measured.snr_db == pytest.approx(20 + 10 * math.log10(2))


def test_samples_next_to_nothing_do_not_count(meter: OutputMeter) -> None:
    assert meter.by_sample(meter.measure().outputs) == [pytest.approx(20), math.inf]


def test_samples_that_are_not_there_lose_nothing(meter: OutputMeter) -> None:
    assert meter.unseen() == math.inf
