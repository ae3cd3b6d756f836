"""How a layer computes the hardsigmoid of its result: x / 6 + 0.5, within its bounds."""

from __future__ import annotations

from dataclasses import dataclass

SLOPE = 6.0
"""Slope of the result of a layer without its hardsigmoid to the result with it."""

_MIDDLE = 0.5


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate that adds 0.5 to a layer's result.

    Attributes:
        zero_point: of the layer's result.
        rest: what the zero point, which is an int8, leaves to the bias, in units of the bias.
    """

    zero_point: int
    rest: float


def gate_of(scale: float, zero_point: int) -> Gate:
    """
    Args:
        scale, zero_point: of the hardsigmoid's result.
    """
    exact = _MIDDLE / scale + zero_point
    nearest = max(-128, min(127, round(exact)))
    return Gate(nearest, (exact - nearest) * scale * SLOPE)
