"""The exact interval: published values, and that it holds the true share as often as it says."""

from __future__ import annotations

import math

import pytest

from cmbuild.verify.intervals import exact


@pytest.mark.parametrize(
    ("good", "all", "low", "high"),
    # Newcombe, Statistics in Medicine 17 (1998), table I, method 5.
    [
        (81, 263, 0.2527, 0.3676),
        (15, 148, 0.0578, 0.1617),
        (0, 20, 0.0, 0.1684),
        (1, 29, 0.0009, 0.1776),
    ],
)
def test_published_values(good: int, all: int, low: float, high: float) -> None:
    assert exact(good, all) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize("all", [1, 10, 50, 400])
@pytest.mark.parametrize("share", [0.002, 0.02, 0.3, 0.93, 0.98, 0.998])
def test_it_holds_the_true_share(all: int, share: float) -> None:
    """Of all that may come out, added up; Wilson's interval has 90 % for 50 and 0.998."""
    held = 0.0
    for good in range(all + 1):
        low, high = exact(good, all)
        if low <= share <= high:
            held += math.comb(all, good) * share**good * (1 - share) ** (all - good)
    assert held >= 0.95


def test_all_right_is_not_certain() -> None:
    assert exact(50, 50) == (pytest.approx(0.025 ** (1 / 50)), 1)
    assert exact(0, 50) == (0, pytest.approx(1 - 0.025 ** (1 / 50)))


def test_many_samples() -> None:
    low, high = exact(970_000, 1_000_000)
    half = 1.96 * math.sqrt(0.97 * 0.03 / 1_000_000)
    assert (low, high) == pytest.approx((0.97 - half, 0.97 + half), abs=2e-6)
