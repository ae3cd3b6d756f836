"""Equal elements keep their order, as in programs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from cmcompiler import api
from cmcompiler.frontend.fidelity.ties import UNSTABLE, in_order

ATEN = torch.ops.aten
DISTINCT = torch.randn(3, 7, generator=torch.Generator().manual_seed(1))
EQUAL = torch.tensor([2.0, 3.0, 3.0, 1.0, 3.0, 2.0] * 20)


@pytest.mark.parametrize(
    ("operator", "arguments"),
    [
        (ATEN.topk.default, (DISTINCT, 3)),
        (ATEN.topk.default, (DISTINCT, 2, 0, False)),
        (ATEN.topk.default, (torch.tensor(2.0), 1)),
        (ATEN.sort.default, (DISTINCT,)),
        (ATEN.sort.default, (DISTINCT, 0, True)),
        (ATEN.kthvalue.default, (DISTINCT, 3)),
        (ATEN.kthvalue.default, (DISTINCT, 2, 0, True)),
        (ATEN.median.dim, (DISTINCT, 1)),
        (ATEN.median.dim, (torch.tensor(2.0), 0)),
        (ATEN.median.dim, (torch.tensor([1.0, float("nan"), 2.0]), 0)),
    ],
)
def test_of_distinct_elements_it_is_what_torch_returns(
    operator: torch._ops.OpOverload, arguments: tuple[object, ...]
) -> None:
    assert operator in UNSTABLE
    for made, wanted in zip(in_order(operator, arguments, {}), operator(*arguments), strict=True):
        torch.testing.assert_close(made, wanted, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("is_largest", [True, False])
def test_equal_elements_keep_their_order(is_largest: bool) -> None:
    values, places = in_order(ATEN.topk.default, (EQUAL, 50), {"largest": is_largest})
    first = 3.0 if is_largest else 1.0
    wanted: Tensor = (first == EQUAL).nonzero().flatten()
    assert places[: len(wanted)].tolist() == wanted.tolist()[:50]
    assert torch.equal(EQUAL[places], values)


class Ranked(nn.Module):
    """A choice by places, of numbers of which many are equal."""

    def __init__(self, places: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.places = places

    def forward(self, x: Tensor) -> Tensor:
        return torch.gather(x, 1, self.places(x.relu()))


PLACES: dict[str, Callable[[Tensor], Tensor]] = {
    "argsort": lambda x: x.argsort(1),
    "ranks": lambda x: x.argsort(1).argsort(1),
    "sort": lambda x: x.sort(1, descending=True)[1],
    "topk": lambda x: x.topk(20, 1, largest=False)[1],
    "kthvalue": lambda x: x.kthvalue(5, 1, keepdim=True)[1],
    "median": lambda x: x.median(1, keepdim=True)[1],
    "max": lambda x: (-x).max(1, keepdim=True)[1],
    "argmin": lambda x: x.argmin(1, keepdim=True),
}


@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
def test_places_of_equal_elements_are_faithful(places: Callable[[Tensor], Tensor]) -> None:
    chance = torch.Generator().manual_seed(0)
    samples = [(torch.randn(4, 64, generator=chance),) for _ in range(4)]
    compiled = api.compile(Ranked(places), samples[0], samples)
    assert compiled.fidelity.faithful is True
