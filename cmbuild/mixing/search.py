"""Finds the cheapest mix of precisions that stays within limits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cmbuild.mixing.table import Mix, MixCost, MixTable

_LEAST = 1e-12
_WINDOW = 8
"""Neighbouring parts that are tried together, at most."""
_FEW = 24
"""Parts of which all pairs are tried."""
_TIE, _UNASKED = 1e-4, 1e-2
"""A tenth of the error is worth this share of the cycles: a tie if the error has a limit."""


@dataclass(frozen=True, slots=True)
class MixBounds:
    """Limits of the cost of a mix.

    Attributes:
        noise: power of the error over that of the numbers, at the worst output; None: any.
        weights, arena: bytes; None: any.
    """

    noise: float | None = None
    weights: int | None = None
    arena: int | None = None

    def excess(self, cost: MixCost) -> float:
        """How far beyond them a mix is; 0 within them."""
        pairs = [(each, self.noise) for each in cost.noise if self.noise is not None]
        total = sum(
            math.log(max(each, _LEAST) / limit) for each, limit in pairs if limit and each > limit
        )
        for used, most in ((cost.weights, self.weights), (cost.arena, self.arena)):
            if most is not None and used > most:
                total += 10 * math.log(used / max(most, 1))
        return total


def cheapest(table: MixTable, limits: MixBounds) -> Mix:
    """The mix with the fewest cycles within the limits; if there is none, the nearest to them.

    Greedy: from several mixes, the change that brings most for its cycles, until all limits are
    kept; then changes that save cycles and keep them. Among mixes of nearly the same cycles, the
    one with the least error: within a few percent of them if the error has no limit.
    """
    starts = [_uniform(table, kind) for kind in ("", *_kinds(table))]
    ends = dict.fromkeys(
        _saving(table, limits, _reaching(table, limits, start)) for start in starts
    )
    return min(ends, key=lambda mix: _rank(table, limits, mix))


def _kinds(table: MixTable) -> list[str]:
    return sorted({kind for choices in table.choices for kind in choices})


def _uniform(table: MixTable, kind: str) -> Mix:
    """Each part in this precision where it has it; "": in its cheapest one."""
    return tuple(
        min(choices, key=lambda each: choices[each].cycles)
        if not kind
        else (kind if kind in choices else next(iter(choices)))
        for choices in table.choices
    )


def _rank(table: MixTable, limits: MixBounds, mix: Mix) -> tuple[float, float]:
    cost = table.cost(mix)
    return limits.excess(cost), _objective(cost, limits)


def _objective(cost: MixCost, limits: MixBounds) -> float:
    """Cycles, and what a tenth of the error is worth of them."""
    worth = _TIE if limits.noise is not None else _UNASKED
    worst = max(cost.noise, default=0.0)
    return cost.cycles * (1 + worth * math.log10(max(worst, _LEAST) / _LEAST))


def _reaching(table: MixTable, limits: MixBounds, mix: Mix) -> Mix:
    cost = table.cost(mix)
    while (excess := limits.excess(cost)) > 0:
        best: tuple[float, Mix, MixCost] | None = None
        for changed in _moves(table, mix, pairs=False):
            other = table.cost(changed)
            gain = excess - limits.excess(other)
            if gain <= 1e-9:
                continue
            paid = max(_objective(other, limits) - _objective(cost, limits), 1e-6 * cost.cycles)
            if best is None or gain / paid > best[0]:
                best = gain / paid, changed, other
        if best is None:
            return mix
        _, mix, cost = best
    return mix


def _saving(table: MixTable, limits: MixBounds, mix: Mix) -> Mix:
    rank = _rank(table, limits, mix)
    while True:
        ranked = (
            (_rank(table, limits, changed), changed)
            for changed in _moves(table, mix, pairs=len(mix) <= _FEW)
        )
        least, best = min(ranked, default=(rank, mix))
        if not least < (rank[0], rank[1] * (1 - 1e-9)):
            return mix
        rank, mix = least, best


def _moves(table: MixTable, mix: Mix, *, pairs: bool) -> Iterator[Mix]:
    """Mixes that differ by one part, by parts that share an activation, by neighbours, or by two
    parts.
    """
    count = len(mix)
    kinds = _kinds(table)
    windows = [
        tuple(range(first, last + 1))
        for first in range(count)
        for last in range(first, min(count, first + _WINDOW))
    ]
    for members in dict.fromkeys((*windows, *table.groups)):
        for kind in kinds:
            if (changed := _changed(table, mix, members, kind)) != mix:
                yield changed
    if not pairs:
        return
    for first in range(count):
        for second in range(first + 1, count):
            for one in table.choices[first]:
                for other in table.choices[second]:
                    if one != mix[first] and other != mix[second]:
                        yield _with(_with(mix, first, one), second, other)


def _changed(table: MixTable, mix: Mix, members: Sequence[int], kind: str) -> Mix:
    for member in members:
        if kind in table.choices[member]:
            mix = _with(mix, member, kind)
    return mix


def _with(mix: Mix, part: int, kind: str) -> Mix:
    return (*mix[:part], kind, *mix[part + 1 :])
