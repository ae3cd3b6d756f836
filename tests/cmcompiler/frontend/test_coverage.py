"""People's models run in integers and stay close to float."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.coverage import cover

MODELS = Path(__file__).parents[2] / "data" / "models"

CONVOLUTIONS = 30
SEQUENCES = 25

COVERED: dict[str, int] = {
    "gestures.py:pointnet": CONVOLUTIONS,
    "gestures.py:temporal": CONVOLUTIONS,
    "sequences.py:bidirectional_gru": SEQUENCES,
    "sequences.py:bidirectional_lstm": SEQUENCES,
    "sequences.py:crnn": SEQUENCES,
    "sequences.py:encoder": SEQUENCES,
    "sequences.py:gru": SEQUENCES,
    "sequences.py:long_lstm": SEQUENCES,
    "sequences.py:lstm": SEQUENCES,
    "sequences.py:rnn": SEQUENCES,
    "sequences.py:vit": SEQUENCES,
}
"""Models with at least 99 % of their multiply-accumulates in integer kernels, and their dB."""


@pytest.mark.long
@pytest.mark.parametrize("model", COVERED)
def test_models_run_in_integers_and_close_to_float(model: str) -> None:
    found = cover(str(MODELS / model))
    assert found.share >= 0.99, found
    assert found.snr >= COVERED[model], found
