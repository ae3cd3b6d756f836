"""Depthwise separable network (Zhang et al. 2017, small) of MLPerf Tiny's keyword spotting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmcompiler.frontend.model import Task
from cmcompiler.zoo import ZooModel
from cmcompiler.zoo._features import features

if TYPE_CHECKING:
    import torch

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
)
