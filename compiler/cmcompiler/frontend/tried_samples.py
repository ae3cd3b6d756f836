"""Samples that refinement tries, and those that stay unseen. Importing it imports torch."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor
from torch.fx import GraphModule

from cmcompiler.frontend.simulation import element_count

_FEWEST_TO_DIVIDE = 24
"""Samples of which some can be left untried; of fewer, those that decide would say too little."""

_SAMPLES = 32
_FEWEST_SAMPLES = 4
_ELEMENTS = 100_000_000
"""Elements of all activations of all samples that refinement computes with, if that many samples
are more than the fewest."""

_RESOLVED = 8
"""The part of the samples on which single operators are looked at."""


def divided(
    samples: Sequence[Sequence[Tensor]], most: int
) -> tuple[Sequence[Sequence[Tensor]], Sequence[Sequence[Tensor]]]:
    """Samples to try, and others that show whether a gain holds; none of a few samples.

    Args:
        most: samples to try.
    """
    if len(samples) > most:
        return samples[:most], samples[most : most + most // 2]
    if len(samples) < _FEWEST_TO_DIVIDE:
        return samples, ()
    tried = [each for index, each in enumerate(samples, start=1) if index % 4]
    return tried, samples[3::4]


def resolved_samples(prepared: GraphModule) -> int:
    """Samples on which single operators are looked at."""
    return max(1, sample_count(prepared) // _RESOLVED)


def is_large(prepared: GraphModule) -> bool:
    """Whether refinement uses fewer samples for a model than for others."""
    return sample_count(prepared) < _SAMPLES


def sample_count(prepared: GraphModule) -> int:
    """Samples that refinement uses: fewer for larger models."""
    return min(_SAMPLES, max(_FEWEST_SAMPLES, _ELEMENTS // max(element_count(prepared), 1)))
