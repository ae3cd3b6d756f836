"""Numbers that no integer can stand for are right in the end, or refused at the user's line."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from torch import nn

from cmcompiler import api
from cmcompiler.errors import InvalidRequest
from cmcompiler.frontend.preparation import prepare
from cmcompiler.usercode import shown

HERE = re.escape(shown(__file__))


class Quotients(nn.Module):
    """NaN and infinite ones get numbers at once."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nan_to_num(x / x.flip(-1).relu(), 0.0, 9.0, -9.0) + 1


class Vast(nn.Module):
    """A layer reads what is too large for steps, and a result is."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = self.layer(x) * 1e37
        return y, torch.tanh(self.layer(y) * 1e-37)


class Overflowing(nn.Module):
    """Squares of some channels overflow; the others are ordinary numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)
        with torch.no_grad():
            self.layer.weight[:2] *= 1e30

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = self.layer(x).square()
        return y[:, 2:], y.sqrt()[:, 2:]


class Masked(nn.Module):
    """Numbers that are asked for stay in integers, also if a row has no others."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x.masked_fill(x > -0.45, -torch.inf), -1)


@pytest.mark.parametrize(
    ("network", "is_float"),
    [(Quotients(), True), (Vast(), True), (Overflowing(), True), (Masked(), False)],
)
def test_right_in_the_end(network: nn.Module, is_float: bool) -> None:
    torch.manual_seed(0)
    # A step of int8 is less than what is between a sample and the limit of a mask.
    samples = [torch.randn(2, 8).clamp(-2, 2).round(decimals=1) for _ in range(8)]
    compiled = api.compile(network, samples[0], samples)
    assert (compiled.fidelity.faithful, compiled.fidelity.unpaired) == (True, ())
    assert any("where others replace them" in (p.reason or "") for p in compiled.placement) is (
        is_float
    )
    assert compiled.vectors is not None
    every = [network(sample) for sample in samples]
    rows = [each if isinstance(each, tuple) else (each,) for each in every]
    made = list(api.reference(compiled, compiled.vectors))
    for place in range(len(rows[0])):
        exact = np.stack([row[place].detach().double().nan_to_num(0.0).numpy() for row in rows])
        ours = np.stack([row[place].astype(float) for row in made])
        noise = ((exact - ours) ** 2).sum()
        assert 10 * np.log10((exact**2).sum() / max(noise, 1e-30)) > 30


class Logarithm(nn.Module):
    def forward(self, x):
        return torch.log(x) + 1


class Growing(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.ones(1, 4))

    def forward(self, x):
        self.total.copy_(self.total * 1e9 + x)
        return self.total.sum(-1)


class Unknown(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(4)
        with torch.no_grad():
            self.norm.weight[1] = torch.nan

    def forward(self, x):
        return self.norm(x)


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        (Logarithm(), "log → add gives NaN for calibration sample 2"),
        (Growing(), "mul gives infinite or vast numbers for calibration sample 4"),
        (Unknown(), "a constant of layer_norm holds NaN"),
    ],
    ids=["result", "state", "weights"],
)
def test_refused_with_the_line(network: nn.Module, expected: str) -> None:
    line = type(network).forward.__code__.co_firstlineno + 1
    samples = [(torch.full((1, 4), 1.0 - (number == 1) * 2),) for number in range(8)]
    with pytest.raises(InvalidRequest, match=f"^{HERE}:{line}: {expected}"):
        prepare(network, samples[0], samples)


def test_inputs_that_hold_nan_are_refused_by_name() -> None:
    samples = [(torch.ones(1, 4),), (torch.tensor([[1, torch.nan, 2, 3]]),)]
    with pytest.raises(InvalidRequest, match="calibration sample 2: input holds NaN"):
        prepare(nn.ReLU(), samples[0], samples)


@pytest.mark.parametrize(
    "replaced",
    [torch.nan_to_num, lambda x: torch.where(x.isnan(), 0.0, x), lambda x: x.where(x > 0, 0.5)],
    ids=["nan_to_num", "isnan", "where"],
)
def test_inputs_are_read_in_float_where_their_nan_is_replaced(replaced) -> None:
    class Replacing(nn.Module):
        def forward(self, x):
            return replaced(x) * 2

    x = (torch.tensor([[1, torch.nan, 2, 3]]),)
    graph = prepare(Replacing().eval(), x, [x]).graph.graph
    (given,) = (node for node in graph.nodes if node.op == "placeholder")
    assert given.users
    assert all(user.op == "call_function" for user in given.users)
