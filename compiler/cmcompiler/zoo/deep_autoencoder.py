"""Deep autoencoder of MLPerf Tiny's anomaly detection."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from cmcompiler.frontend.model import Task
from cmcompiler.zoo import Trained, ZooModel
from cmcompiler.zoo._features import features
from cmcompiler.zoo._mlperf import linear, published

if TYPE_CHECKING:
    import torch

    from cmcompiler.tflite.weights import LayerWeights

# Five frames of 128 mel bands in and out, eight features in the middle.
_WIDTHS = (640, 128, 128, 128, 128, 8, 128, 128, 128, 128)


def module() -> torch.nn.Module:
    from torch import nn

    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(_WIDTHS):
        layers += [nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(_WIDTHS[-1], 640))


def trained(layers: Sequence[LayerWeights]) -> torch.nn.Module:
    """The input is the logarithm of a mel spectrogram, in decibels; real ones have this range."""
    from torch import nn

    parts: list[nn.Module] = []
    for layer in layers[:-1]:
        parts += [linear(layer), nn.ReLU()]
    return nn.Sequential(*parts, linear(layers[-1]))


MODEL = ZooModel(
    name="deep_autoencoder",
    summary="deep autoencoder of MLPerf Tiny: anomalies in the sound of a machine",
    input_shape=(1, 640),
    task=Task.RECONSTRUCTION,
    dataset="ToyADMOS",
    module=module,
    data=lambda seed: features((640,), seed),
    plainly="batch normalisation",
    trained=Trained(
        checkpoints=(
            published(
                "anomaly_detection/ad01_fp32.tflite",
                "c66636f4d7f8af8b10518e7be750a22c9d8d46ec97326b40b0d94c097e0aad9b",
            ),
        ),
        shapes=tuple((outputs, inputs) for inputs, outputs in pairwise((*_WIDTHS, 640))),
        module=trained,
        data=lambda seed: features((640,), seed, mean=-28.1, deviation=11.2),
    ),
)
