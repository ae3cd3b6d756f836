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
    def of(cls, inputs: Sequence[Inputs], is_sequence: bool) -> Holdout:
        """
        Args:
            is_sequence: whether the model carries state from one input to the next, so that both
                parts must stay in one piece.
        """
        count = len(inputs)
        if count < FEWEST:
            return cls(inputs, inputs)
        if is_sequence:
            first = count - count // _PART
            return cls(inputs[:first], inputs[first:])
        # Data is often sorted by class: every n-th input is like all of them.
        step = max(_PART, -(-count // _MOST))
        judging = inputs[step - 1 :: step]
        calibrating = [each for index, each in enumerate(inputs, start=1) if index % step]
        return cls(calibrating, judging)

    @property
    def held_out(self) -> int:
        """How many inputs judge without calibrating."""
        return 0 if self.judging is self.calibrating else len(self.judging)
