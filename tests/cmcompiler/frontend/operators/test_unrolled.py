"""Unrolled layers compute what torch's do."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from cmcompiler.frontend.float_form import FLOAT_FORMS
from cmcompiler.frontend.operators.unrolled import UNROLLED

pytestmark = pytest.mark.filterwarnings("ignore:LSTM with projections")

STEPS, BATCH, FEATURES, UNITS = 5, 2, 3, 4

GATES = {"lstm": 4, "lstm_state": 4, "gru": 3, "gru_state": 3, "rnn": 1}


def arguments(name: str, *, given: bool, biases: bool, batch_first: bool, reverse: bool) -> Any:
    kind, gates = name.removesuffix("_state"), GATES[name] * UNITS
    outputs = 2 if kind == "lstm" else UNITS
    x = torch.randn(BATCH, STEPS, FEATURES) if batch_first else torch.randn(STEPS, BATCH, FEATURES)
    states: list[Any] = [torch.randn(3, BATCH, outputs) if given else None]
    parameters: list[Any] = [torch.randn(gates, FEATURES), torch.randn(gates, outputs)]
    parameters += [torch.randn(gates) if biases else None for _ in range(2)]
    if kind == "lstm":
        states.append(torch.randn(3, BATCH, UNITS) if given else None)
        parameters.append(torch.randn(outputs, UNITS))
    setting = "tanh" if kind == "rnn" else 11
    return (x, *states, *parameters, setting, 2 if given else 0, batch_first, reverse)


@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize(("batch_first", "reverse"), [(False, False), (True, True)])
def test_as_torch(name: str, given: bool, biases: bool, batch_first: bool, reverse: bool) -> None:
    torch.manual_seed(0)
    layer = arguments(name, given=given, biases=biases, batch_first=batch_first, reverse=reverse)
    exact = FLOAT_FORMS[f"cmbuild::{name}"](*layer)
    made = UNROLLED[getattr(torch.ops.cmbuild, name).default](*layer)
    if isinstance(exact, tuple):
        torch.testing.assert_close(made[1], exact[1])
        exact, made = exact[0], made[0]
    assert made.shape == exact.shape
    if given:
        # The row of initial outputs holds the next one's numbers: nothing reads it.
        time, first = int(batch_first), 0 if reverse else 1
        exact, made = (rows.narrow(time, first, STEPS) for rows in (exact, made))
    torch.testing.assert_close(made, exact)
