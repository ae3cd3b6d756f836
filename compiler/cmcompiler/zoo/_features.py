"""Random inputs for audio models without a data set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cmcompiler.zoo import Data

_CALIBRATION, _SAMPLES = 32, 8


def features(
    shape: tuple[int, ...],
    seed: int,
    mean: float | Sequence[float] = 0.0,
    deviation: float | Sequence[float] = 1.0,
    limits: tuple[float, float] | None = None,
) -> Data:
    """Seeded normally distributed features, shape (samples, *shape).

    Args:
        mean, deviation: of all, or of each index of the last dimension.
        limits: the least and the largest.
    """
    random = np.random.default_rng(seed)
    stacked = random.standard_normal((_CALIBRATION + _SAMPLES, *shape), np.float32)
    if (mean, deviation) != (0.0, 1.0):
        scaled = stacked * np.asarray(deviation, np.float32) + np.asarray(mean, np.float32)
        stacked = scaled.astype(np.float32)
    if limits is not None:
        stacked = stacked.clip(*limits)
    calibration, samples = stacked[:_CALIBRATION], stacked[_CALIBRATION:]
    return Data("seeded normal numbers", calibration, samples, is_real=False)
