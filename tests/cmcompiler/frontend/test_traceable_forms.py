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
    "lists": lambda x: lists(x + 1, x * 2),
    "signs": lambda x: x.signbit(),
}


def lists(x: Tensor, y: Tensor) -> Tensor:
    torch._foreach_add_([x, y], [y, x * 0.5], alpha=2)
    torch._foreach_addcmul_([x, y], [y, y], [x, x], 0.5)
    torch._foreach_maximum_([x, y], 0.25)
    return torch.stack(torch._foreach_lerp([x, y], [y, x], 0.25))


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


class Holder(nn.Module):
    """Holds weights, and a tensor that is no buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.ones(5, 2))
        self.kept = torch.zeros(3, 5)


class Replaced(Holder):
    def forward(self, x: Tensor) -> Tensor:
        y = x + 1
        y.data = y[:, :2]
        return y


class Limited(Holder):
    def forward(self, x: Tensor) -> Tensor:
        self.weights.data = self.weights.data.clamp(-0.1, 0.1)
        return x @ self.weights


class LimitedInPlace(Holder):
    def forward(self, x: Tensor) -> Tensor:
        self.weights.clamp_(-0.1, 0.1)
        return x @ self.weights


class LimitedInAView(Holder):
    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            self.weights.detach()[0].clamp_(-0.1, 0.1)
        return x @ self.weights


class Kept(Holder):
    def forward(self, x: Tensor) -> Tensor:
        self.kept[0] = x[0]
        return self.kept + x


LOST = [
    (Replaced, 2, "data"),
    (Limited, 1, "parameter"),
    (LimitedInPlace, 1, "parameter"),
    (LimitedInAView, 2, "parameter"),
    (Kept, 1, "no buffer"),
]


@pytest.mark.parametrize(("kind", "after", "what"), LOST)
def test_writes_that_a_trace_would_lose_are_refused(
    kind: type[Holder], after: int, what: str
) -> None:
    line = f"{Path(__file__).name}:{kind.forward.__code__.co_firstlineno + after}: .*{what}"
    with pytest.raises(Unsupported, match=line), quiet(), torch.no_grad():
        export(kind(), (torch.ones(3, 5),))
