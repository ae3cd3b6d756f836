"""Running extremes, products and logarithms of sums in a few steps."""

from __future__ import annotations

import pytest
import torch
from harness.rewriting import Function, rewritten, targets

from cmcompiler.frontend.rewrites.scans import double_scans

SCANS = {
    "maximum": lambda x: torch.cummax(x, 1)[0],
    "minimum": lambda x: torch.cummin(x, -1).values,
    "mul": lambda x: torch.cumprod(x, 0),
}


@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("size", [1, 2, 7, 16])
def test_scans(name: str, size: int) -> None:
    x = torch.randn(size, size, size, generator=torch.Generator().manual_seed(size))
    operators = targets(rewritten(Function(SCANS[name]), x, by=double_scans))
    steps = (size - 1).bit_length()
    assert sum(f".{name}." in each for each in operators) == steps
    assert len(operators) == 5 * steps


@pytest.mark.parametrize("size", [1, 2, 7, 16])
def test_logarithms_of_running_sums(size: int) -> None:
    x = 9 * torch.randn(3, size, 2, generator=torch.Generator().manual_seed(size))
    module = Function(lambda x: x.logcumsumexp(1))
    operators = targets(rewritten(module, x, by=double_scans))
    assert not any("log" in each for each in operators)
    assert sum(".softplus." in each for each in operators) == (size - 1).bit_length()


@pytest.mark.parametrize("size", [1, 2, 7, 16])
def test_places_of_running_extremes(size: int) -> None:
    """Of equal elements, the last one counts."""
    x = torch.randint(-3, 4, (3, size, 2), generator=torch.Generator().manual_seed(size)).float()
    module = Function(lambda x: (*torch.cummax(x, 1), torch.cummin(x, -2)[1]))
    assert not any("cum" in each for each in targets(rewritten(module, x, by=double_scans)))


@pytest.mark.parametrize("size", [1, 2, 7, 16])
def test_products(size: int) -> None:
    x = torch.rand(3, size, 2, generator=torch.Generator().manual_seed(size)) + 0.5
    module = Function(lambda x: (x.prod(1), x.prod(-2, keepdim=True), x[0].prod()))
    assert not any("prod" in each for each in targets(rewritten(module, x, by=double_scans)))
