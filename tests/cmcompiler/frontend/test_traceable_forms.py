"""Functions that torch.export cannot trace."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from cmcompiler.frontend.layouts import export
from cmcompiler.frontend.quiet import quiet

TABLE = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
FORMS: dict[str, Callable[[Tensor], Tensor]] = {
    "data": lambda x: x.data * 2,
    "covariances": torch.cov,
    "covariances of all": lambda x: torch.cov(x, correction=0),
    "covariance of one row": lambda x: x[0].cov(),
    "correlations": torch.corrcoef,
    "rows of a limited length": lambda x: functional.embedding(
        x.argmax(1), TABLE.clone(), max_norm=1.0
    ),
    "signs": lambda x: x.signbit(),
}


class Module(nn.Module):
    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


@pytest.mark.parametrize("name", FORMS)
def test_forms_are_exported(name: str) -> None:
    x = torch.randn(3, 5, generator=torch.Generator().manual_seed(1))
    with quiet():
        exported = export(Module(FORMS[name]), (x,))
    torch.testing.assert_close(exported.module(check_guards=False)(x), FORMS[name](x))
