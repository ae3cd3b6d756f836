"""Searches ranges of activations for the least squared error. Importing it imports torch."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

import numpy as np
from torch import Tensor
from torchao.quantization.pt2e import HistogramObserver

STEP = 1e-5
"""The share of the elements that one move of an end leaves out, as torchao's observer has it."""


def searched_range(observer: HistogramObserver) -> tuple[Tensor, Tensor]:
    """The range that torchao's observer would find, to the bit, in a tenth of its time or less.

    Its own search compares a tensor's element at each of up to 100,000 steps.
    """
    first, last = 0, observer.bins - 1
    least = float("inf")
    for ends in _narrower(observer.histogram):
        error = observer._compute_quantization_error(*ends)
        if error > least:
            break
        least, (first, last) = error, ends
    width = (observer.max_val - observer.min_val) / observer.bins
    return observer.min_val + width * first, observer.min_val + width * (last + 1)


def _narrower(histogram: Tensor) -> Iterator[tuple[int, int]]:
    """First and last bin of ever narrower ranges: the end with more empty bins moves."""
    sums: list[float] = histogram.cumsum(0).tolist()
    total = histogram.sum().item()
    first, last = 0, len(sums) - 1
    low, high = 0.0, 1.0
    while low < high:
        next_low, next_high = low + STEP, high - STEP
        # Single precision, as tensors compare their elements with numbers.
        left = bisect_left(sums, float(np.float32(next_low * total)), first, last)
        right = bisect_right(sums, float(np.float32(next_high * total)), first + 1, last + 1) - 1
        if left - first > last - right:
            moved = left != first
            first, low = left, next_low
        else:
            moved = right != last
            last, high = right, next_high
        if moved:
            yield first, last
