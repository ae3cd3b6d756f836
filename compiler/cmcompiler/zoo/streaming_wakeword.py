"""Streaming wake word of MLPerf Tiny (sww01): one word in a second of log-mel features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cmcompiler.frontend.model import Task
from cmcompiler.zoo import Trained, ZooModel
from cmcompiler.zoo._features import features
from cmcompiler.zoo._mlperf import convolution, linear, published, random_layers

if TYPE_CHECKING:
    import torch

    from cmcompiler.tflite.weights import LayerWeights

CLASSES = ("marvin", "silence", "unknown")

_KERNELS = (3, 5, 10, 15)
_WIDTHS = (40, 128, 128, 128, 32)

SHAPES: tuple[tuple[int, ...], ...] = (
    *(
        shape
        for kernel, inputs, outputs in zip(_KERNELS, _WIDTHS, _WIDTHS[1:], strict=False)
        for shape in ((inputs, 1, kernel, 1), (outputs, inputs, 1, 1))
    ),
    (3, 32),
)
"""Steps go down, features are channels."""


def network(layers: Sequence[LayerWeights]) -> torch.nn.Module:
    from torch import nn

    size, parts = (30, 1), list[nn.Module]()
    for index in range(0, 8, 2):
        depthwise = convolution(
            layers[index], size, depthwise=True, is_padded=False, has_relu=False
        )
        parts += [depthwise, convolution(layers[index + 1], size, is_padded=False)]
    return nn.Sequential(*parts, nn.Flatten(), linear(layers[8]))


MODEL = ZooModel(
    name="streaming_wakeword",
    summary="streaming wake word of MLPerf Tiny: one word in 30 steps of speech",
    input_shape=(1, 40, 30, 1),
    task=Task.CLASSIFICATION,
    dataset="Speech Commands",
    module=lambda: network(random_layers(SHAPES)),
    data=lambda seed: features((40, 30, 1), seed, mean=0.3, deviation=0.22, limits=(0.0, 0.944)),
    classes=lambda: CLASSES,
    trained=Trained(
        # Its floats are published as .h5 alone: these are the int8 program's numbers.
        checkpoints=(
            published(
                "streaming_wakeword/str_ww_ref_model.tflite",
                "3af8550895ba7d5c584277102b5075c52dcfa63ba9d2b2240f37c4e6abd5dd2b",
            ),
        ),
        shapes=SHAPES,
        module=network,
        data=lambda seed: features(
            (40, 30, 1), seed, mean=0.3, deviation=0.22, limits=(0.0, 0.944)
        ),
    ),
)
