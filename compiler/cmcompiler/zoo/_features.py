"""Random inputs for audio models without a data set."""

from __future__ import annotations

import numpy as np

from cmcompiler.zoo import Data

_CALIBRATION, _SAMPLES = 32, 8


def features(shape: tuple[int, ...], seed: int) -> Data:
    """Seeded normally distributed features, shape (samples, *shape)."""
    random = np.random.default_rng(seed)
    stacked = random.standard_normal((_CALIBRATION + _SAMPLES, *shape), np.float32)
    calibration, samples = stacked[:_CALIBRATION], stacked[_CALIBRATION:]
    return Data("seeded normal numbers", calibration, samples, is_real=False)
