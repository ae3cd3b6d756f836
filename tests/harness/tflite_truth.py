"""Trained `.tflite` programs, with the bytes that TensorFlow Lite Micro computes for them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

NAMES = ("ad", "ds_cnn", "micro_speech", "mnist_lstm", "resnet8", "vww")


@dataclass(frozen=True)
class Truth:
    """One program.

    Attributes:
        inputs: int8, one row of the first dimension a sample.
        outputs: of TensorFlow Lite Micro with CMSIS-NN, by core.
    """

    path: Path
    inputs: npt.NDArray[np.int8]
    outputs: dict[str, npt.NDArray[np.int8]]


PLACE = Path(__file__).parents[3] / "shared" / "tflite"


def folder() -> Path:
    """The set's folder, shared/tflite beside the checkout; else skips."""
    if not PLACE.is_dir():
        pytest.skip(f"the trained .tflite programs are not in {PLACE}")
    return PLACE


def models() -> list[Path]:
    """All programs; none without the set."""
    return sorted((PLACE / "models").glob("*.tflite"))


def truth(name: str) -> Truth:
    """A program of NAMES; skips without the set."""
    arrays: dict[str, Any] = dict(np.load(folder() / "truth" / f"{name}.npz"))
    path, inputs = folder() / "models" / f"{name}.tflite", arrays.pop("input")
    return Truth(path, inputs, arrays)
