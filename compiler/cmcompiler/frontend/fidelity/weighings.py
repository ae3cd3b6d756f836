"""Attention part by part, each from the program's own values. Importing it imports torch.

Attention is one operator, in which the roundings of scores and weights add up. So scores, weights
and means are compared each on its own, and the whole with what these roundings allow together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from cmcompiler.frontend.fidelity.cells import rescaling_step
from cmcompiler.frontend.fidelity.pairing import StepRange
from cmcompiler.frontend.fidelity.parts import LayerPart
from cmcompiler.frontend.operators import attention
from cmcompiler.frontend.operators.masked_softmax import empty_rows, excluding
from cmcompiler.ops.attention import EXCLUDED, LARGEST_WEIGHT, LAST_DISTANCE, Weighing
from cmcompiler.ops.support.empty_rows import EmptyRows

_ops: Any = torch.ops.cmbuild

_SCORES = StepRange(attention.STEP, 0, EXCLUDED, -EXCLUDED, is_fixed=True)
_DISTANCES = StepRange(attention.STEP, 0, 0, LAST_DISTANCE, is_fixed=True)
_WEIGHTS = StepRange(1.0, 0, 0, LARGEST_WEIGHT, is_fixed=True)


@dataclass(frozen=True, eq=False, slots=True)
class WeighingResults:
    """
    Attributes:
        step: of each element of the whole: twice what the roundings of all parts allow.
        parts: that the program does not show in its result, and the means themselves.
    """

    step: Tensor
    parts: tuple[LayerPart, ...]


@dataclass(frozen=True, eq=False, slots=True)
class _Scores:
    """
    Attributes:
        roundings: of each: one of the product, and one of what is added.
    """

    values: Tensor
    roundings: int


def _added(query: Tensor, key: Tensor, _: Any, added: Tensor | None, scale: float) -> _Scores:
    is_rounded = added is not None and bool((added.isfinite() & (added != 0)).any())
    added = None if added is None else added.double()
    return _Scores(attention.scores(query, key, added, scale), 1 + is_rounded)


def _masked(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scale: float, *further: Any
) -> _Scores:
    number, is_added, *rest = further
    unmasked = _added(query, key, value, rest[0] if rest else None, scale)
    # What float32 loses beside a number is lost in the program, too.
    is_added = is_added and empty_rows(number, is_added) is EmptyRows.UNMASKED
    return _Scores(excluding(unmasked.values, mask, number, is_added), unmasked.roundings)


WEIGHED: dict[Any, Callable[..., _Scores]] = {
    _ops.attention.default: _added,
    _ops.masked_attention.default: _masked,
    _ops.biased_attention.default: _added,
}
"""Operators in float, and what computes their scores from their arguments, in double precision."""


def part_by_part(
    target: Any,
    arguments: Sequence[Any],
    ranges: Sequence[StepRange | None],
    output: StepRange,
    weighing: Weighing,
) -> WeighingResults:
    """
    Args:
        target: in WEIGHED.
        arguments: of the float operator, on the program's own values.
        ranges: of keys and values, if known.
        output: range of the results.
    """
    query, key, value = (each.double() for each in arguments[:3])
    scores = WEIGHED[target](query, key, value, *arguments[3:])
    values = attention.repeated(query, value)
    distances, weights = (torch.from_numpy(each) for each in (weighing.distances, weighing.weights))
    nearest = torch.from_numpy(weighing.nearest).unsqueeze(2)
    counts = weights.double()
    totals = counts.sum(2, keepdim=True)
    is_seen = totals > 0

    exact_distances = scores.values.gather(2, nearest) - scores.values
    # One step of the distance of the row's largest score, and one of the other score.
    distance_step = torch.tensor(attention.STEP * 2 * scores.roundings)
    exact_weights = LARGEST_WEIGHT * torch.exp(-attention.STEP * distances.double()) * is_seen
    means = torch.where(is_seen, counts @ values / totals, 0.0)
    of_keys, of_values = ranges
    scale = (of_values or output).scale
    mean_step = rescaling_step(scale / totals.clamp(min=1), output.scale)
    parts = [
        LayerPart("distances", exact_distances, weighing.distances, _DISTANCES, distance_step),
        LayerPart("weights", exact_weights, weighing.weights, _WEIGHTS, torch.tensor(1.0)),
        LayerPart("means", means, weighing.means, output, mean_step.expand_as(means)),
    ]
    if of_keys is not None:
        # The program multiplies with stored keys: their zero point adds the same to all of a row.
        zeros = torch.full_like(key, of_keys.zero_point * of_keys.scale)
        stored = attention.scores(query, key + zeros, None, scale=arguments[4])
        step = torch.tensor(attention.STEP)
        parts.insert(0, LayerPart("scores", stored, weighing.scores, _SCORES, step))
    exact = exact_distances.exp().reciprocal().nan_to_num(0.0) * LARGEST_WEIGHT
    lost = _spread(_errors(counts, exact, scores.roundings), values, means) / totals.clamp(min=1)
    return WeighingResults(mean_step + 2 * lost, tuple(parts))


def _errors(made: Tensor, exact: Tensor, roundings: int) -> Tensor:
    """How far weights may be off: as half a step of their scores, and half of their own."""
    of_scores = math.expm1(attention.STEP * roundings / 2)
    of_both = exact * of_scores + torch.where(made < LARGEST_WEIGHT, 0.5, 0.0)
    return torch.where(made > 0, of_both, exact)


def _spread(errors: Tensor, values: Tensor, means: Tensor) -> Tensor:
    """The sums of values' distances from the means, weighted with errors, or somewhat more.

    The sum of x·y is at most the root of those of x and x·y²: it takes no tensor of all distances.
    """
    squares = errors @ values.square() - 2 * means * (errors @ values)
    total = errors.sum(2, keepdim=True)
    return (total * (squares + total * means.square()).clamp(min=0)).sqrt()
