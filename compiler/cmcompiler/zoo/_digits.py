"""Training and evaluation on scikit-learn's handwritten digits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cmcompiler.frontend.images import ImageInput
from cmcompiler.zoo import Data, _scikit_learn

if TYPE_CHECKING:
    import torch

CLASSES = tuple("0123456789")

_HELD_OUT = 360
_CALIBRATION = 128
_BATCH = 64


@dataclass(frozen=True, eq=False, slots=True)
class _Digits:
    """Images, shape (samples, 1, height, width), and their digits."""

    images: npt.NDArray[Any]
    labels: npt.NDArray[Any]


@lru_cache
def _split(image: ImageInput, seed: int) -> tuple[_Digits, _Digits]:
    """Training and held-out digits, in a seeded order."""
    from PIL import Image

    pixels, digits = _scikit_learn.handwritten_digits()
    order = np.random.default_rng(seed).permutation(len(pixels))
    # The data set's pixels range from 0 to 16.
    pictures = [Image.fromarray(np.uint8(pixels[index] * (255 / 16))) for index in order]
    images = np.concatenate([image.cut(picture, (0, 0, 8, 8)) for picture in pictures])
    labels = digits[order].astype(np.int64)
    training = _Digits(images[_HELD_OUT:], labels[_HELD_OUT:])
    return training, _Digits(images[:_HELD_OUT], labels[:_HELD_OUT])


def digits(image: ImageInput, seed: int) -> Data:
    """All 360 held-out digits as samples, the first 128 of the others for calibration."""
    training, held_out = _split(image, seed)
    calibration = training.images[:_CALIBRATION]
    return Data("scikit-learn's digits", calibration, held_out.images, held_out.labels)


def train(module: torch.nn.Module, image: ImageInput, seed: int, epochs: int, rate: float) -> str:
    """Trains a classifier in place and returns how. Equal seeds give equal weights.

    Args:
        rate: peak of the learning rate, which rises and falls once.
    """
    import torch

    training, _ = _split(image, seed)
    images, labels = torch.from_numpy(training.images), torch.from_numpy(training.labels)
    batches = -(-len(images) // _BATCH)
    optimizer = torch.optim.AdamW(module.parameters(), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, epochs * batches)
    module.train()
    with _one_thread():
        for _ in range(epochs):
            for chosen in torch.randperm(len(images)).chunk(batches):
                loss = torch.nn.functional.cross_entropy(module(images[chosen]), labels[chosen])
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                schedule.step()
    module.eval()
    return f"{epochs} epochs on {len(images)} of scikit-learn's digits"


@contextmanager
def _one_thread() -> Iterator[None]:
    """Makes training deterministic: the order of sums depends on the number of threads."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
