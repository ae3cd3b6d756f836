"""The step of each row of weights that eight bits store. Importing it imports torch."""

from __future__ import annotations

import torch
from torch import Tensor

from cmcompiler.frontend.narrow_observers import LEAST_STEP, holds_nibbles
from cmcompiler.ops.support.nibbles import LARGEST

LEVELS = 127
"""The largest weight, in steps."""

_EXACT = 1e-4
"""The share of a step that single precision may lose of numbers that are whole steps."""

_FIRST = 8
"""Columns that rule out nearly all steps of rows that nobody has rounded."""


def stored_steps(rows: Tensor) -> Tensor:
    """The step of each row of float64 weights.

    Rows that are whole multiples of a step keep it, so that nothing of them is lost; others get the
    smallest one that their largest weight takes. Four bits hold multiples of a seventh of each
    row's largest weight.
    """
    most = rows.abs().amax(1).clamp(min=LEAST_STEP)
    if holds_nibbles(rows):
        return most / LARGEST
    largest = torch.full_like(most, LEVELS)
    levels = torch.arange(LEVELS, LEVELS // 2, -1, dtype=rows.dtype)
    begun = _in_steps(rows[:, None, :_FIRST], (levels / most[:, None])[..., None])
    # Any smaller number of levels has a multiple among these.
    undecided = begun.any(1).nonzero()[:, 0]
    for row in undecided.tolist():
        each = _in_steps(rows[row], (levels[begun[row]] / most[row])[:, None])
        if each.any():
            largest[row] = levels[begun[row]][int(each.nonzero()[0, 0])]
    return most / largest


def in_stored_steps(rows: Tensor) -> Tensor:
    """The numbers that stored weights stand for."""
    steps = stored_steps(rows)[:, None]
    return (rows / steps).round() * steps


def _in_steps(rows: Tensor, per_unit: Tensor) -> Tensor:
    """Whether all columns are whole steps, so many of which make one."""
    steps = rows * per_unit
    return ((steps - steps.round()).abs() < _EXACT).all(-1)
