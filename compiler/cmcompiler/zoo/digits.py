"""A small convolutional network for scikit-learn's handwritten digits, trained when exported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmcompiler.frontend.images import ImageInput
from cmcompiler.frontend.model import Task
from cmcompiler.zoo import ZooModel
from cmcompiler.zoo._digits import CLASSES, digits, train

if TYPE_CHECKING:
    import torch

IMAGE = ImageInput(height=8, width=8, mean=(0.0,), std=(1.0,))


def module() -> torch.nn.Module:
    from torch import nn

    def normalized(convolution: nn.Conv2d) -> nn.Sequential:
        norm = nn.BatchNorm2d(convolution.out_channels)
        return nn.Sequential(convolution, norm, nn.ReLU())

    return nn.Sequential(
        normalized(nn.Conv2d(1, 16, 3, padding=1, bias=False)),
        nn.MaxPool2d(2),
        normalized(nn.Conv2d(16, 16, 3, padding=1, groups=16, bias=False)),
        normalized(nn.Conv2d(16, 32, 1, bias=False)),
        normalized(nn.Conv2d(32, 32, 3, padding=1, bias=False)),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 2 * 2, 10),
    )


MODEL = ZooModel(
    name="digits",
    summary="small CNN for 8×8 handwritten digits, trained when exported",
    input_shape=(1, 1, 8, 8),
    task=Task.CLASSIFICATION,
    dataset="scikit-learn's digits",
    module=module,
    data=lambda seed: digits(IMAGE, seed),
    classes=lambda: CLASSES,
    image=IMAGE,
    train=lambda module, seed: train(module, IMAGE, seed, epochs=10, rate=0.02),
)
