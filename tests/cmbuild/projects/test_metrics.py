"""How metrics are written."""

from __future__ import annotations

import math

import pytest

from cmbuild.projects.file import BudgetFile
from cmbuild.projects.metrics import METRICS

BY_NAME = {metric.name: metric for metric in METRICS}


def test_every_metric_has_its_budget():
    assert set(BY_NAME) == set(BudgetFile.model_fields)


@pytest.mark.parametrize(
    ("name", "value", "written", "excess"),
    [
        ("flash", 43_520, "42.5 KB", "43,520 bytes over"),
        ("instructions", 3_940_000, "3,940,000", "3,940,000 over"),
        ("accuracy", 0.936, "93.60 %", "93.60 points under"),
        ("snr", 38.43, "38.43 dB", "38.4 dB under"),
        ("snr", math.inf, "no error", "inf dB under"),
        ("milliseconds", 12.5, "12.5 ms", "12.5 ms over"),
    ],
)
def test_numbers_have_units(name: str, value: float, written: str, excess: str):
    assert (BY_NAME[name].written(value), BY_NAME[name].told(value)) == (written, excess)
