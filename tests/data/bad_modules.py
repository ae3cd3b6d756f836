"""Small modules as people write them that cannot run on a board; bad_modules.toml says why not."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Made = tuple[nn.Module, Tensor]


class _Net(nn.Module):
    def __init__(self, compute: Callable[[Tensor], object]) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.compute = compute

    def forward(self, x: Tensor) -> object:
        return self.compute(self.fc(x))  # here: forward


def _made(compute: Callable[[Tensor], object]) -> Made:
    return _Net(compute).eval(), torch.ones(1, 8)


def numpy() -> Made:
    return _made(lambda x: torch.from_numpy(x.numpy()) + x)  # here: numpy


def item() -> Made:
    return _made(lambda x: x * 2 if x.sum().item() > 0 else x)  # here: item


def condition() -> Made:
    return _made(lambda x: x * 2 if x.sum() > 0 else x)  # here: condition


def tolist() -> Made:
    return _made(lambda x: x + max(x.flatten().tolist()))  # here: tolist


def python_float() -> Made:
    return _made(lambda x: x * float(x.max()))  # here: python_float


def nonzero() -> Made:
    return _made(lambda x: x[x > 0])


def dropout() -> Made:
    return _made(F.dropout)


def random() -> Made:
    return _made(lambda x: x + torch.randn_like(x))


def infinite_weight() -> Made:
    net, x = _made(torch.relu)
    with torch.no_grad():
        net.fc.weight[0, 0] = torch.inf  # type: ignore[union-attr, index, operator]
    return net, x


def scripted() -> Made:
    return torch.jit.script(nn.Sequential(nn.Linear(8, 8), nn.ReLU()).eval()), torch.ones(1, 8)


def traced() -> Made:
    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).eval()
    return torch.jit.trace(net, torch.ones(1, 8)), torch.ones(1, 8)


def text() -> Made:
    return _made(lambda x: {"scores": x, "label": "cat"})


def nothing() -> Made:
    return _made(lambda x: None)


def own_object() -> Made:
    class Boxes:
        def __init__(self, boxes: Tensor) -> None:
            self.boxes = boxes

    return _made(Boxes)


def unique() -> Made:
    return _made(torch.unique)


def sparse() -> Made:
    return _made(lambda x: x.to_sparse())


def complex() -> Made:
    return _made(lambda x: torch.complex(x, x) * 2)


def complex_tangent() -> Made:
    return _made(lambda x: torch.fft.rfft(x).tanh().abs())


def numpy_function() -> Made:
    import numpy as np

    return _made(lambda x: torch.tensor(np.tanh(x.detach().numpy())))  # here: numpy_function


def quantized_dynamic() -> Made:
    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).eval()
    return torch.ao.quantization.quantize_dynamic(net, {nn.Linear}), torch.ones(1, 8)


def masked_select() -> Made:
    return _made(lambda x: torch.masked_select(x, x > 0))


def bernoulli() -> Made:
    return _made(lambda x: x * torch.bernoulli(torch.full((8,), 0.5)))


def infinite_weight_of_a_sequence() -> Made:
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU()).eval()
    torch.nn.init.constant_(net[0].bias, torch.nan)
    return net, torch.ones(1, 1, 4, 4)
