"""The multi-layer perceptron of ExecuTorch's Pico 2 example, trained on real digits when exported.

ExecuTorch's hand-crafted weights recognise only four digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmcompiler.frontend.images import ImageInput
from cmcompiler.frontend.model import Task
from cmcompiler.zoo import ZooModel
from cmcompiler.zoo._digits import CLASSES, digits, train

if TYPE_CHECKING:
    import torch

IMAGE = ImageInput(height=28, width=28, mean=(0.0,), std=(1.0,))


def module() -> torch.nn.Module:
    from torch import nn

    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(28 * 28, 32),
        nn.ReLU(),
        nn.Linear(32, 16),
        nn.ReLU(),
        nn.Linear(16, 10),
    )


MODEL = ZooModel(
    name="mlp",
    summary="784-32-16-10 perceptron for 28×28 handwritten digits, trained when exported",
    input_shape=(1, 1, 28, 28),
    task=Task.CLASSIFICATION,
    dataset="scikit-learn's digits, enlarged",
    module=module,
    data=lambda seed: digits(IMAGE, seed),
    classes=lambda: CLASSES,
    image=IMAGE,
    train=lambda module, seed: train(module, IMAGE, seed, epochs=10, rate=0.01),
)
