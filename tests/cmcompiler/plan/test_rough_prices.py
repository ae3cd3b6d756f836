"""Prices that only compare the steps of one program."""

from __future__ import annotations

import pytest

from cmcompiler.isa import Isa
from cmcompiler.plan.rough_prices import rough_prices


@pytest.mark.parametrize("isa", Isa)
def test_floats_cost_more_than_integers_and_most_without_an_fpu(isa: Isa) -> None:
    integer = rough_prices(isa, is_float=False, has_fpu=True)
    fast, slow = (rough_prices(isa, True, has_fpu) for has_fpu in (True, False))
    assert integer.macs < fast.macs < slow.macs
    assert integer.outputs < fast.outputs < slow.outputs


def test_better_instruction_sets_multiply_for_less() -> None:
    scalar, dsp, mve = (rough_prices(isa, False, True).macs for isa in Isa)
    assert scalar > dsp > mve
