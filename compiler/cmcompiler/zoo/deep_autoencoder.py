"""Deep autoencoder of MLPerf Tiny's anomaly detection."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from cmcompiler.frontend.model import Task
from cmcompiler.zoo import ZooModel
from cmcompiler.zoo._features import features

if TYPE_CHECKING:
    import torch

# Five frames of 128 mel bands in and out, eight features in the middle.
_WIDTHS = (640, 128, 128, 128, 128, 8, 128, 128, 128, 128)


def module() -> torch.nn.Module:
    from torch import nn

    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(_WIDTHS):
        layers += [nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(_WIDTHS[-1], 640))


MODEL = ZooModel(
    name="deep_autoencoder",
    summary="deep autoencoder of MLPerf Tiny: anomalies in the sound of a machine",
    input_shape=(1, 640),
    task=Task.RECONSTRUCTION,
    dataset="ToyADMOS",
    module=module,
    data=lambda seed: features((640,), seed),
)
