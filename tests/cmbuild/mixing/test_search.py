"""The search for the cheapest mix, held against trying all of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from cmbuild.mixing.choice import Chooser
from cmbuild.mixing.search import MixBounds, cheapest
from cmbuild.mixing.table import Mix, MixTable, PartCost
from cmbuild.mixing.trial import SampleQuality, Trial
from cmbuild.pipeline.needs import Needs
from cmcompiler.frontend.parts import Rounded, RoundingCost
from cmcompiler.frontend.precision import BYTES, NIBBLES, SHORT


def table(seed: int, count: int) -> MixTable:
    """A chain of layers with a branch, of random sizes and sensitivities."""
    rng = np.random.default_rng(seed)
    choices, roundings = [], []
    for part in range(count):
        cycles, weights = float(rng.integers(10_000, 500_000)), int(rng.integers(200, 40_000))
        elements = int(rng.integers(100, 5000))
        own = {BYTES: PartCost(cycles, weights, elements)}
        if rng.random() < 0.9:
            own[SHORT] = PartCost(cycles * rng.uniform(1.0, 2.0), weights, 2 * elements)
        noise = tuple(10 ** rng.uniform(-6, -3, 2))
        if rng.random() < 0.7:
            own[NIBBLES] = PartCost(cycles * rng.uniform(0.9, 1.3), weights // 2, elements)
            worse = tuple(each * rng.uniform(50, 400) for each in noise)
            roundings.append(RoundingCost(Rounded.NARROW_WEIGHTS, (part,), weights, worse))
        roundings.append(RoundingCost(Rounded.WEIGHTS, (part,), weights, noise))
        readers = (part, part + 1) if part + 1 < count else (part,)
        if part == 1 and count > 4:
            readers = (1, 2, 4)
        caused = tuple(10 ** rng.uniform(-6, -3, 2))
        roundings.append(RoundingCost(Rounded.ACTIVATION, readers, elements, caused))
        choices.append(own)
    return MixTable(tuple(choices), tuple(roundings), 8.0, PartCost(5000, 100, 500), (1.0, 1.0))


def every(known: MixTable) -> list[Mix]:
    return list(product(*known.choices))


@pytest.mark.parametrize("seed", range(12))
def test_no_more_than_three_percent_over_the_best_of_all(seed: int) -> None:
    known = table(seed, 6)
    costs = [known.cost(mix) for mix in every(known)]
    levels = sorted(max(cost.noise) for cost in costs)
    sizes = sorted(cost.weights for cost in costs)
    for limits in (
        MixBounds(noise=levels[len(levels) // 3]),
        MixBounds(noise=levels[len(levels) // 2], weights=sizes[len(sizes) // 3]),
        MixBounds(weights=sizes[len(sizes) // 8]),
    ):
        within = [cost.cycles for cost in costs if limits.excess(cost) == 0]
        actual = known.cost(cheapest(known, limits))
        if within:
            assert limits.excess(actual) == 0
            assert actual.cycles <= 1.03 * min(within)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 112))
def test_no_more_than_three_percent_over_the_best_of_ten_layers(seed: int) -> None:
    known = table(seed, 10)
    costs = [known.cost(mix) for mix in every(known)]
    for share in (8, 3, 2):
        levels = sorted(max(cost.noise) for cost in costs)
        limits = MixBounds(noise=levels[len(levels) // share])
        best = min(cost.cycles for cost in costs if limits.excess(cost) == 0)
        assert known.cost(cheapest(known, limits)).cycles <= 1.03 * best


def test_the_nearest_if_none_is_within_the_limits() -> None:
    known = table(3, 5)
    limits = MixBounds(noise=1e-15)
    nearest = known.cost(cheapest(known, limits))
    assert limits.excess(nearest) == min(limits.excess(known.cost(mix)) for mix in every(known))


def test_a_tensor_is_fine_only_if_all_parts_that_share_it_are() -> None:
    part = PartCost(100, 10, 10)
    rounding = RoundingCost(Rounded.ACTIVATION, (0, 1), 50, (1e-4,))
    choices = ({BYTES: part, SHORT: part},) * 2
    known = MixTable(choices, (rounding,), 2.0, PartCost(0, 0, 0), (1.0,))
    assert known.cost((BYTES, BYTES)).noise == known.cost((SHORT, BYTES)).noise == (1e-4,)
    assert known.cost((SHORT, SHORT)).noise == (1e-4 / 65536,)
    assert known.cost((SHORT, BYTES)).cycles == known.cost((SHORT, SHORT)).cycles + 100


def test_what_is_left_of_the_error_of_weights_is_measured() -> None:
    """A program with less error than all roundings of its weights make up tells how much less."""
    known = table(3, 6)
    mix = tuple(SHORT if SHORT in choices else BYTES for choices in known.choices)
    nothing = replace(known, compensated={SHORT: (0.0, 0.0)})
    between = [
        low + (high - low) / 8
        for low, high in zip(nothing.cost(mix).noise, known.cost(mix).noise, strict=True)
    ]
    measured = known.calibrated(SHORT, mix, between)
    assert measured.compensated[SHORT] == pytest.approx((1 / 8, 1 / 8))
    assert measured.cost(mix).noise == pytest.approx(between)
    assert measured.cost(known.plain) == known.cost(known.plain)
    (part,) = [index for index, kind in enumerate(mix) if kind == SHORT][:1]
    assert max(measured.noise_of(part, SHORT)) < max(known.noise_of(part, SHORT))


class Programs:
    """Programs of a table's mixes, whose code it does not know.

    Attributes:
        tried: by mix.
    """

    def __init__(self, known: MixTable, seed: int) -> None:
        self._known, self._seed = known, seed
        self.tried: dict[Mix, Trial] = {}

    def trial(self, mix: Mix) -> Trial:
        cost = self._known.cost(mix)
        code = 12_000 if any(kind == NIBBLES for kind in mix[1:]) else 0
        halves = [
            SampleQuality(tuple(share * each for each in cost.noise), None, 8)
            for share in (1.0, 0.8)
        ]
        nothing: Any = None
        flash = 50_000 + cost.weights + code
        made = (*halves, round(cost.cycles), flash, cost.weights, cost.arena)
        return self.tried.setdefault(mix, Trial(mix, nothing, nothing, *made))


@pytest.mark.parametrize("seed", range(20, 28))
def test_what_programs_take_beyond_the_table_is_learned(seed: int) -> None:
    """Weights of four bits take code, but in the first part."""
    plain = table(seed, 5)
    choices = tuple(
        {kind: replace(cost, kernels=frozenset({f"{place > 0}"})) for kind, cost in each.items()}
        for place, each in enumerate(plain.choices)
    )
    known, chooser = replace(plain, choices=choices), Chooser.__new__(Chooser)
    whole = Programs(known, seed)
    trials = [whole.trial(mix) for mix in every(known)]
    flash = sorted(each.flash for each in trials)[len(trials) // 3]
    levels = sorted(each.choosing.snr_db for each in trials if each.flash <= flash)
    needs = Needs(snr=levels[len(levels) // 2] - 0.5, flash_budget=str(flash))
    chooser._needs, chooser._arena = needs, None
    chooser._trials = Programs(known, seed)  # type: ignore[assignment]
    chosen = chooser._search(known)
    best = min(each.cycles for each in trials if not chooser._excess(each, 0.3))
    assert not chosen.excess(needs, None, chosen.choosing, 0.0)
    assert chosen.cycles <= 1.03 * best
