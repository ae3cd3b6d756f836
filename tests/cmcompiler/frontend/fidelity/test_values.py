"""The numbers that a program's values stand for."""

from __future__ import annotations

import numpy as np
import torch

from cmcompiler.frontend.fidelity.pairing import StepRange
from cmcompiler.frontend.fidelity.values import real


def test_steps_are_scaled_from_the_zero_point() -> None:
    held = StepRange(0.25, -3, -128, 127, False)
    made = real(np.array([-128, -3, 127], np.int8), held)
    assert made.tolist() == [-31.25, 0.0, 32.5]


def test_values_without_a_range_are_themselves() -> None:
    constant = np.arange(3, dtype=np.float32)
    constant.flags.writeable = False
    made = real(constant, None)
    assert made.dtype == torch.float32
    assert made.tolist() == [0, 1, 2]
