"""Where the inputs come from that a program is judged by."""

from __future__ import annotations

from enum import Enum


class SampleOrigin(str, Enum):
    """Real inputs are preferred in this order; made-up ones serve where there are no others."""

    SAMPLES = "samples"
    """The model's own samples."""
    DATA = "data"
    """A data set of the user."""
    INPUT = "input"
    """Inputs that the user gave for a run."""
    CALIBRATION = "calibration"
    """Calibration inputs, held out of calibration if there are enough."""
    SYNTHETIC = "synthetic"
    """Made up from the example or from random numbers."""
