"""Small modules that ask the computer for what no board has; bad_hosts.toml says what that is."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

Made = tuple[nn.Module, Tensor]


class _Net(nn.Module):
    def __init__(self, compute: Callable[[Tensor], object]) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.compute = compute

    def forward(self, x: Tensor) -> object:  # here: definition
        return self.compute(self.fc(x))  # here: forward


def _made(compute: Callable[[Tensor], object]) -> Made:
    return _Net(compute).eval(), torch.ones(1, 8)


def chance() -> Made:
    import random

    return _made(lambda x: x * 2 if random.random() > 0.5 else x)  # here: chance


def chance_of_numpy() -> Made:
    import numpy as np

    return _made(lambda x: x * float(np.random.rand()))


def clock() -> Made:
    import time

    return _made(lambda x: x * (time.time() % 7))  # here: clock


def counter() -> Made:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0

        def forward(self, x: Tensor) -> Tensor:  # here: counter
            self.calls += 1
            return x * self.calls

    return Counter().eval(), torch.ones(1, 8)


def state_of_none() -> Made:
    class Remembers(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last: Tensor | None = None

        def forward(self, x: Tensor) -> Tensor:  # here: state_of_none
            self.last = x if self.last is None else self.last * 0.5 + x
            return self.last

    return Remembers().eval(), torch.ones(1, 8)


def device() -> Made:
    return _made(lambda x: x.to("mps"))  # here: device


def gradient() -> Made:
    def compute(x: Tensor) -> Tensor:
        with torch.enable_grad():
            x = x.detach().requires_grad_(True)
            return torch.autograd.grad(x.pow(2).sum(), x)[0]  # here: gradient

    return _made(compute)


def deformable() -> Made:
    from torchvision.ops import DeformConv2d

    class Deformable(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = DeformConv2d(1, 1, 1)

        def forward(self, x: Tensor) -> Tensor:
            return self.conv(x, torch.zeros(1, 2, 2, 4))  # type: ignore[no-any-return]  # here: deformable

    return Deformable().eval(), torch.ones(1, 1, 2, 4)


def step_returns_its_input() -> Made:
    from torch._higher_order_ops.scan import scan

    def compute(x: Tensor) -> object:
        return scan(lambda a, v: (a + v, v), x[0], x)  # here: step_returns_its_input

    return _made(compute)


def flexible_attention() -> Made:
    from torch.nn.attention.flex_attention import flex_attention

    def compute(x: Tensor) -> object:
        q = x.expand(16, 8)[None, None]
        return flex_attention(q, q, q)  # here: flexible_attention

    return _made(compute)
