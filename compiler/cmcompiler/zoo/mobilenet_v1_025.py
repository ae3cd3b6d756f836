"""MobileNetV1 with a quarter of the channels, of MLPerf Tiny's visual wake words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cmcompiler.frontend.images import ImageInput
from cmcompiler.frontend.model import Task
from cmcompiler.zoo import Trained, ZooModel
from cmcompiler.zoo._mlperf import convolution, linear, published
from cmcompiler.zoo._photographs import photographs

if TYPE_CHECKING:
    import torch

    from cmcompiler.tflite.weights import LayerWeights

IMAGE = ImageInput(height=96, width=96, mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))

UNIT_IMAGE = ImageInput(height=96, width=96, mean=(0.0,) * 3, std=(1.0,) * 3)
"""The trained network takes numbers up to 1."""

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


def trained(layers: Sequence[LayerWeights]) -> torch.nn.Module:
    from torch import nn

    size, rest = 48, iter(layers[1:])
    parts: list[nn.Module] = [convolution(layers[0], (96, 96), stride=2)]
    for _, stride in _BLOCKS:
        parts.append(convolution(next(rest), (size, size), stride=stride, depthwise=True))
        size //= stride
        parts.append(convolution(next(rest), (size, size)))
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), linear(next(rest)))


def _shapes() -> tuple[tuple[int, ...], ...]:
    shapes: list[tuple[int, ...]] = [(8, 3, 3, 3)]
    channels = 8
    for outputs, _ in _BLOCKS:
        shapes += [(channels, 1, 3, 3), (outputs, channels, 1, 1)]
        channels = outputs
    return (*shapes, (2, channels))


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
    plainly="symmetric padding",
    trained=Trained(
        checkpoints=(
            published(
                "visual_wake_words/vww_96_float.tflite",
                "115bbc094d2119561320a21f01b6500a18bea8cc8589282ab007097bec8af38c",
            ),
        ),
        shapes=_shapes(),
        module=trained,
        data=lambda seed: photographs(UNIT_IMAGE, seed),
        image=UNIT_IMAGE,
    ),
)
