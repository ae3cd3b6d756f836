"""Ranges of activations, as candidates for their quantisation. Importing it imports torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.fx import GraphModule
from torchao.quantization.pt2e import (
    DerivedObserverOrFakeQuantize,
    HistogramObserver,
    MinMaxObserver,
    PerChannelMinMaxObserver,
)
from torchao.quantization.pt2e.observer import UniformQuantizationObserverBase

from cmcompiler.frontend.range_search import searched_range

LEAST_STEP = 2.0**-80
LEAST_STEP_OF_WEIGHTS = 2.0**-40
"""Products of both are far from the limits of single precision."""


@dataclass(frozen=True, eq=False, slots=True)
class Observation:
    """Values of an activation on the calibration inputs.

    Attributes:
        range: holds the range that the activation is quantised with, at first the searched one.
        histogram: elements in each of equally wide bins between least and largest.
        searched: the range with the least squared error of those that the observer tried.
    """

    range: MinMaxObserver
    histogram: Tensor
    least: Tensor
    largest: Tensor
    searched: tuple[Tensor, Tensor]

    @classmethod
    def of(cls, observer: HistogramObserver) -> Observation:
        searched = searched_range(observer)
        held = MinMaxObserver(
            dtype=observer.dtype,
            qscheme=observer.qscheme,
            quant_min=observer.quant_min,
            quant_max=observer.quant_max,
            eps=float(observer.eps),
        )
        observation = cls(held, observer.histogram, observer.min_val, observer.max_val, searched)
        observation.choose(searched)
        return observation

    def without_tails(self, share: float) -> tuple[Tensor, Tensor]:
        """The range without this share of the elements at either end; at 0, all of it."""
        below = self.histogram.double().cumsum(0) / self.histogram.double().sum()
        width = (self.largest - self.least) / len(self.histogram)
        first = int((below <= share).sum())
        last = len(self.histogram) - int((below >= 1 - share).sum())
        if share == 0 or first > last:
            return self.least, self.largest
        return self.least + width * first, self.least + width * (last + 1)

    def choose(self, limits: tuple[Tensor, Tensor]) -> None:
        """Quantises the activation with this range from now on."""
        self.range.min_val, self.range.max_val = limits


def hold_ranges(prepared: GraphModule) -> tuple[Observation, ...]:
    """Replaces the observers of activations by ranges that can be chosen.

    Searching a range takes long, and converting a graph would search it once for each use.
    """
    _hold_small_ranges(prepared)
    observations = {
        id(module): Observation.of(module)
        for module in prepared.modules()
        if isinstance(module, HistogramObserver) and torch.isfinite(module.min_val)
    }
    for name, module in list(prepared.named_modules(remove_duplicate=False)):
        if id(module) in observations:
            prepared.set_submodule(name, observations[id(module)].range)
        elif isinstance(module, DerivedObserverOrFakeQuantize):
            module.obs_or_fqs = list(_held(module.obs_or_fqs, observations))
    return tuple(observations.values())


def _hold_small_ranges(prepared: GraphModule) -> None:
    """Lets small numbers have steps as small as theirs; the observers' least one is 2^-23.

    A channel of weights has no smaller ones than a thousandth of those of the largest channel.
    """
    for observer in prepared.modules():
        if isinstance(observer, HistogramObserver | MinMaxObserver):
            step = _span(observer) / (observer.quant_max - observer.quant_min)
            if 0 < float(step) < float(observer.eps):
                observer.eps = torch.tensor([LEAST_STEP])
        elif isinstance(observer, PerChannelMinMaxObserver) and observer.min_val.numel():
            steps = _span(observer) / (observer.quant_max - observer.quant_min)
            least = max(LEAST_STEP_OF_WEIGHTS, float(steps.max()) * 2.0**-10)
            if 0 < least < float(observer.eps):
                observer.eps = torch.tensor([least])


def _span(observer: UniformQuantizationObserverBase) -> Tensor:
    """From the least to the largest number, with 0; 0 without any numbers."""
    least, largest = observer.min_val.clamp(max=0), observer.max_val.clamp(min=0)
    is_symmetric = observer.qscheme in (torch.per_tensor_symmetric, torch.per_channel_symmetric)
    span = 2 * torch.maximum(-least, largest) if is_symmetric else largest - least
    return torch.nan_to_num(span, 0.0, 0.0, 0.0)


def _held(observers: Iterable[object], observations: dict[int, Observation]) -> Iterator[object]:
    for observer in observers:
        yield observations[id(observer)].range if id(observer) in observations else observer
