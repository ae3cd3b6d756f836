"""Depthwise separable network (Zhang et al. 2017, small) of MLPerf Tiny's keyword spotting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cmcompiler.frontend.model import Task
from cmcompiler.zoo import Trained, ZooModel
from cmcompiler.zoo._features import features
from cmcompiler.zoo._mlperf import convolution, linear, published

if TYPE_CHECKING:
    import torch

    from cmcompiler.tflite.weights import LayerWeights

CLASSES = (
    "down",
    "go",
    "left",
    "no",
    "off",
    "on",
    "right",
    "stop",
    "up",
    "yes",
    "silence",
    "unknown",
)


MEANS = (-44.4, 5.9, 0.0, 0.1, 0.5, 0.4, 0.0, 0.3, 0.1, 0.3)
DEVIATIONS = (57.8, 7.1, 1.5, 1.1, 1.0, 0.9, 1.0, 0.8, 0.8, 0.6)
"""Means and deviations of the ten cepstral coefficients of real speech."""

LIMITS = (-124.0, 28.0)
"""The least and largest of all the coefficients."""


def finer(quantized: Sequence[LayerWeights], hybrid: Sequence[LayerWeights]) -> list[LayerWeights]:
    """The layers of the hybrid file, whose depthwise and last weights are floats, with the weights
    of the other convolutions from the int8 program: that has a scale for each channel.
    """
    return [
        replace(own, weights=each.weights) if own.weights.shape[2:] in ((10, 4), (1, 1)) else own
        for each, own in zip(quantized, hybrid, strict=True)
    ]


def trained(layers: Sequence[LayerWeights]) -> torch.nn.Module:
    from torch import nn

    size = (25, 5)
    parts: list[nn.Module] = [convolution(layers[0], (49, 10), stride=2)]
    for index in range(1, 9, 2):
        parts.append(convolution(layers[index], size, depthwise=True))
        parts.append(convolution(layers[index + 1], size))
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), linear(layers[9]))


def module() -> torch.nn.Module:
    from torch import nn

    def normalized(convolution: nn.Conv2d) -> nn.Sequential:
        return nn.Sequential(convolution, nn.BatchNorm2d(convolution.out_channels), nn.ReLU())

    # 49 frames of 10 cepstral coefficients: (1, 49, 10) → (64, 25, 5).
    layers = [normalized(nn.Conv2d(1, 64, (10, 4), stride=2, padding=(5, 1), bias=False))]
    for _ in range(4):
        layers += [
            normalized(nn.Conv2d(64, 64, 3, padding=1, groups=64, bias=False)),
            normalized(nn.Conv2d(64, 64, 1, bias=False)),
        ]
    return nn.Sequential(*layers, nn.AvgPool2d((24, 5)), nn.Flatten(), nn.Linear(64, 12))


MODEL = ZooModel(
    name="ds_cnn",
    summary="DS-CNN of MLPerf Tiny: 12 keywords in a second of speech",
    input_shape=(1, 1, 49, 10),
    task=Task.CLASSIFICATION,
    dataset="Speech Commands",
    module=module,
    data=lambda seed: features((1, 49, 10), seed),
    classes=lambda: CLASSES,
    plainly="symmetric padding",
    trained=Trained(
        checkpoints=(
            published(
                "keyword_spotting/kws_ref_model.tflite",
                "aeea436800704fce17b17292e4412630ad856e9d777c044c64ef748a880bd0ae",
            ),
            published(
                "keyword_spotting/kws_ref_model_float32.tflite",
                "e5004c6f1012246e33fa068d8488325538e0444073cd361f5a7edb40c73f12d2",
            ),
        ),
        shapes=((64, 1, 10, 4), *[(64, 1, 3, 3), (64, 64, 1, 1)] * 4, (12, 64)),
        module=trained,
        data=lambda seed: features(
            (1, 49, 10), seed, mean=MEANS, deviation=DEVIATIONS, limits=LIMITS
        ),
        join=finer,
    ),
)
