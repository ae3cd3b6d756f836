"""Rates of instruction sets, and the prices that they make."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa
from cmcompiler.plan.streams.costs.rates import RATES


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
