"""Recurrent layers become the compiler's own, with the same results."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from harness.rewriting import rewritten, targets
from torch import Tensor, nn

pytestmark = pytest.mark.filterwarnings(
    "ignore:The tensor attribute", "ignore:LSTM with projections is not supported with oneDNN"
)
"""torch.export says so of every recurrent layer."""

FEATURES, UNITS, STEPS, BATCH = 3, 4, 5, 2

LAYERS = [
    (nn.LSTM, {}),
    (nn.LSTM, {"batch_first": True, "bidirectional": True, "num_layers": 2, "dropout": 0.5}),
    (nn.LSTM, {"bias": False, "proj_size": 2}),
    (nn.LSTM, {"proj_size": 3, "num_layers": 2, "bidirectional": True}),
    (nn.GRU, {"num_layers": 2}),
    (nn.GRU, {"bidirectional": True, "batch_first": True}),
    (nn.GRU, {"bias": False}),
    (nn.RNN, {"nonlinearity": "relu"}),
    (nn.RNN, {"bidirectional": True, "num_layers": 2, "batch_first": True}),
]


def layer(kind: Any, **settings: Any) -> nn.RNNBase:
    torch.manual_seed(0)
    made = kind(FEATURES, UNITS, **settings)
    assert isinstance(made, nn.RNNBase)
    return made


def sequence(settings: dict[str, Any]) -> Tensor:
    shape = (BATCH, STEPS) if settings.get("batch_first") else (STEPS, BATCH)
    return torch.randn(*shape, FEATURES, generator=torch.Generator().manual_seed(1))


def states(made: nn.RNNBase) -> list[Tensor]:
    count = made.num_layers * (2 if made.bidirectional else 1)
    hidden = torch.randn(count, BATCH, made.proj_size or UNITS)
    return [hidden, torch.randn(count, BATCH, UNITS)][: 1 + isinstance(made, nn.LSTM)]


class Given(nn.Module):
    """With initial states; returns all results."""

    def __init__(self, made: nn.RNNBase) -> None:
        super().__init__()
        self.made = made

    def forward(self, x: Tensor, *given: Tensor) -> Any:
        return self.made(x, given if len(given) == 2 else given[0])


def is_own(names: list[str]) -> bool:
    torchs = ("aten.lstm", "aten.gru", "aten.rnn", "aten.zeros")
    return not any(name.startswith(torchs) for name in names)


@pytest.mark.parametrize(("kind", "settings"), LAYERS, ids=str)
def test_layers_without_initial_state(kind: Any, settings: dict[str, Any]) -> None:
    assert is_own(targets(rewritten(layer(kind, **settings), sequence(settings))))


@pytest.mark.parametrize(("kind", "settings"), LAYERS, ids=str)
def test_layers_with_initial_state(kind: Any, settings: dict[str, Any]) -> None:
    made = layer(kind, **settings)
    assert is_own(targets(rewritten(Given(made), sequence(settings), *states(made))))


class LastOutputs(nn.Module):
    def __init__(self, made: nn.RNNBase) -> None:
        super().__init__()
        self.made = made

    def forward(self, x: Tensor) -> Tensor:
        _, last = self.made(x)
        last = last[0] if isinstance(last, tuple) else last
        return torch.cat([last[-2], last[-1]], 1)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_what_is_not_used_is_not_computed(kind: Any) -> None:
    made = layer(kind, bidirectional=True)
    own = f"cmbuild.{kind.__name__.lower()}.default"
    operators = targets(rewritten(LastOutputs(made), sequence({})))
    assert operators == [own, "aten.select.int"] * 2 + ["aten.cat.default"]


class Cells(nn.Module):
    """An LSTM cell step by step, and the others on top."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.LSTMCell(FEATURES, UNITS)
        self.second = nn.GRUCell(UNITS, UNITS)
        self.third = nn.RNNCell(UNITS, UNITS, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        hidden = cell = torch.zeros(BATCH, UNITS)
        second = torch.zeros(BATCH, UNITS)
        for step in range(3):
            hidden, cell = self.first(x[step], (hidden, cell))
            second = self.second(hidden, second)
        return self.third(second, hidden), cell


def test_cells() -> None:
    torch.manual_seed(0)
    assert is_own(targets(rewritten(Cells(), sequence({}))))


class Loose(nn.Module):
    def forward(self, x: Tensor, weight: Tensor) -> Tensor:
        hidden = torch.zeros(1, BATCH, UNITS)
        held = [weight, torch.eye(3 * UNITS, UNITS)]
        return torch.gru(x, hidden, held, False, 1, 0.0, False, False, False)[0]


def test_computed_weights_stay() -> None:
    operators = targets(rewritten(Loose(), sequence({}), torch.randn(3 * UNITS, FEATURES)))
    assert "aten.gru.input" in operators
