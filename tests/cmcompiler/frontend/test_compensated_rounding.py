"""Rounding of weights that makes up for its own errors, on layers whose inputs go together."""

from __future__ import annotations

import torch
from torch import Tensor

from cmcompiler.frontend.compensated_rounding import rounded_rows
from cmcompiler.frontend.narrow_observers import (
    OBSERVERS,
    NarrowPerChannelObserver,
    NarrowWeights,
)
from cmcompiler.ops.support.nibbles import LARGEST


def inputs() -> tuple[Tensor, Tensor]:
    """Rows of which each is a mixture of a few, to round for and to judge by."""
    random = torch.Generator().manual_seed(5)
    mixtures = torch.randn(400, 12, generator=random, dtype=torch.float64)
    rows = mixtures @ torch.randn(12, 96, generator=random, dtype=torch.float64)
    rows += 0.2 * torch.randn(rows.shape, generator=random, dtype=torch.float64)
    return rows[:200], rows[200:]


def observed(weights: Tensor, size: int) -> NarrowWeights:
    kind, largest = (OBSERVERS[size], 127) if size else (NarrowPerChannelObserver, LARGEST)
    bounds = {"quant_min": -largest, "quant_max": largest, "dtype": torch.int8}
    observer = kind(0, qscheme=torch.per_channel_symmetric, **bounds)
    observer(weights)
    return observer


def test_sums_keep_more_than_with_each_weight_rounded_alone() -> None:
    fitted, judged = inputs()
    weights = torch.randn(20, 96, generator=torch.Generator().manual_seed(6))
    for size in (0, 32):
        observer = observed(weights, size)
        exact = judged @ weights.double().T
        made = rounded_rows(observer, weights.double(), fitted.T @ fitted)
        alone = (judged @ observer.rounded(weights).double().T - exact).square().sum()
        together = (judged @ made.T - exact).square().sum()
        assert together < alone / 3
        held = observer.rounded(made.float())
        assert torch.allclose(held, made.float(), atol=1e-6)  # four bits hold it
