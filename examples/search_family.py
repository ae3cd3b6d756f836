"""A family of small networks for scikit-learn's digits, trained for a moment as they are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

DATA = Path(__file__).with_name("digits.npz")
_HELD_OUT = 360
_CALIBRATION = 32
_EPOCHS = 4
_BATCH = 64
_POOLS = 2


@dataclass(frozen=True)
class Stage:
    """A convolution and, in the first two stages, a pool.

    Attributes:
        separable: depthwise and pointwise; not the first stage.
    """

    width: int
    kernel: int
    separable: bool


@dataclass(frozen=True)
class Candidate:
    """A trained network with its data, as cmbuild takes it."""

    module: nn.Module
    example_inputs: tuple[Tensor, ...]
    calibration: list[tuple[Tensor, ...]]
    samples: list[tuple[Tensor, ...]]
    labels: np.ndarray


def candidate(*stages: Stage) -> Candidate:
    data = np.load(DATA)
    images, labels = torch.from_numpy(data["images"]), torch.from_numpy(data["labels"])
    module = network(stages)
    _train(module, images[_HELD_OUT:], labels[_HELD_OUT:])
    calibration = images[_HELD_OUT : _HELD_OUT + _CALIBRATION]
    return Candidate(
        module.eval(),
        (images[:1],),
        [(image[None],) for image in calibration],
        [(image[None],) for image in images[:_HELD_OUT]],
        data["labels"][:_HELD_OUT],
    )


def network(stages: Sequence[Stage]) -> nn.Module:
    layers, before = list[nn.Module](), 1
    for index, stage in enumerate(stages):
        if stage.separable:
            layers += [*_convolution(before, before, stage.kernel, groups=before)]
            layers += [*_convolution(before, stage.width, 1)]
        else:
            layers += [*_convolution(before, stage.width, stage.kernel)]
        if index < _POOLS:
            layers.append(nn.MaxPool2d(2))
        before = stage.width
    side = 8 >> min(len(stages), _POOLS)
    return nn.Sequential(*layers, nn.AvgPool2d(side), nn.Flatten(), nn.Linear(before, 10))


def _convolution(inputs: int, outputs: int, kernel: int, groups: int = 1) -> tuple[nn.Module, ...]:
    convolution = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, groups=groups, bias=False)
    return convolution, nn.BatchNorm2d(outputs), nn.ReLU()


def _train(module: nn.Module, images: Tensor, labels: Tensor) -> None:
    batches = -(-len(images) // _BATCH)
    optimizer = torch.optim.AdamW(module.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.03, _EPOCHS * batches)
    module.train()
    for _ in range(_EPOCHS):
        for chosen in torch.randperm(len(images)).chunk(batches):
            loss = nn.functional.cross_entropy(module(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
