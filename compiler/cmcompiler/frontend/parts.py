"""Parts of a model that may differ in precision, and what each rounding of theirs costs.

Does not import torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Rounded(Enum):
    """Kinds of roundings, with their bits."""

    ACTIVATION = "activation"
    """A tensor in int8."""
    WEIGHTS = "weights"
    """Weights in int8."""
    NARROW_WEIGHTS = "weights of four bits"


@dataclass(frozen=True, slots=True)
class ModelPart:
    """Operators that have one precision.

    Attributes:
        path: of the module that they belong to; empty for the model itself.
        operators: names of their nodes in the exported graph.
    """

    path: str
    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RoundingCost:
    """The cost of one rounding alone, everything else in float.

    Attributes:
        kind: what is rounded.
        parts: of an activation, the part that makes it, then those that read it; of weights, the
            part that multiplies by them.
        elements: that are rounded.
        noise: power of the error over that of the numbers, at each of the model's outputs.
    """

    kind: Rounded
    parts: tuple[int, ...]
    elements: int
    noise: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ModelParts:
    """The parts of a model in the order in which they compute, and its roundings."""

    parts: tuple[ModelPart, ...] = ()
    roundings: tuple[RoundingCost, ...] = ()
