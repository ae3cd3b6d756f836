"""Compares int8 elements with numbers. Importing it imports torch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from executorch.backends.arm._passes.quant_args import QuantArgs
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.pass_base import ExportPass, PassResult
from torch.fx import GraphModule

_ATEN = exir_ops.edge.aten
_GE, _LE = _ATEN.ge.Scalar, _ATEN.le.Scalar
_GT, _LT = _ATEN.gt.Scalar, _ATEN.lt.Scalar
_EQ, _NE = _ATEN.eq.Scalar, _ATEN.ne.Scalar

_BOUNDS: dict[Any, tuple[Any, Callable[[float], int]]] = {
    _GT: (_GE, lambda steps: math.floor(steps) + 1),
    _GE: (_GE, math.ceil),
    _LT: (_LE, lambda steps: math.ceil(steps) - 1),
    _LE: (_LE, math.floor),
}
"""The form of an inequality among integers, and its bound."""

_NEVER, _ALWAYS = _LT, _GE
"""Comparisons with the least integer."""


class CompareIntegers(ExportPass):  # type: ignore[misc]
    """Gives comparisons of int8 elements the integer that their number stands for.

    The backend has them read int8 elements, and leaves the number as it is. Runs after quantize and
    dequantize are folded.
    """

    def call(self, graph_module: GraphModule) -> PassResult:
        changed = False
        for node in graph_module.graph.nodes:
            given = node.meta.get("input_qparams", {}).get(0)
            if node.target in {*_BOUNDS, _EQ, _NE} and given is not None:
                source, number = node.args
                node.target, bound = _comparison(node.target, float(number), given)
                node.args = (source, bound)
                changed = True
        if changed:
            graph_module.recompile()
        return PassResult(graph_module, changed)


def _comparison(operator: Any, number: float, given: QuantArgs) -> tuple[Any, int]:
    """The comparison of integers that holds for the same elements."""
    low, high = int(given.qmin), int(given.qmax)
    if not math.isfinite(number):
        is_true = (operator in (_LT, _LE) and number > 0) or (operator in (_GT, _GE) and number < 0)
        return _ALWAYS if operator is _NE or is_true else _NEVER, low
    steps = number / float(given.scale) + int(given.zp)
    if operator in (_EQ, _NE):
        nearest = round(steps)
        if low <= nearest <= high:
            return operator, nearest
        return _NEVER if operator is _EQ else _ALWAYS, low
    operator, bound = _BOUNDS[operator][0], _BOUNDS[operator][1](steps)
    if low <= bound <= high:
        return operator, bound
    return _ALWAYS if (bound < low) is (operator is _GE) else _NEVER, low
