"""Crops of scikit-learn's two photographs, for image models without a data set."""

from __future__ import annotations

import numpy as np

from cmcompiler.frontend.images import ImageInput
from cmcompiler.zoo import Data, _scikit_learn

_CALIBRATION, _SAMPLES = 16, 8


def photographs(image: ImageInput, seed: int) -> Data:
    """Seeded square crops at least half a photograph high, every other one mirrored."""
    from PIL.ImageOps import mirror

    pictures = _scikit_learn.photographs()
    random = np.random.default_rng(seed)
    pieces = []
    for index in range(_CALIBRATION + _SAMPLES):
        picture = pictures[index % len(pictures)]
        if index % 4 >= 2:
            picture = mirror(picture)
        side = int(random.integers(picture.height // 2, picture.height + 1))
        left = int(random.integers(0, picture.width - side + 1))
        top = int(random.integers(0, picture.height - side + 1))
        pieces.append(image.cut(picture, (left, top, left + side, top + side)))
    stacked = np.concatenate(pieces)
    return Data(
        "pieces of scikit-learn's photographs", stacked[:_CALIBRATION], stacked[_CALIBRATION:]
    )
