"""MobileNetV1 with a quarter of the channels, of MLPerf Tiny's visual wake words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmcompiler.frontend.images import ImageInput
from cmcompiler.frontend.model import Task
from cmcompiler.zoo import ZooModel
from cmcompiler.zoo._photographs import photographs

if TYPE_CHECKING:
    import torch

IMAGE = ImageInput(height=96, width=96, mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))

# Output channels and stride of each depthwise separable convolution (Howard et al. 2017, table 1).
_BLOCKS = (
    (16, 1),
    (32, 2),
    (32, 1),
    (64, 2),
    (64, 1),
    (128, 2),
    *[(128, 1)] * 5,
    (256, 2),
    (256, 1),
)


def module() -> torch.nn.Module:
    from torch import nn

    def normalized(convolution: nn.Conv2d) -> nn.Sequential:
        return nn.Sequential(convolution, nn.BatchNorm2d(convolution.out_channels), nn.ReLU())

    layers = [normalized(nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False))]
    channels = 8
    for outputs, stride in _BLOCKS:
        depthwise = nn.Conv2d(channels, channels, 3, stride, 1, groups=channels, bias=False)
        layers += [normalized(depthwise), normalized(nn.Conv2d(channels, outputs, 1, bias=False))]
        channels = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 2))


MODEL = ZooModel(
    name="mobilenet_v1_025",
    summary="MobileNetV1 0.25 of MLPerf Tiny: is there a person in a 96×96 image",
    input_shape=(1, 3, 96, 96),
    task=Task.CLASSIFICATION,
    dataset="Visual Wake Words",
    module=module,
    data=lambda seed: photographs(IMAGE, seed),
    classes=lambda: ("no person", "person"),
    image=IMAGE,
)
