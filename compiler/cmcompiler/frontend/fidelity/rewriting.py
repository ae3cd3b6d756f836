"""Whether rewrites left the outputs of the float graph as they were. Importing it imports torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.fx import GraphModule
from torch.utils._pytree import tree_leaves

from cmcompiler.frontend.fidelity.record import RewritingError
from cmcompiler.frontend.fidelity.values import Array

ALLOWED = 1e-4
"""Error relative to an output's largest element: sums in another order stay within half of it."""

_JUMPS = frozenset(
    (
        *("round", "floor", "ceil", "trunc", "frac", "sign", "remainder", "fmod", "floor_divide"),
        *("argmax", "argmin", "topk", "sort", "argsort", "bucketize", "heaviside", "nonzero"),
        *("gt", "ge", "lt", "le", "eq", "ne", "where", "embedding", "index"),
    )
)
"""Operators that another last bit of an operand may send elsewhere."""


def rewriting_error(
    rewritten: GraphModule,
    states: tuple[Tensor, ...],
    samples: Sequence[tuple[Tensor, ...]],
    expected: Sequence[Array],
) -> RewritingError | None:
    """The output that the rewrites changed most, if they changed any.

    Args:
        rewritten: in float; takes inputs and states.
        states: initial ones.
        samples: inputs, channels-last.
        expected: outputs of the user's module, an array for each, shape (samples, *y.shape).
    """
    jumps = any(_name(node.target) in _JUMPS for node in rewritten.graph.nodes)
    errors: dict[int, list[RewritingError]] = {}
    with torch.no_grad():
        for number, sample in enumerate(samples):
            results = rewritten(*sample, *states)
            if states:
                results, states = results
            leaves = [leaf for leaf in tree_leaves(results) if isinstance(leaf, Tensor)]
            for place, (made, stack) in enumerate(zip(leaves, expected, strict=True)):
                deviation = _error(place, made, stack[number])
                errors.setdefault(place, []).append(deviation)
    # A comparison may go the other way for the last bit of a sum, but hardly in every sample.
    choose = min if jumps else max
    worst = [choose(each, key=lambda error: error.error) for each in errors.values()]
    largest = max(worst, key=lambda error: error.error, default=None)
    return largest if largest is not None and largest.error > ALLOWED else None


def _error(place: int, made: Tensor, expected: Array) -> RewritingError:
    exact, computed = expected.astype(np.float64), made.numpy().astype(np.float64)
    if not exact.size or exact.shape != computed.shape:
        return RewritingError(place, 0.0, 0.0, 0.0)
    same = (exact == computed) | (np.isnan(exact) & np.isnan(computed))
    finite = np.abs(exact[np.isfinite(exact)])
    largest = max(float(finite.max()) if finite.size else 0.0, 1e-30)
    with np.errstate(invalid="ignore"):
        differences = np.nan_to_num(np.where(same, 0.0, np.abs(computed - exact)), nan=np.inf)
    worst = int(differences.argmax())
    error = min(float(differences.flat[worst]) / largest, 1e9)
    return RewritingError(place, error, float(computed.flat[worst]), float(exact.flat[worst]))


def _name(target: Any) -> str:
    name = getattr(getattr(target, "_schema", None), "name", "")
    return str(name).partition("::")[2].rstrip("_")
