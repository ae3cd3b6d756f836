"""Sigmoid and tanh by table: near the functions, with CMSIS-NN's values."""

from __future__ import annotations

import numpy as np
import pytest

from cmcompiler.ops.support.gates import MOST_BEYOND, sigmoid, table, tanh

EVERY = np.arange(-(1 << 15), 1 << 15).astype(np.int16)
NUMBERS = EVERY.astype(np.float64)


def test_the_table_is_that_of_cmsis_nn() -> None:
    bases = [base + 32768 for base, _ in table()]
    assert bases[:8] == [32768, 33451, 34133, 34813, 35493, 36169, 36843, 37513]
    assert bases[128:132] == [65221, 65234, 65246, 65258]
    assert bases[-3:] == [65534, 65534, 65535]


def test_sigmoid_is_near_the_function() -> None:
    exact = (1 << 15) / (1 + np.exp(-NUMBERS / (1 << 12)))
    assert np.abs(sigmoid(EVERY) - exact).max() < 1.2


@pytest.mark.parametrize("bits", [12, 11, 4, 0])
def test_tanh_is_near_the_function(bits: int) -> None:
    exact = (1 << 15) * np.tanh(NUMBERS / (1 << bits))
    assert np.abs(tanh(EVERY, bits) - exact).max() < 3


def test_tanh_is_odd_and_sigmoid_adds_up_to_one() -> None:
    positive = EVERY[EVERY > 0]
    assert np.array_equal(tanh(-positive), -tanh(positive))
    assert np.all(sigmoid(positive) + sigmoid(-positive) == 1 << 15)


@pytest.mark.parametrize("beyond", range(MOST_BEYOND + 1))
def test_the_largest_gate_may_have_more(beyond: int) -> None:
    more = sigmoid(EVERY, beyond) - sigmoid(EVERY)
    assert more[-1] == beyond
    assert np.flatnonzero(more).size <= 2 * (1 << 12) / 24
    assert np.abs(tanh(EVERY, beyond=beyond) - tanh(EVERY)).max() <= 2 * beyond
