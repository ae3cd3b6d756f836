"""Parts of a layer that is one operator for many roundings. Importing it imports torch."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from cmcompiler.frontend.fidelity.pairing import StepRange
from cmcompiler.frontend.fidelity.values import Array


@dataclass(frozen=True, eq=False, slots=True)
class LayerPart:
    """One of the things that a layer computes on the way to its results.

    Attributes:
        name: gates, state or units; scores, weights or means.
        exact: in float, from the program's own values of the part before.
        made: by the program.
        step: twice what its arithmetic may be off.
    """

    name: str
    exact: Tensor
    made: Array
    range: StepRange
    step: Tensor
