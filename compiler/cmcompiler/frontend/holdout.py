"""Calibration inputs that are held out, so that what calibrates does not judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    Inputs = tuple[torch.Tensor, ...]

FEWEST = 4
"""Inputs of which one can be spared; fewer all calibrate, and judge as well."""

_PART = 4
"""One in so many judges."""

_MOST = 256
"""Inputs that judge, unless they are a sequence; more would not change what they say."""


@dataclass(frozen=True, eq=False, slots=True)
class Holdout:
    """Two parts of the calibration inputs.

    Attributes:
        calibrating: in their order.
        judging: others; the same if there are too few to spare any.
    """

    calibrating: Sequence[Inputs]
    judging: Sequence[Inputs]

    @classmethod
    def of(
        cls, inputs: Sequence[Inputs], is_sequence: bool, results: Sequence[Inputs] = ()
    ) -> Holdout:
        """
        Args:
            is_sequence: whether the model carries state from one input to the next, so that both
                parts must stay in one piece.
            results: what the float module makes of each, if that is known.
        """
        count = len(inputs)
        if count < FEWEST:
            return cls(inputs, inputs)
        if is_sequence:
            first = count - count // _PART
            return cls(inputs[:first], inputs[first:])
        # Data is often sorted by class: inputs at equal distances are like all of them.
        seen = [(*each, *made) for each, made in zip(inputs, results or [()] * count, strict=True)]
        extremes = _extremes(seen)
        spare = [at for at in range(count) if at not in extremes] or [count - 1]
        wanted = min(count // _PART, _MOST, len(spare))
        judges = {spare[(2 * n + 1) * len(spare) // (2 * wanted)] for n in range(wanted)}
        calibrating = [each for at, each in enumerate(inputs) if at not in judges]
        return cls(calibrating, [inputs[at] for at in sorted(judges)])

    @property
    def held_out(self) -> int:
        """How many inputs judge without calibrating."""
        return 0 if self.judging is self.calibrating else len(self.judging)


def _extremes(inputs: Sequence[Inputs]) -> set[int]:
    """Where the smallest and the largest number of each float tensor are.

    These inputs calibrate: ranges that leave them out would clip, on purpose, numbers that the
    user has shown.
    """
    extremes = set()
    for tensors in zip(*inputs, strict=True):
        bounds = {at: bound for at, each in enumerate(tensors) if (bound := _bounds(each))}
        if bounds:
            extremes.add(min(bounds, key=lambda at: bounds[at][0]))
            extremes.add(max(bounds, key=lambda at: bounds[at][1]))
    return extremes


def _bounds(tensor: torch.Tensor) -> tuple[float, float] | None:
    """The smallest and the largest number; None without finite floats."""
    if not tensor.is_floating_point():
        return None
    finite = tensor[tensor.isfinite()]
    return (float(finite.min()), float(finite.max())) if finite.numel() else None
