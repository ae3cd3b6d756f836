"""Networks of MLPerf Tiny to the layer: TensorFlow's padding, and where their weights are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cmcompiler.frontend.checkpoint import Checkpoint

if TYPE_CHECKING:
    import torch
    from torch import nn

    from cmcompiler.tflite.weights import LayerWeights

_COMMIT = "1afd2c9820f795965a6134facd0b4dfae41ef23f"
_FOLDER = f"https://raw.githubusercontent.com/mlcommons/tiny/{_COMMIT}/benchmark/training"


def published(file: str, sha256: str) -> Checkpoint:
    """A `.tflite` file among the trained models of mlcommons/tiny."""
    task, _, name = file.partition("/")
    return Checkpoint(f"{_FOLDER}/{task}/trained_models/{name}", sha256)


def same_padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """Zeros before and after a row, of which TensorFlow has the larger half after."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


def convolution(
    layer: LayerWeights,
    size: tuple[int, int],
    *,
    stride: int = 1,
    depthwise: bool = False,
    is_padded: bool = True,
    has_relu: bool = True,
) -> nn.Sequential:
    """A convolution of images of so many rows and columns, batch normalisation folded in.

    Args:
        is_padded: as TensorFlow's SAME, not VALID.
    """
    import torch
    from torch import nn

    outputs, depth, height, width = layer.weights.shape
    groups = outputs if depthwise else 1
    sides = [
        same_padding(length, kernel, stride) if is_padded else (0, 0)
        for length, kernel in zip(size, (height, width), strict=True)
    ]
    is_even = all(before == after for before, after in sides)
    (top, bottom), (left, right) = sides
    parts: list[nn.Module] = [] if is_even else [nn.ZeroPad2d((left, right, top, bottom))]
    padding = (top, left) if is_even else (0, 0)
    kernel = (height, width)
    layer_module = nn.Conv2d(depth * groups, outputs, kernel, stride, padding, groups=groups)
    layer_module.weight = nn.Parameter(torch.from_numpy(layer.weights.copy()))
    layer_module.bias = nn.Parameter(torch.from_numpy(layer.bias.copy()))
    return nn.Sequential(*parts, layer_module, *([nn.ReLU()] if has_relu else []))


def linear(layer: LayerWeights) -> nn.Linear:
    """A fully connected layer."""
    import torch
    from torch import nn

    outputs, inputs = layer.weights.shape
    module = nn.Linear(inputs, outputs)
    module.weight = nn.Parameter(torch.from_numpy(layer.weights.copy()))
    module.bias = nn.Parameter(torch.from_numpy(layer.bias.copy()))
    return module


def random_layers(shapes: Sequence[tuple[int, ...]]) -> list[LayerWeights]:
    """Layers that keep the size of their inputs, by torch's current seed; He et al. 2015."""
    import math

    import numpy as np
    import torch

    from cmcompiler.tflite.weights import LayerWeights

    layers = []
    for outputs, *rest in shapes:
        weights = torch.randn(outputs, *rest) * math.sqrt(2 / math.prod(rest))
        layers.append(LayerWeights(weights.numpy(), np.zeros(outputs, np.float32)))
    return layers


def residual_network(layers: Sequence[LayerWeights]) -> torch.nn.Module:
    """ResNet-8: a stem, three blocks of two convolutions, and a shortcut in the last two."""
    from torch import Tensor, nn

    def body(first: int, size: int, stride: int) -> nn.Sequential:
        inner = -(-size // stride)
        return nn.Sequential(
            convolution(layers[first], (size, size), stride=stride),
            convolution(layers[first + 1], (inner, inner), has_relu=False),
        )

    class Residual(nn.Module):
        def __init__(self, first: int, size: int, stride: int) -> None:
            super().__init__()
            self.body = body(first, size, stride)
            self.shortcut: nn.Module = nn.Identity()
            if stride > 1:
                shortcut = layers[first + 2]
                self.shortcut = convolution(shortcut, (size, size), stride=stride, has_relu=False)
            self.relu = nn.ReLU()

        def forward(self, x: Tensor) -> Tensor:
            total: Tensor = self.relu(self.shortcut(x) + self.body(x))
            return total

    return nn.Sequential(
        convolution(layers[0], (32, 32)),
        Residual(1, 32, 1),
        Residual(3, 32, 2),
        Residual(6, 16, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        linear(layers[9]),
    )


def residual_shapes(first: int, second: int, third: int) -> tuple[tuple[int, ...], ...]:
    """Shapes of the weights of a ResNet-8 with so many channels in each block."""
    return (
        (first, 3, 3, 3),
        *[(first, first, 3, 3)] * 2,
        *[(second, first, 3, 3), (second, second, 3, 3), (second, first, 1, 1)],
        *[(third, second, 3, 3), (third, third, 3, 3), (third, second, 1, 1)],
        (10, third),
    )
