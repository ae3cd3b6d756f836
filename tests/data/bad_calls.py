"""Small modules that cannot take their example inputs; bad_calls.toml says why not."""

from __future__ import annotations

import torch
from torch import Tensor, nn

Made = tuple[nn.Module, Tensor]


def features_of_a_sequence() -> Made:
    layers = (nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(100, 10))
    return nn.Sequential(*layers).eval(), torch.ones(1, 1, 8, 8)


def features_of_a_part() -> Made:
    class Cut(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(8, 8)

        def forward(self, x: Tensor) -> Tensor:
            return self.fc(x[:, 1:])  # type: ignore[no-any-return]  # here: features_of_a_part

    return Cut().eval(), torch.ones(1, 8)


def without_flatten() -> Made:
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.Linear(144, 3)).eval(), torch.ones(1, 1, 8, 8)


def channels_at_the_end() -> Made:
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU()).eval(), torch.ones(1, 8, 8, 3)


def channels_of_a_norm() -> Made:
    return nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(16)).eval(), torch.ones(1, 8)


def image_without_a_batch() -> Made:
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)).eval(), torch.ones(3, 8, 8)


def small_image() -> Made:
    layers = (nn.Conv2d(1, 8, 5), nn.MaxPool2d(2), nn.Conv2d(8, 8, 5))
    return nn.Sequential(*layers).eval(), torch.ones(1, 1, 8, 8)


def small_pool() -> Made:
    return nn.Sequential(nn.ReLU(), nn.MaxPool2d(9)).eval(), torch.ones(1, 1, 8, 8)


def features_of_a_recurrent_layer() -> Made:
    return nn.LSTM(8, 4, batch_first=True).eval(), torch.ones(1, 5, 7)


def width_of_an_encoder() -> Made:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return nn.TransformerEncoder(layer, 2).eval(), torch.ones(1, 5, 6)


def normalised_shape() -> Made:
    return nn.Sequential(nn.LayerNorm([4, 8])).eval(), torch.ones(1, 8, 4)


def tokens_in_float() -> Made:
    return nn.Sequential(nn.Embedding(10, 4), nn.ReLU()).eval(), torch.ones(1, 5)


def token_outside() -> Made:
    return nn.Sequential(nn.Embedding(10, 4), nn.ReLU()).eval(), torch.full((1, 5), 12)


def one_of_two_inputs() -> Made:
    return nn.Bilinear(4, 4, 2).eval(), torch.ones(1, 4)


def without_forward() -> Made:
    return nn.ModuleList([nn.Linear(4, 4)]).eval(), torch.ones(1, 4)


def integers_for_a_layer() -> Made:
    return nn.Sequential(nn.Flatten(), nn.Linear(4, 2)).eval(), torch.ones(1, 4, dtype=torch.long)


def named_inputs() -> Made:
    class Named(nn.Module):
        def forward(self, *, x: Tensor, scale: float = 2.0) -> Tensor:  # here: named_inputs
            return x * scale

    return Named().eval(), torch.ones(1, 8)


class _Doubles(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        import numpy as np

        numbers = torch.from_numpy(np.arange(8, dtype=np.float64))
        return x + numbers.float()  # here: array_of_doubles


def array_of_doubles() -> Made:
    return _Doubles().eval(), torch.ones(1, 8)


def no_channels() -> Made:
    layer = nn.Linear(8, 1, bias=False)
    layer.weight = nn.Parameter(torch.zeros(0, 8))
    return nn.Sequential(layer).eval(), torch.ones(1, 8)
