"""Steps of weights of four bits: of each channel, or of groups of its columns.

Importing it imports torch.
"""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor
from torch.nn import functional
from torchao.quantization.pt2e import PerChannelMinMaxObserver

from cmcompiler.ops.support.nibbles import FEWEST, LARGEST
from cmcompiler.ops.support.packing16 import CHUNK
from cmcompiler.ops.support.weight_groups import MOST, SIZES

CLIPPED = [1 - 0.04 * n for n in range(13)]
"""Shares of a channel's largest weight that may become the largest of four bits."""

_GROUPS_CLIPPED = (1.0, 0.92, 0.84, 0.76)
"""Shares of the largest weight of all groups of a channel, few of which clip."""

LEAST_STEP = 1e-30

_EXACT = 1e-4
"""The share of a step that single precision may lose of numbers that four bits hold."""


class NarrowWeights(PerChannelMinMaxObserver):  # type: ignore[misc]
    """Finds the steps that rounding to four bits changes the weights of each channel least with.

    Clipping the few largest weights makes the steps of all others smaller.
    """

    min_val: Tensor
    max_val: Tensor
    _most: Tensor

    def forward(self, x_orig: Tensor) -> Tensor:
        x = self.rows(x_orig.detach())
        most = x.abs().amax(1)
        # Calibration shows the same weights with every sample.
        if self.min_val.numel() == 0 or not torch.equal(most, self._most):
            largest = self.chosen(x, most)
            self._most = most
            self.min_val, self.max_val = -largest, largest
        return x_orig

    def rows(self, weights: Tensor) -> Tensor:
        """The weights of each channel, of a shape that `shaped` takes."""
        return weights.movedim(self.ch_axis, 0).flatten(1)

    def shaped(self, rows: Tensor, weights: Tensor) -> Tensor:
        """Other weights in the order of these."""
        axis = self.ch_axis
        return rows.reshape(weights.movedim(axis, 0).shape).movedim(0, axis)

    def unit_steps(self) -> Tensor:
        """The step of each channel's int8 weights."""
        steps: Tensor = self.calculate_qparams()[0]
        return steps.clamp(min=LEAST_STEP)

    def rounded(self, weights: Tensor) -> Tensor:
        """Weights that four bits hold; gradients pass."""
        rows = self.rows(weights.detach())
        steps = self.steps(rows)
        held = held_in_steps(rows, steps)
        return weights + (self.shaped(held, weights) - weights.detach())

    @abstractmethod
    def chosen(self, rows: Tensor, most: Tensor) -> Tensor:
        """The largest number of each channel, as int8 weights count.

        Args:
            most: the largest weight of each channel.
        """

    @abstractmethod
    def steps(self, rows: Tensor) -> Tensor:
        """The step of each weight."""


class NarrowPerChannelObserver(NarrowWeights):
    """One step for each channel. Preparation tells by the name that the class takes an axis."""

    def chosen(self, rows: Tensor, most: Tensor) -> Tensor:
        return least_changed(rows, most)

    def steps(self, rows: Tensor) -> Tensor:
        return self.unit_steps()[:, None]


class GroupedPerChannelObserver(NarrowWeights):
    """A step for each group of a channel's columns: a small multiple of the channel's own.

    Attributes:
        size: columns of a group.
    """

    size: int

    def chosen(self, rows: Tensor, most: Tensor) -> Tensor:
        best, largest = torch.full_like(most, torch.inf), most
        for share in _GROUPS_CLIPPED:
            unit = (share * most / (LARGEST * MOST)).clamp(min=LEAST_STEP)
            error = factors_of(rows, unit, self.size)[1]
            largest = torch.where(error < best, unit * self.quant_max, largest)
            best = torch.minimum(best, error)
        return largest

    def steps(self, rows: Tensor) -> Tensor:
        unit = self.unit_steps()
        factors, _ = factors_of(rows, unit, self.size)
        each = factors.repeat_interleave(self.size, 1)[:, : rows.shape[1]]
        return each * unit[:, None]


def _of_size(columns: int) -> type[GroupedPerChannelObserver]:
    class Observer(GroupedPerChannelObserver):
        size = columns

    Observer.__name__ = f"GroupsOf{columns}PerChannelObserver"
    return Observer


OBSERVERS = {size: _of_size(size) for size in SIZES}
"""For groups of so many columns."""


def least_changed(x: Tensor, most: Tensor) -> Tensor:
    """The range of each row with the least squared error."""
    best, largest = torch.full_like(most, torch.inf), most
    for share in CLIPPED:
        step = (share * most / LARGEST).clamp(min=LEAST_STEP)[:, None]
        error = (held_in_steps(x, step) - x).square().sum(1)
        largest = torch.where(error < best, share * most, largest)
        best = torch.minimum(best, error)
    return largest


def rounded_to_nibbles(weight: Tensor, axis: int) -> Tensor:
    """Weights after rounding to four bits, as `NarrowPerChannelObserver` chooses the steps."""
    rows = weight.detach().movedim(axis, 0).flatten(1)
    step = (least_changed(rows, rows.abs().amax(1)) / LARGEST).clamp(min=LEAST_STEP)
    steps = step.reshape([-1 if place == axis else 1 for place in range(weight.ndim)])
    return held_in_steps(weight, steps)


def held_in_steps(weights: Tensor, steps: Tensor) -> Tensor:
    """The multiples of a step that four bits hold, nearest to each weight."""
    return (weights / steps).round().clamp(-LARGEST, LARGEST) * steps


def is_large(rows: Tensor) -> bool:
    """Whether flash holds rows of a layer with int16 activations in four bits."""
    return rows.numel() >= FEWEST and rows[0].numel() > CHUNK


def holds_nibbles(rows: Tensor) -> bool:
    """Whether four bits hold all rows: multiples of a seventh of each one's largest number.

    Small layers keep eight bits, as their plans do.
    """
    if not is_large(rows):
        return False
    most = rows.abs().amax(1).clamp(min=LEAST_STEP)
    sevenths = rows * (LARGEST / most)[:, None]
    return bool(((sevenths - sevenths.round()).abs() < _EXACT).all())


def factors_of(
    rows: Tensor, unit: Tensor, size: int, weighting: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The best factor of each row and group, and the squared error of each row.

    Args:
        unit: the step of each row that the factors multiply.
        weighting: of the error of each column.
    """
    missing = -rows.shape[1] % size
    filled = functional.pad(rows, (0, missing))
    groups = filled.reshape(len(rows), -1, size) / unit[:, None, None]
    weights = None if weighting is None else functional.pad(weighting, (0, missing))
    best = groups.new_full(groups.shape[:2], torch.inf)
    factors = torch.ones_like(best)
    for factor in range(1, MOST + 1):
        held = (groups / factor).round_().clamp_(-LARGEST, LARGEST).mul_(factor)
        errors = held.sub_(groups).square_()
        if weights is not None:
            errors *= weights.reshape(-1, size)
        error = errors.sum(2)
        factors = torch.where(error < best, float(factor), factors)
        best = torch.minimum(best, error)
    return factors, best.sum(1) * unit.square()
