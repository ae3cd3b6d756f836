"""Small modules that write, or sum, what a program cannot; bad_writes.toml says why not."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

Made = tuple[nn.Module, Tensor]


def norm_in_training() -> Made:
    class Training(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(8)

        def forward(self, x: Tensor) -> Tensor:
            self.norm.train()
            return self.norm(x)  # here: norm_in_training

    return Training().eval(), torch.ones(2, 8)


def sum_of_nothing() -> Made:
    class Sum(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x + x[:, :0].sum()  # here: sum_of_nothing

    return Sum().eval(), torch.ones(1, 8)


def replaced_buffer() -> Made:
    class Replaced(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("last", torch.zeros(1, 8))

        def forward(self, x: Tensor) -> Tensor:
            assert isinstance(self.last, Tensor)
            self.last.set_(x)  # type: ignore[call-overload]  # here: replaced_buffer
            return self.last + 1

    return Replaced().eval(), torch.ones(1, 8)


def _written_part(part: Callable[[Tensor], Tensor]) -> Made:
    class Written(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(8, 8)

        def forward(self, x: Tensor) -> Tensor:
            part(y := self.fc(x)).add_(1)  # here: written_part
            return y

    return Written().eval(), torch.ones(2, 8)


def written_chunk() -> Made:
    return _written_part(lambda y: y.chunk(2, 1)[0])


def written_row() -> Made:
    return _written_part(lambda y: y.unbind()[0])
