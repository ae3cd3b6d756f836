"""Equal elements keep their order, as in programs."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

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
    ],
)
def test_of_distinct_elements_it_is_what_torch_returns(
    operator: torch._ops.OpOverload, arguments: tuple[object, ...]
) -> None:
    assert operator in UNSTABLE
    for made, wanted in zip(in_order(operator, arguments, {}), operator(*arguments), strict=True):
        assert torch.equal(made, wanted)


@pytest.mark.parametrize("is_largest", [True, False])
def test_equal_elements_keep_their_order(is_largest: bool) -> None:
    values, places = in_order(ATEN.topk.default, (EQUAL, 50), {"largest": is_largest})
    first = 3.0 if is_largest else 1.0
    wanted: Tensor = (first == EQUAL).nonzero().flatten()
    assert places[: len(wanted)].tolist() == wanted.tolist()[:50]
    assert torch.equal(EQUAL[places], values)
