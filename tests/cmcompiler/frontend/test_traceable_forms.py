"""Functions that torch.export cannot trace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from cmcompiler.frontend.layouts import export
from cmcompiler.frontend.quiet import quiet
from cmcompiler.usercode import Unsupported

TABLE = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
FORMS: dict[str, Callable[[Tensor], Tensor]] = {
    "data": lambda x: x.data * 2,
    "data of its own": lambda x: doubled(x + 1),
    "covariances": torch.cov,
    "covariances of all": lambda x: torch.cov(x, correction=0),
    "covariance of one row": lambda x: x[0].cov(),
    "correlations": torch.corrcoef,
    "rows of a limited length": lambda x: functional.embedding(
        x.argmax(1), TABLE.clone(), max_norm=1.0
    ),
    "signs": lambda x: x.signbit(),
}


def doubled(x: Tensor) -> Tensor:
    x.data = x * 2
    return x * 3


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


def replaced(x: Tensor) -> Tensor:
    y = x + 1
    y.data = y[:, :2]
    return y


def limited(x: Tensor) -> Tensor:
    WEIGHTS.data = WEIGHTS.data.clamp(-0.1, 0.1)
    return x @ WEIGHTS


def limited_in_place(x: Tensor) -> Tensor:
    WEIGHTS.clamp_(-0.1, 0.1)
    return x @ WEIGHTS


WEIGHTS = nn.Parameter(torch.ones(5, 2))
LOST = [(replaced, 2, "data"), (limited, 1, "parameter"), (limited_in_place, 1, "parameter")]


@pytest.mark.parametrize(("function", "after", "what"), LOST)
def test_writes_that_a_trace_would_lose_are_refused(
    function: Callable[[Tensor], Tensor], after: int, what: str
) -> None:
    line = f"{Path(__file__).name}:{function.__code__.co_firstlineno + after}: .*{what}"
    module = Module(function)
    module.weights = WEIGHTS
    with pytest.raises(Unsupported, match=line), quiet(), torch.no_grad():
        export(module, (torch.ones(3, 5),))
