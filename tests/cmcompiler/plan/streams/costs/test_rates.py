"""Rates of instruction sets, and the prices that they make."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest
from harness.rated_chains import Kind, Samples
from harness.sources import ROOT

from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa
from cmcompiler.plan.streams.costs.rates import RATES

COUNTS = json.loads((ROOT / "benchmarks" / "recorded_rates.json").read_text())
"""Instructions of chains of layers, by instruction set."""


@dataclass(frozen=True)
class Depth(Arguments):
    depth: int = 0

    @property
    def depth_of_products(self) -> int:
        return self.depth


@pytest.mark.parametrize("isa", Isa)
def test_products_cost_by_their_depth_and_others_by_portions(isa: Isa) -> None:
    rates = RATES[isa]
    shallow, deep = (rates.prices(Depth(depth)) for depth in (8, 4096))
    assert (shallow.portions, deep.portions) == (rates.shallow.call, rates.deep.call)
    assert deep.gathered == rates.gathered
    none = rates.prices(Depth())
    assert (none.portions, none.columns, none.gathered) == (rates.portion, rates.share, 0)


def test_better_instruction_sets_take_less_for_a_product() -> None:
    scalar, dsp, mve = (RATES[isa].product for isa in Isa)
    assert scalar > dsp > mve


@pytest.mark.parametrize("isa", Isa)
def test_rates_are_near_the_counts_that_they_are_fitted_to(isa: Isa) -> None:
    fit = Samples.of(isa, COUNTS[isa.label]["layers"])
    whole, stages = (np.abs(fit.errors(RATES[isa], kind)).mean() for kind in Kind)
    assert len(fit.every) > 700
    assert whole < 0.08 and stages < 0.01
