"""Networks much smaller than the zoo's, which show what kernels cost besides their products.

Their weights are random: cycles do not depend on them.
"""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import torch
from torch import Tensor, nn
from torchvision.models import mobilenet_v2

NAMES = (
    *("plain", "wide_windows", "separable", "separable_5x5", "strided", "flat"),
    *("several_filters", "more_filters", "grouped", "wide_groups"),
    *("short", "short_windows", "short_narrow", "long_sums", "mixed", "nibbles", "many_nibbles"),
    *("vectors", "short_vectors", "long_vectors", "nibble_vectors", "rows", "short_rows"),
    *("nibble_rows", "fine", "short_lstm", "short_gru", "short_attention", "changing"),
    *("short_deep", "short_separable", "nibble_separable"),
)

Made = tuple[nn.Module, Tensor, list[Tensor]]
"""A module, an input, and inputs to calibrate with."""


def plain() -> Made:
    return _made((1, 12, 12), *_convolution(1, 4, 3), nn.MaxPool2d(2), *_convolution(4, 9, 3))


def wide_windows() -> Made:
    return _made((1, 10, 10), *_convolution(1, 6, 5), nn.MaxPool2d(2), *_convolution(6, 10, 5))


def separable() -> Made:
    layers = (*_convolution(3, 8, 3), *_separable(8, 12, 3), nn.MaxPool2d(2))
    return _made((3, 12, 12), *layers, *_separable(12, 20, 3))


def separable_5x5() -> Made:
    layers = (*_convolution(1, 12, 5), *_separable(12, 16, 5), nn.MaxPool2d(2))
    return _made((1, 12, 12), *layers, *_separable(16, 24, 5))


def strided() -> Made:
    layers = (*_convolution(2, 24, 3, stride=2), *_convolution(24, 32, 3, stride=2))
    return _made((2, 16, 16), *layers)


def flat() -> Made:
    layers = (*_convolution(1, 16, 3), *_convolution(16, 16, 3), *_convolution(16, 7, 1))
    return _made((1, 9, 9), *layers)


def several_filters() -> Made:
    filters = nn.Conv2d(8, 16, (12, 1), groups=8), nn.ReLU()
    return _made((1, 12, 32), *_convolution(1, 8, 3), *filters, *_convolution(16, 8, 1))


def more_filters() -> Made:
    filters = nn.Conv2d(4, 16, (5, 2), 2, groups=4), nn.ReLU()
    return _made((1, 16, 24), *_convolution(1, 4, 3), *filters, *_convolution(16, 8, 1))


def grouped() -> Made:
    layers = (*_convolution(1, 16, 3), *_convolution(16, 16, 3, groups=4))
    return _made((1, 12, 12), *layers, *_convolution(16, 8, 1))


def wide_groups() -> Made:
    layers = (*_convolution(1, 24, 3, 2), *_convolution(24, 36, 3, 2, groups=3))
    return _made((1, 24, 20), *layers, *_convolution(36, 8, 1))


def narrow_mobilenet() -> Made:
    """Its plans within small budgets show what kernels cost in tiles of columns."""
    return _made((3, 144, 144), mobilenet_v2(weights=None, width_mult=0.35).features)


def narrow_residuals() -> Made:
    """With few channels: its plans within small budgets call kernels for a few rows."""
    layers = (*_convolution(2, 12, 3, 2), _Residual(12, 40, 3), *_convolution(12, 6, 1))
    return _made((2, 28, 28), *layers, _Residual(6, 24, 5), *_convolution(6, 16, 3, 2))


def gated_5x5() -> Made:
    """Its plans within small budgets compute rows of 5x5 depthwise windows alone."""
    layers = (*_convolution(1, 24, 5, 2), *_convolution(24, 24, 5, groups=24), _Gate(24))
    return _made((1, 20, 20), *layers, *_convolution(24, 12, 1))


def joined() -> Made:
    """Channels side by side, of few filters; pixels that repeat."""
    layers = (*_convolution(1, 6, 3), _Joined(6, 12), _Joined(18, 10), nn.MaxPool2d(2))
    return _made((1, 14, 14), *layers, _Joined(28, 20, 2), *_convolution(48, 12, 1))


def lines() -> Made:
    """Depthwise windows of one row or one column."""
    windows = nn.Conv2d(20, 20, (5, 1), 1, (2, 0), groups=20), nn.ReLU()
    last = nn.Conv2d(36, 36, (1, 9), 1, (0, 4), groups=36), nn.ReLU()
    return _made((3, 16, 16), *_convolution(3, 20, 1), *windows, *_convolution(20, 36, 1), *last)


def short() -> SimpleNamespace:
    """Layers of int16, and operators without weights between them."""
    torch.manual_seed(0)
    return _of_types(_Short(), (3, 16, 16), {"*": "8w16a"})


def short_windows() -> SimpleNamespace:
    layers = (*_convolution(2, 12, 5), *_separable(12, 32, 3), nn.MaxPool2d(2))
    torch.manual_seed(0)
    module = nn.Sequential(*layers, *_separable(32, 16, 5), nn.Flatten(), nn.Linear(1024, 24))
    return _of_types(module, (2, 16, 16), {"*": "8w16a"})


def short_narrow() -> SimpleNamespace:
    """Images of int16 whose rows become narrow."""
    torch.manual_seed(0)
    module = nn.Sequential(*_convolution(1, 8, 3), *_convolution(8, 8, 3, groups=8))
    module.extend([*_convolution(8, 24, 1), *_convolution(24, 24, 3, 2, groups=24)])
    module.extend([*_convolution(24, 40, 1), *_convolution(40, 40, 3, groups=40)])
    module.extend([*_convolution(40, 40, 3, 2, groups=40), *_convolution(40, 40, 3, groups=40)])
    module.extend([*_convolution(40, 16, 3), nn.Flatten(), nn.Linear(240, 12)])
    return _of_types(module, (1, 20, 10), {"*": "8w16a"})


def short_deep() -> SimpleNamespace:
    """Convolutions of int16 from few channels to many."""
    torch.manual_seed(0)
    module = nn.Sequential(*_convolution(3, 32, 3), *_convolution(32, 32, 3))
    module.extend([*_convolution(32, 64, 3, 2), *_convolution(64, 96, 3), *_convolution(96, 96, 3)])
    module.extend([*_convolution(96, 48, 1), *_convolution(48, 160, 1), *_convolution(160, 40, 1)])
    module.extend(_convolution(40, 64, 5, 2))
    return _of_types(module, (3, 24, 24), {"*": "8w16a"})


def short_separable() -> SimpleNamespace:
    """Depthwise convolutions of int16 over images of several sizes, and the 1x1 ones between."""
    torch.manual_seed(0)
    module = nn.Sequential(*_convolution(3, 24, 3), *_convolution(24, 24, 3, groups=24))
    module.extend([*_convolution(24, 64, 1), *_convolution(64, 64, 3, 2, groups=64)])
    module.extend([*_convolution(64, 96, 1), *_convolution(96, 96, 3, groups=96)])
    module.extend([*_convolution(96, 128, 1), *_convolution(128, 128, 3, 2, groups=128)])
    module.extend([*_convolution(128, 256, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten()])
    return _of_types(module, (3, 28, 28), {"*": "8w16a"})


def long_sums() -> SimpleNamespace:
    """Sums of int16 products that may leave 32 bits."""
    torch.manual_seed(0)
    module = nn.Sequential(*_convolution(4, 128, 3, 2), *_convolution(128, 12, 3))
    module.extend([nn.Conv2d(12, 12, (17, 1), 1, (8, 0), groups=12), *_convolution(12, 24, 3, 2)])
    module.extend([nn.Flatten(), nn.Linear(24 * 25, 10)])
    return _of_types(module, (4, 20, 20), {"*": "8w16a"})


def mixed() -> SimpleNamespace:
    """Layers of int8 and int16 in turns."""
    torch.manual_seed(0)
    module = nn.Sequential(*_convolution(3, 16, 3), *_convolution(16, 16, 1))
    module.extend([*_convolution(16, 24, 1), *_convolution(24, 8, 1), nn.Flatten()])
    module.append(nn.Linear(8 * 144, 10))
    short = dict.fromkeys(("0", "1", "4", "5"), "8w16a")
    return _of_types(module, (3, 12, 12), short)


def nibbles() -> SimpleNamespace:
    torch.manual_seed(0)
    module = nn.Sequential(*_convolution(8, 32, 3, 2), *_convolution(32, 64, 1))
    module.extend([*_convolution(64, 16, 1), nn.Flatten(), nn.Linear(1024, 64), nn.Linear(64, 10)])
    return _of_types(module, (8, 16, 16), {"*": "4w8a"})


def many_nibbles() -> SimpleNamespace:
    torch.manual_seed(0)
    module = nn.Sequential(*_convolution(16, 128, 1), *_convolution(128, 32, 1))
    module.extend([*_convolution(32, 24, 3, 2), nn.Flatten(), nn.Linear(24 * 25, 100)])
    return _of_types(module, (16, 10, 10), {"*": "4w8a"})


def nibble_separable() -> SimpleNamespace:
    """Depthwise convolutions of four bits over images of several sizes, and products of eight."""
    torch.manual_seed(0)
    module, before = nn.Sequential(*_convolution(3, 32, 3)), 32
    for channels, stride in ((48, 1), (32, 1), (64, 2), (96, 1), (64, 2), (40, 1), (64, 2)):
        module.extend(_convolution(before, channels, 1))
        module.extend(_convolution(channels, channels, 3, stride, groups=channels))
        before = channels
    narrow = {str(place): "4w8a" for place in range(4, len(module), 4)}
    module.extend([nn.AdaptiveAvgPool2d(1), nn.Flatten()])
    return _of_types(module, (3, 30, 30), {"*": "8w8a", **narrow})


def vectors() -> SimpleNamespace:
    return _linear("8w8a")


def short_vectors() -> SimpleNamespace:
    return _linear("8w16a")


def long_vectors() -> SimpleNamespace:
    """Linear layers of so many columns that their sums may leave 32 bits."""
    torch.manual_seed(0)
    sizes = 700, 32, 12, 1100, 24
    return _of_types(_chain(sizes), (700,), {"*": "8w16a"})


def nibble_vectors() -> SimpleNamespace:
    return _linear("4w8a")


def rows() -> SimpleNamespace:
    return _linear("8w8a", 9)


def short_rows() -> SimpleNamespace:
    return _linear("8w16a", 9)


def nibble_rows() -> SimpleNamespace:
    return _linear("4w8a", 9)


def fine() -> SimpleNamespace:
    """Weights of 16 bits, too."""
    torch.manual_seed(0)
    module = nn.Sequential(*_convolution(2, 12, 3), *_convolution(12, 16, 1), nn.MaxPool2d(2))
    module.extend([*_convolution(16, 8, 3, 2), nn.Flatten(), nn.Linear(72, 40), nn.Linear(40, 6)])
    return _of_types(module, (2, 12, 12), {"*": "16w16a"})


def short_lstm() -> SimpleNamespace:
    torch.manual_seed(0)
    layers = nn.LSTM(20, 32, 2, batch_first=True), nn.LSTM(32, 12, batch_first=True)
    return _of_types(_Steps(*layers, nn.Linear(12, 6)), (11, 20), {"*": "8w16a"})


def short_gru() -> SimpleNamespace:
    torch.manual_seed(0)
    layers = nn.GRU(20, 32, 2, batch_first=True), nn.GRU(32, 12, batch_first=True)
    return _of_types(_Steps(*layers, nn.Linear(12, 6)), (11, 20), {"*": "8w16a"})


def short_attention() -> SimpleNamespace:
    torch.manual_seed(0)
    return _of_types(nn.Sequential(_Attention(24), _Attention(24)), (14, 24), {"*": "8w16a"})


def changing() -> SimpleNamespace:
    """Images and vectors that change between int8 and int16."""
    torch.manual_seed(0)
    module = nn.Sequential(*_convolution(2, 8, 3), *_convolution(8, 24, 1), *_convolution(24, 8, 1))
    module.extend([*_convolution(8, 12, 3, 2), nn.Flatten(), nn.Linear(432, 40), nn.Linear(40, 90)])
    module.extend([nn.Linear(90, 30), nn.Linear(30, 9)])
    return _of_types(module, (2, 12, 12), dict.fromkeys(("2", "6", "9", "11"), "8w16a"))


class _Steps(nn.Module):
    """Recurrent layers one after the other, and a linear one for each step."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor) -> Tensor:
        *recurrent, last = self.layers
        for layer in recurrent:
            x = layer(x)[0]
        return last(x)


class _Attention(nn.Module):
    """A head of attention whose result is normalised."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(size, size) for _ in range(3))
        self.norm = nn.LayerNorm(size)

    def forward(self, x: Tensor) -> Tensor:
        weights = self.query(x) @ self.key(x).transpose(1, 2) / x.shape[-1] ** 0.5
        return self.norm(x + weights.softmax(-1) @ self.value(x))


class _Short(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(*_convolution(3, 16, 3))
        self.depthwise = nn.Sequential(*_convolution(16, 16, 3, groups=16))
        self.point, self.wide = nn.Conv2d(16, 32, 1), nn.Sequential(*_convolution(32, 16, 3, 2))
        self.gate, self.last = nn.Linear(16, 16), nn.Linear(16, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        x = nn.functional.max_pool2d(self.wide(self.point(self.depthwise(x) + x)), 2)
        x = nn.functional.avg_pool2d(x, 4).flatten(1)
        return self.last(torch.sigmoid(self.gate(x)) * x)


class _Residual(nn.Module):
    """Wider in between."""

    def __init__(self, outside: int, inside: int, size: int) -> None:
        super().__init__()
        wide = _convolution(inside, inside, size, groups=inside)
        layers = (*_convolution(outside, inside, 1), *wide, nn.Conv2d(inside, outside, 1))
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x) + x


class _Gate(nn.Module):
    """A factor for each channel."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        mean = nn.AdaptiveAvgPool2d(1), *_convolution(channels, channels // 2, 1)
        self.factors = nn.Sequential(*mean, nn.Conv2d(channels // 2, channels, 1), nn.Hardsigmoid())

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factors(x)


class _Joined(nn.Module):
    """A convolution's channels after those that it reads, in images larger by `scale`."""

    def __init__(self, before: int, after: int, scale: int = 1) -> None:
        super().__init__()
        self.layers = nn.Sequential(*_convolution(before, after, 3))
        self.scale = scale

    def forward(self, x: Tensor) -> Tensor:
        x = torch.cat((x, self.layers(x)), 1)
        return x if self.scale == 1 else nn.functional.interpolate(x, scale_factor=self.scale)


def _linear(precision: str, rows: int | None = None) -> SimpleNamespace:
    """Linear layers of many sizes, for a vector or for rows."""
    torch.manual_seed(0)
    shape = (40,) if rows is None else (rows, 40)
    return _of_types(_chain((40, 96, 64, 10, 200, 30, 128, 17)), shape, {"*": precision})


def _chain(sizes: tuple[int, ...]) -> nn.Sequential:
    return nn.Sequential(*(nn.Linear(*pair) for pair in pairwise(sizes)))


def _of_types(
    module: nn.Module, shape: tuple[int, ...], precision: dict[str, str]
) -> SimpleNamespace:
    """A model whose modules have the precision that patterns of their paths say."""
    inputs = list(torch.rand(8, 1, *shape))
    return SimpleNamespace(
        module=module.eval(), example_inputs=inputs[0], calibration=inputs, precision=precision
    )


def _convolution(
    before: int, after: int, size: int, stride: int = 1, groups: int = 1
) -> tuple[nn.Module, ...]:
    shape = (before, after, size, stride, size // 2)
    return nn.Conv2d(*shape, groups=groups), nn.ReLU()


def _separable(before: int, after: int, size: int) -> tuple[nn.Module, ...]:
    return *_convolution(before, before, size, groups=before), *_convolution(before, after, 1)


def _made(shape: tuple[int, ...], *layers: nn.Module) -> Made:
    torch.manual_seed(0)
    features = nn.Sequential(*layers)
    channels, *side = features(torch.zeros(1, *shape)).shape[1:]
    module = nn.Sequential(features, nn.AvgPool2d(tuple(side)), nn.Flatten())
    module.append(nn.Linear(channels, 10))
    inputs = list(torch.rand(8, 1, *shape))
    return module.eval(), inputs[0], inputs
