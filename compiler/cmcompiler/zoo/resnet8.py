"""ResNet-8 of MLPerf Tiny's image classification (Banbury et al. 2021)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmcompiler.frontend.images import ImageInput
from cmcompiler.frontend.model import Task
from cmcompiler.zoo import Trained, ZooModel
from cmcompiler.zoo._mlperf import published, residual_network, residual_shapes
from cmcompiler.zoo._photographs import photographs

if TYPE_CHECKING:
    import torch

IMAGE = ImageInput(height=32, width=32, mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
RAW_IMAGE = ImageInput(height=32, width=32, mean=(0.0,) * 3, std=(1 / 255,) * 3)
"""The bytes themselves: the trained network takes numbers up to 255."""

CLASSES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)


def module() -> torch.nn.Module:
    from torch import Tensor, nn

    def normalized(inputs: int, outputs: int, stride: int = 1) -> nn.Sequential:
        convolution = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        return nn.Sequential(convolution, nn.BatchNorm2d(outputs))

    class Residual(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.body = nn.Sequential(
                normalized(inputs, outputs, stride), nn.ReLU(), normalized(outputs, outputs)
            )
            self.shortcut = nn.Identity() if stride == 1 else nn.Conv2d(inputs, outputs, 1, stride)
            self.relu = nn.ReLU()

        def forward(self, x: Tensor) -> Tensor:
            total: Tensor = self.relu(self.body(x) + self.shortcut(x))
            return total

    return nn.Sequential(
        normalized(3, 16),
        nn.ReLU(),
        Residual(16, 16, stride=1),
        Residual(16, 32, stride=2),
        Residual(32, 64, stride=2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 10),
    )


MODEL = ZooModel(
    name="resnet8",
    summary="ResNet-8 of MLPerf Tiny, for 32×32 images of 10 classes",
    input_shape=(1, 3, 32, 32),
    task=Task.CLASSIFICATION,
    dataset="CIFAR-10",
    module=module,
    data=lambda seed: photographs(IMAGE, seed),
    classes=lambda: CLASSES,
    image=IMAGE,
    plainly="symmetric padding",
    trained=Trained(
        checkpoints=(
            published(
                "image_classification/pretrainedResnet.tflite",
                "b5c0046d6e0328b4956afd6baa29555a29b1f1c65bdd45aaed75b7cd484d9f79",
            ),
        ),
        shapes=residual_shapes(16, 32, 64),
        module=residual_network,
        data=lambda seed: photographs(RAW_IMAGE, seed),
        image=RAW_IMAGE,
    ),
)
