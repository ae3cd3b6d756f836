"""Ranges of int16 tensors. Importing it imports torch."""

from __future__ import annotations

from functools import cache
from statistics import median
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node
from torchao.quantization.pt2e import MinMaxObserver

from cmcompiler.frontend.expression import evaluate
from cmcompiler.frontend.operators import recurrent, short

assert short.LIBRARY and recurrent.LIBRARY  # the operators exist

_ROOM = 2.0
"""Times the largest number that calibration has seen: 16 bits have one to spare, and one number
that is clipped later costs more than that bit everywhere.
"""

_MOST_ROOM = 8.0
"""Where some inputs are far larger than others, others that nobody has seen will be, too."""

_OPS = torch.ops.cmbuild

_BOUNDS = {
    _OPS.short_conv2d.default: 7,
    _OPS.short_conv_transpose2d.default: 7,
    _OPS.short_linear.default: 3,
    _OPS.short_add.default: 3,
    _OPS.short_clamp.default: 2,
}
"""Where the bounds of results are among the arguments."""

_UNITS = {_OPS.short_lstm.default: 7, _OPS.short_lstm_state.default: 7} | dict.fromkeys(
    (_OPS.short_gru.default, _OPS.short_gru_state.default)
)
"""Layers whose results are below 1 in magnitude, and where a projection is that changes them."""

_DECADES, _PLACES = (-6, 4, 8), 4096
"""Arguments of functions: from the smallest, up to what is compared to the largest."""

_BETWEEN = 1 + 2.0**-12
"""Times the largest result that is seen, for those between the places."""


class ShortObserver(MinMaxObserver):  # type: ignore[misc]
    """Observes the largest magnitude of a tensor, and leaves room beyond it.

    The range is at least as many times the largest magnitude as this is the middle one of all
    samples: what exceeded the others so far may do so again.

    Args:
        most: what no number of the tensor exceeds, if that is known.
    """

    def __init__(self, *args: Any, most: float | None = None, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._most = most
        self._each: list[float] = []

    def forward(self, x_orig: Tensor) -> Tensor:
        if x_orig.numel():
            self._each.append(float(x_orig.detach().abs().max()))
        observed: Tensor = super().forward(x_orig)
        return observed

    def reset_min_max_vals(self) -> None:
        super().reset_min_max_vals()
        self._each.clear()

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        scale, zero_point = super().calculate_qparams()
        roomy = scale * self._room()
        if self._most is not None:
            roomy = roomy.clamp(max=max(self._most / self.quant_max, float(scale)))
        return roomy, zero_point

    def _room(self) -> float:
        middle = median(self._each) if self._each else 0.0
        return min(max(_ROOM, max(self._each) / middle), _MOST_ROOM) if middle else _ROOM


def largest_result(node: Node) -> float | None:
    """The magnitude that no result of an operator exceeds, whatever it reads; None for most."""
    if node.target in _BOUNDS:
        bounds = node.args[_BOUNDS[node.target] :][:2]
        numbers = [abs(each) for each in bounds if isinstance(each, int | float)]
        return max(numbers) if len(numbers) == len(("least", "largest")) else None
    if node.target is _OPS.short_rnn.default:
        return 1.0 if node.args[6] == "tanh" and node.args[1] is None else None
    if node.target in _UNITS:
        projection = _UNITS[node.target]
        is_own = projection is None or node.args[projection] is None
        return 1.0 if is_own and node.args[1] is None else None
    if node.target is _OPS.short_function.default:
        return _largest_of(str(node.args[1]))
    return None


@cache
def _largest_of(expression: str) -> float | None:
    """The largest magnitude of a function, if it stays the same for ever larger arguments."""
    first, middle, last = _DECADES
    sizes = torch.logspace(first, last, _PLACES, dtype=torch.float64)
    places = torch.cat([-sizes, torch.zeros(1, dtype=torch.float64), sizes])
    results = torch.as_tensor(evaluate(expression, places, torch.ops.aten)).double().abs()
    if results.shape != places.shape or not bool(results.isfinite().all()):
        return None
    most = float(results.max())
    near = float(results[places.abs() <= 10.0**middle].max())
    return most * _BETWEEN if most <= near * _BETWEEN else None
