"""Groups in one place begin with the rows that keep the place small."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from harness.toy import tensor

from cmcompiler.plan.streams.directions import directed


def way(spent: Any, result: Any, shift: int) -> Any:
    takeover = SimpleNamespace(spent=spent, result=result, shift=shift)
    return SimpleNamespace(takeover=takeover)


def test_a_chain_goes_up_after_it_went_down() -> None:
    a, b, c, d = (tensor(name, 64) for name in "abcd")
    ways = [
        [way(one, other, shift) for shift in (32, -32)] for one, other in ((a, b), (b, c), (c, d))
    ]
    chosen = directed(ways)
    shifts = [each.takeover.shift for each in chosen]
    assert shifts == [32, -32, 32]


def test_chains_are_chosen_apart_and_the_first_way_if_in_doubt() -> None:
    a, b, c, d = (tensor(name, 64) for name in "abcd")
    apart = [[way(a, b, 16), way(a, b, -16)], [way(c, d, -16), way(c, d, 16)]]
    assert directed(apart) == (apart[0][0], apart[1][0])


def test_groups_that_take_over_nothing_stay() -> None:
    plain: Any = SimpleNamespace(takeover=None)
    assert directed([[plain], [plain]]) == (plain, plain)
