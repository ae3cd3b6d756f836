"""How sure a share is that was measured on some samples."""

from __future__ import annotations

import math
from collections.abc import Callable

_TAIL = 0.025
"""On either side, for 95 %."""

_STEPS = 60  # halvings, more than the precision of a float
_TINY = 1e-300


def exact(good: int, all: int) -> tuple[float, float]:
    """The interval that holds the true share with at least 95 % confidence, by Clopper and Pearson.

    It keeps that promise near 0 and 1 too, where approximations such as Wilson's fall short.

    Args:
        all: at least 1.
    """
    bad = all - good
    low = 0.0 if good == 0 else _solve(lambda share: _beta(good, bad + 1, share) - _TAIL)
    high = 1.0 if bad == 0 else _solve(lambda share: _beta(good + 1, bad, share) - 1 + _TAIL)
    return low, high


def _solve(rising: Callable[[float], float]) -> float:
    """Where a function crosses 0 between 0 and 1."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if rising(middle) < 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _beta(a: int, b: int, x: float) -> float:
    """The regularised incomplete beta function."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(scale + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: int, b: int, x: float) -> float:
    """Its continued fraction, by Lentz's method; fast for x below the mean of the distribution."""
    value, upper, lower = 1.0, 1.0, 0.0
    for n in range(1, a + b + 200):
        m = n // 2
        if n % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        lower = 1 / ((1 + term * lower) or _TINY)
        upper = (1 + term / upper) or _TINY
        value *= upper * lower
        if abs(upper * lower - 1) < 1e-15:
            break
    return 1 / value
