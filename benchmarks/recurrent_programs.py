"""Writes `.tflite` programs of one LSTM each, of several sizes, which `costs.py` prices LSTMs by.

python benchmarks/recurrent_programs.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from harness.tflite_layer_calls import unidirectional_sequence_lstm
from harness.tflite_maker import Maker

SIZES = {
    "lstm_few": (5, 6, 4, 1.0),
    "lstm_long": (64, 13, 12, 1.0),
    "lstm_wide": (6, 40, 64, 1.0),
    "lstm_narrow": (40, 3, 24, 1.0),
    "lstm_odd": (12, 33, 17, 1.0),
    "lstm_few_fine": (9, 4, 7, 0.1),
    "lstm_long_fine": (48, 10, 16, 0.1),
    "lstm_wide_fine": (8, 64, 40, 0.1),
}
"""Steps, features, units, and how fine the inputs are: with fine ones rescaling shifts right."""


def main() -> None:
    folder = Path(sys.argv[1])
    for name, (steps, features, units, finer) in SIZES.items():
        make = Maker(name)
        make.finer = finer
        unidirectional_sequence_lstm(make, steps=steps, features=features, units=units, batch=1)
        (folder / f"{name}.tflite").write_bytes(make.made(name, 1).data)


if __name__ == "__main__":
    main()
